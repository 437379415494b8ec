"""The review queue lists items with their reasons, and each decision has its effect, once, and can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, TIDES, SetClock, dedicated, git, open_test_store
from sync_kit import Clones

from engram.domain.errors import AmbiguousError, ConflictError, NotFoundError, UsageError
from engram.domain.review.review import (
    ACCEPT,
    ARCHIVE,
    KINDS,
    MERGE,
    REJECT,
    SNOOZE,
    TAKE,
    Item,
    allowed_decisions,
    item_id,
)
from engram.usecases.history.undo import redo, undo
from engram.usecases.recording.edit import Edit
from engram.usecases.review.decisions import decide, decide_all, preview
from engram.usecases.review.review import find_item, review
from engram.usecases.store.commit import commit_pending
from tests.review.review_kit import only, queue

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram


def test_a_healthy_store_has_nothing_to_review(store: Engram) -> None:
    store.record(QUEUE, category="FACT")
    assert review(store.store) == ((), 0, {})


def test_pending_lore_waits_until_it_is_accepted(store: Engram) -> None:
    lore = store.record(QUEUE, category="FACT", status="pending").lore
    assert store.query("idempotent queue handlers").lore == ()
    item = only(store, "pending")
    assert (item.lore, item.proposal, item.cost > 0) == ((lore.id,), ACCEPT, True)
    done = decide(store.store, item, ACCEPT)
    assert done.lore[lore.id] == store.get(lore.id).lore
    assert [hit.lore.id for hit in store.query("idempotent queue handlers").lore] == [lore.id]
    assert queue(store) == []


def test_pending_junk_is_one_item_proposed_for_rejection(store: Engram) -> None:
    store.record("Is this the right place?", category="FACT")
    item = only(store, "pending")
    assert (item.proposal, "question" in item.why) == (REJECT, True)
    assert queue(store) == [("pending", item.title)]


def test_rejecting_an_entry_deletes_it(store: Engram) -> None:
    store.record(QUEUE, category="FACT", status="pending")
    decide(store.store, only(store, "pending"), REJECT)
    assert store.list().total == 0


def test_accepting_a_stale_entry_confirms_it(store: Engram, clock: SetClock) -> None:
    lore = store.record(QUEUE, category="FACT").lore
    clock.advance(days=200)
    decide(store.store, only(store, "stale"), ACCEPT)
    assert store.get(lore.id).lore.last_validated == clock.now().replace(microsecond=0)
    assert queue(store) == []


def test_lore_that_lost_its_confidence_is_weak_and_can_be_archived(store: Engram) -> None:
    lore = store.record(QUEUE, category="FACT", confidence=0.2).lore
    item = only(store, "weak")
    assert item.proposal == ARCHIVE
    decide(store.store, item, ARCHIVE)
    assert store.get(lore.id).lore.status == "archived"
    assert queue(store) == []


def test_a_snoozed_item_returns_when_the_snooze_ends(store: Engram, clock: SetClock) -> None:
    store.record(QUEUE, category="FACT", status="pending")
    item = only(store, "pending")
    decide(store.store, item, SNOOZE, days=3)
    assert queue(store) == []
    clock.advance(days=2.9)
    assert queue(store) == []
    clock.advance(days=0.2)
    assert queue(store) == [("pending", item.title)]


def test_an_accepted_item_returns_when_its_entries_change(store: Engram, clock: SetClock) -> None:
    lore = store.record(QUEUE, category="FACT", confidence=0.2).lore
    decide(store.store, only(store, "weak"), ACCEPT)
    assert queue(store) == []
    clock.advance(seconds=5)
    store.edit(lore.id, Edit(add_tags=("queue",)))
    assert queue(store) == [("weak", lore.title)]


def test_a_merge_conflict_is_listed_and_either_version_can_be_kept(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    lore = clones.record("a")
    clones.settle()
    path = clones.path("a", lore)
    clones.edit("a", path, "must be idempotent", "must be idempotent, everywhere")
    clones.edit("b", path, "must be idempotent", "should be idempotent")
    clones.settle()
    item = only(clones["a"], "conflict")
    assert item.evidence[1:] == ("Queue consumers [-must-]{+should+} be idempotent[-, everywhere-].",)
    assert (
        preview(clones["a"].store, item, TAKE)
        .lore[lore.id]
        .content.startswith("Queue consumers must be idempotent, everywhere")
    )  # type: ignore[union-attr]
    clones.clock.advance(seconds=1)
    decide(clones["a"].store, item, TAKE)
    clones.settle()
    clones.assert_equal()
    for name in "ab":
        kept = clones[name].get(lore.id).lore
        assert kept.content.startswith("Queue consumers must be idempotent, everywhere.")
        assert kept.conflicts == ()
    assert queue(clones["b"], "conflict") == []


def test_a_decision_is_one_commit_and_undo_restores_every_byte(tmp_path: Path) -> None:
    clock = SetClock()
    store = open_test_store(dedicated(tmp_path / "store"), clock=clock)
    for number in range(3):
        store.record(f"{QUEUE} {number}", category="FACT", status="pending")
    commit_pending(store.store)
    root = tmp_path / "store"
    before = git(root, "rev-parse", "HEAD^{tree}")
    count = int(git(root, "rev-list", "--count", "HEAD"))
    items = review(store.store, kinds=["pending"]).items
    clock.advance(seconds=1)
    decide_all(store.store, items, REJECT)
    commit_pending(store.store)
    assert int(git(root, "rev-list", "--count", "HEAD")) == count + 3
    assert "Engram-Decision: pending reject" in git(root, "log", "-1", "--format=%B")
    assert undo(store.store, 3).kept == ()
    commit_pending(store.store)
    assert git(root, "rev-parse", "HEAD^{tree}") == before


def test_an_item_is_found_by_a_prefix_of_its_id(store: Engram) -> None:
    store.record(QUEUE, category="FACT", status="pending")
    store.record(TIDES, category="FACT", status="pending")
    item = review(store.store).items[0]
    assert find_item(store.store, item.id[:8].upper()) == item
    with pytest.raises(NotFoundError):
        find_item(store.store, "zzzz")
    with pytest.raises(NotFoundError):
        find_item(store.store, " ")


def test_a_prefix_of_two_ids_is_ambiguous(store: Engram) -> None:
    for number in range(40):
        store.record(f"{QUEUE} {number}", category="FACT", status="pending")
    first = [item.id[0] for item in review(store.store).items]
    twice = next(letter for letter in first if first.count(letter) > 1)
    with pytest.raises(AmbiguousError):
        find_item(store.store, twice)


def test_a_decision_about_an_entry_that_changed_meanwhile_is_refused(store: Engram) -> None:
    lore = store.record(QUEUE, category="FACT", status="pending").lore
    item = only(store, "pending")
    path = f"{store.path}/{store.get(lore.id).path}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"---\nid: {store.store.clock.new_id()}\ncategory: FACT\n---\n\nAnother.\n")
    with pytest.raises(ConflictError):
        decide(store.store, item, ACCEPT)


def test_merging_a_pair_keeps_the_older_with_the_fields_of_the_newer(store: Engram) -> None:
    first = store.record(QUEUE, category="FACT", tags=["a"]).lore
    second = store.record(QUEUE + " Always.", category="FACT", tags=["b"]).lore
    ids = (first.id, second.id)
    item = Item(
        item_id("duplicate", ids),
        "duplicate",
        ids,
        tuple(store.get(one).path for one in ids),
        "t",
        "w",
        MERGE,
    )
    seen = preview(store.store, item, MERGE)
    assert store.list().total == 2
    decide(store.store, item, MERGE)
    kept = store.get(first.id).lore
    assert (kept.tags, kept.merged_from, kept.content) == (("a", "b"), (second.id,), QUEUE)
    assert seen.lore[first.id]._replace(updated_at=kept.updated_at) == kept  # type: ignore[union-attr]
    assert store.list().total == 1


def test_items_of_every_kind_can_be_snoozed() -> None:
    assert all(SNOOZE in allowed_decisions(kind) for kind in KINDS)


def test_an_unknown_kind_is_a_usage_error(store: Engram) -> None:
    with pytest.raises(UsageError, match="nonsense"):
        review(store.store, kinds=["nonsense"])


def test_confirming_a_stale_entry_is_a_judgement_that_undo_takes_back(tmp_path: Path) -> None:
    clock = SetClock()
    store = open_test_store(dedicated(tmp_path / "store"), clock=clock)
    lore = store.record(QUEUE, category="FACT").lore
    commit_pending(store.store)
    head = git(tmp_path / "store", "rev-parse", "HEAD")
    clock.advance(days=200)
    done = decide(store.store, only(store, "stale"), ACCEPT)
    kept = store.get(lore.id).lore
    assert (done.wrote, done.lore[lore.id], kept.updated_at) == (True, kept, lore.updated_at)
    commit_pending(store.store)
    assert git(tmp_path / "store", "rev-parse", "HEAD") == head
    undo(store.store)
    assert store.get(lore.id).lore.last_validated is None
    assert only(store, "stale").lore == (lore.id,)
    redo(store.store)
    assert queue(store) == []


def test_confirming_an_expired_entry_drops_its_expiry_and_one_undo_takes_both_back(tmp_path: Path) -> None:
    clock = SetClock()
    store = open_test_store(dedicated(tmp_path / "store"), clock=clock)
    until = clock.now().replace(microsecond=0)
    lore = store.record(QUEUE, category="FACT", expires_at=until).lore
    clock.advance(days=2)
    decide(store.store, only(store, "stale"), ACCEPT)
    kept = store.get(lore.id).lore
    assert (kept.expires_at, kept.last_validated) == (None, clock.now().replace(microsecond=0))
    assert queue(store) == []
    assert len(undo(store.store).operations) == 2
    before = store.get(lore.id).lore
    assert (before.expires_at, before.last_validated) == (until, None)


def test_confirming_an_entry_of_somebody_else_raises_its_confidence(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    lore = clones.record("a")
    clones.settle()
    clones.clock.advance(days=200)
    decide(clones["b"].store, only(clones["b"], "stale"), ACCEPT)
    clones.settle()
    confirmed = [clones[name].get(lore.id).lore for name in "ab"]
    assert [one.tally.full if one.tally else 0 for one in confirmed] == [800, 800]
