"""Entities in a store: found, checked and synced; from Python, the command line and the official MCP client."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, cli, git, ok, open_test_store
from graph_kit import write_entity
from mcp_kit import connect_inside, refused, text
from mcp_kit import ok as answered
from sync_kit import Clones

from engram.domain.errors import StoreError
from engram.usecases.graph.entities import read_entities
from engram.usecases.store.commit import commit_pending
from engram.usecases.store.store import Clock
from engram.usecases.upkeep.doctor import doctor

if TYPE_CHECKING:
    from engram.app import Engram


# --- reading


def test_files_are_read_again_only_if_they_changed(root: Path) -> None:
    for name in ("a", "b", "c"):
        write_entity(root, f"{name}.md", f"---\nname: {name.upper()}\n---\n")
        os.utime(root / f"lore/entities/{name}.md", (1_700_000_000, 1_700_000_000))
    (root / "lore/entities/bad.md").write_bytes(b"---\ntype: fruit\n---\n")
    write_entity(root, "A.md", "---\nname: Other\n---\n")
    with open_test_store(root, clock=Clock()) as engram:
        first = read_entities(engram.store)
        assert [one.slug for one in first.entities] == ["a", "b", "c"]
        assert [problem.path for problem in first.problems] == ["lore/entities/a.md", "lore/entities/bad.md"]
    with open_test_store(root, clock=Clock()) as engram:  # another process
        cache = Path(engram.store.places.state, "entities.jsonl")
        cached = cache.read_text("utf-8")
        assert cached.count("\n") >= 3
        cache.write_text(cached.replace('"c","C"', '"c","From the cache"'), "utf-8")
        assert engram.entity("c").name == "From the cache"
        write_entity(root, "c.md", "---\nname: Changed\n---\n")
        assert engram.entity("c").name == "Changed"
        (root / "lore/entities/c.md").unlink()
        assert engram.entity("c") is None
    for broken in ("", "[]", '[1,"lore/entities"]\n["b.md",[1]]\n', cached + '["b.md",[1'):
        with open_test_store(root) as engram:
            cache.write_text(broken, "utf-8")
            assert [one.slug for one in engram.entities()] == ["a", "b"]


def test_symlinks_out_of_the_store_are_not_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("---\nname: Outside\n---\n", "utf-8")
    write_entity(root, "a.md", "---\nname: A\n---\n")
    (root / "lore/entities/x.md").symlink_to(outside / "x.md")
    (root / "lore/entities").joinpath(os.fsdecode(b"\xff.md")).write_bytes(b"---\nname: B\n---\n")
    with open_test_store(root) as engram:
        assert [one.slug for one in engram.entities()] == ["a"]
        assert len(read_entities(engram.store).problems) == 2
        os.rename(root / "lore/entities", tmp_path / "moved")
        (root / "lore/entities").symlink_to(outside)
        assert engram.entities() == ()
        with pytest.raises(StoreError):
            engram.link_entity("B")
        assert engram.record("Outside of it all is Outside", category="fact").lore.entities == ()


def test_an_entity_conflict_is_reported_but_is_not_an_error(root: Path) -> None:
    write_entity(
        root,
        "a.md",
        '---\nname: A\nconflicts:\n  - field: name\n    value: B\n    from: X\n    at: ""\n---\n',
    )
    with open_test_store(root) as engram:
        assert engram.check().remarks == ()
        assert engram.entity("a").name == "A"
    done = cli("doctor", cwd=root)
    assert (done.code, "lore/entities/a.md: it has two versions of name" in done.out) == (0, True)


# --- the command line and the tool


def test_the_command_line_links_and_lists(root: Path, engram: Engram) -> None:
    assert ok("link", cwd=root).out.startswith("No entities yet.")
    done = ok("link", "ZooKeeper", "--type", "tool", "--alias", "zk", "--set", "port=2181", cwd=root)
    assert done.out == "created  zookeeper  tool  ZooKeeper\nlore/entities/zookeeper.md\n"
    done = ok(
        "link", "Billing", "--to", "zk", "--kind", "uses", "--since", "2024-03-01", "--json", cwd=root
    ).json
    assert done["entity"]["relationships"] == [{"kind": "uses", "to": "zookeeper", "since": "2024-03-01"}]
    assert ok("link", "--type", "tool", cwd=root).out == "zookeeper                tool     ZooKeeper (zk)\n"
    listed = ok("link", "--json", cwd=root).json
    assert [one["metadata"] for one in listed["entities"]] == [{}, {"port": "2181"}]
    assert ok("link", "zk", "--remove", cwd=root).out.startswith("removed  zookeeper")
    assert cli("link", "--alias", "x", cwd=root).code == cli("link", "X", "--set", "port", cwd=root).code == 2
    assert cli("link", "nobody", "--remove", cwd=root).code == 3
    assert [one.slug for one in engram.entities()] == ["billing"]


@pytest.mark.anyio
async def test_an_agent_links_entities_with_the_mcp_tool(root: Path) -> None:
    with open_test_store(root) as engram:
        lore = engram.record(QUEUE, category="fact").lore.id
    async with connect_inside(root, sets=("graph",)) as client:
        assert "link_entity" in [tool.name for tool in (await client.list_tools()).tools]
        made = await answered(client, "link_entity", name="Broker", type="tool", aliases="mq", lore=lore)
        assert made == {
            "status": "created",
            "slug": "broker",
            "name": "Broker",
            "type": "tool",
            "aliases": ["mq"],
            "lore": lore,
        }
        done = await client.call_tool(
            "link_entity", {"name": "Billing", "type": "project", "to": "mq", "kind": "uses", "since": "2024"}
        )
        assert text(done) == "created: billing (project) Billing\nuses broker 2024"
        assert done.structured_content["relationships"] == [{"kind": "uses", "to": "broker", "since": "2024"}]
        assert "'person', 'project'" in await refused(client, "link_entity", name="X", type="fruit")
        assert "No entity is called" in await refused(client, "link_entity", name="X", remove=True)
        assert (await answered(client, "link_entity", name="mq", remove=True))["status"] == "removed"
    with open_test_store(root) as engram:
        assert engram.get(lore).lore.entities == ("Broker",)


# --- two clones


def test_sync_and_git_merge_changes_of_an_entity_to_the_same_bytes(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    clones["a"].link_entity("ZooKeeper", aliases=["zk"], text="One.\n\nTwo.")
    clones.settle()
    clones.edit("a", "lore/entities/zookeeper.md", "One.", "1.")
    clones.edit("b", "lore/entities/zookeeper.md", "Two.", "2.")
    clones["a"].link_entity("zk", type="tool", to="Kafka", kind="coordinates")
    clones.clock.advance(seconds=1)
    clones["b"].link_entity("zk", aliases=["keeper"], metadata={"port": "2181"}, to="Disk", kind="needs")
    for name in "ab":
        commit_pending(clones[name].store)
        assert git(clones.root(name), "status", "--porcelain", "-uall") == ""
    heads = [git(clones.root(name), "rev-parse", "HEAD") for name in "ab"]
    clones.settle()
    clones.assert_equal()
    assert [clones[name].entity("zk") for name in "ab"] == [clones["a"].entity("keeper")] * 2
    merged = (clones.root("b") / "lore/entities/zookeeper.md").read_bytes()
    assert merged.decode() == (
        "---\nname: ZooKeeper\ntype: tool\naliases: [zk, keeper]\n"
        'relationships: [{kind: coordinates, to: kafka}, {kind: needs, to: disk}]\nport: "2181"\n'
        f"updated_at: {clones.clock.now():%Y-%m-%dT%H:%M:%SZ}\n---\n\n1.\n\n2.\n"
    )
    assert not [one for one in doctor(clones["a"].store) if one.kind in ("file", "entity", "link")]
    git(tmp_path, "clone", "-q", str(clones.hub), "plain")
    other = tmp_path / "plain"
    ok("init", cwd=other)
    git(other, "reset", "-q", "--hard", heads[0])
    git(other, "merge", "-q", "--no-edit", heads[1])
    assert (other / "lore/entities/zookeeper.md").read_bytes() == merged
