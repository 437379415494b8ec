"""Recording: what is accepted, what is refused, and that a refusal writes nothing."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import COLOUR, QUEUE, SECRET, START, SetClock, everything_on_disk, lore_files, open_test_store

from engram.domain.entry.lore import STATUSES
from engram.domain.errors import SecretFoundError, ValidationError
from engram.usecases.recording.edit import Edit
from engram.usecases.store.store import Clock

if TYPE_CHECKING:
    from engram.app import Engram


def test_a_new_entry_has_the_documented_defaults_and_path(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        done = store.record(QUEUE, category="PATTERN_OUTCOME")
    lore = done.lore
    assert (lore.confidence, lore.validation_count, lore.last_validated) == (0.70, 0, None)
    assert (lore.status, lore.type, lore.agent, lore.pinned) == ("active", "semantic", "tester", False)
    assert lore.created_at == lore.updated_at == START
    assert done.path.startswith("lore/2026/03/04/queue-consumer-patterns")
    assert done.path.endswith(f"--{lore.id}.md")
    assert (tmp_path / done.path).read_text("utf-8").endswith(QUEUE + "\n")
    assert (done.status, done.similar, done.redacted) == ("recorded", (), 0)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("x" * 4001, "4,001 characters"),
        ("", "empty"),
        (" \n\t\n ", "empty"),
        ("a\0b", "NUL"),
        ("a\ud800b", "surrogate"),
    ],
)
def test_invalid_content_is_refused_and_nothing_is_written(tmp_path: Path, content: str, says: str) -> None:
    with open_test_store(tmp_path) as store, pytest.raises(ValidationError, match=says) as caught:
        store.record(content, category="FACT")
    assert caught.value.field == "content"
    assert caught.value.hint
    assert lore_files(tmp_path) == []


@pytest.mark.parametrize("content", ["x", "x" * 4000, "ä" * 4000, "🜁" * 4000])
def test_one_to_4000_characters_of_any_script_are_kept_as_they_are(tmp_path: Path, content: str) -> None:
    with open_test_store(tmp_path) as store:
        lore_id = store.record(content, category="FACT").lore.id
        assert store.get(lore_id).lore.content == content


def test_blank_lines_around_and_windows_line_ends_are_not_content(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        assert store.record("\r\n  code\r\nmore\r\n\r\n", category="FACT").lore.content == "  code\nmore"
        assert len(store.record("\n" + "x" * 4000 + "\n\n", category="FACT").lore.content) == 4000


@pytest.mark.parametrize("confidence", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_confidence_outside_zero_to_one_is_refused(tmp_path: Path, confidence: float) -> None:
    with open_test_store(tmp_path) as store, pytest.raises(ValidationError, match="confidence"):
        store.record(QUEUE, category="FACT", confidence=confidence)


@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.005, 1.0])
def test_a_confidence_from_zero_to_one_is_kept_to_two_decimals(tmp_path: Path, confidence: float) -> None:
    with open_test_store(tmp_path) as store:
        lore_id = store.record(QUEUE, category="FACT", confidence=confidence).lore.id
        assert store.get(lore_id).lore.confidence == pytest.approx(confidence, abs=0.0051)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("context", "x" * 1001),
        ("context", "a\0b"),
        ("tags", ["a", ""]),
        ("tags", ["two\nlines"]),
        ("tags", ["x" * 201]),
        ("tags", [f"t{number}" for number in range(201)]),
        ("files", ["a\0b"]),
        ("entities", ["\ud800"]),
        ("relations", [("see_also", "not-an-id")]),
        ("relations", [("loves", "01M806ZZWH03EWHXWBG1FA47RA")]),
        ("status", "asleep"),
        ("importance", 1.5),
        ("agent", "x" * 201),
    ],
)
def test_every_field_has_its_rule(tmp_path: Path, field: str, value: object) -> None:
    with open_test_store(tmp_path) as store, pytest.raises(ValidationError) as caught:
        store.record(QUEUE, category="FACT", **{field: value})  # type: ignore[arg-type]
    assert caught.value.field == field
    assert lore_files(tmp_path) == []


def test_all_fields_come_back_from_the_file(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        other = store.record(COLOUR, category="FACT").lore.id
        wrote = store.record(
            "# A title\n\nand [[a link]] – with ünïcode 🜁",
            category="workflow",
            context=["first", "second: with\nlines"],
            confidence=0.81,
            tags=["a", "b", "a"],
            files=["src/main.py"],
            entities=["RabbitMQ"],
            relations=[("refines", other)],
            status="pending",
            agent="robot",
            importance=0.25,
            pinned=True,
        ).lore
    with open_test_store(tmp_path) as store:
        read = store.get(wrote.id).lore
    assert read == wrote
    assert (read.tags, read.title) == (("a", "b"), "A title")
    assert read.relations[0].id == other


def test_every_status_can_be_recorded(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        found = [store.record(status, category="FACT", status=status).lore.status for status in STATUSES]
    assert tuple(found) == ("active", "pending", "archived", "superseded")


def test_a_similar_entry_is_reported_and_both_are_kept(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        first = store.record(QUEUE, category="PATTERN_OUTCOME").lore.id
        store.record(COLOUR, category="FACT")
        done = store.record(QUEUE.replace("every handler", "each handler"), category="PATTERN_OUTCOME")
        assert [twin.id for twin in done.similar] == [first]
        assert 0.85 <= done.similar[0].similarity <= 1.0
        assert store.list().total == 3


def test_settings_supply_the_fields_that_the_caller_omits(tmp_path: Path, home: Path) -> None:
    settings = '[record]\ncategory = "preference"\nconfidence = 0.55\n'
    user = home / ".config" / "engram"
    user.mkdir(parents=True)
    (user / "config.toml").write_text('[record]\nagent = "ada"\n', "utf-8")
    with open_test_store(tmp_path, agent="", settings=settings) as store:
        lore = store.record(QUEUE).lore
        assert (lore.category, lore.confidence, lore.agent) == ("PREFERENCE", 0.55, "ada")
        given = store.record(COLOUR, category="fact", confidence=0.9, agent="bot").lore
        assert (given.category, given.confidence, given.agent) == ("FACT", 0.9, "bot")
    with open_test_store(tmp_path, agent="claude-code") as store:
        assert store.record("third").lore.agent == "claude-code", "who calls counts more than the setting"


def test_ids_grow_with_time_so_that_lists_are_in_order(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(tmp_path, clock=clock) as store:
        ids = []
        for number in range(5):
            clock.advance(seconds=1)
            ids.append(store.record(f"number {number}", category="FACT").lore.id)
        assert ids == sorted(ids)
        assert [shown.lore.id for shown in store.list().lore] == ids[::-1]


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path)


@pytest.mark.parametrize("field", ["content", "context", "tags", "files", "entities", "agent"])
def test_a_secret_in_any_field_is_refused_and_reaches_no_disk(tmp_path: Path, field: str) -> None:
    values: dict[str, object] = {"content": QUEUE, field: f"my {SECRET}"}
    with open_test_store(tmp_path) as store:
        with pytest.raises(SecretFoundError) as caught:
            store.record(category="FACT", **values)  # type: ignore[arg-type]
        assert SECRET not in str(caught.value.as_dict())
        assert field in caught.value.message
        assert store.list().total == 0
    assert SECRET.encode() not in everything_on_disk(tmp_path)


@pytest.mark.parametrize("field", ["content", "context", "tags", "files", "entities", "agent"])
def test_redacting_masks_the_secret_and_keeps_the_rest(tmp_path: Path, field: str) -> None:
    values: dict[str, object] = {"content": QUEUE, field: f"my {SECRET}"}
    with open_test_store(tmp_path) as store:
        done = store.record(category="FACT", redact=True, **values)  # type: ignore[arg-type]
        assert done.redacted == 1
        assert "my " in str(getattr(store.get(done.lore.id).lore, field))
    assert SECRET.encode() not in everything_on_disk(tmp_path)


def test_a_false_alarm_can_be_allowed(tmp_path: Path) -> None:
    with open_test_store(tmp_path, settings=f'[secrets]\nallow = ["{SECRET}"]\n') as store:
        done = store.record(f"An example looks like {SECRET}", category="FACT")
        assert (done.redacted, store.query("example looks like").lore[0].lore.id) == (0, done.lore.id)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the system which files are open")
def test_a_process_that_goes_on_recording_and_asking_has_no_more_files_open(tmp_path: Path) -> None:
    """Garbage collection is off, as a server rarely runs it."""

    def work(engram: Engram, number: int) -> int:
        text = f"Queue {number} of service {number % 7} is drained before deploy {number * 3}: workers crash."
        ref = engram.record(text, category="fact").lore.id
        engram.edit(ref, Edit(add_tags=("queue",)))
        engram.feedback(helpful=[ref])
        engram.query(f"deploy of queue {number}")
        return len([*Path("/proc/self/fd").iterdir()])

    gc.disable()
    try:
        with open_test_store(tmp_path, clock=Clock()) as engram:
            before = max(work(engram, number) for number in range(6))
            assert max(work(engram, number) for number in range(6, 20)) <= before
    finally:
        gc.enable()
