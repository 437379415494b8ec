"""The pairs of entries in a store that say the same or contradict each other, for review and consolidation.

engram.usecases.similarity.pair_candidates selects the pairs to assess, engram.domain.similarity.pairs assesses them.
Results are cached in the state folder; after a change only the changed entries are compared again.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter

from engram.adapters.files.durable import atomic
from engram.adapters.index.damage import DamagedIndexError, converting_damage
from engram.domain.entry.lore import ACTIVE, PENDING, Lore
from engram.domain.errors import EngramError, StoreError
from engram.domain.graph.team import HANDOFF, SUMMARY
from engram.domain.similarity.equivalence import NEAR, SAME
from engram.domain.similarity.pairs import UNRELATED, Pair, Side, Words, assess, side
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.refresh import refresh
from engram.usecases.similarity.pair_candidates import candidates
from engram.usecases.similarity.pair_terms import StoreWords, read_terms, term
from engram.usecases.store import entry_writer, quarantine, sync_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy

    from engram.adapters.index.catalog import Text
    from engram.adapters.index.index import Generation
    from engram.adapters.index.nearest_pairs import Terms
    from engram.usecases.store.store import Store

# Summaries of sessions and handoffs describe a moment: they neither repeat nor contradict each other.
_IS_MOMENTARY = "category = ? OR row IN (SELECT row FROM row_tags WHERE tag = ?)"
_MAX_PROPOSALS = 4  # of one kind for one entry: more tell a person nothing new
_COMPARE_ALL = 5  # if at least one in five entries changed, all are compared again
_CACHE_FORMAT = 4  # increase it when the rules change, too
_CACHE_NAME = "pairs.npz"


def find_pairs(
    store: Store, read: Callable[[str], bytes] | None = None, generation: Generation | None = None
) -> tuple[Pair, ...]:
    """Return every pair of active or pending entries that say the same or contradict each other, the strongest first.

    Entries in quarantine, summaries of sessions and handoffs are left out, and so are pairs that are linked: somebody has
    already said how they relate. `read` returns the bytes of a file by its path, for a caller that needs them, too;
    `generation` is an index that the caller has just updated.
    Raises StoreError without an index.
    """
    with store.lock:
        if generation is None:
            refresh(store)
            generation = store.index.look()
        if generation is None:
            raise StoreError(f"Lore cannot be compared: {store.index.why_rebuilt}.", "Run `engram reindex`.")
        try:
            with converting_damage():
                return _Comparison(store, generation, read or store.files.read).run()
        except DamagedIndexError as error:
            store.index.mark_damaged(str(error))
            raise StoreError(f"The index is damaged: {error}.", "Try again: it is rebuilt.") from None


class _Comparison:
    """One comparison of a store; a place is the number of an entry, the oldest first."""

    def __init__(self, store: Store, generation: Generation, read: Callable[[str], bytes]) -> None:
        self._store, self._generation, self._embedder = store, generation, store.bundled_embedder
        self._read = read
        quarantined = quarantine.quarantined_texts(store)
        momentary = set(generation.catalog.select_rows(_IS_MOMENTARY, (SUMMARY, HANDOFF)))
        self._texts: Sequence[Text] = [
            text
            for text in generation.catalog.texts((ACTIVE, PENDING))
            if text.row not in momentary
            and (text.id not in quarantined or text.text_digest not in (quarantined[text.id] or ()))
        ]
        self._lore: dict[int, Lore] = {}

    def run(self) -> tuple[Pair, ...]:
        """Return the pairs, from the cache and from comparing changed entries."""
        model = f"{self._embedder.identity} {self._generation.model}"
        keys = [f"{text.id} {text.category} {text.digest}" for text in self._texts]
        cached = _load(self._store, model)
        places = _places(keys, cached)
        fresh = places < 0
        if cached is not None and len(cached.keys) == len(keys) and not fresh.any():
            return tuple(map(_pair, cached.pairs))
        terms = read_terms(self._read, self._texts, places, cached.terms if cached is not None else None)
        if int(fresh.sum()) * _COMPARE_ALL >= len(fresh):
            fresh[:] = True
        found = _limit_pairs(
            sorted([*self._unchanged_pairs(cached, fresh), *self._compare(terms, fresh)], key=_order)
        )
        _save(self._store, model, _Cached(keys, terms, [[*pair] for pair in found]))
        return tuple(found)

    def _unchanged_pairs(self, cached: _Cached | None, fresh: numpy.ndarray) -> list[Pair]:
        """Return the cached pairs of entries that have not changed."""
        old = {text.id for text, new in zip(self._texts, fresh.tolist(), strict=True) if not new}
        found = map(_pair, cached.pairs) if cached is not None else ()
        return [pair for pair in found if pair.one in old and pair.other in old]

    def _compare(self, terms: Terms, fresh: numpy.ndarray) -> Iterator[Pair]:
        from engram.adapters.index.nearest_pairs import frequencies

        chosen = candidates(self._generation, self._texts, terms, fresh)
        counts = frequencies(terms)
        words = StoreWords(self._embedder, lambda stem: counts.get(term(stem), 0), len(self._texts)).words()
        sides, vectors = self._sides(sorted({place for pair in chosen for place in pair}), words)
        for one, other in chosen:
            if one not in sides or other not in sides or self._are_linked(one, other):
                continue
            cosine = round(float(vectors[one] @ vectors[other]), 4)
            found = assess(sides[one], sides[other], cosine, words)
            if found.kind != UNRELATED:
                yield Pair(self._texts[one].id, self._texts[other].id, *found, cosine)

    def _sides(self, places: Sequence[int], words: Words) -> tuple[dict[int, Side], dict[int, numpy.ndarray]]:
        """Return the parsed entries that can be read now, and the vectors of their contents, by place."""
        for place in places:
            with contextlib.suppress(EngramError):
                self._lore[place] = entry_writer.load(self._store, self._texts[place].path).lore
        vectors = self._embedder.embed([lore.content for lore in self._lore.values()])
        sides = {place: _side(lore, words) for place, lore in self._lore.items()}
        return sides, dict(zip(self._lore, vectors, strict=True))

    def _are_linked(self, one: int, other: int) -> bool:
        """Test whether one names the other, as related or as folded into it and restored, or both are of one document."""
        first, second = self._lore[one], self._lore[other]
        return _are_of_one_document(first, second) or any(
            other_lore.id in {*lore.merged_from, *_related_ids(lore)}
            for lore, other_lore in ((first, second), (second, first))
        )


def _related_ids(lore: Lore) -> set[str]:
    return {relation.id for relation in lore.relations}


def _are_of_one_document(first: Lore, second: Lore) -> bool:
    """Test whether `engram import` made both from one note: parts of a note differ from each other."""
    return bool(_related_ids(first) & _related_ids(second) and {*first.context} & {*second.context})


def _side(lore: Lore, words: Words) -> Side:
    return side(lore.content, lore.category, words, " ".join([*lore.tags, *lore.files, *lore.entities]))


def _limit_pairs(found: Sequence[Pair]) -> list[Pair]:
    """Keep the first few of the sorted pairs for each entry and kind, and all that are near enough to fold."""
    proposed = Counter[tuple[str, str]]()
    kept = []
    for pair in found:
        sides = [(pair.one, pair.kind), (pair.other, pair.kind)]
        if pair.kind == SAME or pair.cosine >= NEAR or max(proposed[side] for side in sides) < _MAX_PROPOSALS:
            kept.append(pair)
            proposed.update(sides)
    return kept


def _order(pair: Pair) -> tuple[float, str, str]:
    """Return the sort key: the strongest first, in the same order on every machine."""
    return -pair.strength, pair.one, pair.other


def _pair(values: Sequence[object]) -> Pair:
    return Pair(*values)  # type: ignore[arg-type]


# The cache


class _Cached(NamedTuple):
    """The key and the terms of each compared entry, and the pairs as lists of plain values."""

    keys: list[str]
    terms: Terms
    pairs: list[list[object]]


def _load(store: Store, model: str) -> _Cached | None:
    """Return the cache if it is intact and was made with this model, else None."""
    import io
    import zipfile

    from engram.adapters.index.nearest_pairs import Terms
    from engram.adapters.numeric import numpy_module

    with contextlib.suppress(
        EngramError, OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile
    ):
        file = io.BytesIO(atomic.read(_path(store)))
        with numpy_module().load(file, allow_pickle=False) as found:
            facts = json.loads(found["facts"].tobytes())
            terms = Terms(found["starts"], found["terms"])
        is_current = facts["format"] == _CACHE_FORMAT and facts["model"] == model
        if is_current and len(terms.starts) == len(facts["marks"]) + 1:
            return _Cached(facts["marks"], terms, facts["pairs"])
    return None


def _save(store: Store, model: str, cached: _Cached) -> None:
    """Write the cache; if that fails, the next call compares again."""
    import io

    from engram.adapters.numeric import numpy_module

    np = numpy_module()
    facts = {"format": _CACHE_FORMAT, "model": model, "marks": cached.keys, "pairs": cached.pairs}
    raw = np.frombuffer(json.dumps(facts, ensure_ascii=False).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, facts=raw, starts=cached.terms.starts, terms=cached.terms.terms)
    with contextlib.suppress(EngramError), store.files.lock():
        sync_state.replace(_path(store), file.getvalue())


def _places(keys: Sequence[str], cached: _Cached | None) -> numpy.ndarray:
    """Return the place of each key in the cache, -1 for a new one."""
    from engram.adapters.numeric import numpy_module

    known = {key: number for number, key in enumerate(cached.keys)} if cached else {}
    found: numpy.ndarray = numpy_module().array([known.get(key, -1) for key in keys], dtype=int)
    return found


def _path(store: Store) -> str:
    return os.path.join(store.places.state, _CACHE_NAME)
