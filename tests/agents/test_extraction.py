"""Extraction: few candidates, the right ones, pending with where they are from, never twice, never a secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SECRET, everything_on_disk, ok, opened, plain
from apikit import cli as run
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled_transcripts import LABELLED, Labelled

from engram.domain.agents.candidates import LONGEST, SHORTEST
from engram.domain.agents.extraction import MOST, extract, turns_of_text
from engram.domain.errors import UsageError
from engram.usecases.agents.extract import KNOWN, NEW, RECORDED, REFUSED

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


def test_a_candidate_says_where_it_is_from_and_what_it_is_about(store: Engram) -> None:
    text = "# Notes\n\nGotcha: `take_next` of src/worker.py blocks while [[Redis]] restarts. #queue\n"
    (one,) = store.extract(text, name="notes.md")
    lore = store.get(one.id).lore
    assert lore.context == ("Extracted from notes.md, line 3",)
    assert (lore.tags, lore.files) == (("extracted", "gotcha", "queue"), ("src/worker.py",))
    assert lore.entities == ("take_next", "Redis")
    assert (lore.confidence, lore.agent) == (0.5, "tester")
    assert store.query("what blocks while redis restarts").lore == ()
    assert [item.kind for item in store.review().items] == ["pending"]


def test_what_is_refused_says_so_without_the_secret_and_a_rehearsal_writes_nothing(store: Engram) -> None:
    text = f"Workaround: call the registry with the token {SECRET} until it is mended."
    (one,) = store.extract(text)
    assert (one.status, one.candidate.content) == (REFUSED, "")
    assert SECRET not in repr(one)
    (one,) = store.extract("Gotcha: the clock of the worker runs ahead of the broker's.", dry_run=True)
    assert (one.status, store.list().total) == (NEW, 0)


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


def test_the_command_line_takes_a_file_or_standard_input(tmp_path: Path) -> None:
    root = plain(tmp_path)
    text = "Decision: orders are identified by ULIDs, never by numbers of a database.\n"
    (root / "adr.md").write_text(text)
    shown = ok("extract", "adr.md", "--dry-run", cwd=root).out
    assert "new       Decision: orders" in shown
    found = ok("extract", "adr.md", "--json", cwd=root).json
    assert (found["recorded"], found["candidates"][0]["where"]) == (1, "line 1")
    assert ok("extract", "-", "--json", cwd=root, stdin=text.encode()).json["recorded"] == 0
    assert "Nothing in it" in ok("extract", "-", cwd=root, stdin=b"hello").out
    assert run("extract", "missing.md", cwd=root).code == 3
    assert run("extract", str(root), cwd=root).code == 2
    assert json.loads(run("extract", "missing.md", "--json", cwd=root).out)["error"]["code"] == "not-found"
