"""Which lore of a store say the same or contradict one another: the pairs that review and consolidation start from.

engram.usecases.similarity.pair_candidates says which to look at, engram.domain.similarity.pairs what each pair is.
What was found is kept in the state folder, and after a change only the lore that changed are compared again.
"""

from __future__ import annotations

import contextlib
from collections import Counter

from engram.adapters.index.damage import DamagedIndexError, damage_noticed
from engram.domain.entry.lore import ACTIVE, PENDING
from engram.domain.errors import EngramError, StoreError
from engram.domain.graph.team import HANDOFF, SUMMARY
from engram.domain.similarity.equivalence import NEAR, SAME
from engram.domain.similarity.pairs import UNRELATED, Pair, Side, Words, assess, side
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.refresh import refresh
from engram.usecases.similarity import pair_cache, pair_texts
from engram.usecases.similarity.pair_candidates import candidates
from engram.usecases.similarity.pair_words import StoreWords
from engram.usecases.store import entry_writer, quarantine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.catalog import Text
    from engram.adapters.index.generation import Generation
    from engram.adapters.index.near import Terms
    from engram.domain.entry.lore import Lore
    from engram.usecases.similarity.pair_cache import Kept
    from engram.usecases.store.store import Store

# What a session did and what it handed over is so of that moment: another moment neither says the same nor otherwise.
_OF_A_MOMENT = "category = ? OR row IN (SELECT row FROM row_tags WHERE tag = ?)"
_PROPOSALS = 4  # of one kind for one lore: a person who has seen four has seen enough
_MANY = 5  # from every fifth lore changed on, all are compared again


def pairs(
    store: Store, read: Callable[[str], bytes] | None = None, generation: Generation | None = None
) -> tuple[Pair, ...]:
    """Every pair of active or pending lore that says the same or contradicts, the strongest first; held lore has none,
    and neither have summaries of sessions and handoffs.

    Lore that are linked to one another are left out: somebody has said already what they are to each other. `read`
    gives the bytes of a file by its path, for a caller that needs them, too; `generation` is the index of one who
    brought it up to date just now.
    Raises StoreError where there is no index.
    """
    with store.lock:
        if generation is None:
            refresh(store)
            generation = store.index.look()
        if generation is None:
            raise StoreError(f"Lore cannot be compared: {store.index.why_rebuilt}.", "Run `engram reindex`.")
        try:
            with damage_noticed():
                return _Comparison(store, generation, read or store.files.read).run()
        except DamagedIndexError as error:
            store.index.damaged(str(error))
            raise StoreError(f"The index is damaged: {error}.", "Ask again: it is made anew.") from None


