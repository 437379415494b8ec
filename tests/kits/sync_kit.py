"""Clones and bare remotes for tests of sync: real git repositories in tmp_path."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import prepared
from apikit import START, SetClock, dedicated, git

from engram.app import Engram
from engram.domain.entry import ulid
from engram.usecases.opening.open_store import open_store
from engram.usecases.store import remote
from engram.usecases.store.store import Caller
from engram.usecases.sync.sync import Options, Synced, sync

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Self

    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Clock

TEXT = "Queue consumers must be idempotent.\n\nBrokers deliver a message twice when the ack is late."
SOON = Options(timeout=20.0)

# Counts the calls by which this process changes the disk or starts git, and kills itself at the chosen one.
KILLED_SYNC = """
    import os, signal, sys
    from engram.usecases.store.store import Clock
    from engram.usecases.opening.open_store import open_store
    from engram.usecases.store.store import Caller
    from engram.usecases.sync.sync import Options, sync

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
    """A clock whose ids also differ in their last characters, which name clones."""

    def new_id(self, nanoseconds: int | None = None) -> str:
        self._last += 1
        moment = self.nanoseconds() if nanoseconds is None else nanoseconds
        return ulid.encode(moment // 1_000_000, self._last << 68 | self._last)

    @property
    def given(self) -> int:
        """The number of ids given, for a clock that continues this one."""
        return self._last

    @given.setter
    def given(self, count: int) -> None:
        self._last = count


class Left(NamedTuple):
    """Closed clones: their names, the number of ids given, and the time of their clock."""

    names: str
    given: int
    moment: datetime


class Clones:
    """A bare remote and some clones of it, with a common clock."""

    def __init__(self, folder: Path, names: str = "ab") -> None:
        self._open(folder, prepared.copy(f"clones {names}", folder, lambda place: _make_clones(place, names)))

    def _open(self, folder: Path, left: Left) -> None:
        self.folder = folder
        self.hub = folder / "hub.git"
        self.clock = ManyClock(left.moment)
        self.clock.given = left.given
        self.stores = {name: self.add_opened(name) for name in left.names}

    def leave(self) -> Left:
        """Close everything; return what `again` needs to continue in a copy of the folder."""
        for store in self.stores.values():
            store.close()
        return Left("".join(self.stores), self.clock.given, self.clock.moment)

    @classmethod
    def again(cls, folder: Path, left: Left) -> Self:
        """Open closed clones again."""
        found = cls.__new__(cls)
        found._open(folder, left)
        return found

    def add(self, name: str) -> Engram:
        """Add a clone, made by `engram clone`."""
        from engram.usecases.placement.clone import clone

        root = self.folder / name
        clone(str(self.hub), str(root))
        found = self.add_opened(name)
        if not git(self.hub, "branch"):
            sync(found.store, SOON)
        return found

    def add_opened(self, name: str) -> Engram:
        """Open an existing clone."""
        return open_test_store(self.folder / name, self.clock, name)

    def __getitem__(self, name: str) -> Engram:
        return self.stores[name]

    def root(self, name: str) -> Path:
        return self.folder / name

    def record(self, name: str, text: str = TEXT) -> Lore:
        """Record an entry in a clone."""
        self.clock.advance(seconds=1)
        return self[name].record(text, category="FACT").lore

    def sync(self, *names: str) -> list[Synced]:
        """Sync these clones in turn."""
        return [sync(self[name].store, SOON) for name in names]

    def settle(self) -> None:
        """Sync all clones in turn, until each has the remote's last state."""
        unmoved = 0  # clones synced since the remote moved
        for number, name in enumerate([*self.stores, *self.stores], 1):
            before = self._tips()
            self.sync(name)
            unmoved = 0 if self._tips() != before else unmoved + 1
            if number >= len(self.stores) and unmoved >= len(self.stores) - 1:
                break

    def _tips(self) -> str:
        files = [self.hub / "refs/heads" / name for name in ("main", "engram/judgements")]
        if not files[0].exists():
            return git(self.hub, "for-each-ref", "refs/heads")
        return " ".join([file.read_text("ascii") for file in files if file.exists()])

    def edit(self, name: str, path: str, old: str, new: str) -> None:
        """Edit words of a file by hand."""
        self.clock.advance(seconds=1)
        file = self.root(name) / path
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new), "utf-8")

    def path(self, name: str, lore: Lore) -> str:
        """Return the path of an entry, relative to its store."""
        return self[name].get(lore.id).path

    def heads(self) -> set[str]:
        return {git(self.root(name), "rev-parse", "HEAD") for name in self.stores}

    def trees(self) -> list[dict[str, bytes]]:
        """Return the contents of each clone's work tree."""
        return [files(self.root(name)) for name in self.stores]

    def assert_equal(self) -> None:
        """Check that all clones have the same head, and no changes besides it in files and index."""
        trees = self.trees()
        assert all(tree == trees[0] for tree in trees)
        words = ("status", "--porcelain=v2", "--branch", "-uall")
        said = [git(self.root(name), *words).splitlines() for name in self.stores]
        assert len({line for lines in said for line in lines if line.startswith("# branch.oid")}) == 1
        assert [line for lines in said for line in lines if not line.startswith("#")] == []
        assert not any(b"<<<<<<<" in raw for raw in trees[0].values())


