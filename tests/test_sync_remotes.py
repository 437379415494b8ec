"""Every way in which a remote can fail, made for real: a sentence, a next step, exit code 5 or 4, and nothing lost."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SECRET, cli, git, variables
from sync_kit import SOON, Clones, ManyClock, bare, connected, executable, files, push_from_outside

from engram.domain.errors import (
    INTERRUPTED,
    NEEDS_HUMAN,
    REMOTE_FAILED,
    RemoteError,
    SecretFoundError,
    SyncBlockedError,
)
from engram.usecases import remote, sync_state
from engram.usecases.sync import Options, sync

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.app import Engram


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    found = Clones(tmp_path)
    found.record("a")
    found.settle()
    return found


@pytest.fixture
def alone(tmp_path: Path) -> Engram:
    """A store without a remote, with something to push."""
    from sync_kit import opened

    made = opened(tmp_path / "alone", ManyClock())
    made.record("Worth keeping.", category="FACT")
    return made


def failed(store: Engram, kind: str, timeout: float = 20.0) -> RemoteError:
    """The error of a sync that fails with this kind and leaves the store as it was."""
    before = files(Path(store.path))
    with pytest.raises(RemoteError) as found:
        sync(store.store, Options(timeout=timeout))
    error = found.value
    assert error.kind == kind, (error.message, error.stderr)
    assert error.exit_code == REMOTE_FAILED
    assert error.message.endswith(".")
    assert error.hint
    assert files(Path(store.path)) == before
    assert store.list().total >= 1
    assert sync_state.last(store.store)["error"] == error.as_dict()
    return error


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git talk over the network, which these tests do with this machine alone."""
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file:git:http:ssh")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def listening() -> Iterator[tuple[str, socket.socket]]:
    """A socket on this machine that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}", server


@contextmanager
def answering(status: int) -> Iterator[str]:
    """A web server that answers everything with one status."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            if status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="lore"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/lore.git"
        finally:
            server.shutdown()
            thread.join()


def test_no_remote(alone: Engram) -> None:
    assert "engram remote add" in failed(alone, "no-remote").hint


def test_missing_remote(alone: Engram, tmp_path: Path) -> None:
    remote.add(alone.store, "origin", str(tmp_path / "nowhere.git"))
    failed(alone, "not-found")


@pytest.mark.usefixtures("loopback")
def test_refused_connection(alone: Engram) -> None:
    with listening() as (address, _):
        pass
    remote.add(alone.store, "origin", f"http://{address}/lore.git")
    failed(alone, "offline")


@pytest.mark.usefixtures("loopback")
def test_unknown_host(alone: Engram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "ssh: Could not resolve hostname host.invalid: Name or service not known"
    executable(tmp_path / "ssh", f"#!/bin/sh\necho '{words}' >&2\nexit 255\n")
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    remote.add(alone.store, "origin", "ssh://host.invalid/lore.git")
    failed(alone, "offline")


@pytest.mark.usefixtures("loopback")
def test_hanging_server(alone: Engram) -> None:
    with listening() as (address, _):
        remote.add(alone.store, "origin", f"git://{address}/lore.git")
        began = time.monotonic()
        failed(alone, "timeout", timeout=0.5)
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (403, "forbidden"), (404, "not-found")])
@pytest.mark.usefixtures("loopback")
def test_web_server_that_refuses(alone: Engram, status: int, kind: str) -> None:
    with answering(status) as url:
        remote.add(alone.store, "origin", url.replace("//", "//user:hunter2@"))
        error = failed(alone, kind)
    assert "hunter2" not in f"{error.message}{error.hint}{error.stderr}"


def test_push_declined_by_a_hook(clones: Clones) -> None:
    executable(clones.hub / "hooks/pre-receive", "#!/bin/sh\necho 'lore only on weekdays' >&2\nexit 1\n")
    clones.record("a", "For later.")
    error = failed(clones["a"], "declined")
    assert "lore only on weekdays" in error.message


