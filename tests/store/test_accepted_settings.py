"""A `.engram.toml` that came with a pull neither moves a store, nor lets secrets through, nor stops recall."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from apikit import QUEUE, SECRET, cli, git, ok, repository
from effort import sampled
from malicious_kit import copy_clones
from sync_kit import Clones, push_from_outside

from engram.adapters.files import config_file
from engram.usecases.store import accepted_settings

START = '[store]\nplacement = "dedicated"\nfolder = "lore"\n'


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pulled") / "template"
    made = Clones(folder, "a")
    made.record("a")
    made.settle()
    made["a"].close()
    return folder


@pytest.fixture
def clones(template: Path, tmp_path: Path) -> Clones:
    found = copy_clones(template, tmp_path, "a")
    found["a"].close()
    return found


def pull(clones: Clones, text: str | None) -> Path:
    """Push a change of the store's file, sync `a`, and return its root."""
    push_from_outside(clones.hub, clones.folder / "other", {".engram.toml": text})
    root = clones.root("a")
    ok("sync", "--pull", cwd=root)
    return root


def kinds(root: Path) -> dict[str, str]:
    found = cli("doctor", "--json", cwd=root).json["findings"]
    return {one["where"]: one["message"] for one in found if one["kind"] == "settings"}


MOVES = {
    "src": 'folder = "src"',
    "another placement": 'folder = "lore"\nplacement = "in-tree"',
}


@sampled("line", MOVES.values(), ids=MOVES)
def test_a_pull_does_not_move_the_store_until_a_person_accepts(clones: Clones, line: str) -> None:
    placement = "" if "placement" in line else 'placement = "dedicated"\n'
    root = pull(clones, f"[store]\n{placement}{line}\n")
    before = ok("status", "--json", cwd=root).json
    assert before["store"]["folder"] == "lore"
    assert before["store"]["placement"] == "dedicated"
    [held_back] = before["settings"]["held_back"]
    assert "engram doctor" in ok("status", cwd=root).out
    assert held_back["key"] in kinds(root)
    assert "engram config --accept" in cli("doctor", cwd=root).out
    recorded = ok("record", "Written after the pull.", "-c", "fact", "--json", cwd=root).json["lore"]["path"]
    assert recorded.startswith("lore/")
    assert ok("query", "queue consumers", "--json", cwd=root).json["lore"]
    ok("sync", "--pull", cwd=root)
    assert ok("config", "--accept", "--json", cwd=root).json["accepted"][0]["key"] == held_back["key"]
    after = ok("status", "--json", cwd=root).json
    assert after["settings"]["held_back"] == []
    assert (after["store"]["folder"], after["store"]["placement"]) != ("lore", "dedicated")
    assert ok("config", "--accept", cwd=root).out == "Nothing waits to be accepted.\n"


BROKEN = {
    "no TOML": "[[[[",
    "a folder outside": START.replace('"lore"', '"../x"'),
    "the git folder": START.replace('"lore"', '".git"'),
    "out and in": START.replace('"lore"', '"lore/../../x"'),
    "an unknown key": START + '[future]\nkey = "x"\n',
    "a bad value": START + "[recall]\nlimit = 5000\n",
    "a bad category": START + '[store.categories]\n"\\u001b[31m" = "semantic"\n',
    "a long one": START + "#" * 70_000,
    "no UTF-8": "\udcff",
    "deep": "x = " + "[" * 20_000,
}


@pytest.mark.slow
def test_a_broken_file_is_reported_and_its_last_valid_settings_count(clones: Clones) -> None:
    root, other = clones.root("a"), clones.folder / "other"
    ok("config", "recall.min_confidence", "0.6", cwd=root)
    ok("sync", cwd=root)
    git(clones.folder, "clone", "-q", str(clones.hub), "other")
    for case, text in BROKEN.items():
        raw = text.encode("utf-8", "surrogateescape")
        (other / ".engram.toml").write_bytes(raw)
        git(other, "commit", "-qam", "broken")
        git(other, "push", "-q")
        said = ok("sync", "--pull", "--json", cwd=root).json
        assert any(".engram.toml" in note for note in said["notes"]), case
        answer = ok("query", "queue consumers", "--json", cwd=root)
        assert answer.json["lore"], case
        assert any(".engram.toml" in note for note in answer.json["notes"]), case
        assert ".engram.toml" in answer.err, case
        # Of a file that can be read, what is good counts; of one that cannot, what was good last.
        expected = "0.5\n" if START in text or "folder" in text else "0.6\n"
        assert case == "a long one" or ok("config", "recall.min_confidence", cwd=root).out == expected, case
        assert (root / ".engram.toml").read_bytes() == raw, case
    assert ok("status", "--json", cwd=root).json["store"]["folder"] == "lore"
    assert ".engram.toml" in kinds(root)
    assert ok("record", "Recorded all the same.", "-c", "fact", "--json", cwd=root).json["lore"]["path"]
    assert ok("sync", "--json", cwd=root).json["pushed"] == 1
    assert not (clones.folder / "x").exists()


