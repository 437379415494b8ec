"""Configuration: the two files, who may set what, and changing a value without touching the rest of the file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from apikit import QUEUE, cli, make_plain_store, ok, open_test_store

from engram.domain.settings import BUILT_IN_SCOPES, KEYS


def test_every_setting_is_shown_with_its_meaning(tmp_path: Path) -> None:
    make_plain_store(tmp_path)
    shown = ok("config", cwd=tmp_path)
    for key in KEYS:
        assert f"{key.name} = " in shown.out
        assert key.doc in shown.out
    document = ok("config", "--json", cwd=tmp_path).json
    assert set(document["settings"]) == {key.name for key in KEYS}
    assert "FACT" in document["categories"]
    assert document["files"]["store"] == str(tmp_path / ".engram.toml")


def test_set_get_and_unset_keep_comments_order_and_the_rest(tmp_path: Path) -> None:
    text = '# ours\n[store]\nfolder = "lore"   # notes\n\n# how many\n[recall]\nlimit = 3 # few\nmin_confidence = 0.4\n'
    make_plain_store(tmp_path, text)
    assert ok("config", "recall.limit", cwd=tmp_path).out == "3\n"
    ok("config", "recall.limit", "8", cwd=tmp_path)
    assert (tmp_path / ".engram.toml").read_text() == text.replace("limit = 3 #", "limit = 8 #")
    assert ok("config", "recall.limit", "--json", cwd=tmp_path).json["value"] == 8
    ok("config", "recall.limit", "--unset", cwd=tmp_path)
    after = (tmp_path / ".engram.toml").read_text()
    assert after == text.replace("limit = 3 # few\n", "")
    assert ok("config", "recall.limit", cwd=tmp_path).out == "5\n"
    ok("config", "recall.limit", "--unset", cwd=tmp_path)
    assert (tmp_path / ".engram.toml").read_text() == after


@pytest.mark.parametrize(
    ("key", "given", "value"),
    [
        ("recall.limit", "7", 7),
        ("recall.min_confidence", "0.25", 0.25),
        ("record.confidence", "1", 1.0),
        ("record.category", "workflow", "workflow"),
        ("secrets.allow", '["a", "b"]', ["a", "b"]),
        ("secrets.allow", "a, b", ["a", "b"]),
        ("store.categories", '{"RECIPE": "procedural"}', {"RECIPE": "procedural"}),
    ],
)
def test_values_are_read_as_the_type_of_their_key(
    tmp_path: Path, key: str, given: str, value: object
) -> None:
    make_plain_store(tmp_path)
    assert ok("config", key, given, "--json", cwd=tmp_path).json["value"] == value
    assert ok("config", key, "--json", cwd=tmp_path).json["value"] == value


@pytest.mark.parametrize(
    ("key", "given"),
    [
        ("recall.limit", "many"),
        ("recall.limit", "0"),
        ("recall.min_confidence", "2"),
        ("recall.min_confidence", "NaN"),
        ("store.placement", "elsewhere"),
        ("store.folder", "../out"),
        ("store.categories", '{"RECIPE": "nonsense"}'),
        ("store.categories", '{"a b!": "semantic"}'),
        ("record.category", "nonsense"),
        ("recall.limt", "3"),
        ("nonsense", "3"),
    ],
)
def test_a_bad_value_or_name_is_exit_2_and_leaves_the_file_as_it_was(
    tmp_path: Path, key: str, given: str
) -> None:
    make_plain_store(tmp_path)
    before = (tmp_path / ".engram.toml").read_bytes()
    done = cli("config", key, given, "--json", cwd=tmp_path)
    assert (done.code, set(done.json)) == (2, {"error"})
    assert (tmp_path / ".engram.toml").read_bytes() == before
    assert ok("list", cwd=tmp_path)


@pytest.mark.parametrize("given", [("--unset",), ("recall.limit", "8", "--unset")], ids=["no key", "a value"])
def test_unset_takes_one_key_and_no_value(tmp_path: Path, given: tuple[str, ...]) -> None:
    make_plain_store(tmp_path, "[recall]\nlimit = 3\n")
    done = cli("config", *given, cwd=tmp_path)
    assert (done.code, "engram config KEY --unset" in done.err) == (2, True)
    assert (tmp_path / ".engram.toml").read_text() == "[recall]\nlimit = 3\n"


@pytest.mark.parametrize("key", [key.name for key in KEYS if key.user_only])
def test_a_stores_file_cannot_set_keys_reserved_for_the_user(
    tmp_path: Path, user_file: Path, key: str
) -> None:
    values = {
        "record.agent": '"evil"',
        "record.author": "false",
        "record.machine": '"theirs"',
        "recall.log": "false",
        "embedding.path": '"/etc"',
        "embedding.url": '"https://models.example.com/v1"',
        "embedding.model": '"theirs"',
        "embedding.dimensions": "3",
        "embedding.timeout": "60",
        "embedding.key": '"theirs"',
        "git.background": "false",
        "stale.repository": '"/etc"',
        "trust.hold": '"foreign"',
        "trust.accept": '["ada@example.org"]',
        "trust.mine": '["01JAAAAAAAAAAAAAAAAAAAAAAA"]',
        **{f"scopes.{scope}.weight": "2.5" for scope in BUILT_IN_SCOPES},
        **{f"scopes.{scope}.retention_days": "3" for scope in BUILT_IN_SCOPES},
        **{f"scopes.{scope}.garbage_days": "3" for scope in BUILT_IN_SCOPES},
        "judgements.name": "false",
        "maintain.auto": "false",
        "sync.interval": "15",
        "sync.auto": "false",
        "sync.hooks": "true",
        "hooks.ask": "false",
        "hooks.capture": "false",
        "app.theme": '"light"',
        "app.keys": '{ pin = "P" }',
    }
    table, _, name = key.rpartition(".")
    with open_test_store(tmp_path, settings=f"[{table}]\n{name} = {values[key]}\n") as store:
        assert store.store.settings.get(key) == next(one.default for one in KEYS if one.name == key)
    user_file.write_text(f"[{table}]\n{name} = {values[key]}\n", "utf-8")
    with open_test_store(tmp_path) as store:
        assert store.store.settings.get(key) == tomllib.loads(f"value = {values[key]}")["value"]
    refused = cli("config", key, "x", cwd=tmp_path)
    assert refused.code == 2
    assert "--user" in refused.err


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("[hooks]\nsync = false\n", False),
        ("[sync]\non_session = true\n", True),
        ("[hooks]\nsync = false\n[sync]\non_session = true\n", False),
        ("[hooks]\nsync = false\n[sync]\nauto = true\n", True),
    ],
)
def test_older_names_of_a_key_still_count_until_the_newer_one_is_set(
    tmp_path: Path, home: Path, lines: str, wanted: bool
) -> None:
    file = home / ".config/engram/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(lines, "utf-8")
    with open_test_store(tmp_path) as store:
        assert store.store.settings.flag("sync.auto") is wanted
    ok("config", "hooks.sync", "true", "--user", cwd=tmp_path)
    assert tomllib.loads(file.read_text("utf-8"))["sync"] == {"auto": True}
    assert "sync" not in tomllib.loads(file.read_text("utf-8")).get("hooks", {})
    assert ok("config", "sync.on_session", cwd=tmp_path).out == "true\n"


def test_the_users_file_is_made_and_wins(tmp_path: Path, home: Path) -> None:
    make_plain_store(tmp_path, "[recall]\nlimit = 3\n")
    ok("config", "recall.limit", "9", "--user", cwd=tmp_path)
    assert (home / ".config/engram/config.toml").read_text() == "[recall]\nlimit = 9\n"
    assert ok("config", "recall.limit", cwd=tmp_path).out == "9\n"
    ok("config", "recall.limit", "--unset", "--user", cwd=tmp_path)
    assert ok("config", "recall.limit", cwd=tmp_path).out == "3\n"


def test_a_change_that_your_own_file_overrides_says_so(tmp_path: Path, user_file: Path) -> None:
    user_file.write_text("[recall]\nlimit = 9\n", "utf-8")
    make_plain_store(tmp_path)
    done = ok("config", "recall.limit", "4", cwd=tmp_path)
    assert "9" in done.err
    assert str(user_file) in done.err


def test_the_users_settings_need_no_store(tmp_path: Path, home: Path) -> None:
    ok("config", "recall.limit", "9", "--user", cwd=tmp_path)
    assert not (home / ".local").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[recall]\nlimt = 3\n", "recall.limit"),
        ("[recal]\nlimit = 3\n", "recall.limit"),
        ("[recall]\nlimit = \n", "not valid TOML"),
        ("recall = 3\n", "recall"),
        ('[recall]\nlimit = "3"\n', "whole number"),
        ("[store]\nfolder = '../x'\n", "inside the store"),
    ],
)
def test_a_broken_file_is_reported_with_its_place_and_exit_2(tmp_path: Path, text: str, says: str) -> None:
    make_plain_store(tmp_path, text)
    done = cli("list", cwd=tmp_path)
    assert done.code == 2
    assert says in done.err
    assert ".engram.toml" in done.err
    assert "Traceback" not in done.err


def test_a_category_that_cannot_be_set_by_accident_can_be_unset(tmp_path: Path) -> None:
    make_plain_store(tmp_path, '[store.categories]\nRECIPE = "procedural"\n')
    ok("config", "store.categories", "--unset", cwd=tmp_path)
    assert "RECIPE" not in ok("config", cwd=tmp_path).out


def test_custom_categories_can_be_used_like_built_in_ones(tmp_path: Path) -> None:
    settings = '[store.categories]\nrecipe = "procedural"\nRISK-NOTE = "working"\n'
    with open_test_store(tmp_path, settings=settings) as store:
        lore = store.record(QUEUE, category="Recipe").lore
        assert (lore.category, lore.type) == ("RECIPE", "procedural")
        assert store.record("other", category="risk_note").lore.type == "working"
        assert store.query("queue consumer", categories="recipe").lore[0].lore.id == lore.id
        assert store.list(categories=["RISK-NOTE"]).total == 1
    assert "RECIPE" in ok("config", cwd=tmp_path).out
    unknown = cli("record", "x", "-c", "nope", cwd=tmp_path)
    assert "RISK_NOTE" in unknown.err


def test_another_lore_folder_is_used(tmp_path: Path) -> None:
    with open_test_store(tmp_path, settings='[store]\nfolder = "docs/knowledge"\n') as store:
        path = store.record(QUEUE, category="FACT").path
        assert path.startswith("docs/knowledge/2026/")
        assert store.query("queue consumer").lore[0].path == path
