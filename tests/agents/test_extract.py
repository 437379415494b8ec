"""Candidates of a transcript as pending entries: with their source, never with a secret, never twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SECRET, make_plain_store, ok, open_test_store
from apikit import cli as run

from engram.usecases.agents.extract import NEW, REFUSED

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(make_plain_store(tmp_path / "store"))


def test_an_extracted_entry_has_its_source_tags_files_and_entities(store: Engram) -> None:
    text = "# Notes\n\nGotcha: `take_next` of src/worker.py blocks while [[Redis]] restarts. #queue\n"
    (one,) = store.extract(text, name="notes.md")
    lore = store.get(one.id).lore
    assert lore.context == ("Extracted from notes.md, line 3",)
    assert (lore.tags, lore.files) == (("extracted", "gotcha", "queue"), ("src/worker.py",))
    assert lore.entities == ("take_next", "Redis")
    assert (lore.confidence, lore.agent) == (0.5, "tester")
    assert store.query("what blocks while redis restarts").lore == ()
    assert [item.kind for item in store.review().items] == ["pending"]


def test_a_refusal_does_not_show_the_secret_and_a_dry_run_writes_nothing(store: Engram) -> None:
    text = f"Workaround: call the registry with the token {SECRET} until it is mended."
    (one,) = store.extract(text)
    assert (one.status, one.candidate.content) == (REFUSED, "")
    assert SECRET not in repr(one)
    (one,) = store.extract("Gotcha: the clock of the worker runs ahead of the broker's.", dry_run=True)
    assert (one.status, store.list().total) == (NEW, 0)


def test_the_command_reads_a_file_or_standard_input(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path)
    text = "Decision: orders are identified by ULIDs, never by numbers of a database.\n"
    (root / "adr.md").write_text(text)
    shown = ok("extract", "adr.md", "--dry-run", cwd=root).out
    assert "new       Decision: orders" in shown
    found = ok("extract", "adr.md", "--json", cwd=root).json
    assert (found["recorded"], found["candidates"][0]["where"]) == (1, "line 1")
    assert ok("extract", "-", "--json", cwd=root, stdin=text.encode()).json["recorded"] == 0
    assert "No lessons found" in ok("extract", "-", cwd=root, stdin=b"hello").out
    assert run("extract", "missing.md", cwd=root).code == 3
    assert run("extract", str(root), cwd=root).code == 2
    assert json.loads(run("extract", "missing.md", "--json", cwd=root).out)["error"]["code"] == "not-found"
