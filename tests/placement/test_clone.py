"""Cloning a store: into a folder named after it, with a source of its own, and without remains if it fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import cli, git
from sync_kit import Clones, bare, files, make_clones

from engram.domain.errors import REMOTE_FAILED


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return make_clones(tmp_path)[0]


def test_clone_leaves_nothing_behind_when_it_fails(tmp_path: Path) -> None:
    result = cli("clone", str(tmp_path / "nowhere.git"), str(tmp_path / "new"), "--json")
    assert (result.code, result.json["error"]["kind"]) == (REMOTE_FAILED, "not-found")
    assert not (tmp_path / "new").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    assert cli("clone", str(bare(tmp_path / "x.git")), str(tmp_path / "full")).code == 2
    assert (tmp_path / "full/file").read_text() == "mine"


def test_clone_names_the_folder_and_has_a_source_of_its_own(clones: Clones, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    result = cli("clone", str(clones.hub), "--json", cwd=tmp_path / "here")
    assert result.json["lore_count"] == 1
    root = tmp_path / "here/hub"
    assert files(root) == files(clones.root("a"))
    assert git(root, "status", "--porcelain") == ""
    source = cli("status", "--json", cwd=root).json["store"]
    assert source["placement"] == "dedicated"
    assert source["source"] != clones["a"].store.source_id
    assert cli("sync", cwd=root).out == "origin/main: nothing new\n"


def test_cloning_a_code_repository_is_refused(tmp_path: Path) -> None:
    hub = bare(tmp_path / "code.git")
    git(tmp_path, "clone", "-q", str(hub), str(tmp_path / "code"))
    (tmp_path / "code/main.py").write_text("print()\n")
    git(tmp_path / "code", "add", ".")
    git(tmp_path / "code", "commit", "-q", "-m", "code")
    git(tmp_path / "code", "push", "-q", "origin", "HEAD:main")
    result = cli("clone", str(hub), str(tmp_path / "new"))
    assert result.code == 2
    assert "not a dedicated store" in result.err
    assert not (tmp_path / "new").exists()
