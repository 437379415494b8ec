"""Measure how honest "strong" is on dense stores of several sizes, for questions whose answer was left out."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, NamedTuple

import dense_sets
import retrieval_set

import engram
from engram.domain.recall.ranking import NONE, STRONG, WEAK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retrieval_set import RetrievalSet

SIZES = (200, 600, 1200)
_DRAWS = 4  # of each store: with a hundred unanswerable questions, 8 % strong cannot be told from 12 %


class Strength(NamedTuple):
    """A store: its answerable questions, how many of them are strong, have a right entry first, and both.

    Of the unanswerable ones, how many are strong, weak or none, and the mean number of entries of a weak answer.
    """

    name: str
    answerable: int
    strong: int
    first: int
    strong_and_first: int
    unanswerable: int
    strong_for_nothing: int
    weak_for_nothing: int
    none_for_nothing: int
    entries_of_weak: float


def measure(sizes: Sequence[int] = SIZES, asked: int = dense_sets.ASKED) -> Iterator[Strength]:
    """Ask every subject's set at every size, except where this machine has too little about the subject."""
    for name, collect in dense_sets.SUBJECTS.items():
        pool = collect()
        for size in sizes:
            if len(pool) >= size + asked:
                seeds = range(dense_sets.SEED, dense_sets.SEED + _DRAWS)
                yield _add_up([ask(dense_sets.draw(name, pool, size, seed, asked)) for seed in seeds])


def _add_up(measured: Sequence[Strength]) -> Strength:
    """Add up the figures of several draws of a store."""
    name, *each = zip(*measured, strict=True)
    *counts, entries = each
    return Strength(name[0], *map(sum, counts), sum(entries) / len(measured))


def ask(found: RetrievalSet) -> Strength:
    """Ask a set's questions in this process, as `engram query` does."""
    with tempfile.TemporaryDirectory(prefix="engram-reach-") as folder:
        root = os.path.join(folder, "store")
        keys = retrieval_set.store_documents(root, found)
        with engram.open(root, background=False) as store:
            store.refresh()
            right = {query: store.query(text, keep=False) for query, text in found.queries.items()}
            unanswerable = [store.query(text, keep=False) for text in found.unanswerable]
    first = {
        query
        for query, answer in right.items()
        if answer.lore and keys[answer.lore[0].lore.id] in found.judged[query]
    }
    strong = {query for query, answer in right.items() if answer.strength == STRONG}
    strengths = [answer.strength for answer in unanswerable]
    weak = [len(answer.lore) for answer in unanswerable if answer.strength == WEAK]
    return Strength(
        found.name, len(right), len(strong), len(first), len(strong & first), len(unanswerable),
        strengths.count(STRONG), strengths.count(WEAK), strengths.count(NONE), sum(weak) / max(1, len(weak)),
    )  # fmt: skip
