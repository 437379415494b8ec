"""The most relevant rows are those that an exhaustive search finds, and the index and a scan leave out the same.

Mutants that make no difference: how many rows are looked at first, and how many more where those are too few; how often a
search begins anew; files compared where there are none; the seventh digit of a score; a mean length below one character; a
hundredth for 0 where a time begins with 1970; `None` for `False`.
"""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from apikit import SECRET, SetClock, open_test_store
from gitkit import isolate
from hypothesis import given
from hypothesis import strategies as st
from storekit import lines, run

from engram.adapters.index.delta import K1, B
from engram.adapters.index.vectors import Cosines
from engram.adapters.index.words import WordHits
from engram.domain.entry.lore import ACTIVE, MAX_CONTENT, searchable, text_digest
from engram.domain.recall import ranking
from engram.domain.recall.ranking import Trust
from engram.usecases.lookup.filter import Filter
from engram.usecases.recall import search
from engram.usecases.recall.question import Question, criteria_for
from engram.usecases.recall.search import (
    Candidate,
    Criteria,
    Relevance,
    changed_paths,
    read_candidates,
    scan_files,
    search_index,
)
from engram.usecases.recording.edit import Edit
from tests.opening.vault_kit import vault
from tests.recall.test_rerank import ASKED, talk

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram

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
    with (
        open_test_store(tmp_path / "store", session="one") as one,
        open_test_store(tmp_path / "store", session="two") as two,
    ):
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


# --- what is left out, and what a scan finds

TEXT = "retry the broker"


def drop(root: Path, texts: dict[str, str]) -> None:
    """Put files of lore into a store as a person does; they are from 2023."""
    (root / "lore").mkdir(exist_ok=True)
    for name, text in texts.items():
        (root / f"lore/{name}.md").write_text(f"{text}\n")
        os.utime(root / f"lore/{name}.md", (1_700_000_000, 1_700_000_000))


def words_found(engram: Engram, criteria: Criteria, limit: int = 20, text: str = TEXT) -> list[Candidate]:
    engram.refresh()
    generation = engram.store.index.look()
    assert generation is not None
    return search_index(engram.store, generation, text, criteria, limit, meaning=False)


