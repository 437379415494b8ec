"""Duplicates of two clones are folded once, whoever syncs first; entries that are merely similar stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apikit import git
from effort import sampled
from sync_kit import Clones

from engram.domain.entry.confidence import Vote
from engram.domain.errors import NotFoundError
from engram.usecases.history.undo import undo
from engram.usecases.recording.record import Draft, record
from engram.usecases.store.commit import commit_pending
from engram.usecases.sync import incoming
from engram.usecases.sync import sync as syncing

if TYPE_CHECKING:
    from pathlib import Path

    from engram.domain.entry.lore import Lore

HERE = "Use exponential backoff with jitter for retries."
THERE = "Use exponential backoff with jitter when retrying."


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return Clones(tmp_path)


def twins(clones: Clones, one: str = HERE, other: str = THERE) -> tuple[Lore, Lore]:
    clones.clock.advance(seconds=1)
    first = clones["a"].record(one, category="FACT", context="seen in billing", tags=["retries"]).lore
    clones.clock.advance(seconds=1)
    second = clones["b"].record(other, category="FACT", context="seen in mail", tags=["queue"]).lore
    return first, second


def only(clones: Clones, name: str) -> Lore:
    listed = clones[name].list().lore
    assert len(listed) == 1
    return clones[name].get(listed[0].lore.id).lore


def test_duplicates_of_two_clones_are_folded_into_the_older_with_the_fields_of_both(
    clones: Clones,
) -> None:
    first, second = twins(clones)
    clones["b"].feedback(helpful=second.id)
    done = clones.sync("a", "b", "a")
    assert [found.folded for found in done] == [0, 1, 0]
    clones.assert_equal()
    kept = only(clones, "a")
    assert (kept.id, kept.content) == (first.id, HERE)
    assert kept.merged_from == (second.id,)
    assert kept.context == ("seen in billing", "seen in mail")
    assert kept.tags == ("retries", "queue")
    assert kept.sources == (first.source_id, second.source_id)
    assert (kept.thousandths, kept.validation_count) == (700 + 100 + 80, 1)


def test_the_id_of_a_folded_entry_resolves_to_the_one_it_was_folded_into(clones: Clones) -> None:
    first, second = twins(clones)
    clones.sync("a", "b", "a")
    assert clones["a"].get(second.id).lore.id == first.id
    clones["a"].feedback(helpful=second.id)
    assert only(clones, "a").validation_count == 1
    with pytest.raises(NotFoundError):
        clones["a"].get("01JD6TQ8XW9YV3N5K7P2M4R6ST")


def test_two_clones_that_fold_at_once_give_the_gain_once(clones: Clones) -> None:
    twins(clones)
    clones.sync("a")
    a, b = clones["a"], clones["b"]
    git(clones.root("b"), "push", "-q", "origin", "HEAD:refs/heads/other")
    commit_pending(b.store)
    git(clones.root("b"), "push", "-q", "origin", "HEAD:refs/heads/other")
    git(clones.root("a"), "fetch", "-q", "origin", "other")
    from engram.usecases.similarity import deduplicate

    incoming.merge_incoming(a.store, git(clones.root("a"), "rev-parse", "FETCH_HEAD"))
    incoming.update_index(a.store, ())
    assert syncing.fold_duplicates(a.store, deduplicate.arrivals(a.store)).folded == 1
    clones.clock.advance(seconds=5)
    assert clones.sync("b")[0].folded == 1
    clones.settle()
    clones.assert_equal()
    assert only(clones, "b").thousandths == 800


def test_syncing_again_folds_nothing_more(clones: Clones) -> None:
    twins(clones)
    clones.settle()
    before = clones.heads()
    assert [found.folded for found in clones.sync("a", "b")] == [0, 0]
    assert clones.heads() == before


def test_a_vote_for_a_folded_entry_counts_for_the_one_it_was_folded_into(clones: Clones) -> None:
    _first, second = twins(clones)
    third = clones.stores.setdefault("c", clones.add("c"))
    clones.sync("b", "c")  # c knows b's before a's is there
    third.feedback(helpful=second.id)
    clones.sync("a", "b")
    clones.sync("c", "a", "b", "c")
    clones.assert_equal()
    kept = only(clones, "c")
    assert (kept.thousandths, kept.validation_count) == (880, 1)
    clones["c"].feedback(helpful=kept.id)
    clones.settle()
    clones.assert_equal()
    assert (only(clones, "a").thousandths, only(clones, "a").validation_count) == (960, 2)
    assert sorted(only(clones, "a").accounts.values()) == [Vote(100, 0, 0), Vote(160, 0, 2)]


@pytest.mark.slow
def test_votes_for_a_folded_entry_survive_a_plain_pull_of_the_fold(clones: Clones) -> None:
    _first, second = twins(clones)
    third = clones.stores.setdefault("c", clones.add("c"))
    clones.sync("b", "c")
    third.feedback(helpful=second.id)
    clones.sync("a", "b")
    git(clones.root("c"), "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    clones.sync("c", "a", "b")
    clones.assert_equal()
    for name in "abc":
        assert (only(clones, name).thousandths, only(clones, name).validation_count) == (880, 1)


def test_a_fold_missed_by_a_killed_sync_is_done_by_the_next_even_if_nothing_comes_in(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = twins(clones)
    clones.sync("a")
    with monkeypatch.context() as killed:
        killed.setattr(syncing, "fold_duplicates", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            clones.sync("b")
    assert [found.folded for found in clones.sync("b", "a", "b")] == [1, 0, 0]
    assert only(clones, "a").merged_from == (second.id,)
    assert only(clones, "b").id == first.id
    clones.assert_equal()


@sampled(
    ("one", "other", "kind"),
    [
        ("Run migrations on startup of the service.", "Do not run migrations on startup of the service.", "contradiction"),
        ("The parser of the importer fails on files larger than 10 MB, so split them first.",
         "The parser of the importer fails on files larger than 20 MB, so split them first.", "contradiction"),
        ("The call fetch_user raises KeyError for unknown ids.",
         "The call fetch_users raises KeyError for unknown ids.", "duplicate"),
    ],
)  # fmt: skip
def test_texts_that_differ_in_a_number_a_negation_or_a_name_are_left_for_a_person(
    clones: Clones, one: str, other: str, kind: str
) -> None:
    first, second = twins(clones, one, other)
    done = clones.sync("a", "b", "a")
    assert [found.folded for found in done] == [0, 0, 0]
    assert [(pair.older, pair.younger, pair.kind) for pair in done[1].alike] == [(first.id, second.id, kind)]
    assert len(clones["a"].list().lore) == 2
    clones.assert_equal()


def test_a_fold_that_a_person_undid_is_not_repeated(clones: Clones) -> None:
    first, second = twins(clones)
    clones.sync("a", "b")
    clones.clock.advance(seconds=1)
    undo(clones["b"].store)
    clones.settle()
    clones.assert_equal()
    assert sorted(hit.lore.id for hit in clones["a"].list().lore) == [first.id, second.id]
    assert clones["a"].get(first.id).lore.thousandths == 700
    assert clones["a"].get(second.id).lore.content == THERE


@pytest.mark.slow
def test_three_duplicates_are_folded_into_the_oldest(tmp_path: Path) -> None:
    clones = Clones(tmp_path, "abc")
    recorded = [clones.record(name, HERE) for name in "abc"]
    clones.settle()
    clones.settle()
    clones.assert_equal()
    kept = only(clones, "b")
    assert (kept.id, kept.thousandths) == (recorded[0].id, 900)
    assert sorted(kept.merged_from) == [recorded[1].id, recorded[2].id]


def test_duplicates_within_one_clone_are_not_folded_automatically(clones: Clones) -> None:
    clones.record("b", HERE)
    clones.clock.advance(seconds=1)
    record(clones["b"].store, Draft(HERE, "FACT"), again=True)
    clones.settle()
    assert len(clones["a"].list().lore) == 2
