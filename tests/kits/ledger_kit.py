"""Clones with judgements: lines in their private files, and the branch of judgements in git."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING

import prepared
from apikit import git
from sync_kit import ManyClock, bare

from engram.domain.entry import ulid
from engram.domain.entry.confidence import HELPFUL
from engram.domain.judgements import ledger
from engram.domain.judgements.ledger import Judgement
from engram.usecases.judgements.exchange import exchange
from engram.usecases.opening.open_store import open_store
from engram.usecases.store.store import Caller

if TYPE_CHECKING:
    from datetime import datetime

    from engram.usecases.judgements.exchange import Exchanged
    from engram.usecases.store.store import Store

BRANCH = "engram/judgements"
REF = f"refs/heads/{BRANCH}"
ENTRY = "01KJPY44E039MMV97SZGY6V9EZ"
SECONDS = 20.0
_steps = itertools.count()


def open_test_store(root: Path, clock: ManyClock | None = None) -> Store:
    """Open the store at `root`."""
    return open_store(str(root), Caller("test", "tester"), clock=clock or ManyClock())


def judge(store: Store, count: int = 1, kind: str = HELPFUL) -> list[Judgement]:
    """Append lines to the store's own file, as a judgement there does."""
    found = [Judgement(_new_id(store), ENTRY, kind, source=store.source_id) for _ in range(count)]
    append(store, ledger.path_of(store.source_id, found[0].id), b"".join(map(ledger.render, found)))
    return found


def append(store: Store, path: str, raw: bytes) -> None:
    """Append bytes to a private file."""
    file = Path(store.ledgers.folder, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as opened_file:
        opened_file.write(raw)


def _new_id(store: Store) -> str:
    # Copies of a clone have clocks of their own, whose ids could be equal; those of a real clock are random.
    now = int(store.clock.now().timestamp() * 1000)
    return ulid.encode(now + next(_steps), int.from_bytes(os.urandom(10)))


def lines_at(where: Path, revision: str = BRANCH) -> dict[str, Judgement]:
    """Return all lines in a commit of the branch, by id."""
    found: dict[str, Judgement] = {}
    for path in git(where, "ls-tree", "-r", "--name-only", revision).splitlines():
        source = ledger.source_of(path)
        if source is not None:
            parsed = ledger.parse(git(where, "show", f"{revision}:{path}").encode(), source)
            assert parsed.malformed == 0, path
            found |= {one.id: one for one in parsed.judgements}
    return found


def tree_of(where: Path, revision: str = BRANCH) -> str:
    """Return the id of the tree of the branch."""
    return git(where, "rev-parse", f"{revision}^{{tree}}")


def files_of(where: Path, revision: str = BRANCH) -> list[str]:
    """Return the paths on the branch."""
    return git(where, "ls-tree", "-r", "--name-only", revision).splitlines()


def ids(*groups: list[Judgement]) -> set[str]:
    """Return the ids of lines."""
    return {one.id for group in groups for one in group}


class Judges:
    """A bare remote, and clones of a dedicated store with judgements."""

    def __init__(self, folder: Path, names: str = "ab", moment: datetime | None = None) -> None:
        prepared.copy(f"judges {names}", folder, lambda place: _make(place, names))
        self.folder, self.hub = folder, folder / "hub.git"
        self.clock = ManyClock() if moment is None else ManyClock(moment)
        self.stores = {name: open_test_store(folder / name, self.clock) for name in names}

    def __getitem__(self, name: str) -> Store:
        return self.stores[name]

    def root(self, name: str) -> Path:
        return self.folder / name

    def exchange(self, *names: str) -> list[Exchanged]:
        """Exchange judgements of these clones in turn."""
        return [exchange(self[name], publish=True, timeout=SECONDS) for name in names]

    def settle(self) -> None:
        """Exchange judgements until no clone has anything to send."""
        for _ in range(4):
            done = self.exchange(*self.stores)
            if not any(one.sent or one.received for one in done):
                return
        raise AssertionError("they never come to rest")


def _make(folder: Path, names: str) -> None:
    """Push a store to a remote, and clone it for each name, each with an id of its own."""
    hub = bare(folder / "hub.git")
    first = prepared.dedicated(folder / names[0])
    git(first, "remote", "add", "origin", str(hub))
    git(first, "push", "-q", "-u", "origin", "main")
    for name in names[1:]:
        git(folder, "clone", "-q", str(hub), name)
    clock = ManyClock()
    for name in names:
        store = open_test_store(folder / name, clock)
        assert store.source_id
        store.close()
