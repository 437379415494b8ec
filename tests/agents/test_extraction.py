"""Extraction: few candidates, the right ones, within limits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SECRET, everything_on_disk, opened, plain
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled_transcripts import LABELLED, Labelled

from engram.domain.agents.candidates import LONGEST, SHORTEST
from engram.domain.agents.extraction import MOST, extract, turns_of_text
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
    return opened(plain(tmp_path / "store"))


@pytest.mark.parametrize("source", LABELLED, ids=[one.name for one in LABELLED])
def test_exactly_what_is_labelled_comes_out(store: Engram, source: Labelled) -> None:
    found = [one for one in store.extract(source.text, name="t.txt") if one.status == RECORDED]
    assert len(found) == len(source.expected)
    for one, (start, category) in zip(found, source.expected, strict=True):
        assert (one.candidate.content[: len(start)], one.candidate.category) == (start, category)
        assert store.get(one.id).lore.status == "pending"
    store.refresh()
    again = store.extract(source.text, name="t.txt")
    assert [one.status for one in again if one.status != REFUSED] == [KNOWN] * len(found)
    assert SECRET.encode() not in everything_on_disk(Path(store.path))


def test_a_long_document_gives_no_more_than_the_limit(store: Engram) -> None:
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
    found = extract(turns_of_text(f"Decision: {text}\n\n{text}"))
    assert len(found) <= MOST
    assert all(SHORTEST <= len(one.content) <= LONGEST for one in found)
