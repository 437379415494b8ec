"""Every way in which a remote can fail, made for real: a sentence, a next step, exit code 5 or 4, and nothing lost."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import cli, git
from effort import sampled
from remote_kit import allow_loopback, answering, damage, hanging_up, listening, refusing
from sync_kit import (
    Clones,
    ManyClock,
    bare,
    executable,
    files,
    make_clones,
    open_test_store,
    push_from_outside,
)

from engram.adapters.git.run import locks
from engram.cli import registry
from engram.domain.errors import NEEDS_HUMAN, REMOTE_FAILED
from engram.usecases.store import remote

if TYPE_CHECKING:
    from engram.app import Engram

LESSON = "Worth keeping."


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    """Two clones of a remote that both have one entry."""
    return make_clones(tmp_path)[0]


@pytest.fixture
def alone(tmp_path: Path) -> Engram:
    """A store without a remote, with something to push."""
    made = open_test_store(tmp_path / "alone", ManyClock())
    made.record(LESSON, category="FACT")
    return made


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_loopback(monkeypatch)


def told(store: Engram, code: int, *options: str) -> dict[str, Any]:
    """The error of a sync that ends with this exit code, gives a next step and leaves every file as it was.

    What came in before the error may be there already.
    """
    root = Path(store.path)
    before = files(root)
    done = cli("sync", "--json", *options, cwd=root)
    assert done.code == code, done
    assert "Traceback" not in done.err
    error: dict[str, Any] = done.json["error"]
    assert error["message"].endswith(".")
    check_commands(error["hint"])
    assert before.items() <= files(root).items()
    assert cli("status", "--json", cwd=root).json["git"]["sync"]["error"] == error
    return error


def failed(store: Engram, kind: str, *options: str) -> dict[str, Any]:
    """The error of a sync whose remote fails with this kind."""
    before = files(Path(store.path))
    error = told(store, REMOTE_FAILED, *options)
    assert files(Path(store.path)) == before
    assert (error["code"], error["kind"]) == ("remote", kind)
    return error


def blocked(store: Engram) -> dict[str, Any]:
    """The error of a sync that needs a person first."""
    error = told(store, NEEDS_HUMAN)
    assert error["code"] == "blocked"
    return error


def check_commands(hint: str) -> None:
    """The next step names a command (or the file that is in the way), and every command that it names is one."""
    named = re.findall(r"\b(engram|git) ([a-z][a-z-]+)((?: --?[a-z-]+)*)", hint)
    assert named or ".lock" in hint, hint
    for program, command, options in named:
        if program == "git":
            assert command in commands_of_git(), hint
            continue
        found = registry.find(command)
        assert found is not None, hint
        from engram.cli.parsing import command_parser

        assert all(option in command_parser(found).format_help() for option in options.split()), hint


@cache
def commands_of_git() -> set[str]:
    listed = subprocess.run(["git", "--list-cmds=builtins,main"], capture_output=True, check=True).stdout
    return set(listed.decode().split())


def delivered(store: Engram, hub: Path) -> None:
    """With a remote that works, what was recorded arrives: nothing was lost on the way."""
    if cli("remote", "list", "--json", cwd=store.path).json["remotes"]:
        remote.remove(store.store, "origin")
    remote.add(store.store, "origin", str(hub))
    done = cli("sync", "--json", cwd=store.path)
    assert (done.code, done.json["pushed"], done.json["errors"]) == (0, 1, []), done
    (path,) = Path(store.path, "lore").rglob("*.md")
    name = path.relative_to(store.path).as_posix()
    assert git(hub, "show", f"main:{name}") == path.read_text("utf-8").rstrip("\n")
    assert LESSON in path.read_text("utf-8")
    assert store.store.files.journal.is_empty()


# --- no remote that could be asked


def test_no_remote(alone: Engram, tmp_path: Path) -> None:
    assert "engram remote add" in failed(alone, "no-remote")["hint"]
    delivered(alone, bare(tmp_path / "hub.git"))


def test_a_remote_that_is_not_there(alone: Engram, tmp_path: Path) -> None:
    remote.add(alone.store, "origin", str(tmp_path / "nowhere.git"))
    failed(alone, "not-found")
    delivered(alone, bare(tmp_path / "hub.git"))


def test_an_address_of_a_kind_that_is_not_allowed(alone: Engram, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    git(Path(alone.path), "config", "remote.origin.url", f"ext::touch {mark}")
    failed(alone, "protocol")
    assert not mark.exists()


@pytest.mark.usefixtures("loopback")
@sampled("scheme", ["http", "git", "ssh"])
def test_a_refused_connection(
    alone: Engram, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scheme == "ssh":
        if shutil.which("ssh") is None:
            pytest.skip("there is no ssh here")
        monkeypatch.setenv("GIT_SSH_COMMAND", f"ssh -F {os.devnull}")
    remote.add(alone.store, "origin", f"{scheme}://{refusing()}/lore.git")
    error = failed(alone, "offline")
    assert error["message"] == "origin cannot be reached now."
    assert "Nothing is lost" in error["hint"]
    delivered(alone, bare(tmp_path / "hub.git"))


# What OpenSSH prints; making it say so for real takes a server with accounts.
SSH_SAYS = {
    "offline": "ssh: Could not resolve hostname host.invalid: Name or service not known",
    "auth": "lore@host.invalid: Permission denied (publickey).",
    "auth ": "No ED25519 host key is known for host.invalid and you have requested strict checking.\n"
    "Host key verification failed.",
}


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize("kind", SSH_SAYS)
def test_what_ssh_says(alone: Engram, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = "fatal: Could not read from remote repository.\n"
    executable(tmp_path / "ssh", f"#!/bin/sh\ncat >&2 <<'END'\n{SSH_SAYS[kind]}\n{end}END\nexit 255\n")
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    remote.add(alone.store, "origin", "ssh://host.invalid/lore.git")
    failed(alone, kind.strip())


# --- servers that do not behave


@pytest.mark.usefixtures("loopback")
def test_a_server_that_takes_the_connection_and_says_nothing(alone: Engram, tmp_path: Path) -> None:
    with listening() as (address, _):
        remote.add(alone.store, "origin", f"git://{address}/lore.git")
        began = time.monotonic()
        error = failed(alone, "timeout", "--timeout", "0.3")
        assert time.monotonic() - began < 5
    assert "--timeout" in error["hint"]
    delivered(alone, bare(tmp_path / "hub.git"))


@pytest.mark.usefixtures("loopback")
def test_a_server_that_stops_in_the_middle_of_its_answer(alone: Engram) -> None:
    begun = b"001e# service=git-upload-pack\n0000"
    with answering(200, begun, announced=len(begun) + 1000) as url:
        remote.add(alone.store, "origin", url)
        failed(alone, "timeout", "--timeout", "0.5")


@pytest.mark.usefixtures("loopback")
def test_a_server_that_hangs_up_in_the_middle_of_its_answer(alone: Engram) -> None:
    with hanging_up() as url:
        remote.add(alone.store, "origin", url)
        failed(alone, "offline")


@sampled(
    ("status", "kind"),
    [(401, "auth"), (403, "forbidden"), (404, "not-found"), (500, "offline"), (503, "offline")],
    everyday=2,
)
@pytest.mark.usefixtures("loopback")
def test_a_web_server_that_refuses(alone: Engram, status: int, kind: str) -> None:
    with answering(status) as url:
        remote.add(alone.store, "origin", url.replace("//", "//user:hunter2@"))
        error = failed(alone, kind)
    assert "hunter2" not in str(error)
    assert "hunter2" not in str(cli("status", "--json", cwd=alone.path))


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(("said", "kind"), [(b"<html>Welcome</html>", "not-found"), (b"", "offline")])
def test_something_that_is_no_git_server(alone: Engram, said: bytes, kind: str) -> None:
    with answering(200, said) as url:
        remote.add(alone.store, "origin", url)
        failed(alone, kind)


# --- remotes that do not take the push


def test_a_push_that_a_hook_declines(clones: Clones) -> None:
    executable(clones.hub / "hooks/pre-receive", "#!/bin/sh\necho 'lore only on weekdays' >&2\nexit 1\n")
    lore = clones.record("a", "For later.")
    error = failed(clones["a"], "declined")
    assert "lore only on weekdays" in error["message"]
    (clones.hub / "hooks/pre-receive").unlink()
    clones.settle()
    clones.assert_equal()
    assert clones["b"].get(lore.id).lore == lore


def test_received_changes_are_reported_when_the_push_fails(clones: Clones) -> None:
    clones.record("b", "From b.")
    clones.sync("b")
    clones.record("a", "From a.")
    executable(clones.hub / "hooks/pre-receive", "#!/bin/sh\nexit 1\n")
    done = cli("sync", "--json", cwd=clones.root("a"))
    assert done.code == REMOTE_FAILED
    assert (done.json["pulled"], [error["kind"] for error in done.json["errors"]]) == (1, ["declined"])
    failed(clones["a"], "declined")


def test_a_concurrent_push_is_merged_and_pushed_again(clones: Clones, tmp_path: Path) -> None:
    """The hook lets somebody else's commit in while ours is being received: the branch is not where it was."""
    push_from_outside(clones.hub, tmp_path / "other", {"lore/first.md": "First.\n"})
    ready = push_from_outside(clones.hub, tmp_path / "other", {"lore/second.md": "Second.\n"})
    git(clones.hub, "update-ref", "refs/heads/main", f"{ready}~1")
    git(clones.hub, "update-ref", "refs/keep/second", ready)
    executable(
        clones.hub / "hooks/update",
        f"#!/bin/sh\n[ -e moved ] && exit 0\ntouch moved\ngit update-ref refs/heads/main {ready}\n",
    )
    clones.record("a", "Mine.")
    done = clones.sync("a")[0]
    assert (done.pulled, done.errors) == (2, ())
    assert (clones.hub / "moved").exists()
    clones.settle()
    clones.assert_equal()
    assert "lore/second.md" in files(clones.root("b"))


