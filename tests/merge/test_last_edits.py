"""The authors and times of two merged versions, from the commits of each side."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from apikit import git, ok

from engram.adapters.git.run.layout import find_repository
from engram.domain.entry.categories import Categories
from engram.domain.entry.times import render
from engram.domain.merge.merge import UNKNOWN
from engram.usecases.merge.last_edits import last_edits
from engram.usecases.recording.edit import Edit
from tests.sync.two_people import ANN, BOB, Pair

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


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


def test_merges_repairs_and_retagging_do_not_count_as_edits_of_the_text(pair: Pair) -> None:
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
