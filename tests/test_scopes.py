"""Scopes: one question to session, project, user and teams; refs over all of them; read-only and missing stores."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from apikit import QUEUE, TIDES, SetClock, cli, dedicated, git, lore_files, ok, plain
from hypothesis import given
from hypothesis import strategies as st
from sync_kit import bare

import engram
from engram.adapters.files import config_file, places
from engram.adapters.state.database import StateDatabase
from engram.domain.errors import ConfigError, NotFoundError, StoreError, UsageError
from engram.domain.scopes import checked_team_name
from engram.domain.settings import is_team_name
from engram.usecases import session_store
from engram.usecases.open_store import open_store
from engram.usecases.query import Question, query
from engram.usecases.store import Caller

CUDA = "GPU workers need pinned drivers: upgrade the queue hosts at once."
MINE = "I write queue tests with pytest, never with unittest."
TRIAL = "Trying the queue consumer with a deadline of five seconds."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project store, and the folder where one stands."""
    return plain(tmp_path / "project")


def team(folder: Path, name: str, *texts: str, options: tuple[str, ...] = ()) -> Path:
    """A team's bare remote with some lore, added as a scope; the root of its clone."""
    hub = bare(folder / f"{name}.git")
    ok("scope", "add", name, str(hub), *options, "--json", cwd=folder)
    root = Path(places.team_store(name))
    for text in texts:
        ok("record", text, "-c", "fact", cwd=root, ENGRAM_STORE="")
    return root


def record(text: str, cwd: Path, *options: str) -> str:
    found: str = ok("record", text, "-c", "fact", "--json", *options, cwd=cwd).json["lore"]["id"]
    return found


def found(cwd: Path, *words: str) -> list[tuple[str, str, str]]:
    """The ref, scope and title of each hit."""
    answer = ok("query", *words, "--json", cwd=cwd).json
    return [(hit["ref"], hit["scope"], hit["title"]) for hit in answer["lore"]]


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


def test_scopes_limit_a_query_and_one_lore_is_shown_once(project: Path) -> None:
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
    for number in range(4):
        record(f"{QUEUE} Case {number}.", project)
        record(f"{MINE} Case {number}.", project, "--scope", "user")
    whole = ok("query", "queue consumer", "-k", "8", "--json", cwd=project).json["lore"]
    three = ok("query", "queue consumer", "-k", "3", "--json", cwd=project).json["lore"]
    assert len(whole) == 8
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
    project = plain(tmp_path / "p", '[store]\nfolder = "lore"\ncategories = { RUNBOOK = "procedural" }\n')
    ok("record", QUEUE, "-c", "runbook", cwd=project)
    record(MINE, project, "--scope", "user")
    assert found(project, "queue", "--category", "runbook") == [("L1", "project", QUEUE)]
    assert cli("query", "queue", "--category", "recipe", cwd=project).code == 2


# --- degrading


def test_a_scope_that_fails_is_a_note_and_never_the_whole_answer(project: Path) -> None:
    record(QUEUE, project)
    root = team(project.parent, "team-ml", CUDA)
    (root / ".engram.toml").write_text("[store\n", "utf-8")
    done = ok("query", "queue", "--json", cwd=project)
    assert [hit["scope"] for hit in done.json["lore"]] == ["project"]
    assert any("team-ml was left out" in note for note in done.json["notes"])
    assert cli("query", "queue", "--scope", "team-ml", "--json", cwd=project).code == 2


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


# --- teams: adding, listing, removing, read-only


def test_a_team_is_added_listed_and_removed_and_the_file_keeps_what_else_it_says(
    project: Path, home: Path
) -> None:
    file = home / ".config/engram/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n[recall]\nlimit = 7 # few\n", "utf-8")
    root = team(project.parent, "team-ml", CUDA, options=("--weight", "0.9", "--retention-days", "30"))
    text = file.read_text("utf-8")
    assert text.startswith("# mine\n[recall]\nlimit = 7 # few\n")
    assert "[scopes.team-ml]" in text
    rows = {row["name"]: row for row in ok("scope", "--json", cwd=project).json["scopes"]}
    assert list(rows) == ["session", "project", "user", "team-ml"]
    row = rows["team-ml"]
    assert (row["kind"], row["weight"], row["lore_count"], row["retention_days"]) == ("team", 0.9, 1, 30)
    assert row["path"] == str(root)
    assert row["remote"] == str(project.parent / "team-ml.git")
    assert (rows["project"]["here"], rows["user"]["exists"]) == (True, False)
    assert cli("scope", "add", "team-ml", "x", cwd=project).code == 2
    assert cli("scope", "remove", "team-ml", "--delete", "--yes", cwd=project).code == 1, "never pushed"
    ok("sync", "--scope", "team-ml", cwd=project)
    ok("scope", "remove", "team-ml", "--yes", cwd=project)
    assert file.read_text("utf-8").strip() == "# mine\n[recall]\nlimit = 7 # few"
    assert root.is_dir()
    hub = str(project.parent / "team-ml.git")
    assert ok("scope", "add", "team-ml", hub, "--json", cwd=project).json["scope"]["existed"]
    ok("scope", "remove", "team-ml", "--delete", "--yes", cwd=project)
    assert not root.exists()
    assert cli("scope", "remove", "team-ml", "--yes", cwd=project).code == 3


