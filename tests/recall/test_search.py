"""The most relevant rows are those that an exhaustive search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from apikit import opened
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.index.vectors import Cosines
from engram.adapters.index.words import WordHits
from engram.domain.recall import ranking
from engram.usecases.recall.question import Question, criteria_for
from engram.usecases.recall.search import Relevance, search_index
from engram.usecases.recording.edit import Edit

if TYPE_CHECKING:
    from pathlib import Path

SEEDS = st.integers(0, 2**32 - 1)


def cosines(rows: int, most: int, seed: int) -> tuple[Cosines, list[float]]:
    """Of rows with up to `most` vectors each, many of them equal; and the best of each row."""
    random = np.random.default_rng(seed)
    counts = random.integers(1, most + 1, rows)
    every = (random.integers(-10, 60, counts.sum()) / 64).astype("float32")
    edges = np.concatenate(([0], counts.cumsum()))
    best = [float(every[edges[row] : edges[row + 1]].max()) for row in range(rows)]
    return Cosines(every, edges), best


@given(st.integers(1, 4000), st.integers(1, 4), st.integers(1, 60), SEEDS)
def test_the_nearest_rows_and_ties_are_found_without_reading_every_row(
    rows: int, most: int, count: int, seed: int
) -> None:
    near, best = cosines(rows, most, seed)
    found = near.largest(count).tolist()
    assert found == sorted(set(found))
    assert near.of(np.array(found)).tolist() == [best[row] for row in found]
    least = sorted(best)[-min(count, rows)]
    assert {row for row in range(rows) if best[row] >= least} <= set(found)


def test_enough_rows_are_found_when_one_row_has_all_near_vectors() -> None:
    every = np.zeros(100_000, dtype="float32")
    every[::64] = 0.9  # of the first row all of them
    near = Cosines(every, np.array([0, *range(99_000, 100_001)]))
    assert len(near.largest(300)) >= 300


@given(st.integers(1, 3000), st.integers(1, 40), st.booleans(), SEEDS)
def test_words_and_cosines_together_order_rows_as_the_formula_does(
    rows: int, count: int, filtered: bool, seed: int
) -> None:
    near, best = cosines(rows, 3, seed)
    random = np.random.default_rng(seed)
    scores = {int(row): float(random.integers(1, 40)) for row in random.integers(0, rows + 2, 100)}
    allowed = {int(row) for row in random.integers(0, rows, rows // 2)} if filtered else None
    ranked = Relevance(WordHits(scores, 30.0, {}), near, allowed, ranking.WORDS)

    def expected(row: int) -> float:
        return ranking.relevance(min(1.0, scores.get(row, 0.0) / 30), best[row])

    found = ranked.best(count)
    every = sorted((expected(row) for row in range(rows) if allowed is None or row in allowed), reverse=True)
    assert np.allclose([expected(row) for row in found], every[: len(found)], atol=1e-6)
    assert len(found) >= min(count, len(every))
    assert ranked.parts(found) == [(min(1.0, scores.get(row, 0.0) / 30), best[row]) for row in found]


def test_an_entry_that_another_process_changes_during_a_search_is_found(tmp_path: Path) -> None:
    """Its old text is gone by then, and its new one was not there when the search began."""
    with opened(tmp_path / "store", session="one") as one, opened(tmp_path / "store", session="two") as two:
        lore_id = one.record("retry the broker", category="FACT").lore.id
        one.query("retry the broker")
        changes = iter(["retry the broker, as of today"])

        def order(*found: Any) -> Relevance:
            for content in changes:  # once, between the words and the catalog
                two.edit(lore_id, Edit(content=content))
                two.refresh()
            return Relevance(*found)

        generation = one.store.index.generation
        assert generation is not None
        criteria = criteria_for(one.store, Question("retry the broker"))
        found = search_index(
            one.store, generation, "retry the broker", criteria, 5, meaning=False, order=order
        )
        assert [hit.id for hit in found] == [lore_id]
        assert next(changes, None) is None
