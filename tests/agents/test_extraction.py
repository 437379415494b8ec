"""Extraction: the right candidates, few, within limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SECRET, everything_on_disk, make_plain_store, open_test_store
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled_transcripts import LABELLED, Labelled

from engram.domain.agents.candidates import LONGEST, SHORTEST
from engram.domain.agents.extraction import AGENT, MOST, PERSON, Turn, extract, split_turns
from engram.domain.errors import UsageError
from engram.usecases.agents.extract import KNOWN, RECORDED, REFUSED

TOPICS = [
    "apples",
    "bears",
    "clouds",
    "dunes",
    "eagles",
    "ferns",
    "grapes",
    "hills",
    "islands",
    "jars",
    "kites",
    "lakes",
]

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(make_plain_store(tmp_path / "store"))


@pytest.mark.parametrize("source", LABELLED, ids=[one.name for one in LABELLED])
def test_exactly_the_labelled_entries_are_extracted(store: Engram, source: Labelled) -> None:
    found = [one for one in store.extract(source.text, name="t.txt") if one.status == RECORDED]
    assert len(found) == len(source.expected)
    for one, (start, category) in zip(found, source.expected, strict=True):
        assert (one.candidate.content[: len(start)], one.candidate.category) == (start, category)
        assert store.get(one.id).lore.status == "pending"
    store.refresh()
    again = store.extract(source.text, name="t.txt")
    assert [one.status for one in again if one.status != REFUSED] == [KNOWN] * len(found)
    assert SECRET.encode() not in everything_on_disk(Path(store.path))


def test_only_an_agents_last_turn_before_the_next_prompt_is_its_report() -> None:
    why = "`tar` keeps the owner's id, so the files belonged to nobody on the build host."
    asked, report = Turn(PERSON, "why can't the host unpack it?"), Turn(AGENT, f"It does again. {why}")
    step = Turn(AGENT, "Now the other host, where it works without any flag but `-x`.")
    assert [one.content for one in extract([asked, step, report])] == [why]
    assert [one.content for one in extract([asked, report, Turn(PERSON, "thanks")])] == [why]
    assert extract([asked, report, step]) == extract([report]) == []
    assert extract([Turn(PERSON, "pack it, please"), report]) == []


def test_an_announced_list_of_lessons_is_extracted_without_the_text_below() -> None:
    lessons = ["The host drops the id of every owner.", "Its clock is an hour behind the others."]
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(lessons, 1))
    found = extract(
        [Turn(AGENT, f"Two lessons from this:\n\n{listed}\n\nThe rest of the hosts are as they were.")]
    )
    assert [one.content for one in found] == [text for text in lessons if len(text) >= SHORTEST]


def test_deeds_below_a_heading_for_findings_are_left_out() -> None:
    found, done = (
        "The `tar` of the host drops the id of every owner.",
        "I've not changed the host; the owner did it by hand.",
    )
    extracted = extract([Turn(AGENT, f"### Key finding\n\n{found}\n\n{done}")])
    assert [one.content for one in extracted] == [found]
    assert extract([Turn(AGENT, f"### Findings\n\n{found}")]) == [], "of this once"


def test_a_rule_in_a_long_prompt_is_not_extracted() -> None:
    rule = "Always run the linter before you open a request."
    assert [one.content for one in extract([Turn(PERSON, rule)])] == [rule]
    assert extract([Turn(PERSON, f"{rule}\n\n{'The page has four columns. ' * 40}")]) == []


def test_extraction_from_a_long_document_keeps_the_limit(store: Engram) -> None:
    text = "\n\n".join(
        f"Gotcha: {topic} are counted once per {topic[::-1]}, never by {topic * 2}." for topic in TOPICS
    )
    assert len(store.extract(text, dry_run=True)) == MOST
    assert len(store.extract(text, limit=3, dry_run=True)) == 3
    with pytest.raises(UsageError):
        store.extract(text, limit=0)


@settings(max_examples=examples(25, 500))
@given(st.text(max_size=500) | st.binary(max_size=300).map(lambda raw: raw.decode("utf-8", "replace")))
def test_any_text_keeps_the_limits(text: str) -> None:
    found = extract(split_turns(f"Decision: {text}\n\n{text}"))
    assert len(found) <= MOST
    assert all(SHORTEST <= len(one.content) <= LONGEST for one in found)