def test_a_token_in_the_address_is_not_kept_in_the_settings(project: Path, home: Path) -> None:
    from engram.usecases.manage_scopes import _address

    assert _address("https://someone:tok@example.org/a.git") == "https://example.org/a.git"
    assert _address("https://tok@example.org/a.git") == "https://example.org/a.git"
    assert _address("ssh://git:pw@example.org/a.git") == "ssh://git@example.org/a.git"
    assert _address("git@example.org:team/a.git") == "git@example.org:team/a.git"
    done = cli("scope", "add", "team-x", "https://me:hunter2@127.0.0.1:9/a.git", "--json", cwd=project)
    assert done.code == 5
    assert "hunter2" not in done.out + done.err
    assert not (home / ".config/engram/config.toml").exists(), "a clone that failed was noted"


def test_a_read_only_scope_refuses_what_would_write_and_only_pulls(project: Path) -> None:
    root = team(project.parent, "team-ml", CUDA)
    ok("sync", "--scope", "team-ml", cwd=project)
    ok("config", "scopes.team-ml.readonly", "true", "--user", cwd=project)
    record(QUEUE, project)
    refs = {scope: ref for ref, scope, _ in found(project, "queue")}
    before = git(root, "rev-parse", "HEAD"), lore_files(root)[0].read_bytes()
    for arguments in (
        ("record", TIDES, "-c", "fact", "--scope", "team-ml"),
        ("feedback", "--helpful", refs["project"], "--incorrect", refs["team-ml"]),
        ("edit", refs["team-ml"], "--add-tag", "x"),
        ("forget", refs["team-ml"], "--yes"),
        ("promote", refs["project"], "--to", "team-ml"),
        ("undo", "--scope", "team-ml"),
        ("sync", "--push", "--scope", "team-ml"),
    ):
        done = cli(*arguments, "--json", cwd=project)
        assert done.code == 1, arguments
        assert "read-only" in done.json["error"]["message"]
        assert "promote" in done.json["error"]["hint"]
    assert (git(root, "rev-parse", "HEAD"), lore_files(root)[0].read_bytes()) == before
    assert ok("show", refs["project"], "--json", cwd=project).json["lore"]["validation_count"] == 0, (
        "all or none"
    )
    ok("feedback", "--not-relevant", refs["team-ml"], cwd=project)
    lore_files(root)[0].write_bytes(before[1] + b"\nBy hand.\n")
    done = ok("sync", "--scope", "team-ml", "--json", cwd=project).json
    assert done["pushed"] == 0


def test_standing_in_the_clone_of_a_team_is_its_scope(project: Path) -> None:
    root = team(project.parent, "team-ml", CUDA)
    assert found(root, "pinned drivers")[0][1] == "team-ml"
    assert cli("list", "--scope", "project", cwd=root).code == 3
    ok("config", "scopes.team-ml.readonly", "true", "--user", cwd=root)
    assert cli("record", TIDES, "-c", "fact", cwd=root).code == 1


def test_the_file_of_a_pulled_store_adds_no_scope(tmp_path: Path) -> None:
    other = plain(tmp_path / "other")
    record(CUDA, other)
    text = f'[store]\nfolder = "lore"\n\n[scopes.evil]\npath = "{other}"\nurl = "ext::sh"\n\n[scopes.user]\nweight = 9.0\n'
    project = plain(tmp_path / "project", text)
    record(QUEUE, project)
    assert [row["name"] for row in ok("scope", "--json", cwd=project).json["scopes"]] == [
        "session",
        "project",
        "user",
    ]
    assert found(project, "queue") == [("L1", "project", QUEUE)]
    assert cli("query", "queue", "--scope", "evil", cwd=project).code == 2
    assert config_file.load(str(project)).number("scopes.user.weight") == 0.7
    assert cli("config", "scopes.evil.url", "x", cwd=project).code == 2
    assert cli("sync", "--all", "--json", cwd=project).json["scopes"] == []


@pytest.mark.parametrize(
    "name", ["session", "project", "user", "Team", "a b", "", "-a", "a--b", "1a", "a.b", "ä", "x" * 41]
)
def test_a_name_that_no_scope_can_have_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        checked_team_name(name)


@given(st.text(max_size=45))
def test_every_name_of_a_team_is_a_safe_name_of_a_folder_and_a_key(name: str) -> None:
    if is_team_name(name):
        assert os.path.basename(name) == name
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


# --- sync


