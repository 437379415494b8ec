"""Ask the questions of a retrieval set in a variant: rankings, strengths and times."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

import retrieval_set
from recall_variants import set_for

import engram
from engram.usecases.recall.search import evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from recall_variants import Variant
    from retrieval_set import RetrievalSet

K = 10
_PARTS_PER_DOCUMENT = 3  # entries requested per document if several entries may count for one


class Reply(NamedTuple):
    """An answer: ids, strength ("" for bare BM25), and the highest evidence of a hit (0 without hits)."""

    ids: list[str]
    strength: str
    evidence: float


class Asked(NamedTuple):
    """The replies of a variant, by query id and to unanswerable questions; `times`: ms of wall time of every question."""

    replies: dict[str, Reply]
    unanswered: list[Reply]
    times: list[float]


class Sizes(NamedTuple):
    """Counts of documents loaded, cut and masked, and why files were refused."""

    documents: int
    cut: int
    masked: int
    refused: list[str]


class Answers(NamedTuple):
    """The sizes of a set, and the replies of each variant by name."""

    sizes: Sizes
    asked: dict[str, Asked]


def ask_all(found: RetrievalSet, variants: Iterable[Variant], folder: str) -> Answers:
    """Load the set into scratch stores in `folder` and ask every question in every variant.

    Variants with an index of their own come last, each in a store of its own.
    """
    chosen = list(variants)
    sizes, asked = None, {}
    for number, group in enumerate(_by_store(chosen)):
        with set_for(group[0]._replace(constants=group[0].constants if group[0].own_index else {})):
            root = os.path.join(folder, str(number))
            answers = retrieval_set.store_documents(root, found)
            with engram.open(root, background=False) as store:
                store.refresh()
                sizes = sizes or sizes_of(store, found)
                for variant in group:
                    with set_for(variant):
                        asked[variant.name] = ask(store, variant, answers, found)
    assert sizes is not None
    return Answers(sizes, {variant.name: asked[variant.name] for variant in chosen})


def _by_store(variants: list[Variant]) -> Iterator[list[Variant]]:
    shared = [variant for variant in variants if not variant.own_index]
    if shared:
        yield shared
    yield from ([variant] for variant in variants if variant.own_index)


def sizes_of(store: engram.Engram, found: RetrievalSet) -> Sizes:
    """Return the sizes of a set, with the problems of its store."""
    generation = store.store.index.look()
    assert generation is not None
    refused = [problem.message for problem in generation.catalog.problems()]
    return Sizes(len(found.documents), found.cut, found.masked, refused)


def ask(store: engram.Engram, variant: Variant, answers: Mapping[str, str], found: RetrievalSet) -> Asked:
    """Ask every question of a set after one to warm up; `answers`: entry id → the document id that a hit counts for."""
    reply_to = _make_asker(store, variant, answers)
    reply_to(next(iter(found.queries.values()), "warm up"))
    asked = Asked({}, [], [])
    for query, text in found.queries.items():
        asked.replies[query] = _time_reply(reply_to, text, asked.times)
    for text in found.unanswerable:
        asked.unanswered.append(_time_reply(reply_to, text, asked.times))
    return asked


def _time_reply(ask: Callable[[str], Reply], text: str, times: list[float]) -> Reply:
    began = time.perf_counter_ns()
    reply = ask(text)
    times.append((time.perf_counter_ns() - began) / 1e6)
    return reply


def _make_asker(store: engram.Engram, variant: Variant, answers: Mapping[str, str]) -> Callable[[str], Reply]:
    """Return a function that asks a question; its reply has the ids that hits count for, each once."""
    several = len(set(answers.values())) < len(answers)
    limit = K * _PARTS_PER_DOCUMENT if several else K
    find = _product_search(store, variant, limit) if variant.strategy else _bm25_search(store, limit)

    def ask(text: str) -> Reply:
        reply = find(text)
        return reply._replace(ids=list(dict.fromkeys(answers[lore_id] for lore_id in reply.ids))[:K])

    return ask


def _product_search(store: engram.Engram, variant: Variant, limit: int) -> Callable[[str], Reply]:
    def find(text: str) -> Reply:
        answer = store.query(
            text, k=limit, min_confidence=0, keep=False, strategy=variant.strategy, hop=variant.hop
        )
        best = max(map(evidence, answer.lore), default=0.0)
        return Reply([hit.lore.id for hit in answer.lore], answer.strength, best)

    return find


def _bm25_search(store: engram.Engram, limit: int) -> Callable[[str], Reply]:
    """Return a function that asks the bare word index, without a threshold."""
    generation = store.store.index.look()
    assert generation is not None

    def find(text: str) -> Reply:
        scores = generation.words.search(generation.words.terms(text), limit).scores
        by_row = {hit.row: hit.id for hit in generation.catalog.hits(list(scores))}
        return Reply([by_row[row] for row in scores], "", 0.0)

    return find
