"""Two people write different words in one entry: git says who and when, everybody reads of it, and one command settles it."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from apikit import cli, git, ok
from effort import sampled
from sync_kit import commit
from sync_kit import settled as clones_with

from engram.adapters.git.run.layout import find_repository
from engram.domain.entry.categories import Categories
from engram.domain.entry.times import render
from engram.domain.merge.merge import UNKNOWN
from engram.usecases.merge.last_edits import last_edits
from engram.usecases.recording.edit import Edit
from engram.usecases.review.decisions import decide
from engram.usecases.review.review import review

if TYPE_CHECKING:
    from pathlib import Path

    from engram.domain.entry.lore import Conflict, Lore

TEXT = "The port of staging is 8080.\n\nIt is in the compose file.\n\nProduction has its own."
ANN, BOB = "Ann Lee", "Bob O'Neil"


class Pair:
    """Two people with a clone each, a and b, and one entry that both have."""

    def __init__(self, folder: Path) -> None:
        self.clones, self.id = clones_with(folder, TEXT)
        for name, person in (("a", ANN), ("b", BOB)):
            git(self.clones.root(name), "config", "user.name", person)

    def edit(self, name: str, old: str, new: str) -> datetime:
        """A person changes words through Engram; when."""
        self.clones.clock.advance(minutes=1)
        store = self.clones[name]
        store.edit(self.id, Edit(content=store.get(self.id).lore.content.replace(old, new)))
        commit(store)
        return self.lore(name).updated_at

    def lore(self, name: str) -> Lore:
        return self.clones[name].get(self.id).lore

    def conflict(self) -> Conflict:
        """The one conflict, the same in both clones."""
        found = [self.lore(name) for name in "ab"]
        assert found[0] == found[1]
        (conflict,) = found[0].conflicts
        return conflict

    def decide(self, name: str, decision: str) -> None:
        self.clones.clock.advance(minutes=1)
        store = self.clones[name].store
        (item,) = review(store, kinds=["conflict"]).items
        decide(store, item, decision)
        commit(self.clones[name])


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def test_the_later_words_stand_and_the_conflict_says_who_wrote_both_and_when(pair: Pair) -> None:
    hers = pair.edit("a", "8080", "9090")
    his = pair.edit("b", "8080", "7070")
    pair.clones.settle()
    pair.clones.assert_equal()
    conflict = pair.conflict()
    assert "7070" in pair.lore("a").content
    assert (conflict.source, conflict.at) == (ANN, render(hers))
    assert (conflict.kept_source, conflict.kept_at) == (BOB, render(his))


@pytest.mark.parametrize("later", "ab")
def test_the_queue_of_both_clones_names_both_people_whichever_version_stands(pair: Pair, later: str) -> None:
    pair.edit("b" if later == "a" else "a", "8080", "9090")
    pair.edit(later, "8080", "7070")
    pair.clones.settle()
    assert "7070" in pair.lore("a").content
    for name in "ab":
        (item,) = review(pair.clones[name].store, kinds=["conflict"]).items
        assert item.who == f"{ANN} ⇄ {BOB}"


def test_a_tag_that_somebody_adds_later_does_not_make_older_words_win(pair: Pair) -> None:
    pair.edit("a", "8080", "9090")
    pair.edit("b", "8080", "7070")
    pair.clones.clock.advance(hours=2)
    pair.clones["a"].edit(pair.id, Edit(tags=("staging",)))
    pair.clones.settle()
    assert "7070" in pair.lore("a").content
    assert pair.lore("b").tags == ("staging",)
    assert pair.conflict().source == ANN


def test_paragraphs_that_one_side_alone_touched_come_through_whoever_wins(pair: Pair) -> None:
    pair.edit("a", "8080", "9090")
    pair.edit("a", "Production has its own.", "Production has 443.")
    pair.edit("b", "8080", "7070")
    pair.edit("b", "It is in the compose file.", "It is in the Helm chart.")
    pair.clones.settle()
    rest = "It is in the Helm chart.\n\nProduction has 443."
    assert pair.lore("a").content == f"The port of staging is 7070.\n\n{rest}"
    assert pair.conflict().value == f"The port of staging is 9090.\n\n{rest}"


def test_a_commit_of_plain_git_counts_by_its_author_and_their_time(pair: Pair) -> None:
    """The person leaves `updated_at` as it is, and commits before Engram can date the edit."""
    pair.edit("a", "8080", "9090")
    root, path = pair.clones.root("b"), pair.clones["b"].get(pair.id).path
    pair.clones.edit("b", path, "8080", "7070")
    when = pair.clones.clock.now() + timedelta(hours=3)
    git(
        root,
        "commit",
        "-qam",
        "port",
        "--author",
        "Cleo `rm`; {x} <c@example.org>",
        "--date",
        when.isoformat(),
    )
    pair.clones.clock.advance(hours=4)
    pair.clones.settle()
    conflict = pair.conflict()
    assert "7070" in pair.lore("a").content
    assert (conflict.source, conflict.kept_at) == (ANN, render(when.replace(microsecond=0)))
    said = ok("show", pair.id, cwd=root).out.splitlines()[1]
    assert said.startswith("disputed: Cleo rm x says 7070 (")
    assert ", Ann Lee says 9090 (" in said


def rewritten_by(how: str, pair: Pair, *, hand_edit_is_later: bool) -> None:
    """Bob's clone gets Ann's words below his own hand edit by plain git; the driver sees files alone there."""
    start = pair.clones.clock.now()
    pair.clones.clock.advance(hours=2)
    pair.edit("a", "8080", "9090")
    pair.clones.sync("a")
    root, path = pair.clones.root("b"), pair.clones["b"].get(pair.id).path
    pair.clones.edit("b", path, "8080", "7070")
    when = start + timedelta(hours=3 if hand_edit_is_later else 1)
    git(root, "fetch", "-q", "origin")
    branch = git(root, "branch", "--show-current")
    if how == "stash":
        git(root, "stash", "-q")
        git(root, "merge", "-q", "--ff-only", f"origin/{branch}")
        git(root, "stash", "pop", "-q")
        git(root, "commit", "-qam", "port", "--date", when.isoformat())
        return
    git(root, "commit", "-qam", "port", "--date", when.isoformat())
    if how == "rebase":
        git(root, "rebase", "-q", f"origin/{branch}")
    else:
        git(root, "branch", "aside")
        git(root, "reset", "-q", "--hard", f"origin/{branch}")
        git(root, "cherry-pick", "aside")


@sampled(
    ("how", "is_later"),
    [(how, later) for how in ("rebase", "cherry-pick", "stash") for later in (True, False)],
    everyday=2,
)
def test_what_was_decided_without_commits_is_decided_again_by_the_next_sync(
    pair: Pair, how: str, is_later: bool
) -> None:
    rewritten_by(how, pair, hand_edit_is_later=is_later)
    (before,) = pair.lore("b").conflicts
    assert "9090" in pair.lore("b").content, "his file has the earlier `updated_at`"
    assert (before.source, before.kept_source) == ("", "")
    pair.clones.clock.advance(hours=4)
    pair.clones.sync("b")
    pair.clones.settle()
    pair.clones.assert_equal()
    conflict = pair.conflict()
    assert ("7070" if is_later else "9090") in pair.lore("a").content
    assert (conflict.kept_source, conflict.source) == ((BOB, ANN) if is_later else (ANN, BOB))
    assert ("9090" if is_later else "7070") in conflict.value
    head = git(pair.clones.root("b"), "rev-parse", "HEAD")
    pair.clones.settle()
    assert git(pair.clones.root("b"), "rev-parse", "HEAD") == head, "and then no more"


def test_words_that_somebody_wrote_since_are_not_replaced_by_a_second_look(pair: Pair) -> None:
    rewritten_by("rebase", pair, hand_edit_is_later=True)
    pair.edit("b", "9090", "6060")
    pair.clones.settle()
    assert "6060" in pair.lore("a").content
    assert (pair.conflict().kept_source, pair.conflict().source) == (ANN, BOB)


def test_a_clock_ten_years_ahead_wins_against_nobody(pair: Pair) -> None:
    clock = pair.clones.clock
    pair.edit("a", "8080", "9090")
    true = clock.now()
    clock.advance(days=3650)
    pair.edit("b", "8080", "7070")
    clock.moment = true + timedelta(hours=1)
    pair.clones.settle()
    assert "9090" in pair.lore("b").content
    assert pair.conflict().source == BOB


def test_words_of_an_entry_that_was_moved_keep_their_author(pair: Pair) -> None:
    pair.edit("a", "8080", "9090")
    root, path = pair.clones.root("a"), pair.clones["a"].get(pair.id).path
    git(root, "mv", path, "lore/port.md")
    git(root, "-c", "user.name=Mover", "commit", "-qm", "move")
    pair.edit("b", "8080", "7070")
    pair.clones.settle()
    assert {pair.clones[name].get(pair.id).path for name in "ab"} == {"lore/port.md"}
    assert (pair.conflict().source, pair.conflict().kept_source) == (ANN, BOB)


def test_at_the_end_of_a_shallow_history_the_author_is_unknown(pair: Pair, tmp_path: Path) -> None:
    pair.edit("a", "8080", "9090")
    pair.clones.sync("a")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{pair.clones.hub}", str(tmp_path / "shallow"))
    path = pair.clones["a"].get(pair.id).path
    found = []
    for root in (tmp_path / "shallow", pair.clones.root("a")):
        repository = find_repository(str(root))
        assert repository is not None
        found.append(
            last_edits(repository, git(root, "rev-parse", "HEAD"), (), [path], "lore", Categories({}))[path]
        )
    assert (found[0], found[1].by) == (UNKNOWN, ANN)


def test_merges_repairs_and_retagging_are_nobodys_words(pair: Pair) -> None:
    """What counts is the last commit by which a person changed the text itself."""
    root, path = pair.clones.root("a"), pair.clones["a"].get(pair.id).path
    start = git(root, "rev-parse", "HEAD")
    hers = pair.edit("a", "8080", "9090")
    pair.edit("b", "Production has its own.", "Production has 443.")
    pair.clones["b"].edit(pair.id, Edit(tags=("staging",)))
    pair.clones.settle()
    file = root / path
    file.write_text(file.read_text("utf-8").replace("compose", "Compose"), "utf-8")
    git(root, "commit", "-qam", "repair: 1 files", "--author", "Engram <engram@localhost>")
    found = {}
    for base in (start, git(root, "rev-parse", "HEAD^^")):
        repository = find_repository(str(root))
        assert repository is not None
        found[base] = last_edits(repository, "HEAD", [base], [path], "lore", Categories({}))[path]
    assert {one.by for one in found.values()} <= {ANN, BOB}
    assert all(one.at is not None and one.at >= hers for one in found.values())


def test_a_hand_edit_is_dated_by_its_file_when_engram_commits_it(pair: Pair) -> None:
    path = pair.clones["a"].get(pair.id).path
    pair.clones.clock.advance(days=2)
    pair.clones.edit("a", path, "8080", "9090")
    saved = pair.clones.clock.now().replace(microsecond=0) - timedelta(hours=5)
    os.utime(pair.clones.root("a") / path, (saved.timestamp(), saved.timestamp()))
    pair.clones.settle()
    pair.clones.assert_equal()
    assert pair.lore("b").updated_at == saved
    assert saved.tzinfo == UTC


@sampled(
    ("decision", "number"),
    [("accept", "7070"), ("take", "9090"), ("mine", "9090"), ("theirs", "7070")],
    everyday=2,
)
def test_one_decision_settles_it_for_everybody(pair: Pair, decision: str, number: str) -> None:
    pair.edit("a", "8080", "9090")
    pair.edit("b", "8080", "7070")
    pair.clones.settle()
    pair.decide("a", decision)
    pair.clones.settle()
    pair.clones.assert_equal()
    lore = pair.lore("b")
    assert (number in lore.content, lore.conflicts) == (True, ())
    (settlement,) = lore.settled
    assert (settlement.by, settlement.chose) == (ANN, "kept" if number == "7070" else "other")


def test_both_versions_can_stand_one_after_the_other(pair: Pair) -> None:
    pair.edit("a", "8080", "9090")
    pair.edit("b", "8080", "7070")
    pair.clones.settle()
    pair.decide("b", "both")
    assert pair.lore("b").content.startswith(
        "The port of staging is 7070.\nThe port of staging is 9090.\n\nIt is"
    )


def test_settled_differently_in_two_clones_it_is_in_conflict_again_until_somebody_settles_that(
    pair: Pair,
) -> None:
    pair.edit("a", "8080", "9090")
    pair.edit("b", "8080", "7070")
    pair.clones.settle()
    pair.decide("a", "mine")
    pair.decide("b", "mine")
    pair.clones.settle()
    pair.clones.assert_equal()
    conflict = pair.conflict()
    assert ("7070" in pair.lore("a").content, "9090" in conflict.value) == (True, True)
    assert (conflict.source, conflict.kept_source, pair.lore("a").settled) == (ANN, BOB, ())
    pair.decide("a", "accept")
    pair.clones.settle()
    pair.clones.assert_equal()
    assert (pair.lore("b").conflicts, "7070" in pair.lore("b").content) == ((), True)


def test_undo_of_a_settlement_brings_the_conflict_back(pair: Pair) -> None:
    pair.edit("a", "8080", "9090")
    pair.edit("b", "8080", "7070")
    pair.clones.settle()
    before = pair.lore("a")
    pair.decide("a", "mine")
    pair.clones["a"].undo()
    after = pair.lore("a")
    assert (after.content, after.conflicts, after.settled) == (before.content, before.conflicts, ())


def test_every_reader_is_told_of_a_dispute(pair: Pair) -> None:
    pair.edit("a", "8080", "9090")
    pair.edit("b", "8080", "7070")
    pair.clones.settle()
    root = pair.clones.root("a")
    words = "Bob O'Neil says 7070", "Ann Lee says 9090"
    for command in (("show", pair.id), ("query", "port of staging"), ("doctor",), ("review",)):
        out = cli(*command, cwd=root).out
        expected = ("[-9090-]{+7070+}", "Ann Lee") if command == ("review",) else words
        assert all(word in out for word in expected), out
    assert "(disputed) The port" in ok("list", cwd=root).out
    assert "1 entry is disputed" in ok("status", cwd=root).out
    shown = ok("show", pair.id, "--json", cwd=root).json["lore"]
    (found,) = ok("query", "port of staging", "--json", cwd=root).json["lore"]
    assert all(word in one["disputed"] for one in (shown, found) for word in words)
    assert found["conflicts"][0]["kept_from"] == BOB


def test_an_unreadable_entry_is_named_to_who_sends_it_and_to_who_gets_it(pair: Pair) -> None:
    path = pair.clones["a"].get(pair.id).path
    pair.clones.edit("a", path, "category: FACT", "category: WISDOM")
    (sent,) = pair.clones.sync("a")
    (error,) = sent.errors
    assert (error.exit_code, f"{path}:3" in error.message, "WISDOM" in error.message) == (4, True, True)
    (got,) = pair.clones.sync("b")
    assert got.errors == ()
    assert [path in note and "WISDOM" in note for note in got.notes] == [True]
    assert pair.clones.sync("a")[0].errors == ()
    pair.clones.edit("a", path, "category: WISDOM", "category: FACT")
    assert [one.errors for one in pair.clones.sync("a", "b")] == [(), ()]


def test_of_seven_unreadable_entries_five_are_named_and_the_rest_counted(pair: Pair) -> None:
    made = [pair.clones.record("a", f"Service {number} logs to a topic of its own.") for number in range(7)]
    paths = [pair.clones.path("a", lore) for lore in made]
    for path in paths:
        pair.clones.edit("a", path, "category: FACT", "category: WISDOM")
    for clone, verb in (("a", "went out"), ("b", "came in")):
        (done,) = pair.clones.sync(clone)
        named = [path for path in paths if any(path in one.message for one in done.errors)]
        named += [path for path in paths if any(path in note for note in done.notes)]
        assert len(named) == 5
        assert done.notes[-1] == f"2 more entries that {verb} cannot be read: `engram doctor` lists them."


def test_the_command_line_exits_with_4_for_who_sends_an_unreadable_entry(pair: Pair) -> None:
    path = pair.clones["a"].get(pair.id).path
    pair.clones.edit("a", path, "category: FACT", "category: WISDOM")
    done = cli("sync", cwd=pair.clones.root("a"))
    assert (done.code, "WISDOM" in done.err) == (4, True)
    other = cli("sync", cwd=pair.clones.root("b"))
    assert (other.code, "cannot be read" in other.err) == (0, True)
