"""Confirm an existing entry instead of recording the same again."""

from __future__ import annotations

from engram.domain.entry.lore import ACTIVE, ARCHIVED, PENDING, SUPERSEDED, Lore
from engram.domain.errors import NotAllowedError
from engram.domain.similarity.deduplicate import fold, sources_of
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.similarity.near_duplicates import ExistingEntry, find_replacement
from engram.usecases.store import entry_writer, judgements

if TYPE_CHECKING:
    from collections.abc import Collection

    from engram.usecases.store.store import Store

EXPIRED = "expired"


class Known(NamedTuple):
    """An entry that was recorded again, as it is now.

    `confirmed` says whether that counted as a confirmation. `was` is the status in which it was out of use before
    (archived, superseded, pending or expired; else ""), `replaced_by` the active entry that supersedes it.
    """

    lore: Lore
    path: str
    confirmed: bool
    was: str = ""
    replaced_by: Lore | None = None


def confirm(
    store: Store, existing: ExistingEntry, again: Lore, over: Collection[str] = (), *, is_named: bool = False
) -> Known:
    """Count `again` as a confirmation of an entry that says the same, and add what is new in its lists to the entry.

    `again` has the status with which it would have been recorded; an entry out of use gets that status, unless another
    entry (but those of `over`) superseded it. If the sender chose the id of `again` (`is_named`), the entry answers to
    that id, too. Raises StoreError, ConflictError.
    """
    before = existing.lore
    was = _out_of_use(store, before)
    replacement = find_replacement(store, before.id) if was == SUPERSEDED else None
    if replacement is not None and replacement.id not in over:
        return Known(before, existing.path, confirmed=False, was=was, replaced_by=replacement)
    client = again.sources[0] if again.sources else ""
    confirmed = False
    if client and client not in sources_of(before) and _may_judge(store, existing.path):
        confirmed = judgements.confirm_for(store, before, client)
    if is_named and again.id != before.id:
        again = again._replace(merged_from=(again.id,))
    after = _revive(before, again, was)
    if after != before:
        subject = f"record: {before.title} (again)"
        changed = entry_writer.update(
            store, existing.path, before.id, lambda lore: _revive(lore, again, was), subject
        )
        after = changed.after
    if not client:
        confirmed = _may_judge(store, existing.path) and judgements.confirm(store, after, again.agent)
    return Known(judgements.with_tally(store, after), existing.path, confirmed, was)


def _out_of_use(store: Store, lore: Lore) -> str:
    if lore.status != ACTIVE:
        return lore.status
    return EXPIRED if lore.expires_at is not None and lore.expires_at <= store.clock.now() else ""


def _revive(before: Lore, again: Lore, was: str) -> Lore:
    """Return the entry with the additions of `again`, and in use again."""
    folded = fold(
        before, again._replace(relations=tuple(link for link in again.relations if link.id != before.id))
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
