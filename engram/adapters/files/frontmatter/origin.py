"""The origin of a promoted entry: a line of its frontmatter that is not a field and that readers of entries ignore.

origin: {scope: project, store: billing, remote: "https://example.org/lore.git", id: 01KJ…, digest: 6f1d…}
"""

from __future__ import annotations

from engram.domain.typed import NamedTuple

NAME = "origin"
KEY = f"{NAME}: "
_QUOTES = str.maketrans({'"': "'", "\\": "/"})
_MAX_CHARS = 300


class Origin(NamedTuple):
    """The scope and store that an entry was copied from, the remote without credentials ("" for none), its id there.

    `digest` is that of the copied entry, to tell whether it has changed since.
    """

    scope: str
    store: str
    remote: str
    id: str
    digest: str

    @property
    def place(self) -> str:
        """The place for display: `billing (project), https://example.org/lore.git`."""
        return f"{self.store} ({self.scope})" + (f", {self.remote}" if self.remote else "")


def line(origin: Origin) -> str:
    """Return the line of the frontmatter, without a line end."""
    parts = [f'{name}: "{_quotable(value)}"' for name, value in origin._asdict().items()]
    return f"{KEY}{{{', '.join(parts)}}}"


def with_origin(raw: bytes, origin: Origin) -> bytes:
    """Return the entry's file with this origin, which replaces another or is appended to the frontmatter.

    Raises ValueError if the file has no frontmatter or is not UTF-8.
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
    """Return the entry's file without its origin. Raises ValueError as `with_origin` does."""
    lines, end = _split(raw)
    remaining = [text for number, text in enumerate(lines) if number >= end or not text.startswith(KEY)]
    return "\n".join(remaining).encode()


def _split(raw: bytes) -> tuple[list[str], int]:
    """Return the lines of a file and the index of the one that closes its frontmatter."""
    lines = raw.decode().split("\n")
    if lines[0].removeprefix("\ufeff").rstrip() != "---":
        raise ValueError("no frontmatter")
    return lines, next(n for n, text in enumerate([*lines[1:], "---"], 1) if text.rstrip() == "---")


def origin_of(raw: bytes) -> Origin | None:
    """Return the origin in an entry's file; None if it has none, or one that Engram did not write."""
    head = raw.partition(b"\n---")[0].decode("utf-8", "replace")
    for text in head.splitlines():
        if text.startswith(KEY):
            return _parse_line(text.removeprefix(KEY).strip())
    return None


def _parse_line(text: str) -> Origin | None:
    parts = text.removeprefix("{").removesuffix("}").split('", ')
    pairs = dict(part.partition(": ")[::2] for part in parts)
    values = {name: pairs.get(name, '""').strip('"') for name in Origin._fields}
    return Origin(**values) if values["id"] else None


def _quotable(value: str) -> str:
    """Return the text with nothing that would need an escape in double quotes, on one line."""
    return "".join([c for c in value[:_MAX_CHARS].translate(_QUOTES) if c.isprintable()])
