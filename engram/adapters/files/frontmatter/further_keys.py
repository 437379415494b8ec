"""Keys of a file that are no fields of lore, written one a line: of a session's summary.

Every other byte of the file stays as it is.
"""

from __future__ import annotations

from engram.adapters.files.frontmatter import frontmatter, keys
from engram.adapters.files.frontmatter.frontmatter import Bare, Problem, scalar
from engram.domain.entry.lore import MAX_NOTE
from engram.domain.errors import LoreFileError, ValidationError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.files.frontmatter.frontmatter import Entry, Value

    Wanted = str | tuple[str, ...]


def read(raw: bytes, path: str) -> tuple[dict[str, Value], str]:
    """Return the keys of a file's frontmatter with their values (`Bare` without quotes), and its text. Raises LoreFileError."""
    try:
        document, entries = keys.load(frontmatter.decode(raw))
    except Problem as problem:
        raise LoreFileError(path, problem.line, problem.message, problem.hint) from None
    lines = document.block.splitlines()
    return {one.key: _value(one, lines) for one in entries}, frontmatter.normalise(document.body)


def with_keys(raw: bytes, wanted: Mapping[str, Wanted]) -> bytes:
    """Return the file saying these values; an empty one removes its key, a new key is the last.

    Lines of keys that say so already stay. Raises ValidationError for what no file can say, or is no file of ours.
    """
    try:
        document, entries = keys.load(frontmatter.decode(raw))
        newline, known = document.newline, {entry.key: entry for entry in entries}
        lines = document.block.splitlines(keepends=True)
        new = []
        for key, value in wanted.items():
            line = [f"{key}: {_format_value(value)}{newline}"] if value else []
            entry = known.get(key)
            if entry is None:
                new += line
            elif _plain(entry.value) != _plain(value):
                lines[entry.start : entry.end] = [*line, *[""] * (entry.end - entry.start - len(line))]
        block = "".join([*lines, *new])
        frontmatter.check_size(block)
        opening, closing = document.opening or f"---{newline}", document.closing or f"---{newline}"
        changed = (document.bom + opening + block + closing + document.body).encode()
        frontmatter.decode(changed, MAX_NOTE)
        keys.load(changed.decode())
    except Problem as problem:
        raise ValidationError("file", f"The file cannot say that: {problem.message}.", problem.hint) from None
    except UnicodeEncodeError:
        raise ValidationError(
            "file", "A text contains half of a character (a lone surrogate).", "Send UTF-8."
        ) from None
    return changed


def text_of(value: object) -> str:
    """Return a value that is to be one text; "" for any other."""
    return value if isinstance(value, str) else ""


def words_of(value: object) -> tuple[str, ...]:
    """Return a value that is to be a list of texts; a text alone is one."""
    items: Sequence[object] = value if isinstance(value, list | tuple) else [value]
    return tuple(item for item in items if isinstance(item, str) and item)


def _value(entry: Entry, lines: Sequence[str]) -> Value:
    value = entry.value
    is_bare = isinstance(value, str) and lines[entry.start].rstrip() == f"{entry.key}: {value}"
    return Bare(value) if is_bare else value


def _format_value(value: Wanted) -> str:
    if isinstance(value, str):
        return value if isinstance(value, Bare) else scalar(value)
    return f"[{', '.join([scalar(item, flow=True) for item in value])}]"


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
