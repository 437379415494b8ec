"""Items of the review queue: stale and unreadable entries, junk, duplicates, contradictions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, TIDES, SetClock, import_path

from engram.domain.errors import UsageError
from engram.domain.review.review import ACCEPT, MERGE, REJECT
from engram.usecases.recording.edit import Edit
from engram.usecases.review.decisions import decide
from engram.usecases.review.review import review
from tests.review.review_kit import only, queue

if TYPE_CHECKING:
    from engram.app import Engram


def test_expired_and_unused_lore_is_stale_but_used_confirmed_or_pinned_lore_is_not(
    store: Engram, clock: SetClock
) -> None:
    names = {
        name: store.record(f"{QUEUE} Number {name}.", category="FACT").lore.id
        for name in ("old", "used", "helpful", "pinned")
    }
    store.edit(names["pinned"], Edit(pinned=True))
    clock.advance(days=100)
    store.record("The licence ends soon, says the vendor.", category="FACT", expires_at=clock.now())
    store.feedback(helpful=names["helpful"])
    clock.advance(days=100)
    store.edit(names["used"], Edit(add_tags=("x",)))
    shown = store.query("Number used", k=1).lore
    clock.advance(days=1)
    found = {item.lore[0]: item.why for item in review(store.store, kinds=["stale"]).items}
    expected = {names["old"], names["used"]} - {hit.lore.id for hit in shown}
    assert expected < found.keys()
    assert len(found) == len(expected) + 1
    assert sum("expired" in why for why in found.values()) == 1
    assert not {names["pinned"], names["helpful"]} & found.keys()


def test_an_old_entry_of_another_tool_is_not_stale_right_after_its_import(
    store: Engram, clock: SetClock, tmp_path: Path
) -> None:
    rows = tmp_path / "mem0.jsonl"
    rows.write_text(
        '{"id": "1", "memory": "Prefers dark mode.", "created_at": "2019-07-01T10:00:00Z"}\n', "utf-8"
    )
    assert import_path(store, rows).imported == 1
    assert queue(store) == []
    assert not store.consolidate().steps
    clock.advance(days=181)
    assert "since" in only(store, "stale").why


def test_a_note_older_than_the_store_is_not_stale_because_of_its_age(store: Engram) -> None:
    note = Path(store.path, "lore/queue.md")
    note.parent.mkdir()
    note.write_text(f"# Queue\n\n{QUEUE}\n", "utf-8")
    os.utime(note, (0, 0))
    assert [one.lore.title for one in store.list().lore] == ["Queue"]
    assert queue(store) == []


def test_an_unreadable_file_is_a_problem_that_can_only_be_edited_or_snoozed(store: Engram) -> None:
    path = f"{store.path}/lore/bad.md"
    store.record(QUEUE, category="FACT")
    with open(path, "w", encoding="utf-8") as file:
        file.write("---\ncategory: WISDOM\n---\nText.\n")
    item = only(store, "problem")
    assert (item.lore, item.paths) == ((), ("lore/bad.md",))
    assert "WISDOM" in item.why
    with pytest.raises(UsageError, match="problem"):
        decide(store.store, item, REJECT)


def test_junk_is_found_among_entries_written_by_hand(store: Engram) -> None:
    store.record(QUEUE, category="FACT")
    with open(f"{store.path}/lore/thanks.md", "w", encoding="utf-8") as file:
        file.write("Thank you very much!\n")
    assert queue(store) == [("junk", "Thank you very much!")]


def test_duplicates_and_contradictions_are_listed_with_the_reason(store: Engram) -> None:
    held = (
        "Caddy's reverse_proxy can hold requests while a backend restarts: set `lb_try_duration` and `lb_try_interval`"
        " and clients only notice a slower answer."
    )
    queued = (
        "Zero-downtime deploy trick: let the load balancer queue traffic during the swap. With Caddy that is two settings,"
        " lb_try_duration (how long it keeps retrying the upstream) and lb_try_interval (how often)."
    )
    one, other = (store.record(text, category="FACT").lore for text in (held, queued))
    store.record(TIDES, category="FACT")
    limit = store.record("The upload limit of the gateway is 10 MB.", category="FACT").lore
    raised = store.record("The upload limit of the gateway is 25 MB.", category="FACT").lore
    (twins,) = review(store.store, kinds=["duplicate"]).items
    (pair,) = review(store.store, kinds=["contradiction"]).items
    assert (twins.lore, twins.proposal) == ((one.id, other.id), MERGE)
    assert (pair.lore, pair.proposal, pair.proposed) == ((limit.id, raised.id), "look", "look at both")
    assert "10" in pair.why
    store.decide(pair.id, "supersede")
    assert store.get(limit.id).lore.status == "superseded"
    assert store.get(raised.id).lore.relations == (("supersedes", limit.id),)
    store.decide(twins.id[:6], ACCEPT)
    assert queue(store, "duplicate", "contradiction") == []
    for number in (1, 4):
        store.record(f"The integration tests of service {number} need the staging database.", category="FACT")
    (services,) = review(store.store, kinds=["duplicate", "contradiction"]).items
    assert services.proposed == "look at both"  # the newer is no replacement of the older
