"""Asking the questions of a retrieval set in one variant: rankings, strengths and times."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

import set_store
from recall_variants import set_for

import engram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from recall_variants import Variant
    from retrieval_set import RetrievalSet

K = 10
_PARTS_OF_ONE = 3  # lore asked for, for each document wanted, where several lore count for one document


class Asked(NamedTuple):
    """What one variant answered. `rankings`: query id → document ids; `strengths`: query id → strength ("" of bare BM25).

    `unanswered` are the strengths said where nothing answers; `times` in ms of wall time, of every question.
    """

    rankings: dict[str, list[str]]
    strengths: dict[str, str]
    unanswered: list[str]
    times: list[float]


class Sizes(NamedTuple):
    """How many documents were loaded, cut, masked, and why files were refused."""

    documents: int
    cut: int
    masked: int
    refused: list[str]


class Answers(NamedTuple):
    """One set's sizes, and what each variant answered, by its name."""

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
            answers = set_store.store_documents(root, found)
            with engram.open(root, background=False) as store:
                store.refresh()
                sizes = sizes or _sizes(store, found)
                for variant in group:
                    with set_for(variant):
                        asked[variant.name] = _ask(_asker(store, variant, answers), found)
    assert sizes is not None
    return Answers(sizes, {variant.name: asked[variant.name] for variant in chosen})


def _by_store(variants: list[Variant]) -> Iterator[list[Variant]]:
    shared = [variant for variant in variants if not variant.own_index]
    if shared:
        yield shared
    yield from ([variant] for variant in variants if variant.own_index)


def _sizes(store: engram.Engram, found: RetrievalSet) -> Sizes:
    generation = store.store.index.look()
    assert generation is not None
    refused = [problem.message for problem in generation.catalog.problems()]
    return Sizes(len(found.documents), found.cut, found.masked, refused)


def _ask(ask: Callable[[str], tuple[list[str], str]], found: RetrievalSet) -> Asked:
    ask(next(iter(found.queries.values()), "warm up"))
    asked = Asked({}, {}, [], [])
    for query, text in found.queries.items():
        asked.rankings[query], asked.strengths[query] = _timed(ask, text, asked.times)
    for text in found.unanswerable:
        asked.unanswered.append(_timed(ask, text, asked.times)[1])
    return asked


def _timed(
    ask: Callable[[str], tuple[list[str], str]], text: str, times: list[float]
) -> tuple[list[str], str]:
    began = time.perf_counter_ns()
    answer = ask(text)
    times.append((time.perf_counter_ns() - began) / 1e6)
    return answer


def _asker(
    store: engram.Engram, variant: Variant, answers: Mapping[str, str]
) -> Callable[[str], tuple[list[str], str]]:
    """What asks one question: the ids that its hits count for, each once, and the strength of the answer."""
    several = len(set(answers.values())) < len(answers)
    limit = K * _PARTS_OF_ONE if several else K
    find = _product(store, variant.strategy, limit) if variant.strategy else _bm25(store, limit)

    def ask(text: str) -> tuple[list[str], str]:
        ids, strength = find(text)
        return list(dict.fromkeys(answers[lore_id] for lore_id in ids))[:K], strength

    return ask


def _product(store: engram.Engram, strategy: str, limit: int) -> Callable[[str], tuple[list[str], str]]:
    def find(text: str) -> tuple[list[str], str]:
        answer = store.query(text, k=limit, min_confidence=0, keep=False, strategy=strategy)
        return [hit.lore.id for hit in answer.lore], answer.strength

    return find


def _bm25(store: engram.Engram, limit: int) -> Callable[[str], tuple[list[str], str]]:
    """The word index alone, without a floor: what hybrid must never fall below."""
    generation = store.store.index.look()
    assert generation is not None

    def find(text: str) -> tuple[list[str], str]:
        scores = generation.words.search(generation.words.terms(text), limit).scores
        by_row = {hit.row: hit.id for hit in generation.catalog.hits(list(scores))}
        return [by_row[row] for row in scores], ""

    return find
