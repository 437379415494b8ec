"""Read the details of an item in the Inbox: one or two sides, their texts compared word by word.

It is called from worker threads; the screen draws the result.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text

from engram.adapters.files.frontmatter import entity_file
from engram.domain.entry import times
from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.entry.people import byline
from engram.domain.errors import EngramError, UsageError
from engram.domain.review import review
from engram.domain.text.counted_nouns import elapsed
from engram.domain.text.drawing import gauge
from engram.usecases.review.proposal_items import proposal_name
from engram_tui.inbox.format import PAIRS
from engram_tui.inbox.versions import Version, versions_of
from engram_tui.shell.sanitize import safe_line, safe_lines
from engram_tui.widgets.format import fraction, short_category
from engram_tui.widgets.word_marks import LEFT, MAX_CHARACTERS, RIGHT, are_similar, mark_both, merge_marked

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.review.review import Item
    from engram.usecases.recall.recall_preview import WouldAnswer

MIN_COSINE = 0.35  # from which another entry is shown for comparison
WITH_FIELDS = (*PAIRS, review.CONFLICT)  # kinds whose differing fields are shown below the texts
DECISION_SIGNS = {"accept": "✓", "reject": "✗", "": "·"}  # for an entry of a proposal
REPLAY_BATCH = 10  # queries that are replayed before others get the store's lock
_FIELDS = ("category", "type", "tags", "context", "files", "entities", "when", "status", "pinned")


class Side(NamedTuple):
    """One side: its title, its facts in a line, and its text with the differences marked."""

    title: str
    facts: str
    text: Text


class ItemDetails(NamedTuple):
    """An item with its sides (one or two), the notes under them, and the whole difference as one text."""

    item: Item
    sides: tuple[Side, ...]
    notes: tuple[str, ...]
    difference: Text


def read_details(store: Engram, item: Item, other: int = 0) -> ItemDetails:
    """Read the details of an item; `other` is the index of an older entry of a group. Raises NotFoundError, StoreError."""
    now = store.store.clock.now().timestamp()
    if item.kind == review.PROBLEM:
        return _read_file(store, item)
    if item.kind == review.ENTITY:
        return _read_entity(store, item)
    if item.kind == review.PROPOSAL:
        return _read_proposal(store, item)
    left, right, notes = _sides(store, item, other)
    if right is None:
        text = Text(safe_lines(left.lore.content)[:MAX_CHARACTERS])
        return ItemDetails(item, (Side(left.name, facts(left, now), text),), notes, _all_fields(left.lore))
    contents = left.lore.content, right.lore.content
    marked = (
        mark_both(*contents)
        if are_similar(*contents)
        else tuple(Text(safe_lines(content)[:MAX_CHARACTERS]) for content in contents)
    )
    if item.kind in WITH_FIELDS:
        for text, lore, other_lore in zip(
            marked, (left.lore, right.lore), (right.lore, left.lore), strict=True
        ):
            text.append(_differing_fields(lore, other_lore))
    sides = tuple(
        Side(version.title if version.by else version.name, facts(version, now), text)
        for version, text in zip((left, right), marked, strict=True)
    )
    return ItemDetails(item, sides, notes, _difference(left, right))


def read_usefulness(entry_id: str, store: Engram) -> WouldAnswer:
    """Find out which past queries an entry answers, or would. It takes long, and holds the store's lock batch by batch."""
    from textual.worker import get_current_worker

    from engram.usecases.recall.recall_preview import MOST_QUERIES, WouldAnswer, answered_queries
    from engram.usecases.recall.usage import latest_queries

    worker, found = get_current_worker(), list[str]()
    with store.store.lock:
        queries = latest_queries(store.store, MOST_QUERIES)
    for start in range(0, len(queries), REPLAY_BATCH):
        if worker.is_cancelled:
            break
        with store.store.lock:
            found += answered_queries(store.store, entry_id, queries[start : start + REPLAY_BATCH])
    return WouldAnswer(entry_id, tuple(found), len(queries))


def facts(version: Version, now: float) -> str:
    """Format the facts of a version in a line, with the age of the version if it is known, else of the entry."""
    lore = version.lore
    parts = [
        *([] if version.by else [byline(lore.agent, lore.author)]),
        *([] if lore.status == ACTIVE else [lore.status]),
    ]
    validated = f" ✓{lore.validation_count}" if lore.validation_count else ""
    parts += [
        f"{gauge(lore.confidence, 4)} {fraction(lore.thousandths)}{validated}",
        short_category(lore.category),
    ]
    at = lore.created_at
    with contextlib.suppress(ValueError):  # `version.at` may be ""
        at = times.parse(version.at)
    parts.append(elapsed(now - at.timestamp()))
    return safe_line(" · ".join(parts))


