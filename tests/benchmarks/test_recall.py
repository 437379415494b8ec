"""Scoring: the measures against values computed by hand, and whole sets in real stores."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
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


def test_measures_follow_their_definitions() -> None:
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


def write_folder(path: Path) -> Path:
    """Write a set as a folder: entries with all fields, questions of two kinds and an unanswerable one."""
    lore = [
        {
            "key": "queue",
            "title": "Queues",
            "content": "Consumers must be idempotent, the broker redelivers.",
        },
        {
            "key": "layers",
            "title": "Docker layers",
            "content": "Copy the lock file before the source.",
            "context": "Slow builds",
            "category": "PERFORMANCE_INSIGHT",
            "tags": ["docker"],
            "files": ["deploy/Dockerfile"],
            "confidence": 0.4,
        },
    ]
    queries = [
        {"q": "idempotent consumers", "relevant": ["queue"], "kind": "keyword"},
        {"q": "deploy/Dockerfile", "relevant": ["layers"], "kind": "path"},
        {"q": "volcano", "relevant": [], "kind": "unanswerable"},
    ]
    path.mkdir()
    for name, rows in (("lore", lore), ("queries", queries)):
        (path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def write_conversations(path: Path) -> Path:
    """Write two conversations in the format of LoCoMo; the evidence of one question is not in its conversation."""
    first = {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "I bought a telescope last week."},
            {"speaker": "Bob", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a photo of a violin"},
        ],
        "session_2": [{"speaker": "Ada", "dia_id": "D2:1", "text": "My sister moved to Lisbon."}],
    }
    second = {"session_1": [{"speaker": "Eve", "dia_id": "D1:1", "text": "Bees are my hobby."}]}
    asked = [
        {"question": "Which telescope did Ada buy?", "evidence": ["D1:1"], "category": 1},
        {"question": "Who has a violin, and a sister in Lisbon?", "evidence": ["D1:02; D2:1"], "category": 4},
        {"question": "What is the volcano called?", "evidence": ["D9:9"], "category": 4},
    ]
    bees = [{"question": "What is Eve's hobby, bees?", "evidence": ["D1:1"], "category": 2}]
    path.write_text(
        json.dumps([{"conversation": first, "qa": asked}, {"conversation": second, "qa": bees}]), "utf-8"
    )
    return path


def test_a_set_is_scored_through_a_real_store_in_every_variant(tmp_path: Path) -> None:
    import recall
    from recall_variants import VARIANTS

    (found,) = recall.measure(str(write_set(tmp_path / "small.json")))
    assert (found.name, found.sizes.documents, found.sizes.refused) == ("small", 3, [])
    assert list(found.asked) == list(VARIANTS)
    for name, asked in found.asked.items():
        assert found.quality(name) == (1, 1, 1, 1, 1, 2), name
        assert len(asked.times) == 3
        assert min(asked.times) > 0
    said = {name: asked.unanswered[0].strength for name, asked in found.asked.items()}
    assert said["hybrid"] == "none"
    assert said["hybrid without floor"] == "weak"
    assert said["bm25"] == ""


def test_a_folder_of_lore_and_questions_is_scored_by_kind(tmp_path: Path) -> None:
    import recall
    import recall_tables
    import retrieval_set

    path = str(write_folder(tmp_path / "small_folder"))
    layers = retrieval_set.load(path).documents[1]
    assert layers.text == "Docker layers\n\nCopy the lock file before the source."
    assert layers[2:] == (
        ("Slow builds",),
        "PERFORMANCE_INSIGHT",
        ("docker",),
        ("deploy/Dockerfile",),
        400,
        "",
        (),
    )
    (found,) = recall.measure(path, ["words", "hybrid"])
    assert found.name == "small_folder"
    assert found.quality("hybrid", "path") == (1, 1, 1, 1, 1, 1)
    assert found.quality("words", "keyword").queries == 1
    assert "| path | 1 | 1.0000 (1.0000) | 1.0000 (1.0000) |" in recall_tables.kinds(found)
    assert found.as_dict()["variants"]["hybrid"]["unanswerable"] == {"none": 1}


def test_a_folder_whose_questions_name_unknown_keys_is_refused(tmp_path: Path) -> None:
    import retrieval_set

    path = write_folder(tmp_path / "set")
    question = {"q": "what", "relevant": ["no-such"], "kind": "task"}
    (path / "queries.jsonl").write_text(json.dumps(question) + "\n", "utf-8")
    with pytest.raises(ValueError, match="no-such"):
        retrieval_set.load(str(path))


def test_a_variant_sets_its_constants_only_while_it_runs() -> None:
    from recall_variants import VARIANTS, Variant, set_for

    from engram.domain.recall import ranking

    before = ranking.STANDING, ranking.BY_BOTH
    with set_for(VARIANTS["hybrid without standing"]):
        assert ranking.STANDING == 0
    with (
        pytest.raises(AttributeError),
        set_for(Variant("x", "", {("engram.domain.recall.ranking", "NOT_THERE"): 1})),
    ):
        pass
    assert before == (ranking.STANDING, ranking.BY_BOTH)


def test_variants_name_existing_constants() -> None:
    from importlib import import_module

    from recall_variants import VARIANTS

    for variant in VARIANTS.values():
        for (module, name), value in variant.constants.items():
            assert getattr(import_module(module), name) != value, variant.name


def test_a_variant_without_spelling_correction_finds_no_misspelt_words(tmp_path: Path) -> None:
    import retrieval_set
    from recall_asking import ask_all
    from recall_variants import VARIANTS, Variant

    path = write_set(tmp_path / "set.json", queries={"q1": "consummers redellivers", "q2": "dokcer"})
    exactly = VARIANTS["hybrid without misspelt"].constants
    chosen = [
        Variant("exactly", "words", exactly, True),
        VARIANTS["words"],
        Variant("again", "words", exactly),
    ]
    asked = ask_all(retrieval_set.load(str(path)), chosen, str(tmp_path / "scratch")).asked
    assert list(asked) == ["exactly", "words", "again"]
    assert asked["words"].replies["q1"].ids == ["queue"]
    assert asked["exactly"].replies["q1"].ids == asked["again"].replies["q1"].ids == []
    assert sorted(each.name for each in (tmp_path / "scratch").iterdir()) == ["0", "1"]


def test_locomo_is_measured_by_turn_and_by_session_with_a_store_per_conversation(tmp_path: Path) -> None:
    import recall

    turns, sessions = recall.measure(str(write_conversations(tmp_path / "talk.json")), ["words", "hybrid"])
    assert (turns.name, sessions.name) == ("locomo_turn", "locomo_session")
    assert (turns.sizes.documents, sessions.sizes.documents) == (4, 3)
    assert turns.judged == {"0/0": {"D1:1": 1}, "0/1": {"D1:2": 1, "D2:1": 1}, "1/0": {"D1:1": 1}}
    assert sessions.judged["0/1"] == {"D1": 1, "D2": 1}
    assert turns.kinds == {"0/0": "multi-hop", "0/1": "single-hop", "1/0": "temporal"}
    assert turns.units == {"0/0": 0, "0/1": 0, "1/0": 1}
    assert turns.quality("words").recall_5 == sessions.quality("words").recall_5 == 1


def test_a_session_longer_than_an_entry_is_cut_between_turns_and_counts_once(tmp_path: Path) -> None:
    import recall

    turns = [
        {"speaker": "Ada", "dia_id": f"D1:{number}", "text": "stars and telescopes " * 40}
        for number in range(12)
    ]
    talk = {
        "conversation": {"session_1": turns},
        "qa": [{"question": "telescopes", "evidence": ["D1:3"], "category": 4}],
    }
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([talk]), "utf-8")
    _, sessions = recall.measure(str(path), ["words"])
    assert sessions.sizes.documents == 3
    assert sessions.sizes.cut == 0
    assert sessions.asked["words"].replies["0/0"].ids == ["D1"]


def report_of(found: list[float], nothing: list[float]) -> object:
    """Return a report whose answerable questions were all found, with this evidence."""
    from recall_asking import Asked, Reply, Sizes
    from recall_report import Report

    replies = {str(number): Reply(["a"], "weak", value) for number, value in enumerate(found)}
    unanswered = [Reply(["b"], "weak", value) for value in nothing]
    judged = {query: {"a": 1} for query in replies}
    asked = {"hybrid without floor": Asked(replies, unanswered, [1.0])}
    return Report("made", Sizes(2, 0, 0, []), judged, {}, {}, asked)


def test_bounds_show_what_a_threshold_would_keep_and_silence() -> None:
    import recall_tables

    apart = report_of(
        [0.5 + number / 1000 for number in range(101)], [number / 1000 for number in range(101)]
    )
    row = recall_tables.bounds([apart]).splitlines()[-1]
    assert row == "| made | 0.080 | 100.0 % | 0.503 | 100.0 % | 1.000 |"
    alike = report_of([0.1, 0.2, 0.3, 0.4, 0.5], [0.1, 0.2, 0.3, 0.4, 0.5])
    assert recall_tables.bounds([alike]).splitlines()[-1].endswith("| 0.500 |")
    assert recall_tables.bounds([report_of([0.1], [])]) == ""


def test_the_bootstrap_distinguishes_a_significant_difference_from_chance() -> None:
    import scoring

    better = scoring.compare([0.9] * 30 + [0.2] * 10, [0.4] * 30 + [0.2] * 10)
    assert better.mean == pytest.approx(0.375)
    assert 0.2 < better.low < better.mean < better.high < 0.5
    assert better.p_value < 0.001
    chance = scoring.compare([1.0, 0.0] * 20, [0.0, 1.0] * 20)
    assert chance.low < 0 < chance.high
    assert chance.p_value > 0.5
    assert scoring.compare([0.5] * 9, [0.5] * 9) == (0, 0, 0, 1)
    assert scoring.compare([], []) == (0, 0, 0, 1)


def test_the_bootstrap_draws_whole_units() -> None:
    import scoring

    one, other = [1.0] * 10 + [0.0] * 10, [0.0] * 10 + [0.5] * 10
    alone, together = scoring.compare(one, other), scoring.compare(one, other, ["a"] * 10 + ["b"] * 10)
    assert alone.mean == together.mean == 0.25
    assert together.low == -0.5
    assert together.high == 1
    assert together.low < alone.low


def test_a_long_document_is_cut_and_a_secret_masked(tmp_path: Path) -> None:
    import retrieval_set

    key = "AKIA" + "WXFXAIOZBOQM4XUH"
    long = {"title": "", "text": "heading\n" + "word " * 1000, "tags": ""}
    secret = {"title": "", "text": f"The key is {key}, in the bucket.", "tags": ""}
    found = retrieval_set.load(str(write_set(tmp_path / "set.json", docs={"queue": long, "docker": secret})))
    assert (found.cut, found.masked) == (1, 1)
    texts = {document.answers: document.text for document in found.documents}
    assert max(map(len, texts.values())) <= 4000
    assert key not in texts["docker"]
    assert "in the bucket" in texts["docker"]


def test_the_command_prints_tables_or_json_and_fails_if_hybrid_is_below_bm25(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import recall

    path = str(write_set(tmp_path / "small.json"))
    assert recall.main([path, "--variants", "bm25,hybrid"]) == 0
    assert "| small | bm25 | 1.0000 | 1.0000 |" in capsys.readouterr().out
    assert recall.main([path, "--variants", "bm25,hybrid", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["sets"][0]["variants"]["hybrid"]["quality"]["ndcg_10"] == 1
    worse = recall.measure(path, ["bm25", "hybrid"])
    worse[0].asked["hybrid"].replies["q1"].ids[:] = ["money"]
    monkeypatch.setattr(recall, "measure", lambda *_: worse)
    assert recall.main([path, "--variants", "bm25,hybrid"]) == 1


def test_an_unknown_variant_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    import recall

    with pytest.raises(SystemExit):
        recall.main(["set.json", "--variants", "magic"])
    assert "magic" in capsys.readouterr().err


def test_our_own_set_has_answerable_and_unanswerable_questions() -> None:
    import retrieval_set

    found = retrieval_set.load(str(OWN_SET))
    names = {document.answers for document in found.documents}
    assert len(found.queries) == 60
    assert len(found.unanswerable) == 30
    assert all(grades.keys() <= names for grades in found.judged.values())


def test_graph_expansion_is_measured_by_names_shared_by_entries(tmp_path: Path) -> None:
    import hop

    assert hop.names_in("Redis fails. The Redis of `jobQueue` waits for Kafka, see C++ and utf8.") == [
        "Redis", "jobQueue", "Kafka", "C++", "utf8"
    ]  # fmt: skip
    (report,) = hop.reports(str(write_folder(tmp_path / "small_folder")), 1)
    assert [len(asked.replies) for asked in report.asked.values()] == [len(report.judged)] * 2


def write_histories(path: Path) -> Path:
    """Write two instances in the format of LongMemEval: one with a long turn, one with an unanswerable question."""
    garden = [
        {"role": "user", "content": "My tomatoes ripen late. Any idea?", "has_answer": False},
        {"role": "assistant", "content": "Prune the side shoots. " * 250},
    ]
    car = [
        {"role": "user", "content": "I bought a green bicycle from my neighbour Olga.", "has_answer": True},
        {"role": "assistant", "content": "Enjoy it!"},
    ]
    common = {
        "question_date": "2023/05/30 (Tue) 22:10",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_session_ids": ["garden_1", "answer_1"],
        "haystack_sessions": [garden, car],
        "answer_session_ids": ["answer_1"],
    }
    asked = {
        "question_id": "e47b",
        "question_type": "single-session-user",
        "question": "Who sold me the bicycle?",
    }
    nothing = {
        "question_id": "e47b_abs",
        "question_type": "single-session-user",
        "question": "Volcano eruption schedule?",
    }
    path.write_text(
        json.dumps([asked | {"answer": "Olga"} | common, nothing | {"answer": "-"} | common]), "utf-8"
    )
    return path


def test_longmemeval_is_measured_by_session_and_its_abstentions_are_unanswerable(tmp_path: Path) -> None:
    import locomo
    import longmemeval
    import recall
    import recall_tables

    path = str(write_histories(tmp_path / "longmemeval_s.json"))
    assert longmemeval.is_longmemeval(path)
    assert not longmemeval.is_longmemeval(str(write_conversations(tmp_path / "talk.json")))
    assert locomo.is_locomo(str(tmp_path / "talk.json"))
    (found,) = recall.measure(path, ["words", "hybrid"])
    assert (found.name, found.sizes.documents, found.sizes.cut) == ("longmemeval_session", 8, 0)
    assert found.judged == {"0/e47b": {"answer_1": 1}}
    assert found.kinds == {"0/e47b": "single-session-user"}
    assert found.asked["words"].replies["0/e47b"].ids[0] == "answer_1"
    assert [reply.strength for reply in found.asked["hybrid"].unanswered] == ["none"]
    table = recall_tables.any_found(found)
    assert "| single-session-user | 1 | 1.0000 / 1.0000 | 1.0000 / 1.0000 |" in table
    assert "| all | 1 |" in table


def test_any_found_counts_questions_and_recall_counts_documents() -> None:
    from recall_asking import Asked, Reply, Sizes
    from recall_report import Report

    replies = {"one": Reply(["x", "a"], "weak", 0), "two": Reply(["x"], "weak", 0)}
    judged = {"one": {"a": 1, "b": 1}, "two": {"c": 1}}
    report = Report("made", Sizes(3, 0, 0, []), judged, {"one": "k"}, {}, {"words": Asked(replies, [], [])})
    assert report.any_found("words", 5) == 0.5
    assert report.any_found("words", 1) == 0
    assert report.any_found("words", 5, "k") == 1
    assert report.quality("words").recall_5 == 0.25


@pytest.mark.slow
def test_providers_are_compared_side_by_side_each_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import recall

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert recall.main([str(write_set(tmp_path / "small.json")), "--providers", "bundled,none"]) == 0
    head, _, first, second = capsys.readouterr().out.splitlines()
    assert head.count("|") == first.count("|")
    assert first.startswith("| small | bundled | 1.0000 |  |  | ")
    assert second.startswith("| small | none | 1.0000 | +0.0000 (+0.0000 to +0.0000) | 1.000 | ")
    assert float(second.split("|")[-2]) > 20
    assert recall.main([str(write_folder(tmp_path / "kinds")), "--providers", "bundled,none"]) == 0
    assert "| Kind | Questions | bundled | none |" in capsys.readouterr().out


def test_an_unknown_provider_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    import recall

    with pytest.raises(SystemExit):
        recall.main(["set.json", "--providers", "bundled,magic"])
    assert "magic" in capsys.readouterr().err


def test_decision_records_are_queried_by_the_text_left_out_of_them() -> None:
    from benchmarks.sets import documents

    why = [
        f"The {name} reason is that nobody can tell how long such a request will take here."
        for name in "abcde"
    ]
    what = "This adds a limit that every caller can set for the length of its own requests."
    more = f"{'Nobody waits for longer than the time that was set, whoever asks ' * 2}and whatever for."
    text = f"# A limit\n## Summary\n{what} {more}\n## Motivation\n{' '.join(why)}\n## Design\n{'A limit is a number. ' * 90}\n"
    one = documents.record("text/0012-a-limit.md", text)
    assert (one.key, one.title) == ("0012-a-limit", "a limit")
    found = documents.decisions([one])
    assert set(found["queries"].values()) == {"a limit", what, f"{what} {more}"}
    assert what not in str(found["docs"])
    assert "motivation" in str(found["docs"])
    assert documents.abstracts([one])["queries"] == {
        "0012-a-limit sentence": why[1], "0012-a-limit motivation": " ".join(why)
    }  # fmt: skip
    old = documents.record("peps/pep-0001.rst", "PEP: 1\nTitle: On limits\n\nAbstract\n========\n\nShort.\n")
    assert (old.title, old.sections) == ("On limits", {"abstract": "\n\nShort.\n"})
    assert documents.decisions([old])["docs"] == {}
