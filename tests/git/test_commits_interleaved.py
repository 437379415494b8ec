"""A person's git at work at the same time: neither side loses what it was told is committed."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import gitkit
import pytest
from gitkit import (
    LORE,
    WORK,
    apply,
    assert_sound,
    change,
    git,
    person_commits,
    state_folder,
    status,
)

from engram.adapters.git.run.layout import Repository, read_head
from engram.adapters.git.write import commits, staging
from engram.adapters.git.write.commits import Commit, commit_all
from engram.domain.errors import GitError

pytestmark = pytest.mark.usefixtures("persons_git")


def commit(repo: Repository, what: Commit) -> str:
    apply(repo, what)
    return commit_all(repo, [what], "OP1", state_folder(repo), patience=0)


def test_engram_commits_on_top_of_a_persons_commit_made_meanwhile(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person commits between the moment HEAD was read and the moment the import ends."""
    real, calls = commits._move, []

    def interrupted(*args: object) -> bool:
        calls.append(1)
        if len(calls) <= 2:
            git(
                repo,
                "update-ref",
                "refs/heads/main",
                git(repo, "commit-tree", "-p", "HEAD", "-m", f"p{len(calls)}", "HEAD^{tree}"),
            )
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(commits, "_move", interrupted)
    oid = commit(repo, change("x", (LORE, b"1")))
    assert git(repo, "log", "--format=%s").splitlines() == ["x", "p2", "p1", "by hand"]
    assert read_head(repo).oid == oid
    assert status(repo) == ""
    assert_sound(repo)


def test_engram_commits_on_top_of_a_commit_made_after_it_read_head(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = commits._plan, []

    def interrupted(*args: object) -> object:
        if not calls:
            person_commits(repo, {"code.py": "mine\n"}, "person")
        calls.append(1)
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(commits, "_plan", interrupted)
    commit(repo, change("x", (LORE, b"1")))
    assert git(repo, "log", "--format=%s").splitlines() == ["x", "person", "by hand"]
    assert git(repo, "show", "HEAD:code.py") == "mine"
    assert status(repo) == ""


def test_a_branch_that_keeps_moving_is_an_error_that_loses_nothing(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = commits._move

    def interrupted(*args: object) -> bool:
        git(
            repo,
            "update-ref",
            "refs/heads/main",
            git(repo, "commit-tree", "-p", "HEAD", "-m", "p", "HEAD^{tree}"),
        )
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(commits, "_move", interrupted)
    with pytest.raises(GitError, match="branch moved"):
        commit(repo, change("x", (LORE, b"1")))
    assert git(repo, "log", "--format=%s").splitlines() == ["p"] * commits.ATTEMPTS + ["by hand"]
    assert status(repo) == f"?? {LORE}"
    assert not Path(repo.git_dir, "index.lock").exists()


def test_the_branch_is_not_moved_back_when_a_person_rewrote_it(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    person_commits(repo, {"code.py": "2\n"}, "to be amended")
    real, calls = commits._move, []

    def interrupted(*args: object) -> bool:
        if not calls:
            git(
                repo,
                "update-ref",
                "refs/heads/main",
                git(repo, "commit-tree", "-p", "HEAD~1", "-m", "amended", "HEAD^{tree}"),
            )
        calls.append(1)
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(commits, "_move", interrupted)
    commit(repo, change("x", (LORE, b"1")))
    assert git(repo, "log", "--format=%s").splitlines() == ["x", "amended", "by hand"]


def test_git_refuses_a_commit_made_with_the_old_index(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads HEAD before the branch moves cannot commit after; who reads it after sees the new index."""
    seen = []
    real = commits._move

    def watched(*args: object) -> bool:
        seen.append(git(repo, "ls-files", LORE))
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(commits, "_move", watched)
    commit(repo, change("x", (LORE, b"1")))
    assert seen == [LORE], "the index knew the entry before the branch did"


def test_engram_waits_for_an_open_git_commit_dash_a_and_nothing_is_lost(
    repo: Repository, tmp_path: Path
) -> None:
    """`git commit -a` holds the index lock while its editor is open, however long that takes."""
    ready, go = tmp_path / "ready", tmp_path / "go"
    os.mkfifo(ready)
    os.mkfifo(go)
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\necho x > "{ready}"\ncat "{go}" > /dev/null\necho mine > "$1"\n')
    editor.chmod(0o755)
    gitkit.write(repo, "code.py", "mine\n")
    person = subprocess.Popen(
        ["git", "commit", "-qa"], cwd=repo.worktree, env={**os.environ, "GIT_EDITOR": str(editor)}
    )
    ready.read_text()
    lock = staging.index_lock(repo)
    os.utime(lock, (time.time() - 600, time.time() - 600))  # the editor has been open for ten minutes
    apply(repo, WORK)
    with pytest.raises(GitError, match="Another git process"):
        commit_all(repo, [WORK], "OP1", state_folder(repo), patience=0)
    assert Path(lock).exists()
    go.write_text("x")
    assert person.wait(10) == 0
    commit_all(repo, [WORK], "OP1", state_folder(repo), patience=0)
    assert git(repo, "log", "--format=%s").splitlines() == ["work", "mine", "by hand"]
    assert status(repo) == ""


def test_concurrent_commits_by_a_person_lose_neither_entries_nor_the_commits(repo: Repository) -> None:
    """A person's git may be refused for the moment; what either side was told is committed stays committed."""
    done: list[str] = []

    def person() -> None:
        for number in range(15):
            gitkit.write(repo, f"mine-{number}.txt", "x")
            words = ("git", "-C", repo.worktree)
            while git(repo, "ls-tree", "HEAD", f"mine-{number}.txt") == "":
                subprocess.run([*words, "add", f"mine-{number}.txt"], capture_output=True, check=False)
                subprocess.run([*words, "commit", "-qam", f"m{number}"], capture_output=True, check=False)
            done.append(f"mine-{number}.txt")

    thread = threading.Thread(target=person)
    thread.start()
    for number in range(15):
        lore = change(f"lore {number}", (f"lore/n-{number}.md", b"x"))
        apply(repo, lore)
        commit_all(repo, [lore], f"OP{number}", state_folder(repo), patience=30)
        done.append(f"lore/n-{number}.md")
    thread.join()
    assert set(done) <= set(git(repo, "ls-tree", "-r", "--name-only", "HEAD").splitlines())
    assert len(done) == 30
    assert status(repo) == ""
    assert git(repo, "log", "--diff-filter=D", "--format=%H") == "", (
        "no commit deleted a file, not even for a while"
    )
    assert_sound(repo)
