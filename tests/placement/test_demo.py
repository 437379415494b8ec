"""`engram demo`: what it prints really happened in repositories, and nothing is left of it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from apikit import cli, git, ok
from sync_kit import files

from engram.adapters.files.frontmatter import codec
from engram.domain.entry.categories import Categories
from engram.domain.entry.times import parse


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which temporary folders are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.slow
def test_the_demo_ends_with_equal_clones_and_leaves_nothing(scratch: Path) -> None:
    done = ok("demo", FORCE_COLOR="1", NO_COLOR="1")
    lines = done.out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 82
    assert "\x1b" not in done.out
    assert "Confidence: 0.70 + 0.08 (ada) − 0.15 (bob) = 0.63" in lines
    assert lines[-1].endswith("their files are byte for byte equal.")
    assert list(scratch.iterdir()) == []
    assert cli("status", "--json").json["lore_count"] == 0, "the user's own store knows nothing of it"


def test_the_printed_result_matches_the_repositories(scratch: Path) -> None:
    root = scratch / "kept"
    found = ok("demo", "--keep", str(root), "--json").json
    assert found["folder"] == str(root)
    ada, bob = files(root / "ada"), files(root / "bob")
    assert found["equal"] is (ada == bob) is True
    assert ada[found["lore"]["path"]].decode() == found["lore"]["text"]
    assert (
        git(root / "hub.git", "rev-parse", "main")
        == found["commit"]
        == git(root / "bob", "rev-parse", "HEAD")
    )
    lore = codec.read(
        ada[found["lore"]["path"]], found["lore"]["path"], Categories({}), parse("2026-01-01")
    ).lore
    assert lore.confidence == found["confidence"]["before"], "the file has what its author stated"
    both = [ok("list", "--json", cwd=root / who).json["lore"][0]["confidence"] for who in ("ada", "bob")]
    assert both == [0.63, 0.63]
    assert found["confidence"] == {"before": 0.7, "votes": {"ada": 0.08, "bob": -0.15}, "after": 0.63}
    assert (set(lore.tags), len(lore.conflicts)) == ({"upload", "deploy", "network"}, 1)
    assert [line.split(".")[0] for line in lore.content.split("\n\n")] == [
        "Retry a failed upload twice",
        "The first attempt after a deploy meets a cold cache of 2 GB",
    ]
    # The steps are those of the history that it left.
    subjects = git(root / "ada", "log", "--format=%s")
    assert [subjects.count(word) for word in ("record:", "edit:", "Merge ")] == [1, 4, 1]
    assert git(root / "ada", "log", "--format=%s", "engram/judgements").count("Add judgements") == 2
    shown = [(step["who"], step["command"].split()[1]) for step in found["steps"]]
    assert shown.count(("bob", "sync")) == 1
    assert len(shown) == 12


def test_a_folder_that_is_not_empty_is_refused(scratch: Path) -> None:
    (scratch / "mine").write_text("mine")
    done = cli("demo", "--keep", str(scratch), "--json")
    assert (done.code, json.loads(done.out)["error"]["code"]) == (2, "usage")
    assert [path.name for path in scratch.iterdir()] == ["mine"]
