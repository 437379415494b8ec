"""What a person looks at to decide about an item of the queue: one or two sides, their texts compared word by word.

Made in a worker thread, drawn by the screen.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from engram.adapters.files.frontmatter import entity_file
from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.errors import EngramError, UsageError
from engram.domain.review import review
from engram.usecases.recording.resolve_conflict import take_version
from engram_tui.shell.sanitize import lines, words
from engram_tui.widgets.preview import since
from engram_tui.widgets.rows import bar, fraction
from engram_tui.widgets.word_marks import LEFT, MOST, RIGHT, differ, inline, side_by_side

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.review.review import Item
    from engram.usecases.recall.recall_preview import WouldAnswer

NEAR = 0.35  # cosine from which another lore is worth looking at beside
PAIRS = (review.CONTRADICTION, review.DUPLICATE)
COMPARED = (*PAIRS, review.CONFLICT)  # field by field, too
AT_ONCE = 10  # queries that are asked again before others get at the store
_FIELDS = ("category", "type", "tags", "context", "files", "entities", "status", "pinned")


class Side(NamedTuple):
    """One of the texts: what it is called, what is known of it in a line, and its text with what differs marked."""

    title: str
    facts: str
    text: Text


class Exhibit(NamedTuple):
    """An item with its sides (one or two), the lines under them, and the whole difference as one text."""

    item: Item
    sides: tuple[Side, ...]
    notes: tuple[str, ...]
    whole: Text


class Version(NamedTuple):
    """A lore as it is or could be, and what to call it."""

    name: str
    lore: Lore


def read_exhibit(store: Engram, item: Item, other: int = 0) -> Exhibit:
    """What is to be seen about an item; `other` chooses among the older lore of a group. Raises NotFoundError, StoreError."""
    now = store.store.clock.now().timestamp()
    if item.kind == review.PROBLEM:
        return _of_file(store, item)
    if item.kind == review.ENTITY:
        return _of_entity(store, item)
    left, right, notes = _versions(store, item, other)
    if right is None:
        text = Text(lines(left.lore.content)[:MOST])
        return Exhibit(item, (Side(left.name, facts(left.lore, now), text),), notes, _all_fields(left.lore))
    one, two = left.lore.content, right.lore.content
    marked = (
        side_by_side(one, two) if differ(one, two) else (Text(lines(one)[:MOST]), Text(lines(two)[:MOST]))
    )
    if item.kind in COMPARED:
        for text, lore, against in zip(marked, (left.lore, right.lore), (right.lore, left.lore), strict=True):
            text.append(_fields_apart(lore, against))
    sides = tuple(
        Side(version.name, facts(version.lore, now), text)
        for version, text in zip((left, right), marked, strict=True)
    )
    return Exhibit(item, sides, notes, _difference(left, right))


def read_use(lore_id: str, store: Engram) -> WouldAnswer:
    """Which past queries a lore answers, or would. Takes the store's lock for a moment at a time: it may take long."""
    from textual.worker import get_current_worker

    from engram.usecases.recall.recall_preview import MOST_QUERIES, WouldAnswer, answered
    from engram.usecases.recall.usage import latest_queries

    worker, found = get_current_worker(), list[str]()
    with store.store.lock:
        queries = latest_queries(store.store, MOST_QUERIES)
    for start in range(0, len(queries), AT_ONCE):
        if worker.is_cancelled:
            break
        with store.store.lock:
            found += answered(store.store, lore_id, queries[start : start + AT_ONCE])
    return WouldAnswer(lore_id, tuple(found), len(queries))


def versions_of(store: Engram, item: Item) -> list[Version]:
    """Every version that an item is about, the one that stays first: of a conflict what stands, else the oldest lore."""
    if item.kind == review.CONFLICT:
        lore = store.get(item.lore[0]).lore
        with contextlib.suppress(EngramError):  # a field that only an editor can settle
            other = take_version(lore, store.store.categories)
            if other is not None:
                return [Version("what stands", lore), Version(_who(lore), other)]
        return [Version("what stands", lore)]
    lore_of = [store.get(lore_id).lore for lore_id in item.lore]
    return [
        Version("older" if at == 0 else "newer" if len(lore_of) == 2 else f"newer {at}", lore)
        for at, lore in enumerate(lore_of)
    ]


def facts(lore: Lore, now: float) -> str:
    """What is known of a lore, in a line."""
    told = [lore.agent or "a person", *([] if lore.status == ACTIVE else [lore.status])]
    validated = f" ✓{lore.validation_count}" if lore.validation_count else ""
    told += [f"{bar(lore.thousandths, 4)} {fraction(lore.thousandths)}{validated}", lore.category]
    told.append(since(lore.created_at, now))
    return words(" · ".join(told))


