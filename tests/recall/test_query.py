"""Recall: what is found, what is not, in which order, and what an answer reports about itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import COLOUR, QUEUE, SECRET, START, TIDES, SetClock, import_path, lore_files, open_test_store
from mixed_lore import MIXED, found, mixed_store

from engram.domain.errors import UsageError, ValidationError
from engram.usecases.recall.search import has_rivals
from engram.usecases.recording.record import Draft, record

if TYPE_CHECKING:
    from engram.app import Engram

CONSUMERS = "implementing message consumers"
FIRING = (
    "Warm the salt kiln overnight before firing, as damp bricks crack. ",
    "Throw salt into the salt kiln at cone nine, a handful at each port. ",
    "Draw a ring from the kiln while firing and look at its glaze. ",
)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    with mixed_store(tmp_path_factory.mktemp("mixed")) as store:
        yield store


def test_the_mixed_store_is_large_and_mixed() -> None:
    assert len(MIXED) >= 55
    assert len({category for category, _ in MIXED}) >= 10


def test_a_paraphrase_finds_the_entry_among_many(mixed: Engram) -> None:
    answer = mixed.query(CONSUMERS)
    assert answer.lore[0].lore.content == QUEUE
    assert answer.strength in {"strong", "weak"}
    assert answer.strategy == "hybrid"


def test_meaning_finds_an_entry_that_shares_no_word_with_the_question(mixed: Engram) -> None:
    answer = mixed.query("message processing workers")
    assert answer.lore[0].lore.content == QUEUE
    assert answer.lore[0].score.words == 0.0


def test_words_alone_find_it_when_the_model_is_left_out(mixed: Engram) -> None:
    answer = mixed.query("queue consumer", strategy="words")
    assert (answer.strategy, answer.lore[0].lore.content) == ("words", QUEUE)
    assert answer.lore[0].score.cosine is None


def test_a_scan_needs_no_index(mixed: Engram) -> None:
    answer = mixed.query("queue consumer", strategy="scan")
    assert (answer.strategy, answer.lore[0].lore.content) == ("scan", QUEUE)


@pytest.mark.parametrize("strategy", ["hybrid", "words", "scan"])
def test_an_empty_store_gives_an_empty_answer(tmp_path: Path, strategy: str) -> None:
    with open_test_store(tmp_path) as store:
        answer = store.query("anything at all", strategy=strategy)
    assert (answer.lore, answer.strength, answer.session_refs) == ((), "none", {})


@pytest.mark.parametrize("question", ["zxqv wvut qqqq", "???"])
def test_nothing_relevant_gives_an_empty_answer_instead_of_padding(mixed: Engram, question: str) -> None:
    answer = mixed.query(question)
    assert (answer.lore, answer.strength) == ((), "none")


def test_strength_tells_a_good_answer_from_a_poor_one(mixed: Engram) -> None:
    assert mixed.query("queue consumer patterns idempotent handler brokers").strength == "strong"
    poor = mixed.query("beauty of brokers in the moonlight above Lisbon harbour walls")
    assert poor.strength != "strong"


@pytest.mark.parametrize(
    ("question", "rivals"), [("broker", True), ("broker in moonlight above Lisbon harbour", False)]
)
def test_a_weak_answer_with_many_matches_is_told_from_one_with_none(
    tmp_path: Path, question: str, *, rivals: bool
) -> None:
    with open_test_store(tmp_path / "store") as engram:
        for lesson in ("restarts at night", "drops old messages", "needs two disks", "logs to the journal"):
            engram.record(f"The broker {lesson}.", category="FACT")
        answer = engram.query(question)
        assert (answer.strength, has_rivals(answer.lore)) == ("weak", rivals)


def test_parts_of_a_long_note_are_no_rivals_of_each_other(tmp_path: Path) -> None:
    note = tmp_path / "kiln.md"
    parts = [f"## Firing {number}\n\n{text * 30}" for number, text in enumerate(FIRING)]
    note.write_text("# Firing the salt kiln\n\n" + "\n\n".join(parts) + "\n", "utf-8")
    with open_test_store(tmp_path / "store") as engram:
        for lesson in (QUEUE, TIDES, "Salt glaze corrodes the shelves.", "The pottery opens at nine."):
            engram.record(lesson, category="FACT")
        assert import_path(engram, note).imported > 2
        answer = engram.query("firing the salt kiln")
        assert answer.lore[0].lore.title.startswith("Firing the salt kiln")
        assert answer.strength == "strong"


def test_at_most_k_entries_are_returned(mixed: Engram) -> None:
    assert len(mixed.query("test").lore) <= 5
    assert len(mixed.query("tests and builds", k=1).lore) == 1
    assert 5 < len(mixed.query("test", k=20).lore) <= 20
    for k in (0, -1, 101):
        with pytest.raises(UsageError, match="k must be"):
            mixed.query("test", k=k)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"text": " \n"}, UsageError),
        ({"text": "a\0b"}, ValidationError),
        ({"text": "\ud800"}, ValidationError),
        ({"text": "x" * 200_001}, ValidationError),
        ({"text": "x", "strategy": "magic"}, UsageError),
        ({"text": "x", "min_confidence": 1.1}, ValidationError),
        ({"text": "x", "min_confidence": float("nan")}, ValidationError),
        ({"text": "x", "categories": "nonsense"}, ValidationError),
        ({"text": "x", "types": "eternal"}, ValidationError),
        ({"text": "x", "tags": "\ud800"}, ValidationError),
        ({"text": "x", "files": "\ud800"}, ValidationError),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(
    tmp_path: Path, arguments: dict[str, object], error: type[Exception]
) -> None:
    with open_test_store(tmp_path) as store:
        store.record(QUEUE, category="FACT")
        with pytest.raises(error):
            store.query(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "question",
    ["(" * 3000, "what is: * foo", "foo::bar", '"', "AND OR NOT", "title:x^2~", "x" * 100_000, "🜁"],
)
def test_query_syntax_characters_have_no_effect_and_raise_nothing(mixed: Engram, question: str) -> None:
    assert mixed.query(question).strength in {"strong", "weak", "none"}


def test_only_active_lore_is_recalled(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        for status in ("pending", "archived", "superseded", "active"):
            store.record(f"{status} lore about brokers", category="FACT", status=status)
        for strategy in ("hybrid", "words", "scan"):
            assert found(store, "lore about brokers", strategy=strategy) == ["active lore about brokers"]


def test_expired_lore_is_not_recalled_from_the_second_it_expires(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(tmp_path, clock=clock) as store:
        ends = START + timedelta(days=1)
        record(store.store, Draft("The broker is down today", "FACT", expires_at=ends))
        for strategy in ("hybrid", "words", "scan"):
            clock.moment = ends - timedelta(seconds=1)
            assert len(found(store, "broker down", strategy=strategy)) == 1
            clock.moment = ends
            assert found(store, "broker down", strategy=strategy) == []


def test_a_pinned_entry_does_not_fade(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(tmp_path, clock=clock) as store:
        store.record("The broker runs on node one", category="OBSERVATION")
        pinned = store.record("The broker runs on node two", category="OBSERVATION", pinned=True)
        clock.advance(days=60)
        first, second = store.query("the broker runs on node").lore
        assert first.lore.id == pinned.lore.id
        assert first.score.standing > second.score.standing


def test_confidence_decides_between_equals(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        for number, confidence in enumerate((0.6, 0.9, 0.7), 1):
            store.record(f"Broker {number} delivers twice.", category="FACT", confidence=confidence)
        hits = store.query("brokers deliver twice").lore
        assert [hit.lore.confidence for hit in hits] == [0.9, 0.7, 0.6]


def test_entries_about_the_given_files_come_first(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        store.record("Timeouts are retried twice by the client.", category="FACT", files=["src/web/http.py"])
        store.record(
            "Timeouts are retried twice by the consumer.", category="FACT", files=["src/queue/consumer.py"]
        )
        for wanted, first in (("src/web/http.py", "client"), ("src/queue/consumer.py", "consumer")):
            answer = store.query("timeouts retried twice", files=[wanted])
            assert first in answer.lore[0].lore.content
            assert answer.lore[0].score.path == 1.25
            assert 1.0 < answer.lore[1].score.path < 1.25
            assert len(answer.lore) == 2, "files are a preference, not a filter"


def test_every_hit_says_why_it_is_here_and_where_it_is(mixed: Engram) -> None:
    answer = mixed.query(CONSUMERS)
    for hit in answer.lore:
        why = hit.score.why()
        assert set(why) >= {"words", "meaning", "relevance", "standing", "path", "scope"}
        assert all(isinstance(value, float) for value in why.values())
        assert hit.score.total > 0
        assert Path(mixed.path, hit.path).is_file()
    totals = [hit.score.total for hit in answer.lore]
    assert totals == sorted(totals, reverse=True)
    assert answer.took_ms >= 0


def test_the_same_question_gives_the_same_answer(mixed: Engram) -> None:
    first, second = mixed.query("tests", k=20), mixed.query("tests", k=20)
    assert [(h.ref, h.lore.id, h.score) for h in first.lore] == [
        (h.ref, h.lore.id, h.score) for h in second.lore
    ]


def test_entries_recorded_edited_or_deleted_by_hand_show_at_once(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        store.record(QUEUE, category="FACT")
        assert found(store, "tides") == []
        by_hand = tmp_path / "lore" / "notes" / "tides.md"
        by_hand.parent.mkdir()
        by_hand.write_text(TIDES, "utf-8")
        assert found(store, "tide tables") == [TIDES]
        file = lore_files(tmp_path)[0]
        file.write_text(file.read_text("utf-8").replace(QUEUE, COLOUR), "utf-8")
        assert found(store, "palette contrast") == [COLOUR]
        assert found(store, "queue consumer idempotent") == []
        by_hand.unlink()
        assert found(store, "tide tables") == []


def test_the_retrieval_log_records_queries_and_answers(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        lore_id = store.record(QUEUE, category="FACT").lore.id
        answer = store.query(CONSUMERS)
        store.query("zxqv wvut")
        store.query("not kept", keep=False)
        nothing, hit = store.store.state.retrievals()
    assert (hit.query, hit.strategy, hit.strength, hit.session) == (
        CONSUMERS,
        "hybrid",
        answer.strength,
        "s1",
    )
    assert hit.ids == (lore_id,)
    assert hit.scores == (round(answer.lore[0].score.total, 4),)
    assert hit.took_ms == answer.took_ms
    assert (nothing.query, nothing.ids, nothing.strength) == ("zxqv wvut", (), "none")


def test_the_user_can_turn_the_retrieval_log_off_and_a_store_cannot(tmp_path: Path, home: Path) -> None:
    with open_test_store(tmp_path, settings="[recall]\nlog = false\n") as store:
        store.query("anything")
        assert len(store.store.state.retrievals()) == 1
    user = home / ".config" / "engram"
    user.mkdir(parents=True)
    (user / "config.toml").write_text("[recall]\nlog = false\n", "utf-8")
    with open_test_store(tmp_path) as store:
        store.query("anything else")
        assert len(store.store.state.retrievals()) == 1


def test_settings_set_the_limit_and_the_minimum_confidence(tmp_path: Path) -> None:
    with open_test_store(tmp_path, settings="[recall]\nlimit = 2\nmin_confidence = 0.65\n") as store:
        for hundredths in (60, 65, 70, 80):
            store.record(f"Broker {hundredths}", category="FACT", confidence=hundredths / 100)
        assert len(store.query("broker").lore) == 2
        assert len(store.query("broker", k=9).lore) == 3


def test_without_a_model_words_answer_and_say_so(tmp_path: Path) -> None:
    with open_test_store(tmp_path, settings='[embedding]\nprovider = "none"\n') as store:
        store.record(QUEUE, category="FACT")
        answer = store.query("queue consumer")
        assert (answer.strategy, len(answer.lore)) == ("words", 1)
        assert store.query(CONSUMERS).lore[0].score.why()["meaning"] is None


def test_a_file_with_a_secret_is_not_recalled_by_any_strategy(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        store.record("The broker has a token.", category="FACT")
        (tmp_path / "lore" / "hand.md").write_text(f"The broker token is {SECRET}\n", "utf-8")
        for strategy in ("hybrid", "words", "scan"):
            assert found(store, "broker token", strategy=strategy) == ["The broker has a token."]


def test_two_files_with_one_id_are_one_entry_of_an_answer(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        path = tmp_path / store.record(QUEUE, category="FACT").path
        (tmp_path / "lore" / "copy.md").write_bytes(path.read_bytes())
        assert found(store, "queue consumer") == [QUEUE]


def test_an_empty_answer_says_how_many_entries_have_too_little_confidence(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        store.record("The broker runs on node one.", category="FACT", confidence=0.3)
        found = store.query("on which node does the broker run")
        assert (found.strength, found.lore) == ("none", ())
        (note,) = found.notes
        assert (
            note
            == "one entry that answers has a confidence below 0.50 and is left out: ask for less to see it"
        )
        assert store.query("tide tables of the harbour").notes == ()
        (hit,) = store.query("on which node does the broker run", min_confidence=0.3).lore
        assert hit.lore.confidence == 0.3