class _Comparison:
    """One look at a store; places number its lore, the oldest first."""

    def __init__(self, store: Store, generation: Generation, read: Callable[[str], bytes]) -> None:
        from engram.adapters.embed.provider import open_embedder

        embedder: Embedder | None = open_embedder("bundled")
        assert embedder is not None
        self._store, self._generation, self._embedder = store, generation, embedder
        self._read = read
        waiting = quarantine.quarantined_texts(store)
        passing = set(generation.catalog.select_rows(_OF_A_MOMENT, (SUMMARY, HANDOFF)))
        self._texts: Sequence[Text] = [
            text
            for text in generation.catalog.texts((ACTIVE, PENDING))
            if text.row not in passing
            and (text.id not in waiting or text.said not in (waiting[text.id] or ()))
        ]
        self._lore: dict[int, Lore] = {}

    def run(self) -> tuple[Pair, ...]:
        """The pairs, from what is kept and from comparing what changed."""
        model = f"{self._embedder.identity} {self._generation.model}"
        marks = [f"{text.id} {text.category} {text.digest}" for text in self._texts]
        kept = pair_cache.load(self._store, model)
        places = pair_cache.place(marks, kept)
        fresh = places < 0
        if kept is not None and len(kept.marks) == len(marks) and not fresh.any():
            return tuple(map(_pair, kept.pairs))
        terms = pair_texts.terms_of(self._read, self._texts, places, kept)
        if int(fresh.sum()) * _MANY >= len(fresh):
            fresh[:] = True
        found = _thinned(sorted([*self._unchanged(kept, fresh), *self._compare(terms, fresh)], key=_order))
        kept = pair_cache.Kept(marks, terms, [[*pair] for pair in found])
        pair_cache.save(self._store, model, kept)
        return tuple(found)

    def _unchanged(self, kept: Kept | None, fresh: numpy.ndarray) -> list[Pair]:
        """The pairs that were found before of lore that are as they were."""
        old = {text.id for text, new in zip(self._texts, fresh.tolist(), strict=True) if not new}
        found = map(_pair, kept.pairs) if kept is not None else ()
        return [pair for pair in found if pair.one in old and pair.other in old]

    def _compare(self, terms: Terms, fresh: numpy.ndarray) -> Iterator[Pair]:
        from engram.adapters.index.near import frequencies

        chosen = candidates(self._generation, self._texts, terms, fresh)
        words = StoreWords(self._embedder, frequencies(terms), len(self._texts)).words()
        sides, vectors = self._sides(sorted({place for pair in chosen for place in pair}), words)
        for one, other in chosen:
            if one not in sides or other not in sides or self._linked(one, other):
                continue
            cosine = round(float(vectors[one] @ vectors[other]), 4)
            found = assess(sides[one], sides[other], cosine, words)
            if found.kind != UNRELATED:
                yield Pair(self._texts[one].id, self._texts[other].id, *found, cosine)

    def _sides(self, places: Sequence[int], words: Words) -> tuple[dict[int, Side], dict[int, numpy.ndarray]]:
        """What is compared of these lore, and the vectors of their contents; without those that cannot be read just now."""
        for place in places:
            with contextlib.suppress(EngramError):
                self._lore[place] = entry_writer.load(self._store, self._texts[place].path).lore
        vectors = self._embedder.embed([lore.content for lore in self._lore.values()])
        sides = {place: _side(lore, words) for place, lore in self._lore.items()}
        return sides, dict(zip(self._lore, vectors, strict=True))

    def _linked(self, one: int, other: int) -> bool:
        """Whether one names the other (as related, or as folded into it and brought back), or a document holds both."""
        first, second = self._lore[one], self._lore[other]
        return _of_one_document(first, second) or any(
            theirs.id in {*lore.merged_from, *_related(lore)}
            for lore, theirs in ((first, second), (second, first))
        )


def _related(lore: Lore) -> set[str]:
    return {relation.id for relation in lore.relations}


def _of_one_document(first: Lore, second: Lore) -> bool:
    """Whether both are parts that `engram import` made of one note: they go on from one another, and so differ."""
    return bool(_related(first) & _related(second) and {*first.context} & {*second.context})


def _side(lore: Lore, words: Words) -> Side:
    """What is compared of a lore."""
    return side(lore.content, lore.category, words, " ".join([*lore.tags, *lore.files, *lore.entities]))


def _thinned(found: Sequence[Pair]) -> list[Pair]:
    """The pairs, sorted, without what would be the fifth proposal of a kind for a lore; what is so near as to fold stays."""
    proposed = Counter[tuple[str, str]]()
    kept = []
    for pair in found:
        sides = [(pair.one, pair.kind), (pair.other, pair.kind)]
        if pair.kind == SAME or pair.cosine >= NEAR or max(proposed[side] for side in sides) < _PROPOSALS:
            kept.append(pair)
            proposed.update(sides)
    return kept


def _order(pair: Pair) -> tuple[float, str, str]:
    """The strongest first, in the same order on every machine."""
    return -pair.strength, pair.one, pair.other


def _pair(values: Sequence[object]) -> Pair:
    return Pair(*values)  # type: ignore[arg-type]
