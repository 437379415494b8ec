"""Entities are created, changed, related and removed; invalid requests are refused; each call is one commit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, SECRET, dedicated, git, open_test_store
from graph_kit import write_entity

from engram.domain.errors import (
    AmbiguousError,
    NotFoundError,
    SecretFoundError,
    StoreError,
    UsageError,
    ValidationError,
)
from engram.domain.graph.entity import Relationship
from engram.usecases.graph.entities import list_entities
from engram.usecases.store.commit import commit_pending
from engram.usecases.store.store import Clock

if TYPE_CHECKING:
    from engram.app import Engram


def test_an_entity_is_created_changed_related_and_removed(root: Path, engram: Engram) -> None:
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
    unlinked = engram.link_entity("billing", to="zk", remove=True)
    assert (unlinked.status, unlinked.entity.relationships) == ("changed", ())
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


def test_invalid_requests_are_refused_and_write_nothing(root: Path, engram: Engram) -> None:
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
    write_entity(root, "go.md", "---\nname: Go\n---\n")
    write_entity(root, "golang.md", "---\nname: Golang\naliases: [GO]\n---\n")
    with pytest.raises(AmbiguousError):
        engram.link_entity("gO", type="tool")
    assert engram.entity("Go").slug == "go"
    write_entity(root, "bad.md", "---\ntype: fruit\n---\n")
    with pytest.raises(StoreError, match=r"bad.md cannot be read: type must be one of"):
        engram.link_entity("Bad")


def test_a_request_is_one_commit_that_can_be_undone_and_redone(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    with open_test_store(root, clock=Clock()) as engram:
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
        write_entity(root, "ada.md", "---\nname: Ada\ntype: person\n---\n")
        assert [one.slug for one in list_entities(engram.store)] == ["ada"]
        commit_pending(engram.store)
        assert git(root, "status", "--porcelain", "-uall") == ""
        assert git(root, "log", "-1", "--format=%s") == "edit by hand: lore/entities/ada.md"
