"""Names of entities in texts are found as whole words and added to new entries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import open_test_store

from engram.domain.graph.entity import Entity
from engram.domain.graph.mentions import Names

if TYPE_CHECKING:
    from engram.app import Engram


KNOWN = Names([
    Entity("zookeeper", "ZooKeeper", "tool", ("zk", "Apache ZooKeeper")), Entity("spring", "Spring", "tool"),
    Entity("go", "Go", "tool"), Entity("kafka", "Kafka", "tool"), Entity("streams", "Kafka Streams", "tool"),
    Entity("cpp", "C++", "tool"), Entity("node", "Node.js", "tool"), Entity("net", ".NET", "tool"),
    Entity("ada", "Ada Lovelace", "person", ("@ada",)), Entity("one", "Mercury", "project"),
    Entity("two", "Mercurial", "tool", ("Mercury",)), Entity("beijing", "北京", "company"),
])  # fmt: skip


@pytest.mark.parametrize(
    ("text", "slugs"),
    [
        ("zookeeper and APACHE\nZooKeeper", ("zookeeper",)),
        ("We go on in spring. The zk of ZK", ("zookeeper",)),
        ("Spring is in Go.", ("spring", "go")),
        ("Kafka Streams, then kafka: both", ("streams", "kafka")),
        ("src/kafka/x.py, kafka-python, kafka.apache.org, kafka_topics, Kafkaesque", ()),
        ("`Kafka`'s (Kafka) [[Kafka]] Kafka.", ("kafka",)),
        ("C++, node.js and .NET; C alone, C+++", ("cpp", "node", "net")),
        ("Ask @ada or ada lovelace, not ada", ("ada",)),
        ("Mercury is ambiguous, Mercurial is not", ("two",)),
        ("我在 北京 住", ("beijing",)),
        ("", ()),
    ],
)
def test_known_names_are_found_as_whole_words(text: str, slugs: tuple[str, ...]) -> None:
    assert KNOWN.found_in(text) == slugs


def test_only_known_names_in_a_new_entry_are_added(root: Path, engram: Engram) -> None:
    assert engram.record("ZooKeeper before there was one", category="fact").lore.entities == ()
    engram.link_entity("ZooKeeper", type="tool", aliases=["zk"])
    found = engram.record("The zk ensemble of Kafka and zookeeper", category="fact", entities=["Kafka"]).lore
    assert found.entities == ("Kafka", "ZooKeeper")
    assert engram.record(
        "Again about zk and its ensemble", category="fact", entities=["zk"]
    ).lore.entities == ("zk",)
    note = root.parent / "note.md"
    note.write_text("# An old note\n\nOur ZooKeeper needs five nodes.\n", "utf-8")
    engram.import_markdown(str(note))
    assert engram.query("An old note five nodes").lore[0].lore.entities == ("ZooKeeper",)
    assert engram.import_markdown(str(note)).skipped == 1
    (root / ".engram.toml").write_text('[store]\nfolder = "lore"\n[graph]\ndetect = false\n', "utf-8")
    with open_test_store(root) as other:
        assert other.record("Elections of zk take ten seconds", category="fact").lore.entities == ()
