"""Clones and bare remotes for the tests of sync: real git repositories in tmp_path."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import prepared
from apikit import SetClock, dedicated, git

from engram.app import Engram
from engram.domain import ulid
from engram.usecases import remote
from engram.usecases.commit import commit_pending
from engram.usecases.open_store import open_store
from engram.usecases.store import Caller
from engram.usecases.sync import Options, Synced, sync

if TYPE_CHECKING:
    from engram.domain.lore import Lore
    from engram.usecases.clock import Clock

TEXT = "Queue consumers must be idempotent.\n\nBrokers deliver a message twice when the ack is late."
SOON = Options(timeout=20.0)

# Everything by which this process changes the disk or starts a git is counted; at the chosen one it kills itself.
KILLED_SYNC = """
    import os, signal, sys
    from engram.usecases.clock import Clock
    from engram.usecases.open_store import open_store
    from engram.usecases.store import Caller
    from engram.usecases.sync import Options, sync

    root, limit = sys.argv[1], int(sys.argv[2])
    clock = Clock()
    if len(sys.argv) > 3:
        clock.nanoseconds = lambda: int(sys.argv[3])
    store = open_store(root, Caller("child", "tester"), clock=clock)
    count = 0

    def watch(event, arguments):
        global count
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or event in ("os.rename", "os.remove", "os.rmdir", "os.truncate", "os.link", "subprocess.Popen"):
            count += 1
            if count == limit:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    done = sync(store, Options(timeout=30.0))
    print(count, done.pulled, done.pushed)
"""


class ManyClock(SetClock):
    """A clock whose ids also differ in their last characters, by which clones are named."""

    def new_id(self, nanoseconds: int | None = None) -> str:
        self._last += 1
        moment = self.nanoseconds() if nanoseconds is None else nanoseconds
        return ulid.encode(moment // 1_000_000, self._last << 68 | self._last)

    def go_on(self, given: int) -> None:
        """Go on after so many ids."""
        self._last = given

    @property
    def given(self) -> int:
        """How many ids were given."""
        return self._last


class Clones:
    """A bare remote and some clones of it, all showing one clock."""

    def __init__(self, folder: Path, names: str = "ab") -> None:
        self.folder = folder
        self.hub = folder / "hub.git"
        self.clock = ManyClock()
        self.clock.go_on(prepared.copy(f"clones {names}", folder, lambda place: _make_clones(place, names)))
        self.stores = {name: self.add_opened(name) for name in names}

    def add(self, name: str) -> Engram:
        """One more clone, made by `engram clone`."""
        from engram.usecases.clone import clone

        root = self.folder / name
        clone(str(self.hub), str(root))
        found = self.add_opened(name)
        if not git(self.hub, "branch"):
            sync(found.store, SOON)
        return found

    def add_opened(self, name: str) -> Engram:
        """A clone that is there already."""
        return opened(self.folder / name, self.clock, name)

    def __getitem__(self, name: str) -> Engram:
        return self.stores[name]

    def root(self, name: str) -> Path:
        return self.folder / name

    def record(self, name: str, text: str = TEXT) -> Lore:
        """Something learnt in a clone."""
        self.clock.advance(seconds=1)
        return self[name].record(text, category="FACT").lore

    def sync(self, *names: str) -> list[Synced]:
        """Sync these clones in turn."""
        return [sync(self[name].store, SOON) for name in names]

    def settle(self) -> None:
        """Sync everyone until nobody has anything new."""
        for _ in range(2):
            self.sync(*self.stores)

    def edit(self, name: str, path: str, old: str, new: str) -> None:
        """A person changes words of a file."""
        self.clock.advance(seconds=1)
        file = self.root(name) / path
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new), "utf-8")

    def path(self, name: str, lore: Lore) -> str:
        """Where a lore is, relative to its store."""
        return self[name].get(lore.id).path

    def heads(self) -> set[str]:
        return {git(self.root(name), "rev-parse", "HEAD") for name in self.stores}

    def trees(self) -> list[dict[str, bytes]]:
        """What stands in the work tree of each clone."""
        return [files(self.root(name)) for name in self.stores]

    def assert_equal(self) -> None:
        """All clones have one head, no change is uncommitted, files and index agree with it."""
        assert len(self.heads()) == 1
        trees = self.trees()
        assert all(tree == trees[0] for tree in trees)
        for name in self.stores:
            assert git(self.root(name), "status", "--porcelain", "-uall") == ""
        assert not any(b"<<<<<<<" in raw for raw in trees[0].values())


def _make_clones(folder: Path, names: str) -> int:
    """What `Clones` copies: a bare remote, and clones of it in which nobody has it open; the ids given."""
    made = Clones.__new__(Clones)
    made.folder, made.hub, made.clock, made.stores = folder, bare(folder / "hub.git"), ManyClock(), {}
    for name in names:
        made.add(name).close()
    return made.clock.given


def bare(path: Path, *options: str) -> Path:
    """An empty bare repository."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "--bare", "-b", "main", *options)
    return path


def opened(root: Path, clock: Clock, session: str = "test") -> Engram:
    """The store at `root`, made where there is none."""
    if not (root / ".engram.toml").exists():
        dedicated(root)
    return Engram(open_store(str(root), Caller(session, "tester"), clock=clock), background=False)


def connected(root: Path, hub: Path | str, clock: Clock) -> Engram:
    """A store made by itself, with a remote."""
    made = opened(root, clock)
    remote.add(made.store, "origin", str(hub))
    return made


def commit(engram: Engram) -> None:
    """Bring everything that waits into git."""
    commit_pending(engram.store, wait=30)


def files(root: Path) -> dict[str, bytes]:
    """Every file of a work tree, by its path."""
    found = (
        path for path in root.rglob("*") if ".git" not in path.relative_to(root).parts and path.is_file()
    )
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def push_from_outside(
    hub: Path, folder: Path, changes: dict[str, str | None], message: str = "elsewhere"
) -> str:
    """Somebody pushes with plain git; the new commit's id."""
    if not folder.exists():
        git(hub, "clone", "-q", str(hub), str(folder))
    git(folder, "pull", "-q", "--ff-only")
    for path, text in changes.items():
        file = folder / path
        if text is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    git(folder, "push", "-q")
    return git(folder, "rev-parse", "HEAD")


def copied(scene: Path, target: Path) -> Path:
    """Clones a and b with their remote, copied elsewhere; the remote's address goes with them."""
    shutil.copytree(scene, target, symlinks=True)
    for name in "ab":
        config = target / name / ".git/config"
        config.write_text(config.read_text().replace(str(scene), str(target)))
    return target


def executable(path: Path, script: str) -> None:
    """A hook or program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, "utf-8")
    os.chmod(path, 0o755)
