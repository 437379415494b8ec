"""The entries that say what a new text says: equal, or with the same words, numbers, names and negations.

Equal texts are looked up by a number in the catalog. What was written since the index was last updated is found by its
file's name, which begins with the slug of the title.
"""

from __future__ import annotations

import contextlib

from engram.adapters.index.damage import DamagedIndexError, damage_noticed
from engram.domain.entry.lore import ACTIVE, ARCHIVED, PENDING, SUPERSEDED, slug, words_mark
from engram.domain.errors import EngramError
from engram.domain.similarity.equivalence import SAME, compare
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.file_scan import unread_files
from engram.usecases.store import entry_writer
from engram.usecases.store.quarantine import is_quarantined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

_ORDER = {ACTIVE: 0, PENDING: 1, ARCHIVED: 2, SUPERSEDED: 3}


class There(NamedTuple):
    """An entry that is there already, and its path."""

    lore: Lore
    path: str


def find_same(store: Store, lore: Lore, near: Iterable[str] = ()) -> There | None:
    """Return the entry that says what `lore` says, None where there is none; `near` are paths of entries with like words.

    Of several, one that is recalled comes first, then the oldest. Quarantined entries are none, nor are pending ones of
    other clones: repeating their words must not let in what else they hold.
    """
    mark = words_mark(lore.content)
    there = _entries(store, [*_listed(store, mark), *_unlisted(store, lore), *near])
    others = [
        one
        for one in there
        if one.lore.id != lore.id
        and (one.lore.status != PENDING or one.lore.source_id == store.source_id)
        and (words_mark(one.lore.content) == mark or compare(lore.content, one.lore.content).kind == SAME)
    ]
    return min(others, key=lambda one: (_ORDER[one.lore.status], one.lore.id), default=None)


def replacement_of(store: Store, lore_id: str) -> Lore | None:
    """Return an active entry that supersedes this one; None where there is none."""
    found = [one.lore for one in _entries(store, _relating(store, lore_id)) if one.lore.status == ACTIVE]
    return next((one for one in found if ("supersedes", lore_id) in one.relations), None)


def _listed(store: Store, mark: int) -> list[str]:
    generation = store.index.look()
    if generation is None:
        return []
    try:
        with damage_noticed():
            return generation.catalog.paths_with_mark(mark)
    except DamagedIndexError as error:
        store.index.damaged(str(error))
        return []


def _relating(store: Store, lore_id: str) -> list[str]:
    generation = store.index.look()
    if generation is None:
        return []
    try:
        with damage_noticed():
            return generation.catalog.paths_relating("supersedes", lore_id)
    except DamagedIndexError as error:
        store.index.damaged(str(error))
        return []


def _unlisted(store: Store, lore: Lore) -> list[str]:
    """Return files that the index does not know yet: by their names, as they are written, and those in the journal."""
    found = unread_files(store, store.index.look(), f"{slug(lore.title)}--")
    try:
        waiting = store.files.journal.waiting() if store.files.journaled else []
    except EngramError:
        waiting = []
    mark = lore.title.encode()
    found += [
        change.path for one in waiting for change in one.changes if change.content and mark in change.content
    ]
    return [*dict.fromkeys(found)]


def _entries(store: Store, paths: Sequence[str]) -> list[There]:
    found = []
    for path in dict.fromkeys(paths):
        with contextlib.suppress(EngramError):
            file = entry_writer.load(store, path)
            if file.adopted and not is_quarantined(store, file.lore):
                found.append(There(file.lore, path))
    return found
