"""Which claims of a store's entries count in this clone, and the record of those that somebody here confirmed."""

from __future__ import annotations

import contextlib
import os
import sqlite3

from engram.domain.admission import credit
from engram.domain.admission.credit import Confirmation, Counted, Limit
from engram.domain.entry.confidence import DEFAULT_PRIOR, HELPFUL, Vote
from engram.domain.errors import EngramError, StoreError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.adapters.git.read.differences import Difference
    from engram.adapters.index.catalog import Hit
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

_UNSAID = 0.5  # a stated importance of others counts no more than one that nobody states
_AT_ONCE = 1000
_LONGEST_END = 29  # of the name of a file: the id and its suffix


class Order(NamedTuple):
    """What to order lines of the catalog by, in SQL, the most credible first, and the values of its marks."""

    sql: str
    values: tuple[str, ...]


def of(store: Store, lore: Lore) -> Counted:
    """Return what an entry counts as here; nothing is raised: where the notes cannot be read, nobody has confirmed it."""
    return of_many(store, [lore])[0]


def of_many(store: Store, found: Sequence[Lore]) -> list[Counted]:
    """Return what several entries of one store count as here."""
    limits = _limits(store, found)
    own = _home(store).source_id
    return [credit.counted(lore, limit, own) for lore, limit in zip(found, limits, strict=True)]


def in_effect(store: Store, lore: Lore) -> Lore:
    """Return the entry with the confidence and pin that count here: to be ranked or shown, never to be written."""
    return credit.in_effect(lore, of(store, lore))


def hits_in_effect(store: Store, hits: Sequence[Hit]) -> list[Hit]:
    """The catalog's lines with what counts here, for ranking; of entries that nobody here confirmed no helpful votes, too."""
    if not hits:
        return []
    own = own_sources(store, (hit.source_id or "" for hit in hits))
    asked = [hit.id for hit in hits if _claims(hit) or (hit.source_id or "") not in own]
    notes = _notes(store, asked) if asked else {}
    return [
        _limited(
            hit, credit.limit_of(notes.get(hit.id), hit.text_digest, is_own=(hit.source_id or "") in own)
        )
        for hit in hits
    ]


def own_sources(store: Store, sources: Iterable[str]) -> frozenset[str]:
    """Return the sources whose claims count at once: this clone, and those that `trust.accept` names.

    An entry without any was written by hand: here, if the store has no remote. `sources` are those that matter.
    """
    listed = store.settings.get("trust.accept")
    named = map(str, listed) if isinstance(listed, list) else ()
    unsaid = ("",) if "" in sources and not _is_shared(store) else ()
    return frozenset([_home(store).source_id, *(one for one in named if one), *unsaid])


def order(store: Store) -> Order:
    """Return the order that takes claims only from those that count at once; entries confirmed here are for `confirmed_ids`."""
    own = tuple(own_sources(store, ("",)))
    # One number: of 100,000 lines three expressions to sort by cost half as much again.
    sql = (
        f"CASE WHEN source_id IN ({','.join('?' * len(own))})"
        " THEN pinned * 10000000 + confidence * 1000 + min(validation_count, 999)"
        f" ELSE min(confidence, {DEFAULT_PRIOR}) * 1000 END DESC"
    )
    return Order(sql, own)


def confirmed_ids(store: Store, most: int) -> list[str]:
    """Entries whose claims somebody here confirmed, the highest first."""
    with contextlib.suppress(EngramError, OSError, sqlite3.Error):
        return _home(store).state.trust.most_confirmed(most)
    return []


def confirm(store: Store, lore: Lore) -> None:
    """Note that somebody here confirmed an entry as it is now."""
    _home(store).state.trust.confirm({lore.id: Confirmation(_digest(lore), lore.thousandths, lore.pinned)})


def withdraw(store: Store, ids: Sequence[str]) -> None:
    """Forget that somebody here confirmed these entries."""
    _home(store).state.trust.withdraw(ids)