def test_what_came_in_is_told_when_the_push_fails(clones: Clones) -> None:
    clones.record("b", "From b.")
    clones.sync("b")
    clones.record("a", "From a.")
    executable(clones.hub / "hooks/pre-receive", "#!/bin/sh\nexit 1\n")
    done = clones.sync("a")[0]
    assert done.pulled == 1
    assert [error.exit_code for error in done.errors] == [REMOTE_FAILED]
    result = cli("sync", "--json", cwd=clones.root("a"))
    assert (result.code, result.json["error"]["kind"]) == (REMOTE_FAILED, "declined")


def test_another_push_in_between_is_merged_and_pushed_again(clones: Clones, tmp_path: Path) -> None:
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


def test_a_remote_that_always_moves_is_given_up_after_six_tries(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram.usecases.sync.PAUSE_SECONDS", 0.0)
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
    assert "nothing is lost" in error.hint


def test_push_alone_is_rejected_where_the_remote_has_more(clones: Clones) -> None:
    clones.record("b", "From b.")
    clones.sync("b")
    clones.record("a", "From a.")
    with pytest.raises(RemoteError) as found:
        sync(clones["a"].store, SOON._replace(pull=False))
    assert found.value.kind == "rejected"
    assert sync(clones["a"].store, SOON._replace(push=False)).pulled == 1
    assert sync(clones["a"].store, SOON._replace(pull=False)).pushed == 1


def test_a_deleted_remote_branch_is_made_again(clones: Clones) -> None:
    head = git(clones.hub, "rev-parse", "main")
    git(clones.hub, "update-ref", "-d", "refs/heads/main")
    clones.record("a", "More.")
    assert clones.sync("a")[0].errors == ()
    git(clones.hub, "merge-base", "--is-ancestor", head, "main")


def test_a_remote_whose_branch_has_another_name(clones: Clones, tmp_path: Path) -> None:
    git(clones.hub, "branch", "-m", "main", "trunk")
    other = connected(tmp_path / "c", clones.hub, clones.clock)
    other.record("From c.", category="FACT")
    done = sync(other.store, SOON)
    assert (done.branch, done.pulled, done.pushed) == ("trunk", 1, 1)
    assert git(clones.hub, "branch", "--format=%(refname:short)") == "trunk"
    assert sync(other.store, SOON).branch == "trunk"


def test_a_shallow_clone_gets_its_history(clones: Clones, tmp_path: Path) -> None:
    from sync_kit import opened

    for number in range(3):
        clones.record("a", f"Lesson {number}.")
        clones.sync("a")
    root = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{clones.hub}", str(root))
    shallow = opened(root, clones.clock)
    shallow.record("Learnt in a shallow clone.", category="FACT")
    clones.record("a", "One more.")
    clones.sync("a")
    assert sync(shallow.store, SOON).errors == ()
    assert not (root / ".git/shallow").exists()
    clones.settle()
    assert files(clones.root("a")) == files(root) | {
        path: raw for path, raw in files(clones.root("a")).items() if path not in files(root)
    }


def test_a_secret_is_not_pushed_from_history_either(clones: Clones) -> None:
    root, path = clones.root("a"), "lore/token.md"
    (root / path).write_text(f"The token is {SECRET}\n")
    git(root, "add", "-f", path)
    git(root, "commit", "-q", "-m", "by hand")
    git(root, "rm", "-q", path)
    git(root, "commit", "-q", "-m", "gone again")
    before = git(clones.hub, "rev-parse", "main")
    with pytest.raises(SecretFoundError, match="nothing was pushed") as found:
        clones.sync("a")
    assert SECRET not in str(found.value.as_dict())
    assert git(clones.hub, "rev-parse", "main") == before


@pytest.mark.parametrize("state", ["detached", "merge", "rebase"])
def test_a_repository_in_the_middle_of_something(clones: Clones, state: str) -> None:
    root = clones.root("a")
    if state == "detached":
        git(root, "checkout", "-q", "--detach")
    elif state == "merge":
        (root / ".git/MERGE_HEAD").write_text(git(root, "rev-parse", "HEAD") + "\n")
    else:
        (root / ".git/rebase-merge").mkdir()
    before = files(root)
    with pytest.raises(SyncBlockedError) as found:
        clones.sync("a")
    assert found.value.exit_code == NEEDS_HUMAN
    assert files(root) == before


def test_a_lock_that_somebody_holds_and_one_that_is_stale(clones: Clones) -> None:
    clones.record("b", "From b.")
    clones.sync("b")
    lock = clones.root("a") / ".git/index.lock"
    lock.write_bytes(b"")
    with pytest.raises(SyncBlockedError, match="Another git process") as found:
        clones.sync("a")
    assert found.value.exit_code == NEEDS_HUMAN
    os.utime(lock, (1, 1))
    clones.sync("a")
    clones.assert_equal()


def test_a_corrupt_object_at_the_remote(clones: Clones) -> None:
    clones.record("b", "From b.")
    clones.sync("b")
    damage(clones.hub, git(clones.hub, "rev-parse", "main^{tree}"))
    failed(clones["a"], "unsound")


def test_a_corrupt_object_here(clones: Clones) -> None:
    clones.record("b", "From b.")
    clones.sync("b")
    root = clones.root("a")
    damage(root, git(root, "rev-parse", "HEAD^{tree}"))
    clones.record("a", "Still written.")
    before = files(root)
    with pytest.raises(SyncBlockedError) as found:
        clones.sync("a")
    assert "git fsck" in found.value.hint
    assert files(root) == before


def damage(repository: Path, oid: str) -> None:
    """Put rubbish into a loose object."""
    folder = repository / ".git" if (repository / ".git").exists() else repository
    file = folder / "objects" / oid[:2] / oid[2:]
    assert file.exists(), "the object is packed"
    file.chmod(0o644)
    file.write_bytes(b"rubbish")


def test_an_address_that_would_run_a_program_is_no_address(alone: Engram, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    for url in (f"ext::sh -c 'touch {mark}'", "--upload-pack=touch x", ""):
        assert cli("remote", "add", "origin", "--", url, cwd=alone.path).code == 2
    # One that got into the configuration by another way is not run either.
    git(Path(alone.path), "config", "remote.origin.url", f"ext::touch {mark}")
    with pytest.raises(RemoteError):
        sync(alone.store, SOON)
    assert not mark.exists()


def test_remotes_are_added_listed_and_removed(alone: Engram, tmp_path: Path) -> None:
    hub = bare(tmp_path / "hub.git")
    root = Path(alone.path)
    assert cli("remote", "add", "origin", "../hub.git", "--json", cwd=root).json == {
        "remotes": [{"name": "origin", "url": str(hub)}]
    }
    assert cli("remote", "add", "origin", "x", cwd=root).code == 2
    assert cli("remote", "add", "a b", "x", cwd=root).code == 2
    assert cli("sync", "--json", cwd=root).json["pushed"] == 1
    assert cli("remote", "remove", "elsewhere", cwd=root).code == 2
    assert cli("remote", "remove", "origin", "--json", cwd=root).json == {"remotes": []}
    assert cli("sync", "--json", cwd=root).code == REMOTE_FAILED
    shutil.rmtree(hub)


@pytest.mark.usefixtures("loopback")
def test_ctrl_c_ends_a_sync_and_its_git_at_once(alone: Engram) -> None:
    # pytest-xdist has its workers ignore Ctrl-C, and so would their children.
    command = [sys.executable, "-c", AS_AT_A_TERMINAL, "sync", "--json", "--store", alone.path]
    with listening() as (address, server):
        server.settimeout(20)
        remote.add(alone.store, "origin", f"git://{address}/lore.git")
        alone.store.close()
        pipe = subprocess.PIPE
        with (
            subprocess.Popen(command, env=variables(), stdout=pipe, stderr=pipe) as process,
            server.accept()[0] as connection,
        ):
            connection.settimeout(20)
            assert connection.recv(2).startswith(b"00")
            process.send_signal(signal.SIGINT)
            out = process.communicate(timeout=30)[0]
            while connection.recv(100):  # to the end that comes when git is gone, too
                pass
    assert process.returncode == INTERRUPTED
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert git(Path(alone.path), "status", "--porcelain") == ""


AS_AT_A_TERMINAL = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from engram.cli.main import main
sys.exit(main())
"""
