"""Entities in a store: linking from Python, the command line and the official MCP client; finding, checking, syncing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, SECRET, cli, dedicated, git, ok, opened, plain
from mcp_kit import inside, refused, text
from mcp_kit import ok as answered
from sync_kit import Clones

from engram.domain.errors import (
    AmbiguousError,
    NotFoundError,
    SecretFoundError,
    StoreError,
    UsageError,
    ValidationError,
)
from engram.domain.graph.entity import Relationship
from engram.usecases.graph.entities import list_entities, read_entities
from engram.usecases.store.commit import commit_pending
from engram.usecases.store.store import Clock
from engram.usecases.upkeep.doctor import doctor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.app import Engram


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plain(tmp_path / "store")


@pytest.fixture
def engram(root: Path) -> Iterator[Engram]:
    with opened(root) as engram:
        yield engram


def write(root: Path, name: str, content: str) -> None:
    file = root / "lore/entities" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, "utf-8")


# --- linking


def test_an_entity_is_made_changed_related_and_removed(root: Path, engram: Engram) -> None:
    made = engram.link_entity("ZooKeeper", type="tool", aliases="zk")
    assert (made.status, made.path, made.entity.slug) == (
        "created",
        "lore/entities/zookeeper.md",
        "zookeeper",
    )
    related = engram.link_entity(
        "Billing", type="project", to="ZK", kind="works on", since="2024-03", metadata={"owner": "ada"}
    )
    assert (related.other, related.made_other) == ("zookeeper", False)
    assert related.entity.relationships == (Relationship("works_on", "zookeeper", "2024-03"),)
    assert engram.link_entity("billing", to="zookeeper", kind="works_on").status == "unchanged"
    assert engram.link_entity("billing", to="zookeeper", kind="works_on", since="2025").status == "changed"
    assert engram.link_entity("billing", text="What we sell.", metadata={"owner": ""}).entity.metadata == ()
    assert (root / related.path).read_text("utf-8") == (
        "---\nname: Billing\ntype: project\nrelationships: [{kind: works_on, to: zookeeper, since: 2025}]\n"
        "updated_at: 2026-03-04T05:06:07.002Z\n---\n\nWhat we sell.\n"
    )
    gone = engram.link_entity("billing", to="zk", remove=True)
    assert (gone.status, gone.entity.relationships) == ("changed", ())
    assert engram.link_entity("zookeeper", aliases="zk", remove=True).entity.aliases == ()
    assert engram.link_entity("Billing", remove=True).status == "removed"
    assert [one.slug for one in engram.entities()] == ["zookeeper"]
    assert engram.link_entity("Kafka", to="Streams").made_other
    assert [one.slug for one in engram.entities()] == ["kafka", "streams", "zookeeper"]


def test_an_entry_names_its_entities_once(engram: Engram) -> None:
    lore = engram.record(QUEUE, category="fact").lore
    done = engram.link_entity("Message broker", aliases="broker", lore=lore.id)
    assert (done.lore, engram.get(lore.id).lore.entities) == (lore.id, ("Message broker",))
    assert engram.link_entity("broker", lore=lore.id).status == "unchanged"
    engram.link_entity("broker", lore=lore.id, remove=True)
    assert engram.get(lore.id).lore.entities == ()


def test_what_is_wrong_is_refused_and_writes_nothing(root: Path, engram: Engram) -> None:
    for wrong in ({"name": " "}, {"name": "X", "type": "fruit"}, {"name": "X", "to": "Y", "since": "soon"},
                  {"name": "X", "metadata": {"name": "Y"}}, {"name": "X", "aliases": ["a\x00"]}):  # fmt: skip
        with pytest.raises(ValidationError):
            engram.link_entity(**wrong)
    with pytest.raises(UsageError):
        engram.link_entity("X", kind="uses")
    with pytest.raises(UsageError):
        engram.link_entity("X", to="X")
    with pytest.raises(NotFoundError):
        engram.link_entity("X", remove=True)
    with pytest.raises(SecretFoundError):
        engram.link_entity("X", text=SECRET)
    assert not (root / "lore/entities").exists()
    write(root, "go.md", "---\nname: Go\n---\n")
    write(root, "golang.md", "---\nname: Golang\naliases: [GO]\n---\n")
    with pytest.raises(AmbiguousError):
        engram.link_entity("gO", type="tool")
    assert engram.entity("Go").slug == "go"
    write(root, "bad.md", "---\ntype: fruit\n---\n")
    with pytest.raises(StoreError, match=r"bad.md cannot be read: type must be one of"):
        engram.link_entity("Bad")


def test_one_commit_that_undo_and_redo_move(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    with opened(root, clock=Clock()) as engram:
        lore = engram.record(QUEUE, category="fact").lore
        engram.link_entity("ZooKeeper", to="Kafka", lore=lore.id)
        commit_pending(engram.store)
        files = git(root, "show", "--name-only", "--format=%s", "HEAD").splitlines()
        assert files[0] == f"link: kafka, zookeeper, {lore.id}"
        assert len(files) == 2 + 3
        engram.link_entity("ZooKeeper", type="tool")
        assert engram.undo().operations == ("link: zookeeper",)
        assert engram.entity("zookeeper").type == "concept"
        assert engram.redo().operations
        assert engram.entity("zookeeper").type == "tool"
        engram.undo(2)
        assert engram.entities() == ()
        assert engram.get(lore.id).lore.entities == ()
        write(root, "ada.md", "---\nname: Ada\ntype: person\n---\n")
        assert [one.slug for one in list_entities(engram.store)] == ["ada"]
        commit_pending(engram.store)
        assert git(root, "status", "--porcelain", "-uall") == ""
        assert git(root, "log", "-1", "--format=%s") == "edit by hand: lore/entities/ada.md"


# --- reading


def test_files_are_read_again_only_where_they_changed(root: Path) -> None:
    for name in ("a", "b", "c"):
        write(root, f"{name}.md", f"---\nname: {name.upper()}\n---\n")
        os.utime(root / f"lore/entities/{name}.md", (1_700_000_000, 1_700_000_000))
    (root / "lore/entities/bad.md").write_bytes(b"---\ntype: fruit\n---\n")
    write(root, "A.md", "---\nname: Other\n---\n")
    with opened(root, clock=Clock()) as engram:
        first = read_entities(engram.store)
        assert [one.slug for one in first.entities] == ["a", "b", "c"]
        assert [problem.path for problem in first.problems] == ["lore/entities/a.md", "lore/entities/bad.md"]
    with opened(root, clock=Clock()) as engram:  # another process
        cache = Path(engram.store.places.state, "entities.jsonl")
        kept = cache.read_text("utf-8")
        assert kept.count("\n") >= 3
        cache.write_text(kept.replace('"c","C"', '"c","From the cache"'), "utf-8")
        assert engram.entity("c").name == "From the cache"
        write(root, "c.md", "---\nname: Changed\n---\n")
        assert engram.entity("c").name == "Changed"
        (root / "lore/entities/c.md").unlink()
        assert engram.entity("c") is None
    for broken in ("", "[]", '[1,"lore/entities"]\n["b.md",[1]]\n', kept + '["b.md",[1'):
        with opened(root) as engram:
            cache.write_text(broken, "utf-8")
            assert [one.slug for one in engram.entities()] == ["a", "b"]


def test_links_out_of_the_store_are_not_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("---\nname: Outside\n---\n", "utf-8")
    write(root, "a.md", "---\nname: A\n---\n")
    (root / "lore/entities/x.md").symlink_to(outside / "x.md")
    (root / "lore/entities").joinpath(os.fsdecode(b"\xff.md")).write_bytes(b"---\nname: B\n---\n")
    with opened(root) as engram:
        assert [one.slug for one in engram.entities()] == ["a"]
        assert len(read_entities(engram.store).problems) == 2
        os.rename(root / "lore/entities", tmp_path / "moved")
        (root / "lore/entities").symlink_to(outside)
        assert engram.entities() == ()
        with pytest.raises(StoreError):
            engram.link_entity("B")
        assert engram.record("Outside of it all is Outside", category="fact").lore.entities == ()


# --- links


def test_links_resolve_to_entities_and_doctor_and_check_name_those_that_do_not(root: Path) -> None:
    write(
        root,
        "zookeeper.md",
        "---\nname: ZooKeeper\ntype: tool\naliases: [zk]\n---\nSee [[kafka]] and [[nowhere]].\n",
    )
    write(
        root,
        "kafka.md",
        "---\nname: Kafka\nrelationships: [{kind: uses, to: zk}, {kind: uses, to: disk}]\n---\n",
    )
    write(root, "one.md", "---\nname: Mercury\n---\n")
    write(root, "two.md", "---\nname: Mercurial\naliases: [mercury]\n---\n")
    write(root, "bad.md", "---\ntype: fruit\n---\n")
    with opened(root) as engram:
        engram.record(
            "[[zk]], [[ZooKeeper]], [[zoo-keeper]] and [[Kafka]] are all well but one", category="fact"
        )
        engram.record("[[MERCURY]] is not, nor is what is about it", category="fact", entities=["MERCURY"])
        found = [(one.kind, one.message) for one in doctor(engram.store) if one.kind in ("entity", "link")]
        remarks = [(one.kind, one.message) for one in engram.check().remarks]
    links = [
        "ambiguous link: MERCURY may mean lore/entities/one.md, lore/entities/two.md",
        "ambiguous link: [[MERCURY]] may mean lore/entities/one.md, lore/entities/two.md",
        "broken link: nothing here is called [[zoo-keeper]]",
        "broken link: no entity here is called disk (uses)",
        "broken link: nothing here is called [[nowhere]]",
    ]
    assert sorted(found) == sorted(
        [("entity", "type must be one of person, project, company, concept, tool, not 'fruit'")]
        + [("link", message) for message in links]
    )
    assert sorted(remarks) == sorted([("file", found[0][1])] + [("link", message) for message in links])
    assert cli("check", cwd=root).code == 1
    assert "lore/entities/bad.md:2" in cli("doctor", cwd=root).out
    assert "4 entities, 1 file with problems: engram doctor" in ok("status", cwd=root).out


def test_doctor_merges_an_entity_in_which_git_left_its_markers(root: Path) -> None:
    sides = [
        f"---\nname: ZooKeeper\naliases: [{alias}]\nupdated_at: 2026-03-0{day}T00:00:00Z\n---\n"
        for day, alias in ((1, "zk"), (2, "keeper"))
    ]
    write(root, "zookeeper.md", f"<<<<<<< ours\n{sides[0]}=======\n{sides[1]}>>>>>>> theirs\n")
    with opened(root) as engram:
        assert [one.kind for one in doctor(engram.store)] == ["file"]
        assert [one.fixed for one in doctor(engram.store, fix=True)] == [True]
        assert engram.entity("zk").aliases == ("keeper", "zk")


def test_an_entity_conflict_is_reported_but_is_not_an_error(root: Path) -> None:
    write(
        root,
        "a.md",
        '---\nname: A\nconflicts:\n  - field: name\n    value: B\n    from: X\n    at: ""\n---\n',
    )
    with opened(root) as engram:
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
async def test_an_agent_links_by_the_tool(root: Path) -> None:
    with opened(root) as engram:
        lore = engram.record(QUEUE, category="fact").lore.id
    async with inside(root, sets=("graph",)) as client:
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
    with opened(root) as engram:
        assert engram.get(lore).lore.entities == ("Broker",)


# --- two clones


def test_two_clones_that_change_one_entity_end_in_the_same_bytes_by_sync_and_by_git(tmp_path: Path) -> None:
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
