"""Keys of a file that are not fields of an entry, such as those of a session's summary, one a line.

All other bytes of the file stay unchanged.
"""

from __future__ import annotations

from engram.adapters.files.frontmatter import edit, fields, frontmatter, keys
from engram.adapters.files.frontmatter.codec import apply_edit
from engram.adapters.files.frontmatter.frontmatter import Bare, Problem, scalar
from engram.domain.entry.lore import MAX_NOTE
from engram.domain.errors import LoreFileError, ValidationError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.files.frontmatter.frontmatter import KeyEntry, Value

    Wanted = str | tuple[str, ...]


def read(raw: bytes, path: str) -> tuple[dict[str, Value], str]:
    """Return the values in a file's frontmatter by key (unquoted ones as `Bare`), and its text. Raises LoreFileError."""
    try:
        document, entries = keys.load(frontmatter.decode(raw))
    except Problem as problem:
        raise LoreFileError(path, problem.line, problem.message, problem.hint) from None
    lines = document.block.splitlines()
    return {entry.key: _value(entry, lines) for entry in entries}, frontmatter.normalise(document.body)


def with_keys(raw: bytes, wanted: Mapping[str, Wanted]) -> bytes:
    """Return the file with these values; an empty value removes its key. Lines of keys that have them already stay.

    Raises ValidationError if the file cannot be parsed or cannot hold the values.
    """
    try:
        document, entries = keys.load(frontmatter.decode(raw))
        current = {
            entry.key: tuple(entry.value) if isinstance(entry.value, list) else entry.value
            for entry in entries
        }
        left_out = {key: None if value else value for key, value in wanted.items()}
        values = edit.Values(current, dict(wanted), left_out, left_out)
        changed = apply_edit(document, entries, values, edit.Form(tuple(wanted), _lines), None, MAX_NOTE)
        keys.load(changed.decode())
    except Problem as problem:
        raise ValidationError("file", f"The file cannot say that: {problem.message}.", problem.hint) from None
    return changed


def text_of(value: object) -> str:
    """Return a value that should be a text; "" for any other."""
    return value if isinstance(value, str) else ""


def words_of(value: object) -> tuple[str, ...]:
    """Return the texts in a value that should be a list of them; a single text is a list of one."""
    items: Sequence[object] = value if isinstance(value, list | tuple) else [value]
    return tuple(item for item in items if isinstance(item, str) and item)


def _value(entry: KeyEntry, lines: Sequence[str]) -> Value:
    value = entry.value
    is_bare = isinstance(value, str) and lines[entry.start].rstrip() == f"{entry.key}: {value}"
    return Bare(value) if is_bare else value


def _lines(key: str, value: Wanted) -> list[str]:
    if isinstance(value, str):
        return [f"{key}: {value if isinstance(value, Bare) else scalar(value)}"]
    return fields.lines(key, value, "tags")
