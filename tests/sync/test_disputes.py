"""Two people edit one entry differently: who wrote what and when, which version wins, and that every reader learns of it."""

from __future__ import annotations

import os
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

import pytest
from apikit import cli, ok
from effort import sampled

from engram.domain.entry.times import render
from engram.usecases.recording.edit import Edit
from engram.usecases.review.review import review
from tests.sync.two_people import ANN, BOB, Pair

if TYPE_CHECKING:
    from pathlib import Path


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


@sampled("later", "ab")
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


def test_a_clock_ten_years_ahead_does_not_win(pair: Pair) -> None:
    clock = pair.clones.clock
    pair.edit("a", "8080", "9090")
    true = clock.now()
    clock.advance(days=3650)
    pair.edit("b", "8080", "7070")
    clock.moment = true + timedelta(hours=1)
    pair.clones.settle()
    assert "9090" in pair.lore("b").content
    assert pair.conflict().source == BOB


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


def test_sender_and_receiver_are_told_which_entry_is_unreadable(pair: Pair) -> None:
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


def test_the_command_exits_with_4_after_sending_an_unreadable_entry(pair: Pair) -> None:
    path = pair.clones["a"].get(pair.id).path
    pair.clones.edit("a", path, "category: FACT", "category: WISDOM")
    done = cli("sync", cwd=pair.clones.root("a"))
    assert (done.code, "WISDOM" in done.err) == (4, True)
    other = cli("sync", cwd=pair.clones.root("b"))
    assert (other.code, "cannot be read" in other.err) == (0, True)
