"""Decisions with an edited text, by agent, and their reopening if they changed no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, SECRET, TIDES, make_plain_store, ok, open_test_store

from engram.domain.errors import SecretFoundError, UsageError, ValidationError
from engram.domain.review.review import ACCEPT, MERGE, REJECT, SNOOZE, SUPERSEDE, merge_item

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram
    from engram.domain.review.review import Item


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(make_plain_store(tmp_path))


def pair(store: Engram) -> Item:
    """Make two entries that may be merged."""
    shown = [
        store.get(store.record(text, category="FACT", tags=[tag]).lore.id)
        for text, tag in ((QUEUE, "one"), (TIDES, "two"))
    ]
    return merge_item([one.lore.id for one in shown], [one.path for one in shown], "two", "they say the same")


def test_an_edited_result_is_written_with_the_merge(store: Engram) -> None:
    item = pair(store)
    made = store.decide(item, MERGE, dry_run=True).lore[item.lore[0]]
    assert made is not None
    wanted = made._replace(content="Both at once.", tags=("two",), votes={}, merged_from=())
    done = store.decide(item, MERGE, result=wanted).lore[item.lore[0]]
    assert done is not None
    assert (done.content, done.tags, done.merged_from) == ("Both at once.", ("two",), (item.lore[1],))
    assert [one.lore for one in store.list().lore] == [done]


def test_a_supersession_can_edit_the_newer_entry(store: Engram) -> None:
    item = pair(store)
    newer = store.decide(item, SUPERSEDE, dry_run=True).lore[item.lore[1]]
    assert newer is not None
    store.decide(item, SUPERSEDE, result=newer._replace(content="Newer still."))
    assert store.get(item.lore[1]).lore.content == "Newer still."
    assert store.get(item.lore[0]).lore.status == "superseded"


def test_a_result_is_checked_before_anything_is_written(store: Engram) -> None:
    item = pair(store)
    kept, gone = (store.get(lore_id).lore for lore_id in item.lore)
    for wanted, error in (
        (gone, UsageError),
        (kept._replace(content="x" * 4001), ValidationError),
        (kept._replace(content=f"The token is {SECRET}."), SecretFoundError),
    ):
        with pytest.raises(error):
            store.decide(item, MERGE, result=wanted)
    assert [store.get(lore_id).lore for lore_id in item.lore] == [kept, gone]


def test_the_queue_is_filtered_by_agent(store: Engram) -> None:
    for number, agent in enumerate(("codex", "codex", "claude-code")):
        store.record(f"{QUEUE} By {agent}, {number}.", category="FACT", status="pending", agent=agent)
    assert {item.agent for item in store.review(kinds="pending").items} == {"codex", "claude-code"}
    assert store.review(kinds="pending", agents="codex").total == 2
    assert store.review(kinds="pending", agents=["claude-code"]).total == 1
    assert store.review(agents="nobody").total == 0


def test_decisions_that_changed_no_file_can_be_reopened(store: Engram) -> None:
    store.record(QUEUE, category="FACT", confidence=0.1)
    for decision in (SNOOZE, ACCEPT):
        (item,) = store.review(kinds="weak").items
        done = store.decide(item, decision)
        assert (done.lore, store.review(kinds="weak").total) == ({}, 0)
        store.ask_again(done)
        assert store.review(kinds="weak").items == (item,)


def test_decisions_that_changed_files_are_not_reopened(store: Engram) -> None:
    store.record(QUEUE, category="FACT", status="pending")
    done = store.decide(store.review().items[0], REJECT)
    store.ask_again(done)
    assert (store.review().total, store.list().total) == (0, 0)


def test_the_queue_is_filtered_by_properties_of_entries(store: Engram) -> None:
    fact = {"category": "FACT", "status": "pending"}
    store.record(f"{QUEUE} One.", tags=["queue", "mail"], confidence=0.4, **fact)  # type: ignore[arg-type]
    store.record(f"{QUEUE} Two.", tags=["queue"], confidence=0.9, **fact)  # type: ignore[arg-type]
    store.record(f"{QUEUE} Three.", category="DECISION", status="pending", confidence=0.9)
    assert store.review(kinds="pending", categories="fact").total == 2
    assert store.review(kinds="pending", tags=["queue", "mail"]).total == 1
    assert store.review(kinds="pending", categories="fact", min_confidence=0.5).total == 1
    assert store.review(kinds="pending", max_confidence=0.5).total == 1
    assert store.review(kinds="pending", older_than=1).total == 0
    for wrong in (
        {"older_than": -1},
        {"min_confidence": 0.9, "max_confidence": 0.1},
        {"categories": "nonsense"},
    ):
        with pytest.raises((UsageError, ValidationError)):
            store.review(**wrong)  # type: ignore[arg-type]


def test_the_command_line_takes_an_edited_text_and_an_agent(tmp_path: Path) -> None:
    make_plain_store(tmp_path)
    ok("record", QUEUE, "-c", "fact", "--status", "pending", "--agent", "codex", cwd=tmp_path)
    ok("record", TIDES, "-c", "fact", "--status", "pending", "--agent", "other", cwd=tmp_path)
    assert "Nothing that matches waits for you." in ok("review", "--agent", "nobody", cwd=tmp_path).out
    found = ok("review", "--agent", "codex", "--json", cwd=tmp_path).json
    assert [item["agent"] for item in found["items"]] == ["codex"]
    name = found["items"][0]["id"]
    line = ("review", "accept", name, "--content", "Handlers are idempotent.", "--json")
    dry = ok(*line, "--dry-run", cwd=tmp_path).json["decided"][0]["lore"]
    done = ok(*line, cwd=tmp_path).json["decided"][0]["lore"]
    for lore in (*dry.values(), *done.values()):
        assert (lore["content"], lore["status"]) == ("Handlers are idempotent.", "active")
    ok("review", "reject", "--all", "--kind", "pending", "--agent", "codex", "--yes", cwd=tmp_path)
    assert "1 pending" in ok("review", cwd=tmp_path).out
    ok("review", "reject", "--all", "--kind", "pending", "--agent", "other", "--yes", cwd=tmp_path)
    assert "Nothing waits for you." in ok("review", cwd=tmp_path).out
