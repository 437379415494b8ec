"""What Engram's own moves of the branch tell: how one commit leads to another, and that no sweep is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import git
from storekit import commit
from sync_kit import Clones

from engram.adapters.git.run.layout import Repository
from engram.adapters.git.write import lore_branch
from engram.usecases.index import freshness


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return Clones(tmp_path)


def test_a_large_store_is_not_scanned_after_engrams_own_moves_of_the_branch(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", 0)
    monkeypatch.setattr(freshness, "COLD_SWEEP_LIMIT", 0)
    engram = clones["a"]
    engram.refresh()
    generation = engram.store.index.look()
    assert generation is not None
    engram.record("Lesson of a.", category="FACT")
    commit(engram)
    clones.record("b", "Lesson of b.")
    clones.sync("b", "a")
    generation = engram.store.index.look()
    assert generation is not None
    assert generation.head != freshness.head_commit(engram.store)
    assert not freshness.is_sweep_due(engram.store, generation)
    git(clones.root("a"), "commit", "-q", "--allow-empty", "-m", "by hand")
    assert freshness.is_sweep_due(engram.store, generation)


def test_only_an_unbroken_chain_of_own_moves_leads_from_one_commit_to_another(tmp_path: Path) -> None:
    repo = Repository(str(tmp_path), str(tmp_path), str(tmp_path), "main")
    for old, new in ((None, "a"), ("a", "b"), ("b", "c"), ("x", "y")):
        lore_branch.note_move(repo, str(tmp_path), old, new)
        assert lore_branch.own_moves_lead(repo, str(tmp_path), old or "", new)
    assert lore_branch.own_moves_lead(repo, str(tmp_path), "x", "y")
    assert not lore_branch.own_moves_lead(repo, str(tmp_path), "a", "y")
    lore_branch.note_move(repo, str(tmp_path), "y", "z")
    assert lore_branch.own_moves_lead(repo, str(tmp_path), "x", "z")
    assert not lore_branch.own_moves_lead(repo, str(tmp_path), "x", "y"), "the branch is not there any more"
