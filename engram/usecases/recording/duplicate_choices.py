"""The choices about an entry similar to a new one: it says the same, or the new one supersedes it."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.domain.entry import times
from engram.domain.entry.lore import SUPERSEDED, Lore
from engram.domain.errors import UsageError
from engram.domain.similarity.claims import stems_in
from engram.domain.similarity.deduplicate import fold
from engram.domain.similarity.equivalence import CONTRADICTION, compare
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.lookup.resolve import resolve
from engram.usecases.similarity.near_duplicates import ExistingEntry
from engram.usecases.store import entry_writer
from engram.usecases.store.quarantine import is_quarantined

_MIN_SHARED_WORDS = 0.8  # of the longer text: with less in common, the same may be said in other words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store


def resolve_entries(store: Store, names: Sequence[str]) -> list[ExistingEntry]:
    """Return the entries of this store named by ref, id, id prefix or words.

    Raises NotFoundError, AmbiguousError, UsageError for an entry of another store or in quarantine.
    """
    entries: dict[str, ExistingEntry] = {}
    for name in names:
        found = resolve(store, name)
        if found.store.places.root != store.places.root:
            other, scope = found.store.places.scope, store.places.scope
            raise UsageError(
                f"{name} is in the scope {other}, and this would be recorded in {scope}.",
                f"Record it with the scope {other}.",
            )
        lore = entry_writer.load(store, found.path).lore
        if is_quarantined(store, lore):
            raise UsageError(
                f"{found.id} is quarantined.", f"Review it first: engram trust accept {found.id}"
            )
        entries[found.id] = ExistingEntry(lore, found.path)
    return list(entries.values())


def refuse_contradiction(lore: Lore, other: Lore) -> None:
    """Raise UsageError if two texts cannot say the same, as numbers, negations or opposites differ.

    Texts that share few words are left to the caller: a negation in one of them need not contradict the other.
    """
    verdict = compare(lore.content, other.content)
    mine, theirs = stems_in(lore.content), stems_in(other.content)
    if verdict.kind == CONTRADICTION and len(mine & theirs) >= _MIN_SHARED_WORDS * max(
        len(mine), len(theirs)
    ):
        raise UsageError(
            f"{other.id} does not say the same: {verdict.why}.",
            "Record it with supersedes, or with neither same_as nor supersedes.",
        )


def mark_superseded(store: Store, entries: Sequence[ExistingEntry]) -> list[Change]:
    """Return the changes that mark entries as superseded. Raises NotAllowedError if the caller may not record their category."""
    changes = []
    for entry in entries:
        entry_writer.check_allowed(store, "record", entry.lore.category)
        file = entry_writer.load(store, entry.path)
        stamp = times.after(store.clock.now(), file.lore.updated_at)
        after = file.lore._replace(status=SUPERSEDED, updated_at=stamp)
        content = entry_writer.rewrite(store, file, after)
        changes.append(Change(entry.path, content, atomic.digest(file.raw)))
    return changes


def fold_into(store: Store, host: ExistingEntry, other: ExistingEntry) -> ExistingEntry:
    """Fold `other`, which this clone recorded, into `host`, which says the same in other words; return the host.

    Raises UsageError if their lists are too long together, NotAllowedError.
    """
    entry_writer.check_allowed(store, "forget", other.lore.category)
    kept, removed = entry_writer.load(store, host.path), entry_writer.load(store, other.path)
    folded = fold(kept.lore, removed.lore)
    if folded is None:
        raise UsageError(
            "Their combined lists exceed the limits of one entry.", "Shorten the tags or contexts of one."
        )
    changes = [
        Change(host.path, entry_writer.rewrite(store, kept, folded), atomic.digest(kept.raw)),
        Change(other.path, None, atomic.digest(removed.raw)),
    ]
    details = [("Engram-Folded", other.lore.id)]
    operation = entry_writer.operation_for(store, folded, f"fold: {folded.title}", changes, details)
    entry_writer.write(store, [operation])
    store.recent.pop(other.path, None)
    return ExistingEntry(folded, host.path)
