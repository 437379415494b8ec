"""Split a file with git's conflict markers into the versions that git could not merge.

Pure. Both of git's styles are read: with the two sides only, and with the base between them (diff3, zdiff3).
"""

from __future__ import annotations

from engram.adapters.files.frontmatter import frontmatter
from engram.domain.typed import NamedTuple

_OURS, _BASE, _THEIRS, _END = b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>"
_MISPLACED = b"!"


def holds_markers(raw: bytes) -> bool:
    """Return whether a line of the file begins like one of git's conflict markers."""
    return b"<<<<<<<" in raw and frontmatter.conflict_marker(raw.decode("utf-8", "replace")) >= 0


class Sides(NamedTuple):
    """The two versions, and the base if the markers show it for every conflict."""

    ours: bytes
    theirs: bytes
    base: bytes | None


def split_sides(raw: bytes) -> Sides | None:
    """Return the versions of which a file with markers was made; None if the markers do not match.

    Everything outside the markers, merged by git or edited later, is in all of them.
    """
    parts: dict[bytes, list[bytes]] = {_OURS: [], _BASE: [], _THEIRS: []}
    state, conflicts, bases = b"", 0, 0
    for line in _split_lines(raw):
        next_state = _next_state(state, line)
        if next_state is None:
            if state in parts:
                parts[state].append(line)
            else:
                for lines in parts.values():
                    lines.append(line)
        elif next_state == _MISPLACED:
            return None
        else:
            conflicts += next_state == _OURS
            bases += next_state == _BASE
            state = b"" if next_state == _END else next_state
    if state or not conflicts:
        return None
    ours, base, theirs = (b"".join(lines) for lines in parts.values())
    return Sides(ours, theirs, base if bases == conflicts else None)


def _next_state(state: bytes, line: bytes) -> bytes | None:
    """Return the part that a marker line begins, or `_MISPLACED`; None for lines that are not markers."""
    mark = line[:7]
    if mark == _THEIRS:  # elsewhere it underlines a heading
        is_marker = line.rstrip(b"\r\n") == _THEIRS and state in (_OURS, _BASE)
        return _THEIRS if is_marker else None
    if mark not in (_OURS, _BASE, _END) or line[7:8] not in (b" ", b"\n", b"\r", b""):
        return None
    expected = {_OURS: (b"",), _BASE: (_OURS,), _END: (_THEIRS,)}[mark]
    return mark if state in expected else _MISPLACED


def _split_lines(raw: bytes) -> list[bytes]:
    """Return the lines with their ends; only a line feed ends one."""
    lines = raw.split(b"\n")
    return [*(line + b"\n" for line in lines[:-1]), *([lines[-1]] if lines[-1] else [])]
