"""Erased judgements disappear from every clone that syncs, and are not restored by their authors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from apikit import git, make_plain_store
from sync_kit import Clones, open_test_store

from engram.domain.errors import NotFoundError, UsageError
from engram.usecases.judgements.erase import erase


def test_judgements_of_an_erased_source_disappear_from_every_clone_for_good(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    lore = clones.record("a")
    clones.settle()
    for name in "ab":
        clones[name].feedback(helpful=lore.id)
    clones.settle()
    assert erase(clones["a"].store, [clones["b"].store.source_id]) == 1
    assert erase(clones["a"].store, [clones["b"].store.source_id]) == 0
    clones.settle()
    assert [clones[name].get(lore.id).lore.validation_count for name in "ab"] == [1, 1]
    clones["b"].feedback(helpful=lore.id, again=True)
    clones.settle()
    assert [clones[name].get(lore.id).lore.validation_count for name in "ab"] == [1, 1]
    assert clones["b"].store.source_id not in git(
        clones.hub, "ls-tree", "-r", "--name-only", "engram/judgements"
    )


def test_one_line_is_erased_and_the_others_of_its_source_stay(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    lore = clones.record("a")
    for _ in range(2):
        clones["a"].feedback(helpful=lore.id, again=True)
    clones.settle()
    (ledger,) = Path(clones["a"].store.ledgers.folder).rglob("*.jsonl")
    first = json.loads(ledger.read_text("utf-8").splitlines()[0])["id"]
    erase(clones["b"].store, [first])
    clones.settle()
    assert [clones[name].get(lore.id).lore.validation_count for name in "ab"] == [1, 1]


def test_erasing_an_invalid_id_is_refused(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    with pytest.raises(UsageError, match="not the id"):
        erase(clones["a"].store, ["everything"])
    with pytest.raises(NotFoundError):
        erase(clones["a"].store, ["01KJPY44E039MMV97SZGY6V9EQ"])
    outside = open_test_store(make_plain_store(tmp_path / "plain"), clones.clock)
    with pytest.raises(UsageError, match="outside git"):
        erase(outside.store, ["01KJPY44E039MMV97SZGY6V9EQ"])