def test_the_index_and_a_scan_leave_out_the_same_entries(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(tmp_path / "store", clock=clock) as engram:

        def add(**more: Any) -> str:
            return engram.record(f"{TEXT}, case {len(made)}", category="FACT", **more).lore.id

        made: dict[str, str] = {}
        for name in ("old", "confirmed", "pinned"):
            made[name] = add(pinned=name == "pinned")
        clock.advance(days=10)
        horizon = clock.now().timestamp()
        engram.feedback(helpful=made["confirmed"])
        for name in ("plain", "held", "held whole", "held before"):
            made[name] = add()
        for name, hours in (("over", 1), ("not over", 2)):
            made[name] = add(expires_at=clock.now() + timedelta(hours=hours))
        made["other"] = engram.record(f"{TEXT}, otherwise", category="PREFERENCE").lore.id
        clock.advance(hours=1)
        held = {
            made["held"]: {text_digest(searchable(engram.get(made["held"]).lore))},
            made["held before"]: {"another digest"},
            made["held whole"]: None,
        }
        criteria = Criteria(Filter(categories=("FACT",), status=ACTIVE), (), horizon, held)
        left = {made[name] for name in ("confirmed", "pinned", "plain", "held before", "not over")}
        assert {hit.id for hit in words_found(engram, criteria)} == left
        assert {hit.id for hit in scan_files(engram.store, TEXT, criteria, 20)} == left
        for name in ("old", "over", "held whole"):
            admitted = criteria._replace(admitted=made[name])
            assert {hit.id for hit in words_found(engram, admitted)} == {*left, made[name]}
        tagged = engram.record(f"{TEXT} slowly", category="PREFERENCE", tags=["slow"]).lore.id
        worth = "---\nid: 01JBBBBBBBBBBBBBBBBBBBBBBB\ncategory: WORKFLOW\nconfidence: 0\n---\n"
        drop(tmp_path / "store", {"worthless": f"{worth}{TEXT} for nothing"})
        for where, wanted in (
            (Filter(tags=("slow",), status=ACTIVE), tagged),
            (Filter(categories=("WORKFLOW",), status=ACTIVE), "01JBBBBBBBBBBBBBBBBBBBBBBB"),
        ):
            assert [hit.id for hit in words_found(engram, Criteria(where))] == [wanted]
            assert [hit.id for hit in scan_files(engram.store, TEXT, Criteria(where), 20)] == [wanted]
        every = criteria._replace(horizon=0.0, quarantined={})
        both = [
            {hit.id for hit in found}
            for found in (words_found(engram, every), scan_files(engram.store, TEXT, every, 20))
        ]
        assert both == [{*made.values()} - {made["over"], made["other"]}] * 2
        generation = engram.store.index.look()
        assert generation is not None
        rows = {hit.id: hit.row for hit in generation.catalog.select("1")}
        few = frozenset((rows[made["plain"]], rows[made["other"]]))
        for where, wanted in ((criteria.where, {"plain"}), (Filter(status=ACTIVE), {"plain", "other"})):
            found = words_found(engram, criteria._replace(where=where, rows=few))
            assert {hit.id for hit in found} == {made[name] for name in wanted}


def test_a_scan_scores_by_matching_words_and_returns_four_times_the_limit(
    tmp_path: Path,
) -> None:
    with open_test_store(tmp_path / "store") as engram:
        drop(
            tmp_path / "store", {f"{number}": f"The broker number {number} restarts." for number in range(30)}
        )
        bad = {"secret": f"The broker has the key {SECRET}", "bad": "---\nid: [\n---\nThe broker"}
        drop(tmp_path / "store", bad)
        criteria = Criteria(Filter(status=ACTIVE))
        assert len(scan_files(engram.store, "broker", criteria, 1)) == 20
        assert len(scan_files(engram.store, "broker", criteria, 6)) == 24
        every = scan_files(engram.store, "BROKER", criteria, 20)
        assert len(every) == 30
        assert {one.score.words for one in every} == {1.0}
        (half,) = scan_files(engram.store, "the number 7 heron", criteria, 20)[:1]
        assert half.score.words == pytest.approx(2 / 3)
        assert scan_files(engram.store, "heron", criteria, 20) == []


def test_a_candidate_is_read_as_its_file_is_now(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store") as engram:
        names = ("kept", "changed", "gone", "swapped", "held")
        drop(tmp_path / "store", {name: f"The broker is {name}." for name in names})
        criteria = Criteria(Filter(status=ACTIVE))
        found = scan_files(engram.store, "broker", criteria, 20)
        assert changed_paths(engram.store, found) == []
        (tmp_path / "store/lore/changed.md").write_text("The broker is another one.\n")
        (tmp_path / "store/lore/gone.md").unlink()
        other = "---\nid: 01JBBBBBBBBBBBBBBBBBBBBBBB\ncategory: FACT\n---\nThe broker is somebody.\n"
        (tmp_path / "store/lore/swapped.md").write_text(other)
        differs = {f"lore/{word}.md" for word in ("changed", "gone", "swapped")}
        assert {*changed_paths(engram.store, found)} == differs
        (held,) = [one.id for one in found if one.path == "lore/held.md"]
        read = {
            hit.path: lore
            for hit, lore in read_candidates(engram.store, criteria._replace(quarantined={held: None}), found)
        }
        assert {path: lore.content for path, lore in read.items()} == {
            "lore/kept.md": "The broker is kept.", "lore/changed.md": "The broker is another one.",
        }  # fmt: skip
        assert read["lore/kept.md"].created_at.timestamp() == 1_700_000_000


def test_a_small_pool_of_rows_gives_the_same_answer_as_a_large_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_test_store(tmp_path / "store") as engram:
        texts = {f"{number}": f"{TEXT}{' again' * (number % 7)} in case {number}" for number in range(40)}
        drop(tmp_path / "store", texts)
        every = [hit.id for hit in words_found(engram, Criteria(Filter(status=ACTIVE)), 40)]
        assert len(every) == 40
        for held in ([], every[:30], every[1::2], every[:39]):
            criteria = Criteria(Filter(status=ACTIVE), quarantined=dict.fromkeys(held))
            wanted = [one for one in every if one not in held][:5]
            with monkeypatch.context() as patch:
                for name in ("WORD_POOL", "FEW", "POOL"):
                    patch.setattr(search, name, 2)
                assert [hit.id for hit in words_found(engram, criteria, 5)][:5] == wanted
            assert [hit.id for hit in words_found(engram, criteria, 5)][:5] == wanted


def test_the_pool_includes_rows_that_a_matching_file_may_raise_to_the_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_test_store(tmp_path / "store") as engram:
        drop(tmp_path / "store", {f"{number}": f"{TEXT} {'now ' * (3 + number // 3)}" for number in range(6)})
        about = engram.record(f"{TEXT} {'again ' * 3}", category="FACT", files=["src/a.py"]).lore.id
        criteria = Criteria(Filter(status=ACTIVE), ("src/a.py",))
        first = words_found(engram, criteria)
        share = first[0].score.words / max(hit.score.words for hit in first)
        assert (first[0].id, 0.8 < share < 0.88) == (about, True)
        assert {hit.score.path for hit in first} == {1 + ranking.PATH_GAIN, 1.0}
        monkeypatch.setattr(search, "FEW", 1)
        assert words_found(engram, criteria, 1)[0].id == about


def test_the_pool_is_larger_if_entries_are_linked_since_neighbours_may_raise_them(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as engram:
        drop(
            tmp_path,
            {f"{number}": f"How long did moving the invoices take, case {number}?" for number in range(12)},
        )
        ids = talk(engram, linked=True)
        engram.refresh()
        generation = engram.store.index.look()
        assert generation is not None
        found = search_index(
            engram.store, generation, ASKED, Criteria(Filter(status=ACTIVE)), 1, meaning=True
        )
        assert {*ids} <= {hit.id for hit in found}


def test_neighbours_are_candidates_too_and_evidence_depends_on_the_models_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_test_store(tmp_path) as engram:
        ids = talk(engram, linked=True)
        engram.refresh()
        generation = engram.store.index.look()
        assert generation is not None
        for name in ("FEW", "POOL"):
            monkeypatch.setattr(search, name, 1)
        monkeypatch.setattr(type(engram.store.embedder), "trust", Trust(by_chance=0.3))
        found = search_index(
            engram.store, generation, ASKED, Criteria(Filter(status=ACTIVE)), 1, meaning=True
        )
        assert {hit.id for hit in found} == {*ids}
        assert {hit.score.trust.by_chance for hit in found} == {0.3}


def test_a_long_note_in_place_counts_as_if_it_had_the_length_of_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)

    def weight(length: float) -> float:
        """What a text of so many characters gets for a word that it has once."""
        return (1 + K1) / (1 + K1 * (1 - B + B * length / mean))

    notes = {
        "long.md": "heron " + "word " * 4000,
        **{f"{number}.md": "heron " + "word " * 700 for number in range(3)},
    }
    with vault(tmp_path / "vault", notes) as engram:
        found = {
            hit.path: hit.score.words
            for hit in words_found(engram, Criteria(Filter(status=ACTIVE)), text="heron")
        }
        assert 0.85 * found["1.md"] < found["long.md"] < found["1.md"]
    for lengths in ((9000, 1000), (9000, 5000, 1000), (20000, 9000, 10)):
        folder = tmp_path / f"vault of {len(lengths)} to {lengths[0]}"
        with vault(folder, {f"{number}.md": "x" * length for number, length in enumerate(lengths)}) as engram:
            engram.refresh()
            generation = engram.store.index.look()
            assert generation is not None
            known = {hit.row: hit.length for hit in generation.catalog.select("1")}
            mean = sum(known.values()) / len(known)
            found = WordHits(dict.fromkeys([*known][-2:], 1.0), 3.0, {})
            search._limit_length_penalty(generation, found)
            entry = min(mean, MAX_CONTENT)
            for row, score in found.scores.items():
                counts = weight(entry) / weight(known[row]) if known[row] > MAX_CONTENT else 1.0
                assert score == pytest.approx(counts)


def test_the_first_queries_of_a_process_find_the_same_without_numpy(tmp_path: Path) -> None:
    script = """
        import json, sys, engram
        for root in sys.argv[2:]:
            with engram.open(root, background=False) as store:
                for question, way in json.loads(sys.argv[1]):
                    answer = store.query(question, keep=False, min_confidence=0, strategy=way)
                    found = [(hit.path, round(hit.score.total, 3)) for hit in answer.lore]
                    print(json.dumps([answer.strategy, found, "numpy" in sys.modules]))
    """
    questions = [
        (TEXT, "hybrid"),
        ("how is a queue read", "hybrid"),
        ("ጷጷ ☃", "hybrid"),
        ("case 7 xqzv", "words"),
    ]
    notes = {f"{number}": f"{TEXT}, case {number}" for number in range(9)} | {
        "queue": "A queue is read in order."
    }
    expected = []
    for root, texts in ((tmp_path / "empty", {}), (tmp_path / "store", notes)):
        with open_test_store(root) as engram:
            drop(root, texts)
            engram.refresh()
            for question, way in questions:
                answer = engram.query(question, keep=False, min_confidence=0, strategy=way)
                found = [[hit.path, round(hit.score.total, 3)] for hit in answer.lore]
                expected.append([answer.strategy, found, False])
    done = run(script, json.dumps(questions), tmp_path / "empty", tmp_path / "store")
    assert lines(done.stdout) == expected, done.stderr
