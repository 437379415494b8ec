"""Recording: what is accepted, what is refused, and that a refusal writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import COLOUR, QUEUE, START, SetClock, lore_files, opened

from engram.domain.entry.categories import ALIASES, Categories
from engram.domain.entry.lore import STATUSES
from engram.domain.errors import ValidationError

BUILT_IN = Categories().names


def test_a_new_lore_has_the_documented_defaults_and_its_file_where_they_say(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
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
def test_content_that_is_no_lore_is_refused_and_nothing_is_written(
    tmp_path: Path, content: str, says: str
) -> None:
    with opened(tmp_path) as store, pytest.raises(ValidationError, match=says) as caught:
        store.record(content, category="FACT")
    assert caught.value.field == "content"
    assert caught.value.hint
    assert lore_files(tmp_path) == []


@pytest.mark.parametrize("content", ["x", "x" * 4000, "ä" * 4000, "🜁" * 4000])
def test_one_to_4000_characters_of_any_script_are_kept_as_they_are(tmp_path: Path, content: str) -> None:
    with opened(tmp_path) as store:
        lore_id = store.record(content, category="FACT").lore.id
        assert store.get(lore_id).lore.content == content


def test_blank_lines_around_and_windows_line_ends_are_not_content(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        assert store.record("\r\n  code\r\nmore\r\n\r\n", category="FACT").lore.content == "  code\nmore"
        assert len(store.record("\n" + "x" * 4000 + "\n\n", category="FACT").lore.content) == 4000


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_category_is_accepted_in_any_case_with_either_dash(tmp_path: Path, name: str) -> None:
    spellings = [name, name.lower(), name.title(), name.replace("_", "-"), name.lower().replace("_", "-")]
    categories = Categories()
    assert {categories.parse(spelling) for spelling in spellings} == {name}


def test_aliases_name_their_category(tmp_path: Path) -> None:
    documented = {
        "decision": "ARCHITECTURAL_DECISION",
        "pattern": "PATTERN_OUTCOME",
        "insight": "PATTERN_OUTCOME",
        "error": "FAILURE",
        "tool_observation": "OBSERVATION",
        "Tool-Observation": "OBSERVATION",
    }
    with opened(tmp_path) as store:
        for alias, category in documented.items():
            assert store.record(f"about {alias}", category=alias).lore.category == category
    assert len(ALIASES) == 5


@pytest.mark.parametrize("category", ["DECISIONS_OF_THE_MOON", "fact;", "\0"])
def test_an_unknown_category_is_refused_with_the_list_of_valid_ones(tmp_path: Path, category: str) -> None:
    with opened(tmp_path) as store, pytest.raises(ValidationError) as caught:
        store.record(QUEUE, category=category)
    assert caught.value.field == "category"
    assert all(name in caught.value.hint for name in BUILT_IN)
    assert lore_files(tmp_path) == []


def test_the_type_follows_from_the_category_unless_it_is_given(tmp_path: Path) -> None:
    expected = {"FACT": "semantic", "WORKFLOW": "procedural", "FAILURE": "episodic", "PLAN": "working"}
    with opened(tmp_path) as store:
        for category, kind in expected.items():
            assert store.record(category, category=category).lore.type == kind
        assert store.record("given", category="FACT", type="Working").lore.type == "working"
        with pytest.raises(ValidationError, match="not a type"):
            store.record("given", category="FACT", type="eternal")


@pytest.mark.parametrize("confidence", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_confidence_outside_zero_to_one_is_refused(tmp_path: Path, confidence: float) -> None:
    with opened(tmp_path) as store, pytest.raises(ValidationError, match="confidence"):
        store.record(QUEUE, category="FACT", confidence=confidence)


@pytest.mark.parametrize("confidence", [0.0, 0.5, 0.005, 1.0])
def test_a_confidence_from_zero_to_one_is_kept_to_two_decimals(tmp_path: Path, confidence: float) -> None:
    with opened(tmp_path) as store:
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
    with opened(tmp_path) as store, pytest.raises(ValidationError) as caught:
        store.record(QUEUE, category="FACT", **{field: value})  # type: ignore[arg-type]
    assert caught.value.field == field
    assert lore_files(tmp_path) == []


def test_all_fields_come_back_from_the_file(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
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
    with opened(tmp_path) as store:
        read = store.get(wrote.id).lore
    assert read == wrote
    assert (read.tags, read.title) == (("a", "b"), "A title")
    assert read.relations[0].id == other


def test_every_status_can_be_recorded(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        found = [store.record(status, category="FACT", status=status).lore.status for status in STATUSES]
    assert tuple(found) == ("active", "pending", "archived", "superseded")


def test_a_near_twin_is_told_and_both_are_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        first = store.record(QUEUE, category="PATTERN_OUTCOME").lore.id
        store.record(COLOUR, category="FACT")
        done = store.record(QUEUE.replace("every handler", "each handler"), category="PATTERN_OUTCOME")
        assert [twin.id for twin in done.similar] == [first]
        assert 0.85 <= done.similar[0].similarity <= 1.0
        assert store.list().total == 3


def test_the_settings_say_what_is_recorded_where_the_caller_does_not(tmp_path: Path, home: Path) -> None:
    settings = '[record]\ncategory = "preference"\nconfidence = 0.55\n'
    user = home / ".config" / "engram"
    user.mkdir(parents=True)
    (user / "config.toml").write_text('[record]\nagent = "ada"\n', "utf-8")
    with opened(tmp_path, agent="", settings=settings) as store:
        lore = store.record(QUEUE).lore
        assert (lore.category, lore.confidence, lore.agent) == ("PREFERENCE", 0.55, "ada")
        given = store.record(COLOUR, category="fact", confidence=0.9, agent="bot").lore
        assert (given.category, given.confidence, given.agent) == ("FACT", 0.9, "bot")
    with opened(tmp_path, agent="claude-code") as store:
        assert store.record("third").lore.agent == "claude-code", "who calls counts more than the setting"


def test_ids_grow_with_time_so_that_lists_are_in_order(tmp_path: Path) -> None:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as store:
        ids = []
        for number in range(5):
            clock.advance(seconds=1)
            ids.append(store.record(f"number {number}", category="FACT").lore.id)
        assert ids == sorted(ids)
        assert [shown.lore.id for shown in store.list().lore] == ids[::-1]
