"""Machines that share one remote: each has a home and a clone of its own, and real processes, all ended by the end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import Result, git, repository, variables
from hookkit import recorded_payload
from storekit import wait_until
from sync_kit import bare

from tests.conftest import GIT_CONFIGURATION, isolated_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

if not Path("/proc").is_dir():
    pytest.skip("needs /proc to tell whose a process is", allow_module_level=True)

QUIET = "0.2"  # seconds without a change, before what was written is sent
LONG = "3600"
SOON = 10.0  # seconds within which lore from elsewhere has to arrive after a session starts


class Machine:
    """A home with one clone; `root` is where its people and agents work."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.home, self.root = name, folder / f"home-{name}", folder / name
        self.home.mkdir(parents=True)
        (self.home / ".gitconfig").write_text(GIT_CONFIGURATION, "utf-8")
        self.quiet, self.agent = QUIET, ""

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its processes."""
        found = variables(**isolated_environment(self.home))
        calm = {"ENGRAM_SYNC_SECONDS": self.quiet, "ENGRAM_BACKGROUND": "", "ENGRAM_HOOK_SECONDS": "60"}
        return {**found, **calm, "ENGRAM_SESSION": f"session-{self.name}", "ENGRAM_AGENT": self.agent}

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start `engram`."""
        command = [sys.executable, "-P", "-m", "engram", *arguments]
        return subprocess.Popen(command, cwd=self.root, env=self.environment, **options)

    def engram(self, *arguments: str, stdin: bytes = b"", code: int = 0) -> Result:
        """Run `engram` and expect the exit code `code`."""
        pipe = subprocess.PIPE
        with self.start(*arguments, stdin=pipe, stdout=pipe, stderr=pipe) as child:
            out, err = child.communicate(stdin, timeout=60)
        found = Result(child.returncode, out.decode(), err.decode())
        assert found.code == code, found
        return found

    def at_terminal(self, *arguments: str, typed: str = "") -> str:
        """Run `engram` at a terminal with `typed` as input; return what the screen shows."""
        import pty

        screen, inner = pty.openpty()
        os.write(screen, typed.encode())
        with self.start(*arguments, stdin=inner, stdout=inner, stderr=inner) as child:
            os.close(inner)
            shown = b""
            with contextlib.suppress(OSError):  # nobody has the other side open any more
                while more := os.read(screen, 4096):
                    shown += more
        os.close(screen)
        assert child.returncode == 0, shown
        return shown.decode()

    def hook(self, event: str, **changed: Any) -> str:
        """Call a hook as Claude Code does; return the text for its model."""
        session = {"session_id": f"session-{self.name}"}
        payload = recorded_payload("claude-code", event, self.root, **{**session, **changed})
        done = self.engram("hook", event, "--agent", "claude-code", stdin=json.dumps(payload).encode())
        return done.out

    def knows(self, word: str) -> bool:
        """Return whether the word is in its files, without opening the store."""
        own = self.root / "lore"
        store = self.root if own.is_dir() else self.root / ".git/engram/worktree"
        return any(word in file.read_text("utf-8") for file in store.glob("lore/**/*.md"))

    @property
    def waits(self) -> bool:
        """Whether changes wait to be sent, or a process is sending them."""
        return any((self.root / ".git/engram").rglob("sync-waits"))

    def python(self, code: str, *arguments: str) -> None:
        """Run Python code in the folder of the repository."""
        command = [sys.executable, "-P", "-c", code, *arguments]
        subprocess.run(command, cwd=self.root, env=self.environment, check=True, timeout=60)

    @contextlib.contextmanager
    def serving(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Run `engram serve`; yield its address and the headers of requests. It is stopped in the end."""
        with self.start("serve", "--port", "0", stderr=subprocess.PIPE) as server:
            try:
                assert server.stderr is not None
                line = server.stderr.readline().decode()
                token = Path(line.rpartition(": ")[2].strip()).read_text("utf-8").strip()
                yield line.split()[1], {"authorization": f"Bearer {token}"}
            finally:
                server.terminate()
        assert server.returncode == 0

    def status(self) -> dict[str, Any]:
        """Return what `engram status` reports on git and syncing."""
        found: dict[str, Any] = self.engram("status", "--json").json["git"]
        return found

    def processes(self) -> Sequence[int]:
        """Return the running processes of this machine."""
        mark = f"HOME={self.home}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
        return found

    def rest(self) -> None:
        """Wait until all its processes have ended."""
        wait_until(lambda: not self.processes(), f"processes of {self.name} go on")

    def kill_in(self, seconds: float) -> None:
        """Kill the processes that are still running after `seconds`."""
        moment = time.monotonic() + seconds
        while time.monotonic() < moment and self.processes():
            time.sleep(0.01)
        self.kill_all()

    def kill_all(self) -> None:
        """Kill its processes, as a power cut does."""
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


class Machines:
    """Machines by name, and the remote that they share."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.hub = folder, bare(folder / "hub.git")
        self._found: dict[str, Machine] = {}
        code = repository(folder / "code")
        git(code, "push", "-q", str(self.hub), "HEAD:main")

    def add_empty(self, name: str) -> Machine:
        """Add a machine without a clone."""
        machine = self._found[name] = Machine(self.folder, name)
        return machine

    def add(self, name: str, *init: str, consent: bool = True) -> Machine:
        """Add a clone of the code repository in which somebody ran `engram init`, and one `engram sync` as consent."""
        machine = self.add_empty(name)
        git(self.folder, "clone", "-q", str(self.hub), str(machine.root))
        machine.engram("init", *init)
        if consent:
            machine.engram("sync")
        machine.rest()
        return machine

    @property
    def refs(self) -> str:
        """Every ref of the remote, with its commit."""
        return git(self.hub, "for-each-ref")

    @contextlib.contextmanager
    def offline(self) -> Iterator[None]:
        """Take the remote away."""
        away = self.hub.with_name("away.git")
        self.hub.rename(away)
        try:
            yield
        finally:
            away.rename(self.hub)

    def end(self) -> None:
        """Wait for the processes of all machines; kill those that remain and fail."""
        try:
            for machine in self._found.values():
                machine.rest()
        finally:
            for machine in self._found.values():
                machine.kill_all()


def arrives(machine: Machine, word: str) -> float:
    """Wait until a machine has lore with this word; return the seconds that took."""
    began = time.monotonic()
    wait_until(lambda: machine.knows(word), f"{machine.name} did not get {word}")
    return time.monotonic() - began