def _make_clones(folder: Path, names: str) -> Left:
    bare(folder / "hub.git")
    made = Clones.again(folder, Left("", 0, START))
    for name in names:
        made.stores[name] = made.add(name)
    return made.leave()


def make_clones(folder: Path, text: str = TEXT) -> tuple[Clones, str]:
    """Make clones a and b with a common entry; return them and its id."""
    left, lore_id = prepared.copy(f"settled {text}", folder, lambda place: _settle(place, text))
    return Clones.again(folder, left), lore_id


def of_ada_and_bob(folder: Path) -> Clones:
    """Make clones a and b of two people with these names."""
    made = Clones(folder)
    for name, person in (("a", "Ada"), ("b", "Bob")):
        git(made.root(name), "config", "user.name", person)
    return made


def _settle(folder: Path, text: str) -> tuple[Left, str]:
    made = Clones(folder)
    lore_id = made.record("a", text).id
    made.settle()
    return made.leave(), lore_id


def bare(path: Path, *options: str) -> Path:
    """Make an empty bare repository."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "--bare", "-b", "main", *options)
    return path


def open_test_store(root: Path, clock: Clock, session: str = "test") -> Engram:
    """Open the store at `root`; make it if there is none."""
    if not (root / ".engram.toml").exists():
        dedicated(root)
    return Engram(open_store(str(root), Caller(session, "tester"), clock=clock), background=False)


def make_connected_store(root: Path, hub: Path | str, clock: Clock) -> Engram:
    """Make an independent store with a remote."""
    made = open_test_store(root, clock)
    remote.add(made.store, "origin", str(hub))
    return made


def files(root: Path) -> dict[str, bytes]:
    """Return all files of a work tree, by path."""
    found = (
        path for path in root.rglob("*") if ".git" not in path.relative_to(root).parts and path.is_file()
    )
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def push_from_outside(
    hub: Path, folder: Path, changes: dict[str, str | None], message: str = "elsewhere"
) -> str:
    """Push with plain git; return the new commit's id."""
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


def copy_clones(scene: Path, target: Path) -> Path:
    """Copy clones a and b with their remote, and adapt its address."""
    shutil.copytree(scene, target, symlinks=True)
    for name in "ab":
        config = target / name / ".git/config"
        config.write_text(config.read_text().replace(str(scene), str(target)))
    return target


def executable(path: Path, script: str) -> None:
    """Write an executable hook or program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, "utf-8")
    os.chmod(path, 0o755)
