"""Parse the keys of any frontmatter: Engram's own form without a YAML library, others from PyYAML's events.

Events, not nodes: PyYAML's C composer recurses and crashes the process on 30,000 nested `[`, and aliases
can expand without bound. Here depth is counted, and anchors, aliases and tags are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engram.adapters.files.frontmatter.canonical import canonical_entries
from engram.adapters.files.frontmatter.frontmatter import (
    FIRST_LINE,
    UNSAFE,
    Document,
    KeyEntry,
    Problem,
    check_size,
    comment_of,
    split,
)
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from engram.adapters.files.frontmatter.frontmatter import Value

MAX_DEPTH = 8
_QUOTES_HINT = (
    'Put "double quotes" around a value that holds `: ` or ` #` or starts with a special character.'
)
_PLAIN_HINT = "Write one plain `key: value` on each line; Engram reads no anchors, aliases or tags."
_KEY_LINE = r"(?m)^[\w\"'{-][^:\n]*:(?:\s|$)"
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


def load(text: str) -> tuple[Document, list[KeyEntry]]:
    """Split a file and parse the keys of its frontmatter. Raises Problem."""
    document = split(text)
    if not document.opening:
        return document, []
    check_size(document.block)
    try:
        entries = _parse_block(document.block)
    except Problem:
        # Prose between two horizontal rules is not valid YAML, but has no line like a key.
        if re.search(_KEY_LINE, document.block):
            raise
        entries = None
    return (document, entries) if entries is not None else (_as_body(document), [])


def _parse_block(block: str) -> list[KeyEntry] | None:
    text = block.replace("\r\n", "\n") if "\r" in block else block
    entries = canonical_entries(text)
    return entries if entries is not None else parse(text)


def _as_body(document: Document) -> Document:
    body = document.opening + document.block + document.closing + document.body
    return Document(document.bom, "", "", "", body)


def parse(text: str) -> list[KeyEntry] | None:
    """Return the top-level keys of a frontmatter; None if it is text or a list, not a mapping.

    The lines of `text` end in line feeds. Raises Problem.
    """
    import yaml

    _refuse_unsafe(text)
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return _Builder(yaml.parse(text, Loader=loader), text.split("\n")).entries()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + FIRST_LINE if mark else FIRST_LINE
        raise Problem(line, f"the frontmatter is not YAML: {error.problem}", _QUOTES_HINT) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise Problem(FIRST_LINE, f"the frontmatter is not YAML: {reason}", _QUOTES_HINT) from None


def _refuse_unsafe(text: str) -> None:
    """Raise Problem for characters that YAML does not allow, or treats as line breaks although editors do not."""
    found = re.search(UNSAFE, text)
    if found:
        line = text.count("\n", 0, found.start()) + FIRST_LINE
        code = f"U+{ord(found.group()):04X}"
        hint = f"Remove it, or write it as \\u{ord(found.group()):04x} inside double quotes."
        raise Problem(line, f"the frontmatter holds the invisible character {code}", hint)


class _Builder:
    """Builds key entries from events, tracking where the last value ended."""

    def __init__(self, events: Iterator[Any], lines: list[str]) -> None:
        import yaml

        self._yaml: Any = yaml
        self._events = events
        self._lines = lines
        self._end_line = 0
        self._end_column = 0

    def entries(self) -> list[KeyEntry] | None:
        """Return the keys of the frontmatter; None if it is not a mapping. Raises Problem."""
        self._next()
        start = self._next()
        if isinstance(start, self._yaml.StreamEndEvent):
            return []
        root = self._next()
        if not isinstance(root, self._yaml.MappingStartEvent):
            self._value(root, 0)
            self._check_end()
            return None
        if root.flow_style:
            raise Problem(_line(root), "the frontmatter is one {…} mapping", _PLAIN_HINT)
        entries = self._mapping_entries(root.start_mark.column)
        self._check_end()
        return entries

    def _mapping_entries(self, column: int) -> list[KeyEntry]:
        entries: list[KeyEntry] = []
        seen: dict[str, int] = {}
        while not isinstance(event := self._next(), self._yaml.MappingEndEvent):
            if not isinstance(event, self._yaml.ScalarEvent) or event.start_mark.column != column:
                raise Problem(_line(event), "a key of the frontmatter is not a plain word", _PLAIN_HINT)
            key, start = self._scalar(event), event.start_mark.line
            if key in seen:
                message = f"the key '{key}' appears twice (first on line {seen[key] + FIRST_LINE})"
                raise Problem(start + FIRST_LINE, message, "Keep one of the two lines.")
            seen[key] = start
            # An empty item (`- ?`) is reported at the position of the next key.
            if entries and entries[-1].end > start:
                entries[-1] = entries[-1]._replace(end=start)
            value = self._value(self._next(), 0)
            entries.append(KeyEntry(key, value, start, self._end_line, self._comment(start)))
        return entries

    def _comment(self, start: int) -> str:
        if self._end_line != start + 1 or self._end_column < 0:
            return ""
        return comment_of(self._lines[start][self._end_column :])

    def _value(self, event: Any, depth: int) -> Value:
        if isinstance(event, self._yaml.ScalarEvent):
            return self._scalar(event)
        if depth >= MAX_DEPTH:
            raise Problem(
                _line(event), f"the frontmatter is nested deeper than {MAX_DEPTH} levels", _PLAIN_HINT
            )
        if isinstance(event, self._yaml.SequenceStartEvent):
            return self._sequence(depth + 1)
        return self._mapping(depth + 1)

    def _sequence(self, depth: int) -> list[Value]:
        items: list[Value] = []
        while not isinstance(event := self._next(), self._yaml.SequenceEndEvent):
            items.append(self._value(event, depth))
        self._close_value(event)
        return items

    def _mapping(self, depth: int) -> dict[str, Value]:
        mapping: dict[str, Value] = {}
        while not isinstance(event := self._next(), self._yaml.MappingEndEvent):
            if not isinstance(event, self._yaml.ScalarEvent):
                raise Problem(_line(event), "a key inside a value is not a plain word", _PLAIN_HINT)
            key = self._scalar(event)
            if key in mapping:
                raise Problem(_line(event), f"the key '{key}' appears twice", "Keep one of the two.")
            mapping[key] = self._value(self._next(), depth)
        self._close_value(event)
        return mapping

    def _close_value(self, event: Any) -> None:
        """Record the end of a flow collection. That of a block collection is where the next token starts."""
        if event.end_mark.column > event.start_mark.column:
            self._end_line, self._end_column = event.end_mark.line + 1, event.end_mark.column

    def _scalar(self, event: Any) -> str:
        text: str = event.value
        if _NOT_TEXT.search(text):
            raise Problem(
                _line(event), "a value contains a NUL or half of a surrogate pair", "Remove the escape."
            )
        mark = event.end_mark
        if event.style in ("|", ">"):
            self._end_line, self._end_column = self._block_end(event), -1
        else:
            self._end_line, self._end_column = mark.line + 1, mark.column
        return text

    def _block_end(self, event: Any) -> int:
        """Return the line after a block scalar, which includes trailing empty lines only with `+`."""
        start, end = event.start_mark, int(event.end_mark.line)
        header = self._lines[start.line][start.column :].split(" ", 1)[0]
        while "+" not in header and end > start.line + 1 and not self._lines[end - 1]:
            end -= 1
        return max(end, int(start.line) + 1)

    def _next(self) -> Any:
        event: Any = next(self._events)
        if isinstance(event, self._yaml.AliasEvent) or getattr(event, "anchor", None):
            raise Problem(_line(event), "the frontmatter has an anchor or alias (& or *)", _PLAIN_HINT)
        if getattr(event, "tag", None):
            raise Problem(_line(event), f"the frontmatter has a tag ({event.tag})", _PLAIN_HINT)
        return event

    def _check_end(self) -> None:
        """Raise Problem for a document end marker or a second document."""
        end = self._next()
        if end.explicit or not isinstance(self._next(), self._yaml.StreamEndEvent):
            raise Problem(_line(end), "the frontmatter ends in the middle (`...`)", "Remove that line.")


def _line(event: Any) -> int:
    return int(event.start_mark.line) + FIRST_LINE