def _versions(store: Engram, item: Item, other: int) -> tuple[Version, Version | None, tuple[str, ...]]:
    """What stands on the left, on the right, and further lines."""
    found = versions_of(store, item)
    if item.kind == review.CONFLICT:
        return found[0], found[1] if len(found) > 1 else None, item.evidence if len(found) == 1 else ()
    if item.kind in PAIRS:
        newest, older = found[-1], found[:-1]
        at = other % len(older)
        group = (f"{len(found)} lore are in this group; n shows the next of the {len(older)} older ones.",)
        return newest, older[at], group if len(older) > 1 else ()
    nearest = _nearest(store, found[0].lore)
    name = item.kind if item.kind in (review.PENDING, review.FOREIGN) else "this lore"
    return Version(name, found[0].lore), nearest, item.evidence


def _nearest(store: Engram, lore: Lore) -> Version | None:
    """The other lore that is most like this one, where one is alike at all."""
    with contextlib.suppress(EngramError):
        answer = store.query(lore.content, k=2, min_confidence=0, keep=False)
        for hit in answer.lore:
            if hit.lore.id != lore.id and (hit.score.cosine or 0) >= NEAR:
                return Version(
                    f"the most similar, cosine {fraction(round((hit.score.cosine or 0) * 1000))}", hit.lore
                )
    return None


def _of_file(store: Engram, item: Item) -> Exhibit:
    """A file that cannot be read as lore: as it is."""
    raw = store.store.files.read(item.paths[0])
    text = Text(lines(raw[:MOST].decode("utf-8", "replace")))
    return Exhibit(item, (Side(item.paths[0], f"{len(raw):,} bytes", text),), item.evidence, text)


def _of_entity(store: Engram, item: Item) -> Exhibit:
    """An entity as it stands, and as it would be with the other version of what two clones wrote."""
    stands, other = (_entity_text(store, item, decision) for decision in (review.ACCEPT, review.TAKE))
    path, name = item.paths[0], "the other version"
    if not other:
        return Exhibit(item, (Side(path, "what stands", Text(stands)),), item.evidence, Text(stands))
    sides = zip((path, name), ("what stands", ""), side_by_side(stands, other), strict=True)
    return Exhibit(item, tuple(Side(*side) for side in sides), (), inline(stands, other))


def _entity_text(store: Engram, item: Item, decision: str) -> str:
    """The file that a decision would make; "" where it goes, or only an editor can settle it."""
    with contextlib.suppress(UsageError):
        for entity in store.decide(item, decision, dry_run=True).entities.values():
            return lines(entity_file.write_new(entity, None).decode())[:MOST] if entity else ""
    return ""


def _who(lore: Lore) -> str:
    latest = max(lore.conflicts, key=lambda entry: entry.at)
    return f"the other version, by {latest.source or 'another clone'}"


def _shown(lore: Lore, name: str) -> str:
    value = getattr(lore, name)
    return words(" / ".join(value) if isinstance(value, tuple) else str(value))


def _fields_apart(lore: Lore, other: Lore) -> str:
    apart = [name for name in _FIELDS if getattr(lore, name) != getattr(other, name)]
    return (
        "".join(["\n", *(f"\n{name}  {_shown(lore, name) or '(none)'}" for name in apart)]) if apart else ""
    )


def _all_fields(lore: Lore) -> Text:
    fields = [f"{name}  {_shown(lore, name)}" for name in _FIELDS if getattr(lore, name)]
    return Text("\n".join([lines(lore.content), "", *fields, f"id  {lore.id}"]))


def _difference(left: Version, right: Version) -> Text:
    """Both versions as one text: what only the left says underlined, what only the right says reversed."""
    found = Text(f"{words(left.name)}: bold and underlined.  {words(right.name)}: reversed.\n\n", style="")
    one, other = left.lore.content, right.lore.content
    if differ(one, other):
        found.append_text(inline(one, other))
    else:  # hardly a word in common: mixed, nobody could read them
        found.append(lines(one)[:MOST], LEFT)
        found.append("\n\n")
        found.append(lines(other)[:MOST], RIGHT)
    found.append("\n")
    for name in _FIELDS:
        one, other = _shown(left.lore, name), _shown(right.lore, name)
        if one or other:
            found.append(f"\n{name}  ")
            found.append_text(inline(one, other))
    return found
