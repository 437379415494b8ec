"""Commits merged into one: the same in every clone, with several bases or none in common, and files that are not lore."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import git
from storekit import commit
from sync_kit import Clones, files, make_clones, make_connected_store

from engram.usecases.recording.edit import Edit
from engram.usecases.sync.sync import Options, sync


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return Clones(tmp_path)


def test_clones_that_merge_the_same_heads_make_the_same_commit(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    clones["a"].feedback(helpful=[lore])
    clones["b"].feedback(helpful=[lore])
    commit(clones["a"])
    commit(clones["b"])
    for mine, other in ("ab", "ba"):
        git(clones.root(mine), "fetch", "-q", str(clones.root(other)), f"main:refs/heads/side-{mine}")
    from engram.usecases.sync.incoming import merge_incoming

    for mine in "ab":
        merge_incoming(clones[mine].store, git(clones.root(mine), "rev-parse", f"side-{mine}"))
    clones.assert_equal()


def test_several_bases_are_merged_first(tmp_path: Path) -> None:
    """A criss-cross: both merge the other's work into their own, with commits that are not the same."""
    clones, lore = make_clones(tmp_path)
    path = clones["a"].get(lore).path
    from engram.usecases.sync.incoming import merge_incoming

    for name in "ab":
        clones[name].edit(lore, Edit(add_tags=(f"by {name}",)))
        commit(clones[name])
    heads = {name: git(clones.root(name), "rev-parse", "HEAD") for name in "ab"}
    for mine, other in ("ab", "ba"):
        git(clones.root(mine), "fetch", "-q", str(clones.root(other)), "main:refs/heads/side")
    for mine, other in ("ab", "ba"):
        merge_incoming(clones[mine].store, heads[other])
        # The same merge under another name, as a tool with a clock of its own would have made it.
        git(clones.root(mine), "commit", "-q", "--amend", "-m", f"merged by {mine}")
    clones.edit("a", path, "Queue", "Work queue")
    clones.edit("b", path, "twice", "two times")
    clones.settle()
    clones.assert_equal()
    found = clones["a"].get(lore).lore
    assert found.tags == ("by a", "by b")
    assert "Work queue" in found.content
    assert "two times" in found.content
    assert found.conflicts == ()


def test_stores_that_were_made_separately_can_be_joined(tmp_path: Path) -> None:
    clones = Clones(tmp_path, "a")
    clones.record("a")
    clones.sync("a")
    other = make_connected_store(tmp_path / "b", clones.hub, clones.clock)
    other.record("Learnt before there was a remote.", category="FACT")
    done = sync(other.store, Options())
    assert (done.pulled, done.pushed, done.conflicts) == (1, 1, 0)
    clones.sync("a")
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_other_files_both_changed_keep_both_versions(tmp_path: Path) -> None:
    clones, _ = make_clones(tmp_path)
    (clones.root("a") / "README.md").write_text("one\n")
    git(clones.root("a"), "add", "README.md")
    git(clones.root("a"), "commit", "-q", "-m", "readme")
    clones.sync("a")
    (clones.root("b") / "README.md").write_text("two\n")
    git(clones.root("b"), "add", "README.md")
    git(clones.root("b"), "commit", "-q", "-m", "readme")
    clones.settle()
    clones.assert_equal()
    readmes = {path: raw for path, raw in files(clones.root("a")).items() if path.startswith("README")}
    assert sorted(readmes.values()) == [b"one\n", b"two\n"]
    assert {path.partition(".theirs-")[0] for path in readmes} == {"README.md"}


def test_settings_that_both_changed_are_merged_by_lines(tmp_path: Path) -> None:
    clones, _ = make_clones(tmp_path)
    file = clones.root("a") / ".engram.toml"
    file.write_text(file.read_text() + "\n[recall]\nlimit = 7\n")
    other = clones.root("b") / ".engram.toml"
    other.write_text("# Of our team.\n" + other.read_text())
    clones.settle()
    clones.assert_equal()
    text = file.read_text()
    assert text.startswith("# Of our team.\n")
    assert text.endswith("limit = 7\n")
