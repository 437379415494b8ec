"""A new repository works with no configuration at all, and git converts nothing in its lore."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gitkit import apply, assert_sound, change, git, state_folder, status
from storekit import wait_until

from engram.adapters.git.run.layout import MAIN, read_head
from engram.adapters.git.write import maintain as maintenance
from engram.adapters.git.write.commits import commit_all
from engram.adapters.git.write.create import disable_conversion, init
from engram.adapters.git.write.maintain import loose_objects, maintain
from engram.domain.errors import StoreError

pytestmark = pytest.mark.usefixtures("persons_git")


def test_a_repository_is_made_with_its_folders_and_no_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.delenv("HOME")
    repo = init(str(tmp_path / "a" / "b c"))
    assert repo.worktree == str(tmp_path / "a" / "b c")
    assert repo.worktree_name == MAIN
    assert read_head(repo) == (None, "main")
    attributes = Path(repo.worktree, ".gitattributes").read_bytes()
    assert attributes == b"lore/** -text\n"
    first = change("First", (".gitattributes", attributes), ("lore/a.md", b"a\r\n"))
    apply(repo, first)
    commit_all(repo, [first], "OP1", state_folder(repo))
    assert status(repo) == ""
    assert_sound(repo)


def test_a_second_init_changes_nothing(tmp_path: Path) -> None:
    repo = init(str(tmp_path / "r"))
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    before = git(repo, "rev-parse", "HEAD"), Path(repo.worktree, ".gitattributes").stat().st_mtime_ns
    assert init(str(tmp_path / "r")) == repo
    after = git(repo, "rev-parse", "HEAD"), Path(repo.worktree, ".gitattributes").stat().st_mtime_ns
    assert after == before


def test_existing_attributes_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    (folder / ".gitattributes").write_text("*.png binary")
    repo = init(str(folder), "memory")
    assert (folder / ".gitattributes").read_text() == "*.png binary\nmemory/** -text\n"
    assert not disable_conversion(repo, "memory")
    assert git(repo, "check-attr", "text", "memory/2026/x.md").endswith("text: unset")


def test_a_separate_repository_is_made_inside_another_one(tmp_path: Path) -> None:
    outer = init(str(tmp_path / "outer"))
    inner = init(str(tmp_path / "outer" / "inner"))
    assert inner.worktree == str(tmp_path / "outer" / "inner")
    assert inner.git_dir != outer.git_dir


def test_inherited_git_variables_do_not_redirect_init(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(tmp_path))
    repo = init(str(tmp_path / "r"))
    assert not (tmp_path / "elsewhere").exists()
    assert repo.git_dir == str(tmp_path / "r" / ".git")


def test_a_folder_that_cannot_be_a_repository_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be created"):
        init(str(tmp_path / "file" / "sub"))


def loosen(folder: Path, count: int) -> None:
    """Write `count` loose blobs by plain git, held by one commit so that they may not be pruned."""
    for number in range(count):
        (folder / f"{number}.txt").write_text(str(number))
    git(folder, "-c", "gc.auto=0", "-c", "core.bigFileThreshold=1g", "add", ".")
    git(folder, "-c", "gc.auto=0", "commit", "-qm", "many")


def count_loose(folder: Path) -> int:
    return int(git(folder, "count-objects").split()[0])


def test_loose_objects_are_estimated_and_packed_when_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "THRESHOLD", 500)
    repo = init(str(tmp_path / "r"))
    assert loose_objects(repo) == 0
    loosen(Path(repo.worktree), 1500)
    actual = count_loose(Path(repo.worktree))
    assert actual > 1500
    assert abs(loose_objects(repo) - actual) < actual / 2
    assert maintain(repo)
    assert count_loose(Path(repo.worktree)) == 0
    assert loose_objects(repo) == 0
    assert_sound(repo)


def test_few_loose_objects_are_not_packed_and_a_persons_gc_auto_is_respected(tmp_path: Path) -> None:
    repo = init(str(tmp_path / "r"))
    loosen(Path(repo.worktree), 50)
    assert maintain(repo)
    assert count_loose(Path(repo.worktree)) == 53
    git(repo, "config", "gc.auto", "1")
    git(repo, "config", "gc.auto", "0")
    assert maintain(repo)
    assert count_loose(Path(repo.worktree)) == 53


def test_maintenance_that_takes_too_long_is_stopped_and_leaves_a_sound_repository(tmp_path: Path) -> None:
    repo = init(str(tmp_path / "r"))
    loosen(Path(repo.worktree), 300)
    git(repo, "config", "gc.auto", "1")
    assert maintain(repo, deadline=0.001) is False
    # What git itself had started may end a little after git.
    wait_until(lambda: not list(Path(repo.git_dir).glob("**/*.lock")), "a lock stays behind")
    assert_sound(repo)


def test_a_lock_that_a_crashed_maintenance_left_a_day_ago_does_not_end_maintenance_for_good(
    tmp_path: Path,
) -> None:
    repo = init(str(tmp_path / "r"))
    loosen(Path(repo.worktree), 300)
    git(repo, "config", "gc.auto", "1")
    lock = Path(repo.git_dir, "objects", "maintenance.lock")
    lock.touch()
    assert maintain(repo)
    assert count_loose(Path(repo.worktree)) > 0, "a young lock may be somebody's at work"
    assert lock.exists()
    os.utime(lock, (0, 0))
    assert maintain(repo)
    assert count_loose(Path(repo.worktree)) == 0
    assert not lock.exists()