def test_sync_all_goes_over_every_scope_and_one_that_fails_stops_no_other(
    project: Path, tmp_path: Path
) -> None:
    first, second = team(tmp_path, "team-a", CUDA), team(tmp_path, "team-b", QUEUE)
    record(TIDES, project)
    done = ok("sync", "--all", "--json", cwd=project).json
    assert [(row["scope"], row["pushed"]) for row in done["scopes"]] == [("team-a", 1), ("team-b", 1)]
    assert (done["pushed"], done["errors"]) == (2, [])
    os.rename(tmp_path / "team-a.git", tmp_path / "gone.git")
    record(TIDES, second, "--store", str(second))
    failed = cli("sync", "--all", "--json", cwd=project)
    assert failed.code == 5
    assert [row["pushed"] for row in failed.json["scopes"]] == [0, 1]
    assert [error["scope"] for error in failed.json["errors"]] == ["team-a"]
    assert cli("sync", "origin", "--all", cwd=project).code == 2
    assert first.is_dir()


# --- the session's own store


def test_a_session_is_kept_apart_never_in_git_and_swept_when_nobody_used_it(tmp_path: Path) -> None:
    project = dedicated(tmp_path / "p")
    ok("record", TRIAL, "-c", "fact", "--scope", "session", cwd=project, ENGRAM_SESSION="one")
    ok("record", TIDES, "-c", "fact", "--scope", "session", cwd=project, ENGRAM_SESSION="two")
    assert git(project, "status", "--porcelain", "-uall") == ""
    assert "Trying" not in git(project, "log", "--format=%s")
    one = ok("query", "consumer deadline tide", "--json", cwd=project, ENGRAM_SESSION="one").json["lore"]
    assert [(hit["title"], hit["scope"]) for hit in one] == [(TRIAL, "session")]
    root = Path(session_store.session_root(str(project / ".git/engram"), "one"))
    assert len(lore_files(root)) == 1
    used = root / ".engram/used"
    old = os.stat(used).st_mtime_ns - 8 * 86_400 * 10**9
    os.utime(used, ns=(old, old))
    ok("record", QUEUE, "-c", "fact", cwd=project, ENGRAM_SESSION="one")
    assert root.is_dir(), "a session's own store is in use"
    os.utime(used, ns=(old, old))
    ok("list", cwd=project, ENGRAM_SESSION="two")
    assert not root.exists()
    assert os.listdir(root.parent) == ["s-two"]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=120),
        min_size=2,
        max_size=2,
        unique=True,
    )
)
def test_two_sessions_never_share_a_store_whatever_their_names(names: list[str]) -> None:
    one, two = (os.path.basename(session_store.session_root("/x", name)) for name in names)
    assert one.lower() != two.lower()
    assert all(len(name) <= 140 and name.isprintable() and "/" not in name for name in (one, two))


def test_sessions_are_kept_for_as_long_as_configured(tmp_path: Path) -> None:
    project, clock = plain(tmp_path / "p"), SetClock()
    ok("config", "scopes.session.retention_days", "30", "--user", cwd=project)
    with engram.open(project, scope="session", session="one", clock=clock) as store:
        store.record(TRIAL, category="FACT")
        store.query("deadline")
    for days, left in ((29, True), (2, False)):
        clock.advance(days=days)
        with engram.open(project, session="two", clock=clock):
            pass
        assert Path(session_store.session_root(str(project / ".engram"), "one")).exists() is left


# --- the Python API


def test_the_api_has_the_same(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    hub = bare(project.parent / "ml.git")
    engram.add_scope("team-ml", str(hub), weight=0.9)
    with pytest.raises(UsageError):
        engram.add_scope("team-ml", str(hub))
    with engram.open(scope="team-ml", session="s") as store:
        store.record(CUDA, category="FACT")
    with engram.open(session="s") as store:
        store.record(QUEUE, category="FACT")
        assert [one.name for one in store.scopes()] == ["session", "project", "user", "team-ml"]
        assert {hit.scope for hit in store.query("queue").lore} == {"project", "team-ml"}
        assert [one.scope for one in store.sync_all()] == ["team-ml"]
        ref = next(hit.ref for hit in store.query("queue").lore if hit.scope == "team-ml")
        assert store.feedback(helpful=ref)[0].current == 0.78
    root = places.team_store("team-ml")
    assert "feedback: helpful" in git(Path(root), "log", "-1", "--format=%s"), (
        "committed when the store was closed"
    )
    engram.remove_scope("team-ml")
    with pytest.raises(NotFoundError):
        engram.remove_scope("team-ml")


def test_wrong_settings_of_a_scope_are_told(home: Path, project: Path) -> None:
    file = home / ".config/engram/config.toml"
    file.parent.mkdir(parents=True)
    for text in (
        '[scopes.Team]\nurl = "x"\n',
        "[scopes.a]\nweight = 11\n",
        "[scopes.a]\nwight = 1\n",
        '[scopes.a]\nreadonly = "no"\n',
    ):
        file.write_text(text, "utf-8")
        with pytest.raises(ConfigError):
            config_file.load(str(project))


def test_a_store_whose_clone_is_not_pushed_is_not_deleted(project: Path) -> None:
    root = team(project.parent, "team-ml", CUDA)
    with pytest.raises(StoreError, match="no remote has"):
        engram.remove_scope("team-ml", delete=True)
    assert lore_files(root)
