"""A small store with a graph: entities with files, names without files, and entries about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apikit import make_plain_store, open_test_store

if TYPE_CHECKING:
    from pathlib import Path

ENTITIES = {
    "ada": "name: Ada\ntype: person\nrelationships: [{kind: owns, to: billing, since: 2023-05-01}]",
    "billing": "name: Billing\ntype: project\nrelationships: [{kind: uses, to: queue, since: 2024-01-01}]",
    "queue": "name: The Queue\ntype: tool\naliases: [message queue]\nrelationships: [{kind: runs_on, to: zookeeper}]",
    "queue-2": "name: Old Queue\ntype: tool\naliases: [broker]",
    "queue-3": "name: Older Queue\ntype: tool\naliases: [broker]",
    "zookeeper": "name: ZooKeeper\ntype: tool",
}


def entity(root: Path, slug: str, fields: str) -> None:
    folder = root / "lore/entities"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{slug}.md").write_text(f"---\n{fields}\n---\n\nWhat is said of it.\n", "utf-8")


def fill(root: Path) -> Path:
    """Make a store in which Ada owns Billing, which uses the queue, which runs on ZooKeeper, with entries about them."""
    make_plain_store(root)
    for slug, fields in ENTITIES.items():
        entity(root, slug, fields)
    with open_test_store(root) as engram:
        queue = engram.record(
            "Consumers must be idempotent.", category="fact", entities=["message queue", "Redis"]
        )
        engram.record(
            "The quorum is lost when [[the queue]] floods it.", category="fact", entities=["ZooKeeper"],
            relations=[("see_also", queue.lore.id)],
        )  # fmt: skip
        engram.record(
            "It runs at six. [[Consumers must be idempotent.]]", category="fact", entities=["billing"]
        )
        engram.record("Nobody is named here.", category="fact")
        engram.record("Redis waits for a person.", category="fact", entities=["Redis"], status="pending")
    return root


def write_entity(root: Path, name: str, content: str) -> None:
    """Write the file of an entity."""
    file = root / "lore/entities" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, "utf-8")
