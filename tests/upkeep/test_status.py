"""The status of a store, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import cli, git, ok
from sync_kit import Clones, ManyClock, open_test_store

from engram.app import Engram

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


@pytest.fixture
def auto(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enable automatic syncs as outside tests: half a minute after the last change."""
    monkeypatch.delenv("ENGRAM_SYNC_SECONDS")


def lines(store: Store | Engram, word: str) -> list[str]:
    """Return the part of `engram status` that begins with this word."""
    found = ok("status", cwd=store.path if isinstance(store, Engram) else store.places.root).out.splitlines()
    at = next(number for number, line in enumerate(found) if line.startswith(f"{word:<11}"))
    end = next(number for number, line in enumerate(found) if number > at and not line.startswith(" " * 11))
    assert all(len(line) <= 80 for line in found[1:]), found
    return [line[11:] for line in found[at:end]]


@pytest.mark.slow
@pytest.mark.usefixtures("auto")
def test_status_shows_the_state_of_sync_and_what_to_do(tmp_path: Path) -> None:
    alone = open_test_store(tmp_path / "alone", ManyClock())
    assert lines(alone, "sync") == ["no remote yet: engram remote add origin URL"]
    clones = Clones(tmp_path)
    lore = clones.record("a")
    clones.settle()
    ok("sync", cwd=clones.root("a"))
    assert lines(clones["a"], "sync") == ["nothing to push or pull", "last synced with origin just now"]
    clones.record("b", "From b.")
    clones.sync("b")
    clones.record("a", "From a.")
    git(clones.root("a"), "fetch", "-q")
    ok("reindex", cwd=clones.root("a"))
    assert lines(clones["a"], "sync")[0] == "1 commit to push, 1 commit to pull: engram sync"
    clones.hub.rename(tmp_path / "elsewhere.git")
    for _ in range(2):
        assert cli("sync", cwd=clones.root("a")).code == 5
    said = lines(clones["a"], "sync")
    told = " ".join(said[2:])
    assert told.startswith("failed just now (2 times in a row): No repository was found at origin.")
    assert "`engram remote list`" in told
    git_block = ok("status", "--json", cwd=clones.root("a")).json["git"]
    assert (git_block["ahead"], git_block["behind"], git_block["remotes"]) == (1, 1, ["origin"])
    assert (git_block["sync"]["failures"], git_block["sync"]["error"]["kind"]) == (2, "not-found")
    assert git_block["sync"]["succeeded"] is not None
    assert git_block["conflicts"] == 0
    (tmp_path / "elsewhere.git").rename(clones.hub)
    for name in "ab":
        clones.edit(name, clones.path(name, lore), "twice", f"twice, says {name}")
    clones.settle()
    assert ok("status", "--json", cwd=clones.root("b")).json["git"]["conflicts"] == 1
    assert lines(clones["b"], "disputed") == ["1 entry is disputed: engram review --kind conflict"]
