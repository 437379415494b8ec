"""What a sync would exchange is found out without changing anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apart_clones import copy
from apikit import git
from storekit import commit
from sync_kit import Clones, files, make_clones

from engram.usecases.recording.edit import Edit
from engram.usecases.sync.sync import Options, preview

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def clones(tmp_path: Path) -> Iterator[Clones]:
    found = copy(tmp_path / "c")
    yield found
    found.leave()


def test_the_python_api_returns_what_a_sync_would_exchange(clones: Clones) -> None:
    store: Engram = clones["a"]
    store.sync_plan()
    found = store.exchange()
    assert {change.phrase for change in found.incoming.lore} >= {"new", "forgotten", "tags +cents"}
    assert (found.remote, found.branch, found.known, found.outgoing.total) == ("origin", "main", True, 3)
    assert store.exchange(limit=1).outgoing.total == 3
    assert len(store.exchange(limit=1).outgoing.lore) == 1
    head = git(Path(store.path), "rev-parse", "HEAD")
    assert store.came_in(since=head) == []
    clones.sync("a")
    came = store.came_in(since=head)
    assert {change.kind for change in came} == {"new", "changed", "merged", "conflict", "forgotten"}
    assert {change.source for change in came} == {"", clones["b"].store.source}
    assert {change.id for change in came} == {change.id for change in found.incoming.lore}


def test_a_preview_changes_nothing_here(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    mine, theirs = clones.record("a", "Mine."), clones.record("b", "Theirs.")
    for name in "ab":
        clones[name].edit(lore, Edit(add_tags=(name,)))
    clones.sync("b")
    commit(clones["a"])
    before, head = files(clones.root("a")), git(clones.root("a"), "rev-parse", "HEAD")
    found = preview(clones["a"].store, Options())
    assert found.plan.to_merge == (clones["a"].get(lore).path,)
    assert [mine.id in path for path in found.plan.outgoing] == [True]
    assert [theirs.id in path for path in found.plan.incoming] == [True]
    assert (files(clones.root("a")), git(clones.root("a"), "rev-parse", "HEAD")) == (before, head)
