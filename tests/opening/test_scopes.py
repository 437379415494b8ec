"""Scopes: one question to session, project, user and teams; refs over all of them; read-only and missing stores."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from apikit import QUEUE, cli, git, lore_files, make_plain_store, ok
from scopes_kit import CUDA, MINE, TRIAL, found, record, team

import engram
from engram.adapters.state.database import StateDatabase
from engram.usecases.opening.open_store import open_store
from engram.usecases.recall.query import Question, query
from engram.usecases.store.store import Caller


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project store, where one stands."""
    return make_plain_store(tmp_path / "project")


# --- one question to all of them


def test_a_query_asks_session_project_user_and_teams_and_weighs_them(project: Path) -> None:
    record(QUEUE, project)
    record(MINE, project, "--scope", "user")
    record(TRIAL, project, "--scope", "session")
    team(project.parent, "team-ml", CUDA, options=("--weight", "0.9"))
    answer = ok("query", "queue", "-k", "9", "--json", cwd=project).json
    assert {hit["scope"]: hit["title"] for hit in answer["lore"]} == {
        "project": QUEUE,
        "user": MINE,
        "session": TRIAL,
        "team-ml": CUDA,
    }
    weights = {hit["scope"]: hit["why"]["scope"] for hit in answer["lore"]}
    assert weights == {"session": 1.5, "project": 1.0, "user": 0.7, "team-ml": 0.9}
    scores = [hit["score"] for hit in answer["lore"]]
    assert scores == sorted(scores, reverse=True)
    assert sorted(answer["session_refs"]) == ["L1", "L2", "L3", "L4"]
    for hit in answer["lore"]:
        assert hit["path"].startswith("lore/")
        assert hit["score"] == pytest.approx(
            hit["why"]["relevance"] * (0.9 + 0.1 * hit["why"]["standing"]) * hit["why"]["scope"], abs=2e-3
        )


def test_scopes_limit_a_query_and_one_entry_is_shown_once(project: Path) -> None:
    record(QUEUE, project)
    record(MINE, project, "--scope", "user")
    assert [scope for _, scope, _ in found(project, "queue", "--scope", "user")] == ["user"]
    both = found(project, "queue", "--scope", "user", "--scope", "project")
    assert {scope for _, scope, _ in both} == {"user", "project"}
    ok("promote", "--to", "user", "--", QUEUE, cwd=project)
    same = [scope for _, scope, title in found(project, "queue", "-k", "9") if title == QUEUE]
    assert same == ["project"], "it weighs more there"
    ok("config", "scopes.user.weight", "2", "--user", cwd=project)
    same = [scope for _, scope, title in found(project, "queue", "-k", "9") if title == QUEUE]
    assert same == ["user"]


def test_an_answer_takes_the_best_of_all_scopes_up_to_the_limit(project: Path) -> None:
    for number in range(2):
        record(f"{QUEUE} Case {number}.", project)
        record(f"{MINE} Case {number}.", project, "--scope", "user")
    whole = ok("query", "queue consumer", "-k", "8", "--json", cwd=project).json["lore"]
    three = ok("query", "queue consumer", "-k", "3", "--json", cwd=project).json["lore"]
    assert len(whole) == 4
    assert [hit["id"] for hit in three] == [hit["id"] for hit in whole[:3]]


def test_a_named_store_is_asked_alone_with_its_session(project: Path, tmp_path: Path) -> None:
    record(QUEUE, project)
    record(MINE, project, "--scope", "user")
    record(TRIAL, project, "--scope", "session")
    assert {scope for _, scope, _ in found(tmp_path, "queue", "--store", str(project))} == {
        "project",
        "session",
    }
    with engram.open(project, session="s1") as store:
        assert {hit.scope for hit in store.query("queue").lore} == {"project", "session"}
        assert {hit.scope for hit in store.query("queue", scopes=["user", "project"]).lore} == {
            "user",
            "project",
        }
    with engram.open(scope="user") as store:
        assert {hit.scope for hit in store.query("queue").lore} == {"user"}


def test_a_variable_says_where_one_stands_and_names_nothing(project: Path, tmp_path: Path) -> None:
    record(QUEUE, project)
    record(MINE, project, "--scope", "user")
    answer = ok("query", "queue", "--json", cwd=tmp_path, ENGRAM_STORE=str(project)).json
    assert {hit["scope"] for hit in answer["lore"]} == {"project", "user"}


def test_a_category_that_only_one_store_has_leaves_the_others_out(tmp_path: Path) -> None:
    project = make_plain_store(
        tmp_path / "p", '[store]\nfolder = "lore"\ncategories = { RUNBOOK = "procedural" }\n'
    )
    ok("record", QUEUE, "-c", "runbook", cwd=project)
    record(MINE, project, "--scope", "user")
    assert found(project, "queue", "--category", "runbook") == [("L1", "project", QUEUE)]
    assert cli("query", "queue", "--category", "recipe", cwd=project).code == 2


# --- degrading


def test_a_scope_that_fails_is_a_note_and_never_the_whole_answer(project: Path) -> None:
    record(QUEUE, project)
    root = team(project.parent, "team-ml", CUDA)
    shutil.move(root / "lore", root.parent / "elsewhere")
    (root / "lore").symlink_to(root.parent / "elsewhere")
    done = ok("query", "queue", "--json", cwd=project)
    assert [hit["scope"] for hit in done.json["lore"]] == ["project"]
    assert any("team-ml was left out" in note for note in done.json["notes"])
    assert cli("query", "queue", "--scope", "team-ml", "--json", cwd=project).code == 2


