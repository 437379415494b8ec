"""How a store is placed and where its private state is: no pulled file makes Engram commit, and nothing private is tracked."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import cli, dedicated, git, make_plain_store, ok, repository

from engram.domain.errors import StoreError
from engram.usecases.opening.init import init
from engram.usecases.opening.open_store import open_store
from engram.usecases.store.store import Caller
from tests.opening.test_init import record

DEDICATED = '[store]\nplacement = "dedicated"\nfolder = "lore"\n'


def test_a_folder_outside_git_works_without_history(tmp_path: Path) -> None:
    make_plain_store(tmp_path)
    record(tmp_path)
    ok("query", "queue consumer", cwd=tmp_path)
    ok("feedback", "--helpful", "L1", cwd=tmp_path)
    status = ok("status", "--json", cwd=tmp_path).json
    assert status["store"]["placement"] == "plain"
    assert status["git"]["message"] == "not in git"
    refused = cli("log", "L1", cwd=tmp_path)
    assert refused.code == 1
    assert "outside git" in refused.err
    assert ok("doctor", cwd=tmp_path).out == "All is well.\n"


def test_a_pulled_file_cannot_make_engram_commit_to_a_code_repository(tmp_path: Path) -> None:
    repository(tmp_path)
    make_plain_store(tmp_path, DEDICATED)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "a bad idea")
    before = git(tmp_path, "rev-parse", "HEAD")
    assert ok("status", "--json", cwd=tmp_path).json["store"]["placement"] == "in-tree"
    record(tmp_path)
    ok("doctor", "--fix", cwd=tmp_path)
    assert git(tmp_path, "rev-parse", "HEAD") == before
    assert git(tmp_path, "diff", "--cached", "--name-only") == ""


def test_nor_in_a_folder_below_the_top_of_one(tmp_path: Path) -> None:
    repository(tmp_path)
    make_plain_store(tmp_path / "notes", DEDICATED)
    before = git(tmp_path, "rev-parse", "HEAD")
    record(tmp_path / "notes")
    assert git(tmp_path, "rev-parse", "HEAD") == before


def test_private_state_is_never_tracked(tmp_path: Path) -> None:
    dedicated(tmp_path / "own")
    repository(tmp_path / "code")
    ok("init", "--placement", "in-tree", cwd=tmp_path / "code")
    make_plain_store(tmp_path / "bare")
    for root in (tmp_path / "own", tmp_path / "code", tmp_path / "bare"):
        record(root)
        ok("query", "queue consumer", cwd=root)
    assert (tmp_path / "own/.git/engram/source").is_file()
    assert (tmp_path / "code/.git/engram/source").is_file()
    assert (tmp_path / "bare/.engram/.gitignore").read_text() == "*\n"
    assert git(tmp_path / "own", "status", "--porcelain", "--ignored") == ""


def test_a_store_whose_settings_name_another_placement_is_told(tmp_path: Path) -> None:
    dedicated(tmp_path)
    with pytest.raises(StoreError, match="is a store already"):
        init(str(tmp_path), placement="in-tree")
    assert open_store(str(tmp_path), Caller("s", "")).places.placement == "dedicated"