def _sides(store: Engram, item: Item, other: int) -> tuple[Version, Version | None, tuple[str, ...]]:
    """Return the version on the left, the one on the right, and notes."""
    found = versions_of(store, item)
    if item.kind == review.CONFLICT:
        return found[0], found[1] if len(found) > 1 else None, item.evidence if len(found) == 1 else ()
    if item.kind in PAIRS:
        newest, older = found[-1], found[:-1]
        group = (f"{len(found)} entries are in this group; ] shows the next of the {len(older)} older ones.",)
        return newest, older[other % len(older)], group if len(older) > 1 else ()
    nearest = _find_nearest(store, found[0].lore)
    name = item.kind if item.kind in (review.PENDING, review.FOREIGN) and not item.claims else "this entry"
    return Version(name, found[0].lore), nearest, item.evidence if item.paths else ()  # else the text has it


def _find_nearest(store: Engram, lore: Lore) -> Version | None:
    """Return the most similar other entry, if it is similar enough."""
    with contextlib.suppress(EngramError):
        answer = store.query(lore.content, k=2, min_confidence=0, keep=False)
        for hit in answer.lore:
            cosine = hit.score.cosine or 0
            if hit.lore.id != lore.id and cosine >= MIN_COSINE:
                return Version(f"the most similar, cosine {fraction(round(cosine * 1000))}", hit.lore)
    return None


def _read_file(store: Engram, item: Item) -> ItemDetails:
    """Read a file that is no valid entry, as it is."""
    raw = store.store.files.read(item.paths[0])
    text = Text(safe_lines(raw[:MAX_CHARACTERS].decode("utf-8", "replace")))
    return ItemDetails(item, (Side(item.paths[0], f"{len(raw):,} bytes", text),), item.evidence, text)


def _read_proposal(store: Engram, item: Item) -> ItemDetails:
    """Read the entries of a proposal, and the decisions about them so far."""
    found = store.proposal(proposal_name(store.store, item), fetch=False)
    text = Text("\n").join(
        Text(
            f"{DECISION_SIGNS[entry.decision]} {safe_line(entry.title)}\n"
            f"    {safe_line(entry.phrase)} · {safe_line(entry.who)}"
        )
        for entry in found.entries
    )
    left = len(found.undecided)
    facts = f"{found.about.author} · {len(found.entries) - left} of {len(found.entries)} decided"
    return ItemDetails(item, (Side(found.about.branch, safe_line(facts), text),), (), text)


def _read_entity(store: Engram, item: Item) -> ItemDetails:
    """Read an entity as it is, and as it would be with the other version of a dispute."""
    current, other = (_entity_text(store, item, decision) for decision in (review.ACCEPT, review.TAKE))
    path, name = item.paths[0], "other version"
    if not other:
        return ItemDetails(
            item, (Side(path, "current version", Text(current)),), item.evidence, Text(current)
        )
    sides = zip((path, name), ("current version", ""), mark_both(current, other), strict=True)
    return ItemDetails(item, tuple(Side(*side) for side in sides), (), merge_marked(current, other))


def _entity_text(store: Engram, item: Item, decision: str) -> str:
    """Return the file that a decision would write; "" if it deletes it, or if only an editor can resolve it."""
    with contextlib.suppress(UsageError):
        for entity in store.decide(item, decision, dry_run=True).entities.values():
            return safe_lines(entity_file.write_new(entity, None).decode())[:MAX_CHARACTERS] if entity else ""
    return ""


def _field_text(lore: Lore, name: str) -> str:
    value = getattr(lore, name)
    return safe_line(
        " / ".join(value) if isinstance(value, tuple) else "yes" if value is True else value or ""
    )


def _differing_fields(lore: Lore, other: Lore) -> str:
    names = [name for name in _FIELDS if getattr(lore, name) != getattr(other, name)]
    return (
        "".join(["\n", *(f"\n{name}  {_field_text(lore, name) or '(none)'}" for name in names)])
        if names
        else ""
    )


def _all_fields(lore: Lore) -> Text:
    fields = [f"{name}  {_field_text(lore, name)}" for name in _FIELDS if getattr(lore, name)]
    return Text("\n".join([safe_lines(lore.content), "", *fields, f"id  {lore.id}"]))


def _difference(left: Version, right: Version) -> Text:
    """Format both versions as one text: what only the left has is underlined, what only the right has is reversed."""
    found = Text(
        f"{safe_line(left.name)}: bold and underlined.  {safe_line(right.name)}: reversed.\n\n", style=""
    )
    contents = left.lore.content, right.lore.content
    if are_similar(*contents):
        found.append_text(merge_marked(*contents))
    else:  # hardly a word in common: unreadable when mixed
        found.append(safe_lines(contents[0])[:MAX_CHARACTERS], LEFT)
        found.append("\n\n")
        found.append(safe_lines(contents[1])[:MAX_CHARACTERS], RIGHT)
    found.append("\n")
    for name in _FIELDS:
        values = _field_text(left.lore, name), _field_text(right.lore, name)
        if any(values):
            found.append(f"\n{name}  ")
            found.append_text(merge_marked(*values))
    return found
