"""The description of a disputed entry: both names, the words that differ and ages, but nothing injected by a file."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry.disputes import describe_dispute, difference_lines, plain_name
from engram.domain.entry.lore import Conflict, Lore

NOW = datetime(2026, 3, 6, 10, 0, tzinfo=UTC)
PORT = Lore(
    "01KHZRHNE0243HE46FACKTRGTT",
    "The port of staging is 9090.\n\nAsk Ops.",
    "FACT",
    NOW,
    NOW,
    tags=("a", "b"),
)
LOST = Conflict(
    "content",
    "The port of staging is 7070.\n\nAsk Ops.",
    "Bob",
    "2026-03-03T10:00:00Z",
    "Ann",
    "2026-03-04T10:00:00Z",
)


def describe(*conflicts: Conflict, now: datetime | None = NOW) -> str:
    return describe_dispute(PORT._replace(conflicts=conflicts), now)


def test_a_dispute_shows_both_names_and_the_words_that_differ() -> None:
    assert describe(LOST) == "disputed: Ann says 9090 (2 days ago), Bob says 7070 (3 days ago)"
    assert describe(LOST, now=None) == "disputed: Ann says 9090 (2026-03-04), Bob says 7070 (2026-03-03)"
    assert describe() == ""


def test_unknown_names_and_times_are_left_out() -> None:
    assert describe(LOST._replace(source="", at="", kept_source="", kept_at="yesterday")) == (
        "disputed: somebody says 9090, somebody else says 7070"
    )
    assert (
        describe(LOST._replace(source="Ann")) == "disputed: Ann says 9090 (2 days ago) and 7070 (3 days ago)"
    )


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("tags", "a\nc", "disputed tags: Ann says b (2 days ago), Bob says c (3 days ago)"),
        ("deleted", "", "disputed: Ann changed it (2 days ago), Bob deleted it (3 days ago)"),
        ("file", "---\nid: [", "disputed: the version of Bob cannot be read (3 days ago)"),
        ("_replace", "x", "disputed replace: Ann says nothing (2 days ago), Bob says x (3 days ago)"),
        ("count", "x", "disputed count: Ann says nothing (2 days ago), Bob says x (3 days ago)"),
    ],
)
def test_other_fields_than_the_text_are_named(field: str, value: str, sentence: str) -> None:
    assert describe(LOST._replace(field=field, value=value)) == sentence


def test_of_several_conflicts_the_latest_of_the_text_is_shown_and_others_counted() -> None:
    others = [
        Conflict("tags", "z", "Cleo", "2026-03-05T00:00:00Z"),
        LOST._replace(value="Older.", at="2026-01-01T00:00:00Z"),
    ]
    assert (
        describe(*others, LOST)
        == "disputed: Ann says 9090 (2 days ago), Bob says 7070 (3 days ago); and 2 more"
    )


def test_the_difference_shows_only_lines_that_differ() -> None:
    assert difference_lines(PORT._replace(conflicts=(LOST,))) == (
        "content: {+Ann (2026-03-04)+} stands, [-Bob (2026-03-03)-] lost",
        "The port of staging is [-7070-]{+9090+}.",
    )


@given(st.text())
def test_a_name_in_a_prompt_is_40_plain_characters(name: str) -> None:
    plain = plain_name(name)
    assert len(plain) <= 40
    assert all(letter.isalnum() or letter in " .-'" or not letter.isascii() for letter in plain)
    assert "\n" not in describe(LOST._replace(source=name, kept_source=name, field="tags", value=name))
