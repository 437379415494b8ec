"""Keys of a file that are not fields of an entry, written one a line: of a session's summary.

Every other byte of the file stays as it is.
"""

from __future__ import annotations

from engram.adapters.files.frontmatter import edit, fields, frontmatter, keys
from engram.adapters.files.frontmatter.codec import edited
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
    """Return the file saying these values; an empty one removes its key.

    Lines of keys that say so already stay. Raises ValidationError for what no file can say, or is no file of ours.
    """
    try:
        document, entries = keys.load(frontmatter.decode(raw))
        said = {one.key: tuple(one.value) if isinstance(one.value, list) else one.value for one in entries}
        nothing = {key: None if value else value for key, value in wanted.items()}
        values = edit.Values(said, dict(wanted), nothing, nothing)
        changed = edited(document, entries, values, edit.Form(tuple(wanted), _lines), None, MAX_NOTE)
        keys.load(changed.decode())
    except Problem as problem:
        raise ValidationError("file", f"The file cannot say that: {problem.message}.", problem.hint) from None
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


def _lines(key: str, value: Wanted) -> list[str]:
    if isinstance(value, str):
        return [f"{key}: {value if isinstance(value, Bare) else scalar(value)}"]
    return fields.lines(key, value, "tags")
