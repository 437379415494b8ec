"""Split a file with git's conflict markers into the versions that git could not merge.

Pure. Both styles of git are read: with the two sides alone, and with the base between them (diff3, zdiff3).
"""

from __future__ import annotations

from engram.adapters.files.frontmatter import frontmatter
from engram.domain.typed import NamedTuple

_OURS, _BASE, _THEIRS, _END = b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>"


def holds_markers(raw: bytes) -> bool:
    """Return whether a line of the file begins like a conflict marker of git."""
    return b"<<<<<<<" in raw and frontmatter.conflict_marker(raw.decode("utf-8", "replace")) >= 0


class Sides(NamedTuple):
    """The two versions, and the base where the markers show it for every conflict."""

    ours: bytes
    theirs: bytes
    base: bytes | None


def sides_of(raw: bytes) -> Sides | None:
    """Return the versions that a file with markers was made from; None where the markers do not fit together.

    What git merged by itself is in all of them, and so is any later edit outside of the markers.
    """
    parts: dict[bytes, list[bytes]] = {_OURS: [], _BASE: [], _THEIRS: []}
    state, conflicts, bases = b"", 0, 0
    for line in _lines(raw):
        following = _next(state, line)
        if following is None:
            if state in parts:
                parts[state].append(line)
            else:
                for lines in parts.values():
                    lines.append(line)
        elif following == b"!":
            return None
        else:
            conflicts += following == _OURS
            bases += following == _BASE
            state = b"" if following == _END else following
    if state or not conflicts:
        return None
    ours, base, theirs = (b"".join(lines) for lines in parts.values())
    return Sides(ours, theirs, base if bases == conflicts else None)


def _next(state: bytes, line: bytes) -> bytes | None:
    """Return the part that a line begins; None where it belongs to the present one, `!` where it is out of place."""
    mark = line[:7]
    if mark == _THEIRS:  # elsewhere it underlines a heading
        bare = line.rstrip(b"\r\n") == _THEIRS
        return _THEIRS if bare and state in (_OURS, _BASE) else None
    if mark not in (_OURS, _BASE, _END) or line[7:8] not in (b" ", b"\n", b"\r", b""):
        return None
    expected = {_OURS: (b"",), _BASE: (_OURS,), _END: (_THEIRS,)}[mark]
    return mark if state in expected else b"!"


def _lines(raw: bytes) -> list[bytes]:
    """Return the lines with their ends; only a line feed ends one."""
    lines = raw.split(b"\n")
    return [*(line + b"\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]
