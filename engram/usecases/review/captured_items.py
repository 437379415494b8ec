"""Captured entries in the review queue: items of kind `pending` without a file; accepting one makes it an ordinary entry."""

from __future__ import annotations

from engram.domain.entry import times
from engram.domain.entry.lore import ACTIVE, ARCHIVED, Lore, check
from engram.domain.entry.people import byline
from engram.domain.errors import NotFoundError
from engram.domain.review import priority, review
from engram.domain.review.review import Item, item_id
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.admission import credit
from engram.usecases.store import captured, entry_writer, judgements

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def is_captured(item: Item) -> bool:
    """Return whether an item is about a captured entry."""
    return item.kind == review.PENDING and bool(item.lore) and not item.paths


def find_captured(store: Store) -> list[Item]:
    """Return an item for each captured entry, newest first."""
    return [_item(store, lore) for lore in captured.lessons(store)]


def _item(store: Store, lore: Lore) -> Item:
    age = captured.describe_age(lore, store.clock.now())
    expiry = f"{lore.expires_at:%Y-%m-%d}" if lore.expires_at else "never"
    why = f"{age.capitalize()} by {byline(lore.agent or 'an agent', lore.author)}, private to this clone; expires on {expiry}."
    asked = [text for text in lore.context if text.startswith(captured.ASKED)]
    return Item(
        item_id(review.PENDING, [lore.id]), review.PENDING, (lore.id,), (), lore.title, why, review.ACCEPT,
        tuple(filter(str.strip, (*lore.content.splitlines()[1:], *asked))), agent=lore.agent or "", author=lore.author,
        mark=captured.ORIGIN, titles=(lore.title,), at=lore.created_at.timestamp(),
        worth=priority.LEAST_WORTH[review.PENDING], certainty=priority.CERTAINTY[review.PENDING],
    )  # fmt: skip


def captured_entry(store: Store, item: Item) -> Lore:
    """Return the entry that an item is about. Raises NotFoundError if it has expired."""
    lore = captured.find(store, item.lore[0])
    if lore is None:
        raise NotFoundError(
            "The captured entry has expired or was decided about.", "Reload the review queue."
        )
    return lore


def decided_entry(store: Store, item: Item, decision: str) -> Lore | None:
    """Return the ordinary entry that a decision makes; None if it makes none. Raises NotFoundError."""
    lore = captured_entry(store, item)
    if decision not in (review.ACCEPT, review.ARCHIVE):
        return None
    context = tuple(text for text in lore.context if not text.startswith(captured.CONTEXT))
    status = ACTIVE if decision == review.ACCEPT else ARCHIVED
    stamp = times.after(store.clock.now(), lore.updated_at)
    return lore._replace(status=status, expires_at=None, context=context, updated_at=stamp)


def decide_captured(store: Store, item: Item, decision: str, result: Lore | None) -> dict[str, Lore | None]:
    """Write the entry that a decision makes, or `result` in its place; set a rejected one aside until it expires.

    Returns the written entry by id. Raises NotFoundError, ValidationError, NotAllowedError, StoreError.
    """
    lore = decided_entry(store, item, decision)
    if lore is None:
        store.state.put_aside(item.id, item.mark, None)
        return {}
    if result is not None:
        lore = result._replace(id=lore.id, status=lore.status, expires_at=None, updated_at=lore.updated_at)
    check(lore, store.categories)
    entry_writer.check_allowed(store, "record", lore.category)
    _, operation = entry_writer.create(store, lore, f"review: {decision} captured: {lore.title}")
    entry_writer.write(store, [operation])
    captured.drop(store, lore.id)
    lore = judgements.with_tally(store, lore)
    if decision == review.ACCEPT:
        credit.confirm(store, lore)
    return {lore.id: lore}