def test_sync_gives_up_on_a_remote_that_keeps_moving_after_six_tries(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram.usecases.judgements.exchange.PAUSE_SECONDS", 0.0)
    # Each push finds a new commit of somebody else's upon the branch.
    script = (
        "#!/bin/sh\necho x >> count\nexport GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x\n"
        "unset GIT_QUARANTINE_PATH\n"
        'new=$(git commit-tree "$2^{tree}" -p "$2" -m "$(wc -l < count)")\ngit update-ref refs/heads/main "$new"\n'
    )
    executable(clones.hub / "hooks/update", script)
    clones.record("a", "Mine.")
    error = failed(clones["a"], "rejected")
    assert (clones.hub / "count").read_text().count("x") == 6
    assert "nothing is lost" in error["hint"]


# --- a repository here that is in the middle of something


def stopped_rebase(root: Path) -> None:
    """A rebase that stopped at a conflict, with changes of its own in the work tree."""
    (root / "notes.txt").write_text("one\n")
    git(root, "add", "notes.txt")
    git(root, "commit", "-qm", "one")
    git(root, "switch", "-qc", "side", "HEAD~1")
    (root / "notes.txt").write_text("two\n")
    git(root, "add", "notes.txt")
    git(root, "commit", "-qm", "two")
    assert subprocess.run(
        ["git", "rebase", "-q", "main"], cwd=root, capture_output=True, check=False
    ).returncode


def stopped_merge(root: Path) -> None:
    """A merge that waits for its commit."""
    git(root, "switch", "-qc", "side")
    git(root, "commit", "-q", "--allow-empty", "-m", "side")
    git(root, "switch", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "--no-commit", "side")


def detached(root: Path) -> None:
    """HEAD on a commit instead of a branch."""
    git(root, "checkout", "-q", "--detach")


STATES = {
    stopped_rebase: ("rebase", ("rebase", "--abort")),
    stopped_merge: ("merge", ("merge", "--abort")),
    detached: ("HEAD is detached", ("switch", "-q", "main")),
}


@sampled("state", STATES)
def test_a_repository_in_the_middle_of_something(clones: Clones, state: Any) -> None:
    word, way_out = STATES[state]
    clones.record("b", "From b.")
    clones.sync("b")
    state(clones.root("a"))
    mine = clones.record("a", "Recorded meanwhile.")
    assert word in blocked(clones["a"])["message"]
    git(clones.root("a"), *way_out)
    git(clones.root("a"), "switch", "-q", "main")
    clones.settle()
    clones.assert_equal()
    assert clones["b"].get(mine.id).lore == mine


def test_a_dirty_work_tree_is_no_error(clones: Clones) -> None:
    """Hand edits, staged or not, go out; files that are not lore stay as they are."""
    root = clones.root("a")
    lore = clones.record("a", "Edited by hand.\n\nTwice.")
    clones.settle()
    path = clones.path("a", lore)
    clones.edit("a", path, "Twice.", "Twice, and staged.")
    git(root, "add", path)
    clones.edit("a", path, "and staged", "staged, then not")
    (root / "draft.txt").write_text("mine\n")
    clones["b"].feedback(helpful=[lore.id])
    clones.sync("b")
    assert cli("sync", "--json", cwd=root).json["errors"] == []
    clones.settle()
    assert (root / "draft.txt").read_text() == "mine\n"
    assert clones["b"].get(lore.id).lore.content == "Edited by hand.\n\nTwice, staged, then not."
    assert clones["a"].get(lore.id).lore.validation_count == 1


def test_a_lock_that_somebody_holds_and_one_that_is_stale(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("hold", "wait_free"):  # three seconds, each time that somebody waits
        wait = getattr(locks, name)
        monkeypatch.setattr(locks, name, lambda lock, _, wait=wait: wait(lock, 0.1))
    clones.record("b", "From b.")
    clones.sync("b")
    lock = clones.root("a") / ".git/index.lock"
    lock.write_bytes(b"")
    assert "Another git process" in blocked(clones["a"])["message"]
    os.utime(lock, (1, 1))
    clones.sync("a")
    clones.assert_equal()


# --- damage


def test_a_corrupt_object_at_the_remote(clones: Clones) -> None:
    clones.record("b", "From b.")
    clones.sync("b")
    damage(clones.hub, git(clones.hub, "rev-parse", "main^{tree}"))
    failed(clones["a"], "unsound")
    assert git(clones.root("a"), "fsck", "--no-progress") == ""


def test_a_corrupt_object_here(clones: Clones) -> None:
    clones.record("b", "From b.")
    clones.sync("b")
    root = clones.root("a")
    tree = git(root, "rev-parse", "HEAD^{tree}")
    whole = (root / ".git/objects" / tree[:2] / tree[2:]).read_bytes()
    damage(root, tree)
    mine = clones.record("a", "Still written.")
    assert "git fsck" in blocked(clones["a"])["hint"]
    (root / ".git/objects" / tree[:2] / tree[2:]).write_bytes(whole)
    clones.settle()
    clones.assert_equal()
    assert clones["b"].get(mine.id).lore == mine
