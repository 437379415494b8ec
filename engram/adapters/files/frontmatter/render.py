"""One field of an entry as the lines of its file: the canonical form, kept small in diffs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engram.adapters.files.frontmatter.scalars import is_readable, scalar
from engram.domain.entry import times
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from engram.domain.entry.confidence import Vote
    from engram.domain.entry.lore import Conflict, Relation


def lines(key: str, value: Any) -> list[str]:
    """Return the lines of one key, without line ends; `value` in the file form of `fields`."""
    return WRITERS[key](key, value)


def _text(key: str, value: str) -> list[str]:
    return [f"{key}: {scalar(value)}"]


def _bare(key: str, value: object) -> list[str]:
    return [f"{key}: {value}"]


def _flag(key: str, value: bool) -> list[str]:
    return [f"{key}: {'true' if value else 'false'}"]


def _time(key: str, value: datetime) -> list[str]:
    return [f"{key}: {times.render(value)}"]


def _prior(key: str, value: int) -> list[str]:
    sign, size = ("-", -value) if value < 0 else ("", value)
    text = f"{size // 1000}.{size % 1000:03d}"
    return [f"{key}: {sign}{text[:-1] if text[-1] == '0' else text}"]


def _votes(key: str, value: Mapping[str, Vote]) -> list[str]:
    found = [
        f"{scalar(clone, flow=True)}: {{up: {vote.up}, down: {vote.down}, n: {vote.n}}}"
        for clone, vote in sorted(value.items())
    ]
    return [f"{key}: {{{', '.join(found)}}}"]


def _words(key: str, value: tuple[str, ...]) -> list[str]:
    return [f"{key}: [{', '.join([scalar(word, flow=True) for word in value])}]"]


def _relations(key: str, value: tuple[Relation, ...]) -> list[str]:
    found = [f"{{kind: {relation.kind}, id: {scalar(relation.id, flow=True)}}}" for relation in value]
    return [f"{key}: [{', '.join(found)}]"]


def _context(key: str, value: tuple[str, ...]) -> list[str]:
    if len(value) == 1:
        return block(f"{key}: ", value[0], 2)
    found = [f"{key}:"]
    for text in value:
        found += block("  - ", text, 4)
    return found


def _conflicts(key: str, value: tuple[Conflict, ...]) -> list[str]:
    found = [f"{key}:"]
    for conflict in value:
        found.append(f"  - field: {scalar(conflict.field)}")
        found += block("    value: ", conflict.value, 6)
        found.append(f"    from: {scalar(conflict.source)}")
        found.append(f"    at: {scalar(conflict.at)}")
    return found


def block(prefix: str, text: str, margin: int) -> list[str]:
    """Return a text after `prefix`: on one line, or as a literal block at column `margin` where it has several."""
    if not _fits_block(text):
        return [prefix + scalar(text)]
    # A first line that begins blank would be taken for the margin: say the margin.
    header = "|" + ("2" if text[0].isspace() else "") + ("" if text[-1] == "\n" else "-")
    blanks = " " * margin
    body = text.removesuffix("\n").split("\n")
    return [prefix + header, *[blanks + line if line else "" for line in body]]


def _fits_block(text: str) -> bool:
    """Return whether a literal block says exactly this text: several lines, the last not blank, nothing unsafe."""
    if "\n" not in text or text.endswith("\n\n") or not is_readable(text):
        return False
    return bool(text.removesuffix("\n").rsplit("\n", 1)[-1].strip())


WRITERS: dict[str, Callable[[str, Any], list[str]]] = {
    "id": _text,
    "category": _text,
    "type": _text,
    "status": _text,
    "confidence": _bare,
    "prior": _prior,
    "votes": _votes,
    "validation_count": _bare,
    "last_validated": _time,
    "context": _context,
    "tags": _words,
    "files": _words,
    "entities": _words,
    "relations": _relations,
    "merged_from": _words,
    "importance": _bare,
    "pinned": _flag,
    "expires_at": _time,
    "agent": _text,
    "source_id": _text,
    "sources": _words,
    "created_at": _time,
    "updated_at": _time,
    "conflicts": _conflicts,
}
