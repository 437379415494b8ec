"""After a sync, a merge made without Engram's rules has the bytes that the rules give."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import prepared
import pytest
from apikit import git
from effort import sampled
from storekit import commit
from sync_kit import SOON, TEXT, Clones, Left, copy_clones, files, open_test_store

from engram.usecases.recording.edit import Edit
from engram.usecases.sync.local_changes import commit_local_changes
from engram.usecases.sync.sync import Options, sync

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository


class Scene:
    """Clones a and b changed two entries; b's changes are a branch of the remote, as for a pull request."""

    def __init__(self, folder: Path) -> None:
        left, self.lore, self.path, self.wanted = prepared.copy("merge elsewhere", folder, make)
        self.clones = Clones.again(folder / "x", left)
        self.host = folder / "host"

    def merge(self, *options: str) -> bool:
        """Merge the branch where no driver is configured; whether git found conflicts."""
        words = ["git", "merge", "-q", "--no-edit", *options, "origin/topic"]
        return subprocess.run(words, cwd=self.host, capture_output=True, check=False).returncode != 0

    def push(self) -> None:
        """Commit the merge as it is, and let the other clones receive it."""
        git(self.host, "add", "-A")
        if git(self.host, "status", "--porcelain") or (self.host / ".git/MERGE_HEAD").exists():
            git(self.host, "commit", "-q", "-m", "Merge pull request #1")
        git(self.host, "push", "-q", "origin", "HEAD:main")
        # As after a merged branch, b goes on from main.
        git(self.clones.root("b"), "reset", "-q", "--hard", "refs/remotes/origin/main")

    def settled(self) -> dict[str, bytes]:
        """The lore of every clone in the end."""
        self.clones.settle()
        self.clones.assert_equal()
        return lore_files(self.clones.root("a"))


def make(folder: Path) -> tuple[Left, list[str], str, dict[str, bytes]]:
    """The clones, the ids of the lore, where the first is, and the files that `engram sync` makes of it all."""
    clones = Clones(folder / "x")
    lore = [clones.record("a", TEXT).id, clones.record("a", "Measure first.").id]
    clones.settle()
    path = clones["a"].get(lore[0]).path
    clones["a"].feedback(helpful=[lore[0]])
    clones["b"].feedback(incorrect=[lore[0]])
    clones.edit("a", path, "must be idempotent", "must tolerate repeats")
    clones.edit("b", path, "must be idempotent", "must be idempotent, always")
    clones["b"].edit(lore[1], Edit(add_tags=("measuring",)))
    clones.sync("a")
    commit_local_changes(clones["b"].store)
    commit(clones["b"])
    git(clones.root("b"), "push", "-q", "origin", "HEAD:topic")
    wanted = synced_alone(copy_clones(folder / "x", folder / "copy"), clones)
    shutil.rmtree(folder / "copy")
    git(folder, "clone", "-q", str(clones.hub), str(folder / "host"))
    return clones.leave(), lore, path, wanted


def synced_alone(folder: Path, clones: Clones) -> dict[str, bytes]:
    """The lore after b has synced."""
    with open_test_store(folder / "b", clones.clock, "b") as store:
        assert sync(store.store, SOON).errors == ()
    return lore_files(folder / "b")


def lore_files(root: Path) -> dict[str, bytes]:
    return {path: raw for path, raw in files(root).items() if path.startswith("lore/")}


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@sampled("style", ["merge", "diff3"])
def test_committed_markers_are_merged_as_by_a_sync(scene: Scene, style: str) -> None:
    git(scene.host, "config", "merge.conflictStyle", style)
    assert scene.merge()
    assert b"<<<<<<<" in (scene.host / scene.path).read_bytes()
    scene.push()
    assert scene.settled() == scene.wanted


@sampled("side", ["ours", "theirs"])
def test_a_merge_that_took_one_side_is_redone_as_by_a_sync(scene: Scene, side: str) -> None:
    assert not scene.merge("-X", side)
    assert b"<<<<<<<" not in (scene.host / scene.path).read_bytes()
    scene.push()
    assert scene.settled() == scene.wanted
    lore = scene.clones["b"].get(scene.lore[0]).lore
    assert (lore.confidence, lore.validation_count, len(lore.conflicts)) == (0.63, 1, 1)


