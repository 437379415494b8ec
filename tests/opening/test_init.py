"""Where lore lives: dedicated, in-tree or plain; which store a command means; and that Engram never commits elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from apikit import QUEUE, TIDES, cli, dedicated, git, lore_files, masked, ok, plain, repository

import engram
from engram.domain.errors import NotFoundError, StoreError, UsageError
from engram.usecases.opening.init import init
from engram.usecases.opening.open_store import open_store
from engram.usecases.store.store import Caller

DEDICATED = '[store]\nplacement = "dedicated"\nfolder = "lore"\n'


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


def test_an_in_tree_lore_has_the_history_that_its_people_commit(tmp_path: Path) -> None:
    repository(tmp_path)
    ok("init", "--placement", "in-tree", cwd=tmp_path)
    record(tmp_path)
    ok("query", "queue consumer", cwd=tmp_path)
    assert "no history of it yet" in ok("log", "L1", cwd=tmp_path).out
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


def test_a_folder_outside_git_works_without_history(tmp_path: Path) -> None:
    plain(tmp_path)
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
    plain(tmp_path, DEDICATED)
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
    plain(tmp_path / "notes", DEDICATED)
    before = git(tmp_path, "rev-parse", "HEAD")
    record(tmp_path / "notes")
    assert git(tmp_path, "rev-parse", "HEAD") == before


def test_a_clone_of_a_dedicated_store_is_one(tmp_path: Path) -> None:
    dedicated(tmp_path / "a")
    record(tmp_path / "a")
    git(tmp_path, "clone", "-q", "a", "b")
    assert ok("query", "queue consumer", "--json", cwd=tmp_path / "b").json["lore"]
    record(tmp_path / "b", TIDES)
    assert heads(tmp_path / "b")[0] == f"record: {TIDES}"


def test_the_nearest_store_upwards_is_meant(tmp_path: Path) -> None:
    plain(tmp_path / "outer")
    plain(tmp_path / "outer/inner")
    deep, beside = tmp_path / "outer/inner/x/y", tmp_path / "outer/other"
    for folder in (deep, beside):
        folder.mkdir(parents=True)
    record(deep)
    record(beside, TIDES)
    assert "queue-consumer" in str(lore_files(tmp_path / "outer/inner"))
    assert "tide" in str(lore_files(tmp_path / "outer"))
    assert len(ok("list", "--json", cwd=tmp_path / "outer").json["lore"]) == 1, "an inner store is its own"


def test_an_option_wins_over_the_variable_and_that_over_the_folder(tmp_path: Path) -> None:
    for name in ("here", "variable", "option"):
        plain(tmp_path / name)
        record(tmp_path / name, f"lore of {name}")
    here = tmp_path / "here"
    variable = {"ENGRAM_STORE": str(tmp_path / "variable")}
    assert "lore of here" in ok("list", cwd=here).out
    assert "lore of variable" in ok("list", cwd=here, **variable).out
    assert "lore of option" in ok("list", "--store", "../option", cwd=here, **variable).out
    assert "lore of option" in ok("--store=../option", "list", cwd=here, **variable).out


def test_the_users_own_store_can_be_named_from_anywhere(tmp_path: Path) -> None:
    record(tmp_path, "lore of the user")
    plain(tmp_path / "project")
    record(tmp_path / "project", "lore of the project")
    assert "of the project" in ok("list", cwd=tmp_path / "project").out
    assert "of the project" in ok("list", "--scope", "project", cwd=tmp_path / "project").out
    user = ok("list", "--scope", "user", cwd=tmp_path / "project")
    assert "of the user" in user.out
    assert ok("--scope", "user", "list", cwd=tmp_path / "project").out == user.out
    named = ok("list", "--scope", "user", cwd=tmp_path, ENGRAM_STORE=str(tmp_path / "project"))
    assert named.out == user.out, "a scope named in the call counts more than a variable"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["list", "--scope", "project"], 3),
        (["list", "--scope", "galaxy"], 2),
        (["list", "--store", "nowhere"], 3),
        (["list", "--store", "project", "--scope", "user"], 2),
    ],
)
def test_a_store_that_is_not_there_is_told(tmp_path: Path, arguments: list[str], code: int) -> None:
    plain(tmp_path / "project")
    done = cli(*arguments, "--json", cwd=tmp_path)
    assert done.code == code
    assert done.json["error"]["hint"] or code == 2


def test_the_api_opens_makes_and_finds_stores(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engram.open(tmp_path / "new") as store:
        assert store.store.places.placement == "dedicated"
        store.record(QUEUE, category="FACT")
    assert heads(tmp_path / "new")[0] == f"record: {QUEUE}"
    (tmp_path / "new/lore/deep").mkdir()
    with engram.open(str(tmp_path / "new/lore/deep")) as store:
        assert store.path == str(tmp_path / "new")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("x")
    with pytest.raises(NotFoundError):
        engram.open(tmp_path / "full")
    monkeypatch.chdir(tmp_path)
    with engram.open() as store:
        assert store.path == str(home / ".local/share/engram/store")
    with engram.open(environment={"ENGRAM_STORE": str(tmp_path / "new"), "ENGRAM_SESSION": "x"}) as store:
        assert (store.path, store.store.caller.session) == (str(tmp_path / "new"), "x")


def test_private_state_is_never_tracked(tmp_path: Path) -> None:
    dedicated(tmp_path / "own")
    repository(tmp_path / "code")
    ok("init", "--placement", "in-tree", cwd=tmp_path / "code")
    plain(tmp_path / "bare")
    for root in (tmp_path / "own", tmp_path / "code", tmp_path / "bare"):
        record(root)
        ok("query", "queue consumer", cwd=root)
    assert (tmp_path / "own/.git/engram/source").is_file()
    assert (tmp_path / "code/.git/engram/source").is_file()
    assert (tmp_path / "bare/.engram/.gitignore").read_text() == "*\n"
    assert git(tmp_path / "own", "status", "--porcelain", "--ignored") == ""


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


def test_in_the_middle_of_a_merge_lore_is_kept_and_committed_later(tmp_path: Path) -> None:
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


def test_a_store_whose_settings_name_another_placement_is_told(tmp_path: Path) -> None:
    dedicated(tmp_path)
    with pytest.raises(StoreError, match="is a store already"):
        init(str(tmp_path), placement="in-tree")
    assert open_store(str(tmp_path), Caller("s", "")).places.placement == "dedicated"
