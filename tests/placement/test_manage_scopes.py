"""Teams as scopes: adding, listing and removing them, read-only ones, syncing all, and valid settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from apikit import QUEUE, TIDES, cli, git, lore_files, make_plain_store, ok
from hypothesis import given
from hypothesis import strategies as st
from scopes_kit import CUDA, found, record, team
from sync_kit import bare

import engram
from engram.adapters.files import config_file, places
from engram.domain.errors import ConfigError, NotFoundError, StoreError, UsageError
from engram.domain.scopes import check_team_name
from engram.domain.settings import is_team_name
from engram.usecases.recording.edit import Edit


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project store, where one stands."""
    return make_plain_store(tmp_path / "project")


# --- teams: adding, listing, removing, read-only


def test_a_team_is_added_listed_and_removed_and_other_settings_stay(project: Path, home: Path) -> None:
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
    for answer in ("--yes", "--no-input"):
        assert cli("scope", "remove", "team-ml", answer, cwd=project).code == 3, "said before it asks"


def test_a_token_in_the_address_is_not_kept_in_the_settings(project: Path, home: Path) -> None:
    from engram.usecases.placement.manage_scopes import _address

    assert _address("https://someone:tok@example.org/a.git") == "https://example.org/a.git"
    assert _address("https://tok@example.org/a.git") == "https://example.org/a.git"
    assert _address("ssh://git:pw@example.org/a.git") == "ssh://git@example.org/a.git"
    assert _address("git@example.org:team/a.git") == "git@example.org:team/a.git"
    done = cli("scope", "add", "team-x", "https://me:hunter2@127.0.0.1:9/a.git", "--json", cwd=project)
    assert done.code == 5
    assert "hunter2" not in done.out + done.err
    assert not (home / ".config/engram/config.toml").exists(), "a clone that failed was noted"


def test_a_read_only_scope_refuses_writes_and_only_pulls(project: Path) -> None:
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


def test_the_clone_of_a_team_as_current_folder_selects_its_scope(project: Path) -> None:
    root = team(project.parent, "team-ml", CUDA)
    assert found(root, "pinned drivers")[0][1] == "team-ml"
    assert cli("list", "--scope", "project", cwd=root).code == 3
    ok("config", "scopes.team-ml.readonly", "true", "--user", cwd=root)
    assert cli("record", TIDES, "-c", "fact", cwd=root).code == 1


def test_the_settings_of_a_pulled_store_add_no_scope(tmp_path: Path) -> None:
    other = make_plain_store(tmp_path / "other")
    record(CUDA, other)
    text = f'[store]\nfolder = "lore"\n\n[scopes.evil]\npath = "{other}"\nurl = "ext::sh"\n\n[scopes.user]\nweight = 9.0\n'
    project = make_plain_store(tmp_path / "project", text)
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
        check_team_name(name)


@given(st.text(max_size=45))
def test_every_name_of_a_team_is_a_safe_name_of_a_folder_and_a_key(name: str) -> None:
    if is_team_name(name):
        assert os.path.basename(name) == name
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


# --- sync


def test_sync_all_syncs_every_scope_even_if_one_fails(project: Path, tmp_path: Path) -> None:
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


# --- the Python API


def test_the_python_api_manages_scopes_too(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        store.edit(ref, Edit(add_tags=("driver",)))
    root = places.team_store("team-ml")
    assert "edit:" in git(Path(root), "log", "-1", "--format=%s"), "committed when the store was closed"
    engram.remove_scope("team-ml")
    with pytest.raises(NotFoundError):
        engram.remove_scope("team-ml")


def test_wrong_settings_of_a_scope_are_reported(home: Path, project: Path) -> None:
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