def test_settings_that_only_the_user_may_set_are_ignored_in_a_pulled_file(
    clones: Clones, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    root = pull(
        clones,
        START + f'[embedding]\nprovider = "path"\npath = "{trap}"\n[record]\nagent = "mallory"\n'
        '[recall]\nlog = false\n[git]\nbackground = false\n[trust]\naccept = ["*"]\n',
    )
    shown = ok("config", "--json", cwd=root).json["settings"]
    assert (shown["embedding.path"], shown["record.agent"], shown["recall.log"]) == ("", "", True)
    assert shown["trust.accept"] == []
    assert ok("query", "queue consumers", "--json", cwd=root).json["lore"]


def test_a_pull_does_not_disable_the_search_for_secrets(clones: Clones) -> None:
    allow = f'[secrets]\nallow = ["", "*", ".", "ghp_", "{SECRET}"]\n'
    root = pull(clones, START + allow)
    refused = cli("record", f"token = {SECRET}", "-c", "fact", cwd=root)
    assert refused.code == 2
    assert "secrets.allow" in kinds(root)
    ok("config", "--accept", cwd=root)
    ok("record", f"token = {SECRET}", "-c", "fact", cwd=root)
    assert cli("record", f"token = {SECRET[:-1]}Z", "-c", "fact", cwd=root).code == 2


def test_a_pull_can_remove_an_allowed_secret(clones: Clones) -> None:
    root = clones.root("a")
    ok("config", "secrets.allow", f'["{SECRET}"]', cwd=root)
    ok("record", f"token = {SECRET}", "-c", "fact", cwd=root)
    ok("sync", cwd=root)
    push_from_outside(clones.hub, clones.folder / "other", {".engram.toml": START})
    ok("sync", "--pull", cwd=root)
    assert cli("record", f"another token = {SECRET}", "-c", "fact", cwd=root).code == 2


def test_a_change_by_the_user_counts_at_once_and_accepts_nothing_else(clones: Clones) -> None:
    root = pull(clones, START.replace('"lore"', '"src"'))
    ok("config", "recall.limit", "7", cwd=root)
    assert ok("status", "--json", cwd=root).json["store"]["folder"] == "lore"
    assert ok("config", "recall.limit", cwd=root).out == "7\n"
    ok("config", "store.folder", "notes", cwd=root)
    assert ok("status", "--json", cwd=root).json["store"]["folder"] == "notes"
    assert kinds(root) == {}


def test_a_git_pull_into_a_code_repository_does_not_move_the_store(tmp_path: Path) -> None:
    root = repository(tmp_path / "code")
    ok("init", "--placement", "in-tree", cwd=root)
    ok("record", QUEUE, "-c", "fact", cwd=root)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "lore")
    git(tmp_path, "clone", "-q", str(root), "evil")
    (tmp_path / "evil/.engram.toml").write_text('[store]\nplacement = "dedicated"\nfolder = "src"\n')
    git(tmp_path / "evil", "commit", "-qam", "moved")
    git(root, "pull", "-q", str(tmp_path / "evil"))
    found = ok("status", "--json", cwd=root).json
    assert (found["store"]["folder"], found["store"]["placement"]) == ("lore", "in-tree")
    assert {one["key"] for one in found["settings"]["held_back"]} == {"store.folder", "store.placement"}
    assert ok("query", "queue consumer", "--json", cwd=root).json["lore"]
    # The link that a pull may bring in place of the file is not followed.
    (root / ".engram.toml").unlink()
    (tmp_path / "outside.toml").write_text('[store]\nfolder = "src"\n')
    (root / ".engram.toml").symlink_to(tmp_path / "outside.toml")
    said = ok("query", "queue consumer", "--json", cwd=root)
    assert "symbolic link" in said.err
    assert said.json["lore"]


def test_clone_refuses_a_remote_whose_lore_folder_is_outside_the_store(clones: Clones) -> None:
    for folder in ("../x", ".git", "lore/../.."):
        push_from_outside(
            clones.hub, clones.folder / "other", {".engram.toml": START.replace('"lore"', f'"{folder}"')}
        )
        refused = cli("clone", str(clones.hub), str(clones.folder / "new"))
        assert refused.code == 4
        assert "store.folder" in refused.err
        assert not (clones.folder / "new").exists()


def test_a_remote_cannot_delete_the_settings_file_of_a_store(clones: Clones) -> None:
    push_from_outside(clones.hub, clones.folder / "other", {".engram.toml": None})
    refused = cli("sync", cwd=clones.root("a"))
    assert refused.code == 4
    assert ".engram.toml" in refused.err
    assert (clones.root("a") / ".engram.toml").is_file()


def test_accepted_settings_are_read_without_parsing_the_file(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(clones.root("a"))
    state = os.path.join(root, ".git", "engram")
    accepted_settings.in_force(root, state)
    monkeypatch.setattr(config_file, "parse_leniently", None)
    monkeypatch.setattr(config_file, "parse", lambda raw, path: {})
    assert accepted_settings.in_force(root, state).settings.text("store.placement") == "dedicated"
