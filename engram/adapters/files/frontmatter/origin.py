"""Where a promoted entry came from: one line of its frontmatter, which is not a field and is ignored by every reader.

origin: {scope: project, store: billing, remote: "https://example.org/lore.git", id: 01KJ…, digest: 6f1d…}
"""

from __future__ import annotations

from engram.domain.typed import NamedTuple

NAME = "origin"
KEY = f"{NAME}: "
_QUOTES = str.maketrans({'"': "'", "\\": "/"})
_LONGEST = 300


class Origin(NamedTuple):
    """The scope and store that an entry was copied from, its remote ("" for none) without credentials, its id there.

    `digest` is of what was copied, so that one can tell whether it was changed since.
    """

    scope: str
    store: str
    remote: str
    id: str
    digest: str

    @property
    def place(self) -> str:
        """For people: `billing (project), https://example.org/lore.git`."""
        return f"{self.store} ({self.scope})" + (f", {self.remote}" if self.remote else "")


def line(origin: Origin) -> str:
    """Return the line of the frontmatter, without a line end."""
    parts = [f'{name}: "{_quotable(value)}"' for name, value in origin._asdict().items()]
    return f"{KEY}{{{', '.join(parts)}}}"


def with_origin(raw: bytes, origin: Origin) -> bytes:
    """Return the lore file with this origin, in the place of the one it has, else as the last line of its frontmatter.

    Raises ValueError where the file has no frontmatter, or is not UTF-8.
    """
    lines, end = _split(raw)
    ending = "\r" if lines[0].endswith("\r") else ""
    at = next((number for number in range(1, end) if lines[number].startswith(KEY)), None)
    if at is None:
        lines.insert(end, line(origin) + ending)
    else:
        lines[at] = line(origin) + ending
    return "\n".join(lines).encode()


def without_origin(raw: bytes) -> bytes:
    """Return the lore file without its origin. Raises ValueError as `with_origin`."""
    lines, end = _split(raw)
    kept = [text for number, text in enumerate(lines) if number >= end or not text.startswith(KEY)]
    return "\n".join(kept).encode()


def _split(raw: bytes) -> tuple[list[str], int]:
    """Return the lines of a file, and the number of the one that closes its frontmatter."""
    lines = raw.decode().split("\n")
    if lines[0].removeprefix("\ufeff").rstrip() != "---":
        raise ValueError("no frontmatter")
    return lines, next(n for n, text in enumerate([*lines[1:], "---"], 1) if text.rstrip() == "---")


def origin_of(raw: bytes) -> Origin | None:
    """Return the origin of an entry file; None where it has none, or one that Engram did not write."""
    head = raw.partition(b"\n---")[0].decode("utf-8", "replace")
    for one in head.splitlines():
        if one.startswith(KEY):
            return _parse_line(one.removeprefix(KEY).strip())
    return None


def _parse_line(text: str) -> Origin | None:
    parts = text.removeprefix("{").removesuffix("}").split('", ')
    said = dict(part.partition(": ")[::2] for part in parts)
    values = {name: said.get(name, '""').strip('"') for name in Origin._fields}
    return Origin(**values) if values["id"] else None


def _quotable(value: str) -> str:
    """Return what stands between double quotes as it is, on one line."""
    return "".join([c for c in value[:_LONGEST].translate(_QUOTES) if c.isprintable()])
