"""Git's lock files: those of the dead are removed, those of the living are respected."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from gitkit import WORK, apply, state_folder, status

from engram.adapters.git.run import locks
from engram.adapters.git.run.layout import Repository, read_head
from engram.adapters.git.write import commits, staging
from engram.adapters.git.write.commits import commit_all
from engram.domain.errors import GitError

pytestmark = pytest.mark.usefixtures("persons_git")


def age(file: str, seconds: float) -> str:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).touch()
    os.utime(file, (time.time() - seconds, time.time() - seconds))
    return file


LOCKS = ("index.lock", "HEAD.lock", "refs/heads/main.lock", f"{commits.INCOMING}.lock")


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_left_by_a_killed_process_is_removed(repo: Repository, name: str) -> None:
    lock = age(os.path.join(repo.git_dir, name), 31)
    apply(repo, WORK)
    commit_all(repo, [WORK], "OP1", state_folder(repo), patience=0)
    assert not Path(lock).exists()
    assert status(repo) == ""


@pytest.mark.parametrize("name", LOCKS)
def test_a_recent_lock_is_respected(repo: Repository, name: str) -> None:
    lock = age(os.path.join(repo.git_dir, name), 20)
    head = read_head(repo)
    apply(repo, WORK)
    with pytest.raises(GitError, match="Another git process") as caught:
        commit_all(repo, [WORK], "OP1", state_folder(repo), patience=0)
    assert lock in caught.value.hint
    assert Path(lock).exists()
    assert read_head(repo) == head
    Path(lock).unlink()
    commit_all(repo, [WORK], "OP1", state_folder(repo), patience=0)
    assert status(repo) == ""


def test_a_lock_that_is_released_in_time_is_waited_for(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = Path(age(staging.index_lock(repo), 0))
    waits: list[float] = []

    def pause(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            lock.unlink()

    clock = SimpleNamespace(sleep=pause, time=time.time, monotonic=time.monotonic)
    monkeypatch.setattr(locks, "time", clock)  # the module's own, for subprocess waits by sleeping as well
    apply(repo, WORK)
    commit_all(repo, [WORK], "OP1", state_folder(repo), patience=60)
    assert len(waits) == 3
    assert status(repo) == ""


def test_a_lock_file_has_its_owners_mark_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before the mark, it would be nobody's: the next commit would wait half a minute for it."""
    lock = tmp_path / "index.lock"
    seen: list[bytes] = []

    def link(draft: str, name: str) -> None:
        seen.append(Path(draft).read_bytes())
        assert not lock.exists()
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(os, "link", link)
        with pytest.raises(KeyboardInterrupt), locks.hold(str(lock), 1.0):
            pass
    assert seen == [b"engram %d\n" % os.getpid()]
    assert list(tmp_path.glob("*.lock*")) == []
    with locks.hold(str(lock), 1.0):
        assert lock.read_bytes() == seen[0]
    assert list(tmp_path.glob("*.lock*")) == []


def test_a_lock_can_be_held_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    lock = tmp_path / "index.lock"
    with locks.hold(str(lock), 1.0):
        assert lock.read_bytes() == b"engram %d\n" % os.getpid()
        with pytest.raises(GitError), locks.hold(str(lock), 0.0):
            pass
    assert list(tmp_path.glob("*.lock*")) == []
