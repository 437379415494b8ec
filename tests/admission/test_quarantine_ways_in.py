"""Quarantined lore in other parts of Engram that could release it: review, folding, briefs, branches, moves, scopes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, cli, git, ok, open_test_store, repository

from engram.usecases.agents.auto_recall import recall_for_files
from engram.usecases.agents.brief import brief
from tests.admission.test_quarantine import NOTE, hold, learn, titles, waiting

if TYPE_CHECKING:
    from sync_kit import Clones


def foreign_items(root: Path) -> list[dict[str, object]]:
    return [one for one in ok("review", "--json", cwd=root).json["items"] if one["kind"] == "foreign"]


def test_review_shows_quarantined_entries_and_accepting_one_releases_it(clones: Clones, home: Path) -> None:
    hold(home, "foreign")
    lore_id, root = learn(clones), clones.root("a")
    ok("sync", cwd=root)
    [item] = foreign_items(root)
    assert item["lore"] == [lore_id]
    ok("review", "accept", str(item["id"]), cwd=root)
    assert (foreign_items(root), waiting(root), titles(root)) == ([], [], [NOTE])


def test_review_can_reject_a_quarantined_entry(clones: Clones, home: Path) -> None:
    hold(home, "foreign")
    learn(clones)
    root = clones.root("a")
    ok("sync", cwd=root)
    [item] = foreign_items(root)
    ok("review", "reject", str(item["id"]), "--yes", cwd=root)
    assert (foreign_items(root), waiting(root)) == ([], [])
    assert NOTE not in [one["title"] for one in ok("list", "--json", cwd=root).json["lore"]]


def test_a_quarantined_entry_is_one_decision_even_if_it_is_also_weak(clones: Clones, home: Path) -> None:
    hold(home, "foreign")
    text = "Restarting the broker may help a little."
    lore_id = clones["b"].record(text, category="fact", confidence=0.1).lore.id
    clones.sync("b")
    root = clones.root("a")
    ok("sync", cwd=root)

    def kinds() -> list[object]:
        items = ok("review", "--json", cwd=root).json["items"]
        return [one["kind"] for one in items if lore_id in one["lore"]]

    assert kinds() == ["foreign"]
    ok("trust", "accept", lore_id, cwd=root)
    assert kinds() == ["stale", "weak"]  # the clones live in another time


def test_a_quarantined_entry_is_not_promoted(clones: Clones, home: Path) -> None:
    hold(home, "foreign")
    lore_id, root = learn(clones), clones.root("a")
    ok("sync", cwd=root)
    done = cli("promote", lore_id, "--to", "user", cwd=root)
    assert done.code == 2
    assert "is quarantined and cannot be promoted" in done.err
    assert f"engram trust accept {lore_id}" in done.err


def test_a_quarantined_entry_is_not_folded_into_an_equal_one(clones: Clones, home: Path) -> None:
    root = clones.root("a")
    ok("record", NOTE, "-c", "fact", cwd=root)
    learn(clones)
    hold(home, "foreign")
    done = ok("sync", "--json", cwd=root).json
    assert (done["held"], done["folded"], done["alike"]) == (1, 0, [])
    assert not [one for one in ok("review", "--json", cwd=root).json["items"] if one["kind"] == "duplicate"]


def test_no_brief_and_no_hook_shows_a_quarantined_entry(clones: Clones, home: Path) -> None:
    hold(home, "foreign")
    clones["b"].record(NOTE, category="fact", files=["src/door.py"])
    clones.sync("b")
    root = clones.root("a")
    ok("sync", cwd=root)
    with open_test_store(root) as engram:
        assert NOTE not in brief(engram.store, str(root))
        assert recall_for_files(engram.store, ["src/door.py"]) == ""
    ok("trust", "accept", "--all", cwd=root)
    with open_test_store(root) as engram:
        assert NOTE in recall_for_files(engram.store, ["src/door.py"])


@pytest.fixture
def shared(tmp_path: Path) -> tuple[Path, Path]:
    """A code repository with lore on its branch, sent to a hub, and a second clone of the code without a store."""
    first = repository(tmp_path / "first")
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "hub.git")
    git(first, "remote", "add", "origin", "../hub.git")
    git(first, "push", "-q", "origin", "HEAD:main")
    ok("init", cwd=first)
    ok("record", QUEUE, "-c", "fact", cwd=first)
    ok("sync", cwd=first)
    git(tmp_path, "clone", "-q", "hub.git", "second")
    return first, tmp_path / "second"


def test_entries_of_a_branch_that_init_fetches_are_quarantined(shared: tuple[Path, Path], home: Path) -> None:
    hold(home, "foreign")
    second = shared[1]
    assert "Taken from origin." in ok("init", cwd=second).out
    assert (len(waiting(second)), titles(second, "queue consumer")) == (1, [])
    ok("trust", "accept", "--all", cwd=second)
    assert len(titles(second, "queue consumer")) == 1


def test_settings_from_a_branch_need_acceptance_even_after_a_move(
    shared: tuple[Path, Path], tmp_path: Path
) -> None:
    first, second = shared
    ok("init", cwd=second)
    ok("config", "secrets.allow", '["anything-goes"]', cwd=first)
    ok("sync", cwd=first)
    assert "secrets.allow" in " ".join(ok("sync", "--json", cwd=second).json["notes"])
    ok("move", str(tmp_path / "apart"), "--to", "dedicated", "--yes", cwd=second)
    found = ok("status", "--json", cwd=tmp_path / "apart").json
    assert found["store"]["placement"] == "dedicated"
    assert [one["key"] for one in found["settings"]["held_back"]] == ["secrets.allow"]


def test_an_unsigned_merge_by_a_host_is_quarantined_even_if_engram_repairs_it(
    clones: Clones, home: Path
) -> None:
    lore_id, root = learn(clones), clones.root("a")
    ok("sync", cwd=root)
    other = clones.root("b")
    path = ok("show", lore_id, "--json", cwd=other).json["lore"]["path"]
    git(other, "checkout", "-qb", "topic")
    (other / path).write_text((other / path).read_text().replace("Mondays", "Tuesdays"), "utf-8")
    git(other, "commit", "-qam", "topic")
    git(other, "checkout", "-q", "main")
    git(other, "commit", "-q", "--allow-empty", "-m", "main goes on")
    git(other, "merge", "-q", "--no-ff", "-m", "by a host", "topic")
    git(other, "push", "-q", "origin", "main")
    hold(home, "unsigned")
    assert ok("sync", "--json", cwd=root).json["held"] == 1
    assert waiting(root) == [lore_id]
