"""Commands that use the network tell how far they are at a terminal only, keep their time limit, and end with Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import git, variables
from remote_kit import AS_AT_A_TERMINAL, allow_loopback, hanging_up, listening
from sync_kit import ManyClock, bare, executable, files, make_connected_store

from engram.adapters.git.remote import remotes
from engram.adapters.git.remote.progress import Progress
from engram.adapters.git.run.layout import find_repository
from engram.adapters.git.run.process import DeferredInterrupt
from engram.domain.errors import INTERRUPTED, REMOTE_FAILED, RemoteError
from engram.usecases.placement.clone import clone
from engram.usecases.store.commit import commit_pending
from engram.usecases.sync import network
from engram.usecases.sync.sync import Options, sync

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    """A store with something to push, and an empty remote."""
    made = make_connected_store(tmp_path / "store", bare(tmp_path / "hub.git"), ManyClock())
    made.record("Worth keeping.", category="FACT")
    return made


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    allow_loopback(monkeypatch)


def test_a_listener_receives_each_step_with_its_percentage(store: Engram, tmp_path: Path) -> None:
    heard: list[str] = []
    assert sync(store.store, Options(timeout=30.0), heard.append).pushed == 1
    assert heard[0] == "fetching from origin"
    assert "pushing to origin: writing objects 100 %" in heard
    heard.clear()
    clone(f"file://{tmp_path / 'hub.git'}", str(tmp_path / "clone"), step=heard.append)
    assert any(step.endswith("receiving objects 100 %") for step in heard), heard


def test_git_progress_is_not_taken_for_a_server_error(store: Engram, tmp_path: Path) -> None:
    hook = "#!/bin/sh\necho 'only on weekdays' >&2\nexit 1\n"
    executable(tmp_path / "hub.git/hooks/pre-receive", hook)
    heard: list[str] = []
    with pytest.raises(RemoteError, match="declined the push: only on weekdays") as found:
        sync(store.store, Options(timeout=30.0), heard.append)
    assert any("%" in step for step in heard)
    assert "%" not in found.value.stderr


def test_progress_is_told_apart_from_errors() -> None:
    printed = (
        "remote: Enumerating objects: 5, done.\n"
        "remote: Counting objects:  20% (1/5)\nremote: Counting objects: 100% (5/5), done.\n"
        "Delta compression using up to 2 threads\nReceiving objects:  45% (450/1000), 1.2 MiB | 3 MiB/s\n"
        "fatal: early EOF\nremote: Total 5 (delta 0), reused 0 (delta 0)\nremote: hello: 100% sure\nremote: Ticket: 12\n"
    )
    progress = Progress()
    listen = progress.new_message_handler()
    for line in printed.splitlines(keepends=True):
        listen(line)
    assert progress.complaints == "remote: hello: 100% sure\nremote: Ticket: 12\nfatal: early EOF"
    assert list(progress.news) == [
        "counting objects 20 %",
        "counting objects 100 %",
        "receiving objects 45 %",
    ]


@pytest.mark.usefixtures("loopback")
def test_the_time_limit_holds_with_a_listener(store: Engram) -> None:
    with listening() as (address, _):
        git(Path(store.path), "config", "remote.origin.url", f"git://{address}/lore.git")
        repository = find_repository(store.path)
        assert repository is not None
        with pytest.raises(RemoteError) as found:
            remotes.fetch(repository, remotes.Counterpart("origin", "main"), deadline=0.3, report=print)
    assert found.value.kind == "timeout"


def interrupted(store: Engram, *options: str, stderr: int) -> tuple[int, bytes]:
    """A sync with a server that says nothing, ended by Ctrl-C: exit code and standard output; its git has gone too."""
    command = [sys.executable, "-c", AS_AT_A_TERMINAL, "sync", "--store", store.path, *options]
    # Before, or it is committed beside the fetch, which may be interrupted first.
    commit_pending(store.store, wait=30)
    before = files(Path(store.path))
    with listening() as (address, server):
        server.settimeout(30)
        git(Path(store.path), "config", "remote.origin.url", f"git://{address}/lore.git")
        with (
            subprocess.Popen(command, env=variables(), stdout=subprocess.PIPE, stderr=stderr) as process,
            server.accept()[0] as connection,
        ):
            connection.settimeout(30)
            assert connection.recv(2).startswith(b"00")
            process.send_signal(signal.SIGINT)
            out = process.communicate(timeout=30)[0]
            while connection.recv(100):  # to the end that comes when git is gone, too
                pass
    assert files(Path(store.path)) == before
    assert git(Path(store.path), "status", "--porcelain") == ""
    return process.returncode, out


def test_ctrl_c_waits_until_a_process_that_is_being_started_can_be_stopped() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        held = DeferredInterrupt()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            held.release()
        held.release()  # once is enough
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_a_transfer_before_its_thread_is_waited_for() -> None:
    ended, pause = threading.Event(), threading.Event()

    def work(report: Callable[[str], None]) -> network.Result:
        os.kill(os.getpid(), signal.SIGINT)  # while the main thread still starts this one
        try:
            for _ in range(1000):
                report("fetching")
                pause.wait(0.01)
        finally:
            ended.set()
        return "", None

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            network.Background(work).wait()
        assert ended.wait(5), "it goes on although nobody waits for it"
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("loopback")
def test_ctrl_c_ends_a_sync_and_its_git_at_once(store: Engram) -> None:
    code, out = interrupted(store, "--json", stderr=subprocess.DEVNULL)
    assert (code, json.loads(out)["error"]["code"]) == (INTERRUPTED, "interrupted")


@pytest.mark.usefixtures("loopback")
def test_ctrl_c_ends_a_sync_that_shows_its_progress_in_a_terminal(store: Engram) -> None:
    pty = pytest.importorskip("pty")
    screen, inner = pty.openpty()
    code, out = interrupted(store, stderr=inner)
    os.close(inner)
    said = b""
    try:
        while part := os.read(screen, 4096):
            said += part
    except OSError:  # what Linux says at the end
        pass
    os.close(screen)
    assert (code, out) == (INTERRUPTED, b"")
    shown = said.decode()
    assert "fetching from origin" in shown
    assert shown.rpartition("\x1b[K")[2].strip().startswith("engram: Interrupted."), (
        "the line is cleared first"
    )


@pytest.mark.usefixtures("loopback")
def test_a_failure_has_the_same_kind_with_and_without_a_listener(tmp_path: Path) -> None:
    kinds = []
    for listener in (None, lambda _what: None):
        with hanging_up() as url, pytest.raises(RemoteError) as found:
            clone(url, str(tmp_path / "clone"), step=listener)
        kinds.append(found.value.kind)
    assert kinds == ["offline", "offline"]


def test_no_progress_is_written_to_a_pipe(store: Engram) -> None:
    command = [sys.executable, "-m", "engram", "sync"]
    done = subprocess.run(command, cwd=store.path, env=variables(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    git(Path(store.path), "config", "remote.origin.url", "nowhere.git")
    done = subprocess.run(command, cwd=store.path, env=variables(), capture_output=True, check=False)
    assert done.returncode == REMOTE_FAILED
    assert b"\r" not in done.stderr