def judged(store: Store, lore: Lore, kind: str) -> None:
    """Confirm an entry that this clone found helpful; no longer one that it called wrong more than that."""
    vote = lore.accounts.get(store.source, Vote())
    if kind == HELPFUL and vote.up >= vote.down:
        confirm(store, lore)
    elif vote.down > vote.up:
        withdraw(store, [lore.id])


def edited(store: Store, before: Lore, after: Lore, *, is_claimed: bool) -> None:
    """Confirm an entry whose confidence or pin somebody here said; a confirmed one stays so with a text written here."""
    if is_claimed or _digest(before) != _digest(after):
        note = _notes(store, [after.id]).get(after.id)
        if is_claimed or (note is not None and note.digest in (credit.ANY_TEXT, _digest(before))):
            confirm(store, after)


def note_raised(store: Store, changes: Mapping[str, Difference], known: Mapping[str, bytes]) -> None:
    """Note which entries of this clone a sync brings back with another text, a pin, or a higher confidence.

    `changes` are those of our files, `known` contents that need not be read, by object id. Raises GitError, StoreError.
    """
    from engram.usecases.admission.incoming_quarantine import lore_among, read_changed

    own = store.source_id
    changes = lore_among(store, changes)
    paths = sorted(changes, key=lambda path: path[-_LONGEST_END:])  # what was moved stays together
    for start in range(0, len(paths), _AT_ONCE):
        some = {path: changes[path] for path in paths[start : start + _AT_ONCE]}
        before, after = read_changed(store, some, known, own.encode("ascii"))
        mine = {lore.id: lore for lore in after if lore.source_id == own}
        were = {lore.id: lore for lore in before}
        limits = dict(zip(mine, _limits(store, list(mine.values())), strict=True))
        raised = {
            lore_id: credit.limit_raised(were.get(lore_id), lore, limits[lore_id])
            for lore_id, lore in mine.items()
        }
        store.state.trust.confirm({lore_id: note for lore_id, note in raised.items() if note is not None})


def _home(store: Store) -> Store:
    """Return the store that the clone's notes are in: of a copy, that which it is a copy of."""
    return store.original or store


def _claims(hit: Hit) -> bool:
    return bool(hit.pinned) or hit.confidence > DEFAULT_PRIOR


def _limited(hit: Hit, limit: Limit) -> Hit:
    if limit.pinned and limit.confidence >= hit.confidence:
        return hit
    strange = limit == credit.UNCONFIRMED
    return hit._replace(
        confidence=min(hit.confidence, limit.confidence),
        pinned=int(hit.pinned and limit.pinned),
        validation_count=0 if strange else hit.validation_count,
        importance=min(hit.importance, _UNSAID) if strange and hit.importance is not None else hit.importance,
    )


def _limits(store: Store, found: Sequence[Lore]) -> list[Limit]:
    if not found:
        return []
    own = own_sources(store, (lore.source_id for lore in found))
    notes = _notes(store, [lore.id for lore in found])
    return [
        credit.limit_of(note, "" if note is None else _digest(lore), is_own=lore.source_id in own)
        for lore in found
        for note in [notes.get(lore.id)]
    ]


def _notes(store: Store, ids: Sequence[str]) -> Mapping[str, Confirmation]:
    with contextlib.suppress(StoreError, OSError, sqlite3.Error):
        return _home(store).state.trust.confirmations(ids)
    return {}


def _digest(lore: Lore) -> str:
    from engram.domain.entry.lore import searchable, text_digest

    return text_digest(searchable(lore))


def _is_shared(store: Store) -> bool:
    """Return whether the store's repository has a remote, by its own configuration."""
    repository = _home(store).places.repository
    if repository is None:
        return False
    try:
        with open(os.path.join(repository.common_dir, "config"), "rb") as file:
            return b"[remote " in file.read()
    except OSError:
        return True
