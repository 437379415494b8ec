"""The choices about an entry that a new one is near: it says the same, or the new one takes its place."""

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
from engram.usecases.similarity.near_duplicates import There
from engram.usecases.store import entry_writer
from engram.usecases.store.quarantine import is_quarantined

_MOSTLY = 0.8  # of the words of both: the rest can hardly say a contradiction in another way

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store


def named_entries(store: Store, names: Sequence[str]) -> list[There]:
    """Return the entries of this store that are named by ref, id, the start of an id or words.

    Raises NotFoundError, AmbiguousError, UsageError for one of another store or in quarantine.
    """
    found: dict[str, There] = {}
    for name in names:
        one = resolve(store, name)
        if one.store.places.root != store.places.root:
            there, here = one.store.places.scope, store.places.scope
            raise UsageError(
                f"{name} is in the scope {there}, and this would be recorded in {here}.",
                f"Record it in {there} instead (scope).",
            )
        lore = entry_writer.load(store, one.path).lore
        if is_quarantined(store, lore):
            raise UsageError(f"{one.id} is quarantined.", f"Review it first: engram trust accept {one.id}")
        found[one.id] = There(lore, one.path)
    return list(found.values())


def refuse_contradiction(lore: Lore, other: Lore) -> None:
    """Raise UsageError where two texts cannot say the same, whoever says so: numbers, negations or opposites differ.

    In other words the same may be said with a negation and without, so texts that share few words are left to the caller.
    """
    verdict = compare(lore.content, other.content)
    mine, theirs = stems_in(lore.content), stems_in(other.content)
    if verdict.kind == CONTRADICTION and len(mine & theirs) >= _MOSTLY * max(len(mine), len(theirs)):
        raise UsageError(
            f"{other.id} does not say the same: {verdict.why}.",
            "Record it with supersedes, or without either.",
        )


def superseding(store: Store, entries: Sequence[There]) -> list[Change]:
    """Return the changes that mark entries as superseded; raises NotAllowedError where the caller may not record such."""
    changes = []
    for one in entries:
        entry_writer.check_allowed(store, "record", one.lore.category)
        file = entry_writer.load(store, one.path)
        stamp = times.after(store.clock.now(), file.lore.updated_at)
        after = file.lore._replace(status=SUPERSEDED, updated_at=stamp)
        content = entry_writer.rewrite(store, file, after)
        changes.append(Change(one.path, content, atomic.digest(file.raw)))
    return changes


def fold_into(store: Store, host: There, other: There) -> There:
    """Fold an entry that this clone recorded into another that says the same in other words, and return that.

    Raises UsageError where their lists are too long together, NotAllowedError.
    """
    entry_writer.check_allowed(store, "forget", other.lore.category)
    into, gone = entry_writer.load(store, host.path), entry_writer.load(store, other.path)
    folded = fold(into.lore, gone.lore)
    if folded is None:
        raise UsageError(
            "Their lists are too long together for one entry.", "Shorten the tags or contexts of one."
        )
    changes = [
        Change(host.path, entry_writer.rewrite(store, into, folded), atomic.digest(into.raw)),
        Change(other.path, None, atomic.digest(gone.raw)),
    ]
    subject, details = f"fold: {folded.title}", [("Engram-Folded", other.lore.id)]
    entry_writer.write(store, [entry_writer.operation_for(store, folded, subject, changes, details)])
    store.recent.pop(other.path, None)
    return There(folded, host.path)
