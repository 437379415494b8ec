"""Lore that say nearly the same as a new one: advice given with `record`, without bringing the index up to date.

Static vectors are near only where words are shared, so word hits are the candidates, and numpy is
loaded only when one of them shares enough words to be worth a cosine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engram.adapters.index.damage import DamagedIndexError, damage_noticed
from engram.domain import refs
from engram.domain.errors import EngramError
from engram.usecases import change
from engram.usecases.indexing import searchable

if TYPE_CHECKING:
    from engram.domain.lore import Lore
    from engram.usecases.store import Store

NEAR = 0.85
_WORD_OVERLAP = 0.4
_CANDIDATES = 8
_PENDING = 32


class Similar(NamedTuple):
    """A lore that is near another: its id, the cosine of the two texts, its title."""

    id: str
    similarity: float
    title: str


def similar(store: Store, lore: Lore) -> list[Similar]:
    """Lore whose text is at least 0.85 near to `lore`'s, nearest first. Never raises: it is only advice."""
    text = searchable(lore)
    words = set(refs.fold(text).split())
    try:
        paths = dict.fromkeys([*_word_hits(store, text), *_not_indexed_yet(store)])
    except (EngramError, DamagedIndexError):
        return []
    near = []
    for path in paths:
        other = _load_quietly(store, path)
        if other is not None and other.id != lore.id and _overlap(words, other) >= _WORD_OVERLAP:
            near.append(other)
    found = [Similar(other.id, _cosine(store, text, other), other.title) for other in near]
    return sorted(
        (twin for twin in found if twin.similarity >= NEAR), key=lambda twin: (-twin.similarity, twin.id)
    )


def _word_hits(store: Store, text: str) -> list[str]:
    generation = store.index.look()
    if generation is None:
        return []
    with damage_noticed():
        found = generation.words.search(generation.words.terms(text), _CANDIDATES)
        by_row = {hit.row: hit.path for hit in generation.catalog.hits(list(found.scores))}
    return [by_row[row] for row in found.scores if row in by_row]


def _not_indexed_yet(store: Store) -> list[str]:
    """What was written just now, by this process or (where a journal is kept) by any."""
    waiting = [
        item.path for operation in store.files.journal.waiting()[-_PENDING:] for item in operation.changes
    ]
    return [*list(store.own_writes)[-_PENDING:], *waiting]


def _load_quietly(store: Store, path: str) -> Lore | None:
    try:
        return change.load(store, path).lore
    except EngramError:
        return None


def _overlap(words: set[str], other: Lore) -> float:
    theirs = set(refs.fold(searchable(other)).split())
    return len(words & theirs) / max(1, min(len(words), len(theirs)))


def _cosine(store: Store, text: str, other: Lore) -> float:
    """The cosine of two texts; the share of common words where there is no embedding model."""
    embedder = store.embedder
    if embedder is None:
        mine, theirs = set(refs.fold(text).split()), set(refs.fold(searchable(other)).split())
        return round(len(mine & theirs) / max(1, len(mine | theirs)), 4)
    return round(float(embedder.embed_one(text) @ embedder.embed_one(searchable(other))), 4)
