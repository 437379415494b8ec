"""After a commit the index agrees with HEAD on its paths, whatever a person or a kill does around it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
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
from engram.adapters.git.write.commits import commit_all, has_landed
from engram.adapters.git.write.staging import sync_index
from engram.domain.errors import GitError

pytestmark = pytest.mark.usefixtures("persons_git")


def test_files_that_a_person_staged_or_edited_stay_unchanged(repo: Repository) -> None:
    gitkit.write(repo, "code.py", "staged\n")
    git(repo, "add", "code.py")
    gitkit.write(repo, "code.py", "staged, then edited\n")
    gitkit.write(repo, "other.py", "edited\n")
    gitkit.write(repo, "fresh.py", "new\n")
    git(repo, "add", "-N", "fresh.py")
    git(repo, "update-index", "--assume-unchanged", "other.py")
    before = status(repo), git(repo, "ls-files", "-s", "-v")
    apply(repo, WORK)
    commit_all(repo, [WORK], "OP1", state_folder(repo))
    assert status(repo) == before[0]
    after = git(repo, "ls-files", "-s", "-v").splitlines()
    assert [line for line in after if "lore/" not in line] == [
        x for x in before[1].splitlines() if "lore/" not in x
    ]
    assert git(repo, "show", ":code.py") == "staged"
    assert git(repo, "show", "HEAD:code.py") == "1"


def test_a_persons_commit_dash_a_afterwards_keeps_the_entry(repo: Repository) -> None:
    apply(repo, WORK)
    commit_all(repo, [WORK], "OP1", state_folder(repo))
    gitkit.write(repo, "code.py", "2\n")
    git(repo, "commit", "-qam", "mine")
    assert git(repo, "diff", "--name-only", "HEAD~1", "HEAD") == "code.py"


def test_an_older_staged_version_of_the_same_entry_cannot_undo_the_commit(repo: Repository) -> None:
    gitkit.write(repo, "lore/old.md", "hand edit\n")
    git(repo, "add", "lore/old.md")
    voted = change("vote", ("lore/old.md", b"hand edit, voted\n"))
    apply(repo, voted)
    commit_all(repo, [voted], "OP1", state_folder(repo))
    git(repo, "commit", "-q", "--allow-empty", "-m", "mine")
    assert git(repo, "show", "HEAD:lore/old.md") == "hand edit, voted"


KILLS = {
    "before the import": "commits._import = die",
    "after the import": "real = commits._import; commits._import = lambda *a: (real(*a), die())",
    "while the index is written": "real = staging.run; staging.run = lambda *a, **k: (real(*a, **k), die())",
    "before the branch moves": "commits._move = die",
    "after the branch has moved": "real = commits._move; commits._move = lambda *a: (real(*a), die())",
    "before the marker is removed": "staging.forget = die",
}
KILLED = """
import os, signal, sys
from engram.adapters.git.run import layout
from engram.adapters.git.write import commits, staging
def die(*args): os.kill(os.getpid(), signal.SIGKILL)
{kill}
repo = layout.find_repository(sys.argv[1])
work = commits.Commit("work", (commits.FileChange("lore/new.md", b"new\\n"),
    commits.FileChange("lore/old.md", b"changed\\n"), commits.FileChange("lore/gone.md", None)), None, 1760000000)
commits.commit_all(repo, [work], "OP1", sys.argv[2])
"""


def killed(repo: Repository, kill: str) -> None:
    apply(repo, WORK)
    root = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    code = KILLED.format(kill=kill)
    done = subprocess.run(
        [sys.executable, "-c", code, repo.worktree, state_folder(repo)], env=environment, check=False
    )
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("kill", KILLS.values(), ids=KILLS.keys())
def test_a_kill_at_any_step_is_repaired_by_committing_again(repo: Repository, kill: str) -> None:
    killed(repo, kill)
    if not has_landed(repo, "OP1"):
        commit_all(repo, [WORK], "OP1", state_folder(repo), patience=0)
    sync_index(repo, state_folder(repo), patience=0)
    assert git(repo, "log", "--format=%s").splitlines() == ["work", "by hand"]
    assert status(repo) == ""
    assert set(os.listdir(state_folder(repo))) <= {"own-moves-main"}
    assert [name for name in os.listdir(repo.git_dir) if "lock" in name or "engram" in name] == ["engram"]
    assert git(repo, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert_sound(repo)


@pytest.mark.parametrize("kill", KILLS.values(), ids=KILLS.keys())
def test_the_next_commit_repairs_the_index_after_a_kill(repo: Repository, kill: str) -> None:
    killed(repo, kill)
    again = change("again", ("lore/more.md", b"1"))
    apply(repo, again)
    commit_all(repo, [WORK, again], "OP1", state_folder(repo), patience=0)
    assert git(repo, "log", "--format=%s").splitlines() == ["again", "work", "by hand"]
    assert status(repo) == ""
    assert_sound(repo)


def test_the_two_steps_apart_leave_just_the_entry_behind_until_the_second(
    repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    gitkit.write(repo, "code.py", "staged\n")
    git(repo, "add", "code.py")
    apply(repo, WORK)
    with monkeypatch.context() as patch:
        patch.setattr(staging, "replace_entries", lambda repo, wanted: None)
        patch.setattr(staging, "forget", lambda repo, state: None)
        commit_all(repo, [WORK], "OP1", state_folder(repo))
    assert "D  lore/new.md" in status(repo), "to git the entry looks deleted"
    assert sync_index(repo, state_folder(repo)) == 3
    assert status(repo) == "M  code.py"
    assert sync_index(repo, state_folder(repo)) == 0


def test_a_marker_waits_while_a_merge_is_under_way(repo: Repository) -> None:
    git(repo, "checkout", "-q", "-b", "other")
    person_commits(repo, {"lore/old.md": "theirs\n"})
    git(repo, "checkout", "-q", "main")
    person_commits(repo, {"lore/old.md": "ours\n"})
    staging.remember(repo, state_folder(repo), ["lore/old.md"])
    git(repo, "merge", "other", check=False)
    conflicted = git(repo, "ls-files", "-u")
    assert conflicted
    assert sync_index(repo, state_folder(repo)) == 0
    assert git(repo, "ls-files", "-u") == conflicted
    git(repo, "merge", "--abort")
    assert sync_index(repo, state_folder(repo)) == 1
    assert status(repo) == ""


def test_marked_paths_accumulate_until_the_index_is_in_step(repo: Repository) -> None:
    staging.remember(repo, state_folder(repo), ["lore/a b.md", "lore/ü.md"])
    staging.remember(repo, state_folder(repo), ["lore/ü.md", "lore/c.md"])
    assert staging.pending(repo, state_folder(repo)) == ("lore/a b.md", "lore/ü.md", "lore/c.md")


def test_work_trees_have_markers_of_their_own(repo: Repository, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    linked = gitkit.open_repository(tmp_path / "linked")
    staging.remember(linked, state_folder(repo), [LORE])
    assert staging.pending(repo, state_folder(repo)) == ()
    assert staging.pending(linked, state_folder(repo)) == (LORE,)


def test_what_the_index_holds_is_not_loaded_to_write(repo: Repository) -> None:
    """A damaged index does not harm a commit's content: git says so and the branch is as it was."""
    head = read_head(repo)
    Path(repo.git_dir, "index").write_bytes(b"rubbish")
    with pytest.raises(GitError, match="damaged"):
        commit_all(repo, [WORK], "OP1", state_folder(repo), patience=0)
    assert read_head(repo) == head
    assert commits.has_landed(repo, "OP1") is False
