"""Recall captured entries: at most two, only where words and meaning clearly agree, after all other entries.

There are at most a hundred of them, so each is compared with the question. Words are weighted by their rarity in the
store's word index.
"""

from __future__ import annotations

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.index.damage import DamagedIndexError
from engram.domain.entry.lore import Lore, searchable
from engram.domain.recall import ranking
from engram.domain.review.review import PENDING, item_id
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store.captured import is_outcome, list_captured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.usecases.store.store import Store

MOST = 2
# With 40 of the 170 entries of the development set captured, 3 % of the questions that none of them answers show one.
_LEAST = 0.45
_LEAST_BY_WORDS = 0.6
_EXTRA_FOR_FAILURES = 0.25  # an unresolved failure helps only with questions about that very failure


def find_captured(store: Store, question: str, *, failures: bool = True) -> list[Lore]:
    """Return the captured entries that answer a question, best first; none that a person rejected or put off.

    Without `failures`, entries that only say that a tool failed are left out.
    """
    known = list_unreviewed(store) if question.strip() else []
    if not failures:
        known = [lore for lore in known if not _is_failure(lore)]
    if not known:
        return []
    texts = [searchable(lore) for lore in known]
    shares = _coverage(store, question, texts)
    cosines = _cosines(store, question, texts)
    least = _LEAST if cosines else _LEAST_BY_WORDS
    scored = [
        (ranking.evidence(share, cosines[number] if cosines else None), lore.id, lore)
        for number, (lore, share) in enumerate(zip(known, shares, strict=True))
    ]
    enough = (one for one in scored if one[0] >= least + _EXTRA_FOR_FAILURES * _is_failure(one[2]))
    best = sorted(enough, key=lambda one: (-one[0], one[1]))
    return [lore for _, _, lore in best[:MOST]]


def _is_failure(lore: Lore) -> bool:
    return is_outcome(lore) and lore.category == "FAILURE"


def list_unreviewed(store: Store) -> list[Lore]:
    """Return the captured entries except those that a person rejected or put off, newest first."""
    found = list_captured(store)
    aside = store.state.set_aside(store.clock.now().timestamp()) if found else {}
    return [lore for lore in found if item_id(PENDING, [lore.id]) not in aside]


def _coverage(store: Store, question: str, texts: list[str]) -> list[float]:
    """Return for each text the share of the question's words in it, weighted by rarity."""
    weights = _weights(store, question)
    total = sum(weights.values())
    if not total:
        return [0.0] * len(texts)
    texts_terms = [_terms(store, text) for text in texts]
    return [sum(weights[word] for word in weights if word in terms) / total for terms in texts_terms]


def _weights(store: Store, question: str) -> Mapping[str, float]:
    generation = store.index.generation or store.index.look()
    terms = _terms(store, question)
    try:
        if generation is not None:
            return generation.words.search([*terms], 0).rarity
    except DamagedIndexError:
        pass
    return dict.fromkeys(terms, 1.0)


def _terms(store: Store, text: str) -> set[str]:
    generation = store.index.generation or store.index.look()
    if generation is not None:
        return set(generation.words.terms(text))
    words = "".join(letter if letter.isalnum() else " " for letter in text.casefold()).split()
    return set(words) - STOP_WORDS


def _cosines(store: Store, question: str, texts: list[str]) -> list[float]:
    """Return the cosine of each text with the question; empty without a model."""
    embedder = store.embedder
    immediate = embedder.immediate if embedder is not None else None
    if immediate is None:
        return []
    try:
        return list(immediate.similarities(question, texts))
    except EmbeddingError:
        return []
