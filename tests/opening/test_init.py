"""Where lore lives: dedicated, in-tree or plain, and what Engram commits there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from apikit import QUEUE, TIDES, cli, dedicated, git, lore_files, masked, ok, repository

from engram.domain.errors import UsageError
from engram.usecases.opening.init import init


def record(root: Path, text: str = QUEUE, **options: object) -> dict[str, object]:
    found: dict[str, object] = ok("record", text, "-c", "fact", "--json", cwd=root, **options).json["lore"]
    return found


def heads(root: Path) -> list[str]:
    return git(root, "log", "--format=%s").splitlines()


def test_recording_works_anywhere_with_no_set_up(tmp_path: Path, home: Path) -> None:
    record(tmp_path)
    store = home / ".local/share/engram/store"
    assert len(lore_files(store)) == 1
    assert list(tmp_path.iterdir()) == []
    assert heads(store) == [f"record: {QUEUE}", "Start an Engram store"]
    assert ok("query", "queue consumer", "--json", cwd=home).json["lore"][0]["scope"] == "user"


def test_the_users_store_goes_where_xdg_says(tmp_path: Path, home: Path) -> None:
    record(tmp_path, XDG_DATA_HOME=str(tmp_path / "data"))
    assert len(lore_files(tmp_path / "data/engram/store")) == 1
    assert not (home / ".local").exists()


def test_init_outside_a_repository_makes_a_dedicated_store(tmp_path: Path) -> None:
    done = ok("init", "--json", cwd=tmp_path).json
    assert done["store"] == {"path": str(tmp_path), "placement": "dedicated"}
    assert not done["existed"]
    assert heads(tmp_path) == ["Start an Engram store"]
    record(tmp_path)
    assert heads(tmp_path)[0] == f"record: {QUEUE}"
    assert git(tmp_path, "status", "--porcelain") == ""
    assert git(tmp_path, "ls-files", "--", "lore").count("\n") == 0


def test_init_names_a_folder_that_need_not_exist(tmp_path: Path) -> None:
    ok("init", "a/b", cwd=tmp_path)
    assert (tmp_path / "a/b/.engram.toml").is_file()
    assert (tmp_path / "a/b/.git").is_dir()


def test_an_in_tree_store_never_touches_git(tmp_path: Path) -> None:
    repository(tmp_path)
    before = (git(tmp_path, "rev-parse", "HEAD"), (tmp_path / ".git/index").read_bytes())
    done = ok("init", "--placement", "in-tree", "--json", cwd=tmp_path).json
    assert done["store"]["placement"] == "in-tree"
    record(tmp_path)
    ok("query", "queue consumer", cwd=tmp_path)
    ok("feedback", "--helpful", "L1", cwd=tmp_path)
    ok("edit", "L1", "--add-tag", "x", cwd=tmp_path)
    ok("doctor", "--fix", cwd=tmp_path)
    ok("status", cwd=tmp_path)
    assert git(tmp_path, "status", "--porcelain").splitlines() == ["?? .engram.toml", "?? lore/"]
    assert (git(tmp_path, "rev-parse", "HEAD"), (tmp_path / ".git/index").read_bytes()) == before


def test_in_tree_lore_has_the_history_that_its_people_commit(tmp_path: Path) -> None:
    repository(tmp_path)
    ok("init", "--placement", "in-tree", cwd=tmp_path)
    record(tmp_path)
    ok("query", "queue consumer", cwd=tmp_path)
    assert "no history yet" in ok("log", "L1", cwd=tmp_path).out
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "lore and code")
    assert ok("log", "L1", "--json", cwd=tmp_path).json["history"][0]["subject"] == "lore and code"


def test_init_twice_changes_nothing(tmp_path: Path) -> None:
    dedicated(tmp_path)
    before = git(tmp_path, "rev-parse", "HEAD")
    done = ok("init", "--json", cwd=tmp_path).json
    assert done["existed"]
    assert git(tmp_path, "rev-parse", "HEAD") == before
    refused = cli("init", "--placement", "in-tree", cwd=tmp_path)
    assert refused.code == 1
    assert "dedicated" in refused.err


def test_in_tree_needs_a_repository_and_dedicated_a_place_of_its_own(tmp_path: Path) -> None:
    refused = cli("init", "--placement", "in-tree", cwd=tmp_path)
    assert (refused.code, list(tmp_path.iterdir())) == (2, [])
    repository(tmp_path / "code")
    refused = cli("init", "--placement", "dedicated", cwd=tmp_path / "code")
    assert refused.code == 2
    assert not (tmp_path / "code/.engram.toml").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="not a folder"):
        init(str(tmp_path / "file"))
    unknown = cli("init", "--placement", "floating", cwd=tmp_path)
    assert unknown.code == 2


def test_a_clone_of_a_dedicated_store_is_one(tmp_path: Path) -> None:
    dedicated(tmp_path / "a")
    record(tmp_path / "a")
    git(tmp_path, "clone", "-q", "a", "b")
    assert ok("query", "queue consumer", "--json", cwd=tmp_path / "b").json["lore"]
    record(tmp_path / "b", TIDES)
    assert heads(tmp_path / "b")[0] == f"record: {TIDES}"


def test_each_change_of_words_is_one_commit_with_a_message_and_trailers(tmp_path: Path) -> None:
    dedicated(tmp_path)
    lore = record(tmp_path)
    ok("query", "queue consumer", cwd=tmp_path)
    ok("feedback", "--helpful", "L1", cwd=tmp_path, ENGRAM_AGENT="codex")
    ok("feedback", "--incorrect", "L1", cwd=tmp_path)
    ok("edit", "L1", "--add-tag", "x", "--category", "workflow", cwd=tmp_path, ENGRAM_AGENT="codex")
    ok("forget", "L1", "--yes", cwd=tmp_path)
    assert masked("\n".join(heads(tmp_path))).splitlines() == [
        f"forget: {QUEUE}",
        "edit: add_tags, category (ID1)",
        f"record: {QUEUE}",
        "Start an Engram store",
    ]
    trailers = (
        git(tmp_path, "log", "--format=%(trailers:only,unfold)%x00", "HEAD~1^!").strip("\0\n").splitlines()
    )
    assert f"Engram-Lore: {lore['id']}" in trailers
    assert {"Engram-Agent: codex", "Engram-Session: s1"} <= set(trailers)
    changed = git(tmp_path, "log", "--format=", "--name-only").split()
    assert set(changed) - {".engram.toml", ".gitattributes"} == {lore["path"]}


def test_a_judgement_is_no_commit_and_the_log_says_what_it_really_changed(tmp_path: Path) -> None:
    dedicated(tmp_path)
    ok("record", QUEUE, "-c", "fact", "--confidence", "0.95", cwd=tmp_path)
    ok("query", "queue consumer", cwd=tmp_path)
    before = heads(tmp_path)
    ok("feedback", "--helpful", "L1", cwd=tmp_path)
    assert heads(tmp_path) == before
    newest = ok("log", "L1", "--json", cwd=tmp_path).json["history"][0]
    assert (newest["confidence_before"], newest["confidence"]) == (0.95, 1.0)


def test_hand_edits_of_a_dedicated_store_are_committed_too(tmp_path: Path) -> None:
    dedicated(tmp_path)
    (tmp_path / "lore").mkdir(exist_ok=True)
    (tmp_path / "lore/note.md").write_text(TIDES, "utf-8")
    ok("query", "tide tables", cwd=tmp_path)
    assert heads(tmp_path)[0] == "edit by hand: lore/note.md"
    assert (tmp_path / "lore/note.md").read_text("utf-8") == TIDES


def test_lore_is_kept_in_the_middle_of_a_merge_and_committed_later(tmp_path: Path) -> None:
    dedicated(tmp_path)
    record(tmp_path)
    (tmp_path / ".git/MERGE_HEAD").write_text(git(tmp_path, "rev-parse", "HEAD") + "\n")
    done = cli("record", TIDES, "-c", "fact", "--json", cwd=tmp_path)
    assert done.code == 0
    assert done.json["status"] == "recorded"
    assert "merge" in done.err
    assert ok("status", "--json", cwd=tmp_path).json["git"]["pending"] == 1
    assert cli("doctor", cwd=tmp_path).code == 1
    os.unlink(tmp_path / ".git/MERGE_HEAD")
    ok("doctor", "--fix", cwd=tmp_path)
    assert heads(tmp_path)[0] == f"record: {TIDES}"
