"""Entities with two versions from a merge are in the review queue, and either version can be kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SetClock, make_plain_store, ok, open_test_store
from effort import sampled
from mcp_kit import connect_inside, refused
from mcp_kit import ok as answered
from sync_kit import Clones
from textual.widgets import TextArea
from tui_kit import NARROW, run_app

from engram.domain.entry.lore import Conflict
from engram.domain.errors import ConflictError, UsageError, ValidationError
from engram.domain.graph.entity import Entity, Relationship
from engram.domain.merge.entity_versions import take_version
from engram.domain.review.review import ACCEPT, ARCHIVE, ENTITY, SNOOZE, TAKE
from engram.usecases.graph import entity_conflicts
from engram.usecases.review.review import find_item
from engram_tui.shell.editing import TextEditor

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.review.review import Item

QUEUE = "---\nname: Queue\ntype: {}\nport: {}\n---\n\nIt {}.\n"
CONFLICTS = """conflicts:
  - field: name
    value: Job queue
    from: P3ZD0000
    at: "2026-03-04T10:00:00Z"
---
"""


def item_of(store: Engram) -> Item:
    found = store.review(kinds=ENTITY)
    assert (found.total, found.by_kind) == (1, {ENTITY: 1})
    return found.items[0]


def write(clones: Clones, name: str, slug: str, text: str) -> None:
    """Write an entity's file as a person would."""
    clones.clock.advance(seconds=1)
    path = clones.root(name) / "lore" / "entities" / f"{slug}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    """Make a store with an entity that has two versions of its name."""
    store = open_test_store(make_plain_store(tmp_path), clock=SetClock())
    store.link_entity("Queue", type="tool", aliases=["mq"], text="It is drained at six.")
    path = tmp_path / "lore" / "entities" / "queue.md"
    path.write_bytes(path.read_bytes().replace(b"---\n\n", CONFLICTS.encode() + b"\n", 1))
    return store


def test_an_entity_conflict_is_listed_and_either_version_can_be_kept(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    for slug in ("queue", "gone", "kept"):
        write(clones, "a", slug, QUEUE.format("concept", 1, "runs"))
    clones.settle()
    write(clones, "a", "queue", QUEUE.format("tool", 2, "runs at six"))
    for slug in ("gone", "kept"):
        clones.root("a").joinpath(f"lore/entities/{slug}.md").unlink()
    for slug in ("queue", "gone", "kept"):
        write(clones, "b", slug, QUEUE.format("project", 3, "runs at seven"))
    clones.settle()
    a, b = clones["a"], clones["b"]
    gone, kept, item = a.review(kinds=ENTITY).items
    assert [one.id for one in b.review(kinds=ENTITY).items] == [gone.id, kept.id, item.id]
    assert (item.title, item.lore, item.paths) == ("Queue", (), ("lore/entities/queue.md",))
    assert item.why == "Two clones changed its content, port, type concurrently."
    assert gone.why == kept.why == "One clone deleted it while another changed it."
    assert a.review(kinds=ENTITY, categories="fact").total == 0
    before = a.entity("queue")
    planned = a.decide(item, TAKE, dry_run=True).entities["queue"]
    done = a.decide(item, TAKE)
    assert done.wrote
    assert done.entities["queue"] == planned == a.entity("queue")
    assert {before.type, planned.type} == {"tool", "project"}
    assert {before.metadata, planned.metadata} == {(("port", "2"),), (("port", "3"),)}
    assert {before.content, planned.content} == {"It runs at six.", "It runs at seven."}
    a.undo()
    assert a.entity("queue") == before
    a.decide(find_item(a.store, item.id), TAKE)
    assert a.decide(gone, TAKE).entities == {"gone": None}
    assert a.decide(kept, ACCEPT).entities.keys() == {"kept"}
    clones.settle()
    clones.assert_equal()
    assert b.review(kinds=ENTITY).total == 0
    assert {one.slug: one.type for one in b.entities()} == {"kept": "project", "queue": planned.type}


def test_the_present_version_can_be_confirmed_snoozed_or_edited(store: Engram) -> None:
    item = item_of(store)
    assert item.evidence == ("name by P3ZD0000: Job queue",)
    with pytest.raises(UsageError):
        store.decide(item, ARCHIVE)
    put_off = store.decide(item, SNOOZE)
    assert store.review(kinds=ENTITY).total == 0
    store.ask_again(put_off)
    path = item.paths[0]
    before = store.store.files.read(path)
    with pytest.raises(ValidationError):
        entity_conflicts.rewrite(store.store, path, before, b"---\ntype: fruit\n---\n")
    made = entity_conflicts.rewrite(store.store, path, before, before.replace(b"mq", b"jobs"))
    assert made.aliases == ("jobs",)
    with pytest.raises(ConflictError):
        entity_conflicts.rewrite(store.store, path, before, before.replace(b"mq", b"x"))
    assert store.decide(item_of(store), ACCEPT).entities == {"queue": made}
    assert store.review(kinds=ENTITY).total == 0
    assert b"conflicts" not in store.store.files.read(path)


def said(field: str, value: str, at: str = "") -> Conflict:
    return Conflict(field, value, "P3ZD0000", at)


def test_each_field_of_the_other_version_can_be_taken() -> None:
    uses = (Relationship("uses", "disk", "2024"), Relationship("owns", "ada"))
    entity = Entity("queue", "Queue", "tool", ("mq",), uses, (("port", "1"),))
    found = take_version(
        entity,
        [
            said("name", "Newest", "2026-02"), said("name", "Older", "2026-01"), said("aliases", "a\nb"),
            said("relationships", "uses disk 2023-05"), said("relationships", "owns ada 2022"),
            said("port", ""), said("host", "db1"), said("content", "It runs."), said("type", "project"),
        ],
    )  # fmt: skip
    ways = (Relationship("uses", "disk", "2023-05"), Relationship("owns", "ada", "2022"))
    assert found == Entity("queue", "Newest", "project", ("a", "b"), ways, (("host", "db1"),), "It runs.")
    every = take_version(entity, [said("relationships", "uses job queue\nowns ada 2021")])
    assert every is not None
    assert every.relationships == (Relationship("uses", "job queue"), Relationship("owns", "ada", "2021"))
    for field, value in (("file", "<<<"), ("ports", "ports: [1, 2]"), ("relationships", "uses nothing")):
        with pytest.raises(UsageError):
            take_version(entity, [said(field, value)])


def test_the_command_line_decides_about_an_entity(store: Engram) -> None:
    root = store.store.places.root
    listed = ok("review", cwd=root).out
    assert ok("review", "--category", "fact", cwd=root).out == "Nothing that matches waits for you.\n"
    assert "Two clones changed its name concurrently." in listed
    assert "lore/entities/queue.md · proposed: accept" in listed
    done = ok("review", "take", "--kind", "entity", "--all", "--yes", "--json", cwd=root).json["decided"][0]
    assert (done["lore"], done["entities"]["queue"]["name"]) == ({}, "Job queue")
    assert ok("review", cwd=root).out == "Nothing waits for you.\n"
    Path(root, "lore", "broken.md").write_text("---\nid: [\n---\nNobody can read it.\n", "utf-8")
    assert "lore/broken.md · proposed: edit" in ok("review", cwd=root).out


@pytest.mark.anyio
async def test_no_agent_decides_about_an_entity(store: Engram) -> None:
    item = item_of(store).id
    async with connect_inside(Path(store.store.places.root), sets=("curate",)) as client:
        assert await answered(client, "review_memories") == {}
        assert "waits for a person" in await refused(client, "review_memories", item=item, decision="take")


@pytest.mark.anyio
@sampled(("key", "name"), [("i", "Queue"), ("t", "Job queue")])
async def test_the_app_shows_both_versions_and_takes_a_decision_back(
    store: Engram, key: str, name: str
) -> None:
    async with run_app(store, NARROW) as user:
        await user.press("2")
        await user.sees_text("● entity")
        await user.press("enter")
        await user.sees_text("Two clones changed its name concurrently.", "name: Queue", "name: Job queue")
        await user.press(key)
        await user.sees(lambda: store.review(kinds=ENTITY).total == 0)
        assert store.entity("queue").name == name
        await user.sees(lambda: user.toasts())


@pytest.mark.anyio
async def test_the_app_has_files_of_entities_mended(store: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    root = Path(store.store.places.root, "lore", "entities")
    (root / "disk.md").write_text("---\nname: Disk\ntype: fruit\n---\n", "utf-8")
    store.decide(item_of(store), SNOOZE)
    async with run_app(store, NARROW) as user:
        await user.press("2")
        await user.sees_text("problem")
        await user.press("enter")
        await user.sees_text("type must be one of", "lore/entities/disk.md", "type: fruit")
        await user.press("e")
        await user.sees(lambda: isinstance(user.app.screen, TextEditor))
        user.app.screen.query_one(TextArea).load_text("---\nname: Disk\ntype: tool\n---\n")
        await user.press("ctrl+s")
        await user.sees(lambda: store.review().total == 0)
        assert store.entity("disk").type == "tool"
        assert b"\nid:" not in (root / "disk.md").read_bytes()
        await user.sees(lambda: user.toasts())
