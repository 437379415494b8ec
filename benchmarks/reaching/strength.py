"""How honest "strong" is on dense stores: what it says of questions whose answer was taken out, by the size of the store."""

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
_DRAWS = 4  # of each store: among a hundred questions without an answer, 8 % strong cannot be told from 12 %


class Strength(NamedTuple):
    """One store: its questions with an answer, how many of them are strong, have theirs first, and both.

    Of those without an answer how many are strong, how many weak, how many none, and how many entries the weak get.
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
    """Ask every subject's set at every size; a subject that this machine does not have enough of is left out."""
    for name, made in dense_sets.SUBJECTS.items():
        pool = made()
        for size in sizes:
            if len(pool) >= size + asked:
                seeds = range(dense_sets.SEED, dense_sets.SEED + _DRAWS)
                yield _together([ask(dense_sets.draw(name, pool, size, seed, asked)) for seed in seeds])


def _together(measured: Sequence[Strength]) -> Strength:
    """The figures of several draws of one kind of store, added up."""
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
            nothing = [store.query(text, keep=False) for text in found.unanswerable]
    first = {
        query
        for query, answer in right.items()
        if answer.lore and keys[answer.lore[0].lore.id] in found.judged[query]
    }
    strong = {query for query, answer in right.items() if answer.strength == STRONG}
    said = [answer.strength for answer in nothing]
    weak = [len(answer.lore) for answer in nothing if answer.strength == WEAK]
    return Strength(
        found.name, len(right), len(strong), len(first), len(strong & first), len(nothing),
        said.count(STRONG), said.count(WEAK), said.count(NONE), sum(weak) / max(1, len(weak)),
    )  # fmt: skip
