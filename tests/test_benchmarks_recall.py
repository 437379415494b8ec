"""Scoring: the measures against values worked out by hand, and a whole set through a real store."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
OWN_SET = BENCHMARKS / "sets" / "short_lore.json"


@pytest.fixture(autouse=True)
def _benchmarks_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


def write_set(path: Path, **changed: object) -> Path:
    documents = {
        "queue": {
            "title": "",
            "text": "Queue consumers must be idempotent, the broker redelivers.",
            "tags": "",
        },
        "docker": {
            "title": "Docker layers",
            "text": "Copy the lock file before the source code.",
            "tags": "",
        },
        "money": {
            "title": "",
            "text": "Prices are integer cents, floats rounded invoices wrongly.",
            "tags": "",
        },
    }
    queries = {
        "q1": "are queue consumers idempotent",
        "q2": "docker layers and the lock file",
        "none": "volcano",
    }
    qrels = {"q1": {"queue": 1}, "q2": {"docker": 1}}
    data = {"name": "small", "meta": {}, "docs": documents, "queries": queries, "qrels": qrels} | changed
    path.write_text(json.dumps(data), "utf-8")
    return path


def test_measures_are_what_their_definitions_say() -> None:
    import scoring

    ranked, grades = ["a", "b", "c", "d"], {"b": 1, "d": 1, "z": 1}
    assert scoring.recall(ranked, grades, 1) == 0
    assert scoring.recall(ranked, grades, 4) == pytest.approx(2 / 3)
    assert scoring.reciprocal_rank(ranked, grades, 10) == 1 / 2
    assert scoring.reciprocal_rank(ranked, grades, 1) == 0
    gain, best = 1 / math.log2(3) + 1 / math.log2(5), 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert scoring.ndcg(ranked, grades, 10) == pytest.approx(gain / best)


@given(
    st.permutations(list("abcdef")), st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 3), min_size=1)
)
def test_ndcg_is_one_for_the_best_order_and_never_more(ranked: list[str], grades: dict[str, int]) -> None:
    import sys

    sys.path.insert(0, str(BENCHMARKS))
    import scoring

    best = sorted(ranked, key=lambda document: -grades.get(document, 0))
    assert scoring.ndcg(best, grades, 6) == pytest.approx(1)
    assert 0 < scoring.ndcg(ranked, grades, 6) <= 1 + 1e-12


def test_a_percentile_is_a_value_that_was_measured() -> None:
    import scoring

    assert scoring.percentile([5, 1, 4, 2, 3], 0.5) == 3
    assert scoring.percentile(range(1, 101), 0.99) == 99
    assert scoring.percentile([], 0.5) == 0


def test_a_set_is_scored_through_a_real_store(tmp_path: Path) -> None:
    import recall

    found = recall.measure(str(write_set(tmp_path / "set.json")))
    assert (found.name, found.documents, found.refused) == ("small", 3, [])
    assert [row.strategy for row in found.measured] == ["bm25", "words", "hybrid"]
    for row in found.measured:
        assert row.quality == (1, 1, 1, 1, 1, 2)
        assert row.p99_ms >= row.p50_ms > 0
    hybrid = found.measured[-1]
    assert sum(hybrid.strengths.values()) == 2
    assert hybrid.unanswered == {"none": 1}


def test_a_long_document_is_cut_and_a_secret_masked_so_that_both_can_be_found(tmp_path: Path) -> None:
    import retrieval_set

    key = "AKIA" + "WXFXAIOZBOQM4XUH"
    long = {"title": "", "text": "heading\n" + "word " * 1000, "tags": ""}
    secret = {"title": "", "text": f"The key is {key}, in the bucket.", "tags": ""}
    found = retrieval_set.load(str(write_set(tmp_path / "set.json", docs={"queue": long, "docker": secret})))
    assert (found.cut, found.masked) == (1, 1)
    assert max(map(len, found.documents.values())) <= 4000
    assert key not in found.documents["docker"]
    assert "in the bucket" in found.documents["docker"]


def test_the_command_fails_where_hybrid_is_below_the_words_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import recall

    path = str(write_set(tmp_path / "set.json"))
    assert recall.main([path]) == 0
    worse = recall.measure(path)
    row = worse.measured[-1]
    worse.measured[-1] = row._replace(quality=row.quality._replace(ndcg_10=0.5))
    monkeypatch.setattr(recall, "measure", lambda *_: worse)
    assert recall.main([path]) == 1


def test_our_own_set_has_an_answer_for_each_judged_question_and_questions_without_one() -> None:
    import retrieval_set

    found = retrieval_set.load(str(OWN_SET))
    assert len(found.queries) == 60
    assert len(found.unanswerable) == 30
    assert all(grades.keys() <= found.documents.keys() for grades in found.judged.values())
