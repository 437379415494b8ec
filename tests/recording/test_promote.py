"""Promoting: the same entry in another scope, with its origin; later edits are merged by field; secrets are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from apikit import QUEUE, SECRET, TIDES, SetClock, cli, git, lore_files, make_plain_store, ok
from sync_kit import bare

import engram
from engram.adapters.files import places
from engram.adapters.files.frontmatter import origin
from engram.app import Engram
from engram.domain.errors import SecretFoundError, UsageError, ValidationError
from engram.usecases.opening.open_store import open_store
from engram.usecases.recording.edit import Edit
from engram.usecases.store.store import Caller

BODY = "Queue consumers must be idempotent.\n\nBrokers deliver twice.\n\nAcks come late."


class Desk:
    """A project and a team, seen by one person with one clock."""

    def __init__(self, folder: Path) -> None:
        self.clock = SetClock()
        self.root = make_plain_store(folder / "project")
        engram.add_scope("team-ml", str(bare(folder / "ml.git")))
        self.team = Path(places.team_store("team-ml"))

    def open(self, scope: str = "") -> Engram:
        self.clock.advance(minutes=1)
        store = open_store(None, Caller("s1", ""), scope=scope, working=str(self.root), clock=self.clock)
        return Engram(store, background=False)

    def promoted(self, lore_id: str, to: str = "team-ml", **options: bool) -> str:
        with self.open() as store:
            return store.promote(lore_id, to=to, **options)[0].status

    def edit(self, scope: str, lore_id: str, wanted: Edit) -> None:
        with self.open(scope) as store:
            store.edit(lore_id, wanted)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_the_copy_is_the_same_entry_with_its_confidence_and_its_origin(desk: Desk) -> None:
    with desk.open() as store:
        lore = store.record(
            BODY,
            category="WORKFLOW",
            context="load test",
            tags=["queue"],
            files="a.py",
            entities="outbox",
            pinned=True,
        ).lore
        store.feedback(helpful=lore.id)
        before = store.get(lore.id)
        done = store.promote(lore.id, to="team-ml")[0]
        assert (done.status, done.came_from, done.to, done.conflicts) == ("copied", "project", "team-ml", 0)
        assert store.get(lore.id).lore == before.lore, "the source stays as it is"
    with desk.open("team-ml") as store:
        copy = store.get(lore.id)
    assert copy.path == before.path
    kept = (
        "id",
        "content",
        "category",
        "type",
        "context",
        "tags",
        "files",
        "entities",
        "pinned",
        "created_at",
        "source_id",
    )
    assert all(getattr(copy.lore, name) == getattr(before.lore, name) for name in kept)
    assert (copy.lore.confidence, copy.lore.votes, copy.lore.validation_count) == (0.78, {}, 0)
    found = origin.origin_of((desk.team / copy.path).read_bytes())
    assert found is not None
    assert (found.scope, found.store, found.remote, found.id) == ("project", "project", "", lore.id)


def test_promoting_again_merges_new_changes_and_keeps_those_of_the_target(desk: Desk) -> None:
    with desk.open() as store:
        lore_id = store.record(BODY, category="FACT", tags=["queue"]).lore.id
    assert desk.promoted(lore_id) == "copied"
    assert desk.promoted(lore_id) == "unchanged"
    desk.edit("team-ml", lore_id, Edit(add_tags=("ops",), content=BODY.replace("late", "very late")))
    with desk.open("team-ml") as store:
        store.feedback(incorrect=lore_id)
    file = lore_files(desk.team)[0]
    file.write_text(file.read_text("utf-8").replace("category:", "owner: ops # us\ncategory:"), "utf-8")
    desk.edit("project", lore_id, Edit(add_tags=("retries",), content=BODY.replace("must be", "have to be")))
    assert desk.promoted(lore_id) == "merged"
    with desk.open("team-ml") as store:
        lore = store.get(lore_id).lore
    assert lore.content == BODY.replace("must be", "have to be").replace("late", "very late")
    assert set(lore.tags) == {"queue", "ops", "retries"}
    assert (lore.confidence, lore.conflicts) == (0.55, ())
    assert "owner: ops # us" in file.read_text("utf-8")
    assert file.read_text("utf-8").count("origin:") == 1
    assert desk.promoted(lore_id) == "unchanged"


def test_a_field_that_both_changed_keeps_both_versions(desk: Desk) -> None:
    with desk.open() as store:
        lore_id = store.record("Retry twice.", category="FACT").lore.id
    desk.promoted(lore_id)
    desk.edit("team-ml", lore_id, Edit(content="Retry three times."))
    desk.edit("project", lore_id, Edit(content="Never retry."))
    with desk.open() as store:
        done = store.promote(lore_id, to="team-ml")[0]
    assert (done.status, done.conflicts) == ("merged", 1)
    assert {done.lore.content, done.lore.conflicts[0].value} == {"Retry three times.", "Never retry."}
    assert "<<<<" not in lore_files(desk.team)[0].read_text("utf-8")


@pytest.mark.parametrize("edited", [False, True])
def test_another_machine_merges_as_well_without_the_last_copy_of_the_first(desk: Desk, edited: bool) -> None:
    """The origin tells whether the target still is the copy; if not, nothing of either side is lost."""
    with desk.open() as store:
        lore_id = store.record(BODY, category="FACT").lore.id
    desk.promoted(lore_id)
    with desk.open("team-ml") as store:
        store.feedback(helpful=lore_id)
    if edited:
        desk.edit("team-ml", lore_id, Edit(content="The team's own words."))
    desk.edit("project", lore_id, Edit(content="Shorter."))
    for kept in (desk.team / ".git/engram/promoted").iterdir():
        kept.unlink()
    with desk.open() as store:
        lore = store.promote(lore_id, to="team-ml")[0].lore
    assert {lore.content, *(lost.value for lost in lore.conflicts)} == (
        {"Shorter.", "The team's own words."} if edited else {"Shorter."}
    )
    assert lore.validation_count == 1


def test_two_people_who_promote_the_same_entry_do_not_disturb_each_other(desk: Desk, tmp_path: Path) -> None:
    with desk.open() as store:
        lore_id = store.record(BODY, category="FACT").lore.id
    with desk.open("team-ml") as store:
        store.sync()
    desk.promoted(lore_id)
    engram.add_scope("team-2", str(tmp_path / "ml.git"))
    os.rename(desk.root, tmp_path / "elsewhere")  # the other one's clone has another name
    desk.root = tmp_path / "elsewhere"
    desk.promoted(lore_id, to="team-2")
    for scope in ("team-ml", "team-2", "team-ml"):
        with desk.open(scope) as store:
            assert store.sync().conflicts == 0
            lore = store.get(lore_id).lore
    assert (lore.content, lore.conflicts) == (BODY, ())
    assert (
        lore_files(desk.team)[0].read_bytes() == lore_files(Path(places.team_store("team-2")))[0].read_bytes()
    )


def test_a_dry_run_returns_the_result_and_writes_nothing(desk: Desk) -> None:
    with desk.open() as store:
        lore_id = store.record(BODY, category="FACT").lore.id
    assert desk.promoted(lore_id, dry_run=True) == "copied"
    assert lore_files(desk.team) == []
    assert not (desk.team / ".git/engram/promoted").exists()


def test_a_secret_is_refused_and_nothing_of_the_call_is_written(desk: Desk) -> None:
    """A false alarm that one store allows is not allowed everywhere."""
    (desk.root / ".engram.toml").write_text(f'[secrets]\nallow = ["{SECRET}"]\n', "utf-8")
    with desk.open() as store:
        good = store.record(QUEUE, category="FACT").lore.id
        bad = store.record(f"The token {SECRET} is of the test server.", category="FACT").lore.id
        with pytest.raises(SecretFoundError) as caught:
            store.promote(good, bad, to="team-ml")
    assert "redact" not in caught.value.hint
    assert lore_files(desk.team) == []
    assert SECRET not in caught.value.message


def test_an_entry_that_cannot_be_promoted_is_an_error(desk: Desk, tmp_path: Path) -> None:
    with desk.open() as store:
        lore_id = store.record(QUEUE, category="FACT").lore.id
        with pytest.raises(UsageError, match="already in project"):
            store.promote(lore_id, to="project")
        with pytest.raises(UsageError, match="not a scope"):
            store.promote(lore_id, to="galaxy")
        with pytest.raises(UsageError, match="out of a session"):
            store.promote(lore_id, to="session")
    (desk.root / ".engram.toml").write_text('[store]\ncategories = { RUNBOOK = "procedural" }\n', "utf-8")
    with desk.open() as store:
        own = store.record(TIDES, category="RUNBOOK").lore.id
        with pytest.raises(ValidationError, match="RUNBOOK"):
            store.promote(own, to="team-ml")


def test_an_entry_is_promoted_from_the_session_to_the_project_and_on_from_there(desk: Desk) -> None:
    with desk.open("session") as store:
        lore_id = store.record(QUEUE, category="OBSERVATION").lore.id
    assert desk.promoted(lore_id, to="project") == "copied"
    assert desk.promoted(lore_id, to="user") == "copied"
    with desk.open() as store:
        hits = store.query("queue consumer patterns").lore
        assert [(hit.lore.id, hit.scope) for hit in hits] == [(lore_id, "session")]
    found = origin.origin_of(lore_files(desk.root)[0].read_bytes())
    assert found is not None
    assert (found.scope, found.store) == ("session", "session")


def test_the_command_line_commits_a_promotion_with_its_origin(desk: Desk, tmp_path: Path) -> None:
    ok("record", QUEUE, "-c", "fact", cwd=desk.root)
    ok("query", "queue consumer", cwd=desk.root)
    rows = ok("promote", "L1", "--to", "team-ml", "--json", cwd=desk.root).json["promoted"]
    assert [(row["status"], row["from"], row["to"]) for row in rows] == [("copied", "project", "team-ml")]
    assert git(desk.team, "log", "-1", "--format=%s").startswith("promote: Queue consumer patterns")
    assert "Engram-Origin: project" in git(desk.team, "log", "-1", "--format=%B")
    shown = ok("show", "L1", "--scope", "team-ml", "--json", cwd=desk.root).json["lore"]
    assert shown["promoted_from"]["store"] == "project"
    assert "origin   project (project)" in ok("show", "L1", "--scope", "team-ml", cwd=desk.root).out
    assert ok("show", "L1", "--json", cwd=desk.root).json["lore"]["promoted_from"] is None
    assert cli("promote", "L9", "--to", "team-ml", cwd=desk.root).code == 3
    assert cli("promote", "L1", cwd=desk.root).code == 2
    assert ok("sync", "--all", "--json", cwd=desk.root).json["pushed"] == 1


def test_the_address_in_an_origin_has_no_password(desk: Desk) -> None:
    os.rename(desk.root, desk.root.parent / "old")
    from apikit import dedicated

    dedicated(desk.root)
    git(desk.root, "remote", "add", "origin", "https://me:hunter2@example.org/lore.git")
    with desk.open() as store:
        store.promote(store.record(QUEUE, category="FACT").lore.id, to="team-ml")
    text = lore_files(desk.team)[0].read_text("utf-8")
    assert "example.org/lore.git" in text
    assert "hunter2" not in text
