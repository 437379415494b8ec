"""Reranking: how near the tokens of an entry and of its neighbours come to each word of the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import open_test_store

from engram.domain.recall import ranking
from engram.usecases.recall import rerank

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram

TALK = (
    "Ana: we moved the invoices to the new ledger service on Monday.",
    "Ben: great, I had feared that it would go wrong.",
    "Ana: it took two hours, and nobody noticed anything.",
    "Ben: then we can delete the old tables next week.",
)
ASIDE = ("The canteen has soup on Monday.", "Paint the fence in spring.", "Ben plays the cello on Sundays.")
ASKED = "how long did moving the invoices take?"


def talk(store: Engram, *, linked: bool) -> list[str]:
    """The turns of a conversation, each naming the one before it, among other things."""
    ids: list[str] = []
    for text in TALK:
        relations = [("see_also", ids[-1])] if linked and ids else []
        ids.append(store.record(text, category="FACT", relations=relations).lore.id)
    for text in ASIDE:
        store.record(text, category="FACT")
    return ids


def near(store: Engram, text: str) -> dict[str, float]:
    with pytest.MonkeyPatch.context() as patch:  # also what is too weak to be shown
        patch.setattr(ranking, "BY_BOTH", ranking.BY_BOTH._replace(weak=-9.0, shown=-9.0))
        hits = store.query(text, k=10, min_confidence=0, keep=False).lore
    return {hit.lore.id: hit.score.near or 0.0 for hit in hits}


def test_a_turn_is_nearer_to_a_question_when_it_names_the_turn_that_it_answers(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "linked") as store:
        ids = talk(store, linked=True)
        linked = near(store, ASKED)[ids[2]]
        ranks = [hit.lore.id for hit in store.query(ASKED, min_confidence=0, keep=False).lore]
    with open_test_store(tmp_path / "alone") as store:
        ids = talk(store, linked=False)
        alone = near(store, ASKED).get(ids[2], 0.0)
    assert linked > alone + 0.1
    assert ids[2] in ranks[:3]


def test_the_text_of_an_entry_counts_more_than_that_of_a_neighbour(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        ids = talk(store, linked=True)
        found = near(store, "we moved the invoices to the ledger service")
    assert found[ids[0]] > found[ids[1]] > found[ids[3]]


def test_one_step_away_counts_nine_tenths_and_two_steps_eight_tenths(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        ids = talk(store, linked=True)
        store.refresh()
        generation = store.store.index.generation
        assert generation is not None
        row = {hit.id: hit.row for hit in generation.catalog.select("1")}
        first, second, third, fourth = (row[one] for one in ids)
        found = rerank.neighbours(generation, [first, second, third, fourth])
    assert found == {
        first: {second: 0.9, third: 0.8},
        second: {first: 0.9, third: 0.9, fourth: 0.8},
        third: {second: 0.9, fourth: 0.9, first: 0.8},
        fourth: {third: 0.9, second: 0.8},
    }


@pytest.mark.parametrize("kind", ["supersedes", "contradicts"])
def test_an_entry_that_replaces_or_contradicts_another_is_no_evidence_for_it(
    tmp_path: Path, kind: str
) -> None:
    with open_test_store(tmp_path) as store:
        first = store.record(TALK[0], category="FACT").lore
        other = store.record(TALK[2], category="FACT", relations=[(kind, first.id)]).lore
        store.refresh()
        generation = store.store.index.generation
        assert generation is not None
        assert {hit.id for hit in generation.catalog.select("1")} == {first.id, other.id}
        assert not rerank.neighbours(generation, [0, 1])


def test_a_relation_removed_by_hand_no_longer_helps(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        ids = talk(store, linked=True)
        before = near(store, ASKED)[ids[2]]
        path = next(tmp_path.rglob(f"*{ids[2]}.md"))
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if not line.startswith("relations:")))
        store.refresh()
        assert near(store, ASKED).get(ids[2], 0.0) < before


def test_an_archived_turn_is_no_evidence_for_its_neighbours(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        ids = talk(store, linked=True)
        before = near(store, ASKED)[ids[2]]
        path = next(tmp_path.rglob(f"*{ids[0]}.md"))
        path.write_text(path.read_text().replace("category:", "status: archived\ncategory:", 1))
        store.refresh()
        assert near(store, ASKED).get(ids[2], 0.0) < before


def test_missing_is_the_distance_to_the_query_word_that_an_entry_lacks(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        talk(store, linked=False)
        [whole, *_] = store.query("invoices moved to the ledger", min_confidence=0, keep=False).lore
        [lacking, *_] = store.query("invoices moved to the giraffe", min_confidence=0, keep=False).lore
    assert whole.lore.id == lacking.lore.id
    assert (whole.score.missing or 0) + 0.1 < (lacking.score.missing or 0)


def missing(store: Engram, text: str) -> float:
    [best, *_] = store.query(text, min_confidence=0, keep=False).lore
    return best.score.missing or 0.0


def test_stop_words_of_a_query_are_never_missing_and_have_no_share(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        talk(store, linked=False)
        asked = "invoices moved to the giraffe"
        alone = missing(store, asked)
        assert alone > 0.1
        assert missing(store, f"how and why were our {asked}") == pytest.approx(alone)


def test_a_short_entry_lacks_less_than_a_long_one_and_is_nearer(tmp_path: Path) -> None:
    said, asked = "The invoices moved to the new ledger service.", "invoices moved to the giraffe"
    with open_test_store(tmp_path / "short") as store:
        store.record(said, category="FACT")
        [short] = store.query(asked, min_confidence=0, keep=False).lore
    with open_test_store(tmp_path / "long") as store:
        store.record(said + " " + " ".join([said] * 8), category="FACT")
        [long] = store.query(asked, min_confidence=0, keep=False).lore
    assert (short.score.missing or 0) + 0.05 < (long.score.missing or 0)
    assert (short.score.near or 0) > (long.score.near or 0)


def test_words_that_the_model_knows_as_a_whole_are_not_misspelt(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        store.record("The invoices moved to the new ledger service.", category="FACT")
        store.record("The lawyer of the team reads every contract.", category="FACT")
        assert missing(store, "invoices layer") > missing(store, "invoices lawyerr") + 0.05


def test_an_entry_with_many_relations_has_the_same_few_neighbours_everywhere(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        others = [
            store.record(f"Step {number} of the release.", category="FACT").lore.id for number in range(12)
        ]
        links = [("see_also", one) for one in others]
        whole = store.record("All steps of the release.", category="FACT", relations=links).lore
        store.refresh()
        generation = store.store.index.generation
        assert generation is not None
        rows = {hit.id: hit.row for hit in generation.catalog.select("1")}
        hub = rows[whole.id]
        found = rerank.neighbours(generation, [hub])[hub]
    assert set(found) == {rows[one] for one in sorted(others)[: rerank.MOST_NEIGHBOURS]}