def test_clones_that_repair_a_merge_at_the_same_time_make_the_same_commit(scene: Scene) -> None:
    scene.merge("-X", "ours")
    scene.push()
    for name in "ab":
        sync(scene.clones[name].store, SOON._replace(push=False))
    scene.clones.assert_equal()
    head = git(scene.clones.root("a"), "log", "-1", "--format=%s%n%ae%n%(trailers)")
    merge = git(scene.host, "rev-parse", "HEAD")
    assert head.startswith("repair: 1 files merged without Engram's rules\n")
    assert f"Engram-Repairs: {merge}" in head
    assert [done.pulled for done in scene.clones.sync("a", "b", "a")] == [0, 0, 0]


def test_edits_made_after_such_a_merge_are_kept(scene: Scene) -> None:
    scene.merge("-X", "ours")
    scene.push()
    file = scene.host / scene.path
    file.write_text(file.read_text("utf-8") + "\nSeen in three brokers.\n", "utf-8")
    scene.push()
    scene.settled()
    lore = scene.clones["b"].get(scene.lore[0]).lore
    assert lore.content.endswith("Seen in three brokers.")
    assert (lore.confidence, lore.validation_count) == (0.63, 1)


def test_a_resolution_in_a_persons_own_words_is_kept(scene: Scene) -> None:
    scene.merge("-X", "theirs")
    file = scene.host / scene.path
    text = file.read_text("utf-8").replace("must be idempotent, always", "must tolerate every repeat")
    file.write_text(text, "utf-8")
    git(scene.host, "commit", "-q", "-a", "--amend", "--no-edit")
    scene.push()
    scene.settled()
    lore = scene.clones["a"].get(scene.lore[0]).lore
    assert lore.content.startswith("Queue consumers must tolerate every repeat.")
    assert (lore.confidence, lore.validation_count, lore.conflicts) == (0.63, 1, ())


def test_a_squash_merge_with_markers_is_merged_from_the_markers(scene: Scene) -> None:
    assert scene.merge("--squash")
    scene.push()
    assert git(scene.host, "rev-list", "--merges", "HEAD") == ""
    scene.settled()
    lore = scene.clones["a"].get(scene.lore[0]).lore
    assert (lore.confidence, lore.validation_count, len(lore.conflicts)) == (0.63, 1, 1)
    assert {"measuring"} == set(scene.clones["a"].get(scene.lore[1]).lore.tags)


def test_a_merge_without_the_driver_in_the_own_clone_is_repaired_too(scene: Scene) -> None:
    root = scene.clones.root("a")
    git(root, "fetch", "-q")
    git(root, "config", "--unset", "merge.engram.driver")
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("lore/** merge=text\n")
    git(root, "merge", "-q", "--no-edit", "-X", "ours", "origin/topic")
    (root / ".git/info/attributes").unlink()
    git(scene.clones.root("b"), "reset", "-q", "--hard", "refs/remotes/origin/main")
    assert scene.settled() == scene.wanted


def test_a_merge_by_the_rules_is_left_alone(scene: Scene) -> None:
    root = scene.clones.root("a")
    git(root, "fetch", "-q")
    git(root, "merge", "-q", "--no-edit", "origin/topic")
    git(scene.clones.root("b"), "reset", "-q", "--hard", "refs/remotes/origin/main")
    head = git(root, "rev-parse", "HEAD")
    assert scene.settled() == scene.wanted
    assert scene.clones.heads() == {head}


def test_a_file_too_large_for_an_entry_that_a_plain_pull_brought_is_not_read_for_markers(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engram.usecases.merge import external_merges

    scene.merge()
    big = scene.host / "lore/2026/11/big.md"
    big.parent.mkdir(parents=True, exist_ok=True)
    big.write_bytes(b"<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n" + b"z\n" * 200_000)
    scene.push()
    read: list[int] = []
    real = external_merges.blobs

    def noted(
        repo: Repository, oids: Iterable[str], known: Mapping[str, bytes] | None = None
    ) -> dict[str, bytes]:
        found = real(repo, oids, known)
        read.extend(map(len, found.values()))
        return found

    monkeypatch.setattr(external_merges, "blobs", noted)
    root = scene.clones.root("a")
    git(root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    sync(scene.clones["a"].store, Options())
    assert read
    assert max(read) < 400_000
    assert (root / "lore/2026/11/big.md").stat().st_size > 400_000