def test_a_scope_whose_own_file_is_broken_is_asked_all_the_same_and_says_so(project: Path) -> None:
    record(QUEUE, project)
    root = team(project.parent, "team-ml", CUDA)
    (root / ".engram.toml").write_text("[store\n", "utf-8")
    done = ok("query", "queue", "--json", cwd=project)
    assert {hit["scope"] for hit in done.json["lore"]} == {"project", "team-ml"}
    assert any(
        note.startswith("team-ml: ") and "Until it is corrected" in note for note in done.json["notes"]
    )


def test_a_team_that_is_not_on_this_machine_is_told_and_cloned_by_sync(project: Path) -> None:
    record(QUEUE, project)
    root = team(project.parent, "team-ml", CUDA)
    ok("sync", "--scope", "team-ml", cwd=project)
    os.rename(root, root.parent / "elsewhere")
    done = ok("query", "queue", "--json", cwd=project).json
    assert "engram sync --scope team-ml" in " ".join(done["notes"])
    assert cli("list", "--scope", "team-ml", cwd=project).code == 3
    ok("sync", "--scope", "team-ml", cwd=project)
    assert found(project, "pinned drivers") == [("L2", "team-ml", CUDA)]


def test_a_damaged_index_of_one_scope_is_rebuilt_and_the_others_answer(project: Path) -> None:
    record(QUEUE, project)
    root = team(project.parent, "team-ml", CUDA)
    assert len(found(project, "queue")) == 2
    for path in (root / ".git/engram/index").rglob("*"):
        if path.is_file() and path.name != "writer.lock":
            path.write_bytes(b"damaged")
    assert {scope for _, scope, _ in found(project, "queue")} == {"project", "team-ml"}


def test_scopes_that_are_not_there_or_empty_open_nothing(project: Path, home: Path) -> None:
    record(QUEUE, project)
    ok("query", "queue", cwd=project)
    assert not (home / ".local/share/engram").exists(), "asking made a store"
    assert not (project / ".engram/sessions").exists()
    ok("record", MINE, "-c", "fact", "--scope", "user", cwd=project)
    for path in lore_files(home / ".local/share/engram/store"):
        path.unlink()
    store = open_store(None, Caller("s1", ""), working=str(project))
    query(store, Question("queue"))
    assert store.others == {}, "an empty store was opened"
    store.close()


# --- refs over all scopes


def test_refs_are_one_numbering_and_lead_to_the_store_of_their_scope(project: Path, home: Path) -> None:
    record(QUEUE, project)
    record(MINE, project, "--scope", "user")
    first = found(project, "queue consumer", "--scope", "project")
    second = found(project, "pytest unittest", "--scope", "user")
    assert (first[0][0], second[0][0]) == ("L1", "L2")
    refs = ok("session", "--json", cwd=project).json["lore"]
    assert [(one["ref"], one["scope"]) for one in refs] == [("L1", "project"), ("L2", "user")]
    judged = ok("feedback", "--helpful", "L1", "--helpful", "L2", "--json", cwd=project).json["updated"]
    assert [one["current"] for one in judged] == [0.78, 0.78]
    assert ok("show", "L2", "--json", cwd=project).json["lore"]["scope"] == "user"
    assert ok("show", second[0][2], "--json", cwd=project).json["lore"]["confidence"] == 0.78
    ok("edit", "L2", "--add-tag", "testing", cwd=project)
    own = home / ".local/share/engram/store"
    assert "tags: [testing]" in lore_files(own)[0].read_text("utf-8")
    assert git(own, "log", "-1", "--format=%s").startswith("edit: add_tags")
    assert len(ok("log", "L2", "--json", cwd=project).json["history"]) == 3
    ok("forget", "L2", "--yes", cwd=project)
    assert lore_files(own) == []
    ok("restore", "L2", "--at", "HEAD~1", cwd=project)
    assert len(lore_files(own)) == 1


def test_an_id_of_another_scope_is_found_and_a_named_scope_is_kept_to(project: Path) -> None:
    mine = record(MINE, project, "--scope", "user")
    record(QUEUE, project)
    assert ok("show", mine, "--json", cwd=project).json["lore"]["scope"] == "user"
    assert ok("show", mine[:18], "--json", cwd=project).json["lore"]["id"] == mine
    assert cli("show", mine, "--scope", "project", cwd=project).code == 3
    assert cli("forget", mine, "--scope", "project", "--yes", cwd=project).code == 3
    assert ok("diff", mine, "--json", cwd=project).json["lore"][0]["id"] == mine
    assert ok("blame", mine, "--json", cwd=project).json["id"] == mine


def test_a_state_file_of_the_version_before_goes_on_with_its_refs(tmp_path: Path) -> None:
    old = sqlite3.connect(tmp_path / "state.db")
    old.executescript(
        "CREATE TABLE refs (session TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL,"
        " at REAL NOT NULL, PRIMARY KEY (session, number)) WITHOUT ROWID;"
        "CREATE UNIQUE INDEX refs_id ON refs (session, id);"
        "CREATE TABLE sessions (name TEXT PRIMARY KEY, started REAL NOT NULL, used REAL NOT NULL) WITHOUT ROWID;"
        "INSERT INTO sessions VALUES ('s', 1, 1); INSERT INTO refs VALUES ('s', 1, 'A', 'a', 1);"
        "PRAGMA user_version=1;"
    )
    old.close()
    database = StateDatabase(str(tmp_path))
    assert database.surface("s", [("A", "a"), ("B", "b")], 2.0, {"B": "user"}) == {"A": "L1", "B": "L2"}
    assert [(ref.id, ref.scope) for ref in database.refs("s")] == [("A", ""), ("B", "user")]
    database.surface("s", [("A", "a"), ("B", "b")], 3.0, {"A": "team-ml"})
    assert [(ref.id, ref.scope) for ref in database.refs("s")] == [("A", "team-ml"), ("B", "")]
    database.close()
