"""What is recorded although it is there already: no second entry, but a confirmation of the first by whoever said it."""

from __future__ import annotations

from engram.domain.entry.lore import ACTIVE, ARCHIVED, PENDING, SUPERSEDED, Lore
from engram.domain.errors import NotAllowedError
from engram.domain.similarity.deduplicate import fold, sources_of
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.similarity.near_duplicates import There, replacement_of
from engram.usecases.store import entry_writer, judgements

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.usecases.store.store import Store

EXPIRED = "expired"


class Known(NamedTuple):
    """An entry that was recorded again, as it is now.

    `confirmed` says whether that counted as a confirmation, `was` with which status it was out of use before (archived,
    superseded, pending or expired; "" for none), `replaced_by` which entry superseded it and still does.
    """

    lore: Lore
    path: str
    confirmed: bool
    was: str = ""
    replaced_by: Lore | None = None


def confirm(
    store: Store, there: There, again: Lore, over: Collection[str] = (), *, is_named: bool = False
) -> Known:
    """Count that `again` says what an entry says, and add what is new in its lists to the entry.

    `again` has the status with which it would have been recorded: what is out of use comes back with it, unless another
    entry (but those of `over`) superseded it. If its id `is_named` by whoever sent it, the entry answers to that id, too.
    Raises StoreError, ConflictError.
    """
    before = there.lore
    was = _out_of_use(store, before)
    instead = replacement_of(store, before.id) if was == SUPERSEDED else None
    if instead is not None and instead.id not in over:
        return Known(before, there.path, confirmed=False, was=was, replaced_by=instead)
    client = again.sources[0] if again.sources else ""
    confirmed = False
    if client and client not in sources_of(before) and _may_judge(store, there.path):
        confirmed = judgements.confirm_for(store, before, client)
    if is_named and again.id != before.id:
        again = again._replace(merged_from=(again.id,))
    after = _revive(before, again, was)
    if after != before:
        subject = f"record: {before.title} (again)"
        changed = entry_writer.update(
            store, there.path, before.id, lambda lore: _revive(lore, again, was), subject
        )
        after = changed.after
    if not client:
        confirmed = _may_judge(store, there.path) and judgements.confirm(store, after, again.agent)
    return Known(judgements.with_tally(store, after), there.path, confirmed, was)


def _out_of_use(store: Store, lore: Lore) -> str:
    if lore.status != ACTIVE:
        return lore.status
    return EXPIRED if lore.expires_at is not None and lore.expires_at <= store.clock.now() else ""


def _revive(before: Lore, again: Lore, was: str) -> Lore:
    """Return the entry with what `again` adds, in use again if it was not."""
    folded = fold(
        before, again._replace(relations=tuple(one for one in again.relations if one.id != before.id))
    )
    merged = tuple(dict.fromkeys([*before.merged_from, *again.merged_from]))
    sources = tuple(dict.fromkeys([*sources_of(before), *again.sources])) if again.sources else before.sources
    after = before if folded is None else folded._replace(
        merged_from=merged, sources=sources, created_at=before.created_at, updated_at=before.updated_at
    )  # fmt: skip
    if was in (ARCHIVED, SUPERSEDED) or (was == PENDING and again.status == ACTIVE):
        after = after._replace(status=again.status)
    return after._replace(expires_at=again.expires_at) if was == EXPIRED else after


def _may_judge(store: Store, path: str) -> bool:
    try:
        entry_writer.check_allowed(store, "judge", path=path)
    except NotAllowedError:
        return False
    return True
