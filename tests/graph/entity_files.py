"""An entity's file written by hand, and strategies for arbitrary entities."""

from __future__ import annotations

from datetime import datetime

import hypothesis.strategies as st

from engram.adapters.files.frontmatter import entity_file
from engram.adapters.files.frontmatter.named_file import FileContents
from engram.domain.graph.entity import TYPES, Entity, Relationship
from engram.domain.graph.entity_rules import OWN_KEYS

PATH = "lore/entities/zookeeper.md"
BY_HAND = b"""---
# ours since the split
name: ZooKeeper   # one word
type: tool
aliases:
  - zk
  - Apache ZooKeeper
owner: {team: [ada, bob]}
relationships:
  - kind: uses
    to: outbox
    since: 2024-01
---

Coordinates the brokers.

See [[outbox]].
"""

_LETTERS = "ab1 é:#[]{}'\"-,~&*!|>%@`\\"
_words = st.text(_LETTERS, min_size=1, max_size=12).map(str.strip).filter(bool)
_slugs = st.sampled_from(["outbox", "billing", "ada", "c-2"])
_relationships = st.builds(
    Relationship, st.sampled_from(["uses", "works_on"]), _slugs, st.sampled_from(["", "2024", "2024-02-29"])
)
_keys = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,8}", fullmatch=True).filter(lambda key: key not in OWN_KEYS)
_texts = st.text(_LETTERS + "\n", max_size=40).map(str.strip)
entities = st.builds(
    Entity, st.just("zookeeper"), _words, st.sampled_from(TYPES),
    st.lists(_words, max_size=3, unique=True).map(tuple),
    st.lists(_relationships, max_size=3, unique_by=lambda link: link[:2]).map(tuple),
    st.dictionaries(_keys, _texts.filter(bool), max_size=3).map(lambda found: tuple(found.items())),
    _texts.map(lambda text: text if text == " ".join(text.split()) else "Two\n\nparagraphs."),
)  # fmt: skip


def read(raw: bytes) -> FileContents:
    return entity_file.read(raw, PATH)


def edited(raw: bytes, entity: Entity, stamp: datetime | None) -> bytes:
    return entity_file.rewrite(raw, PATH, FileContents(entity, stamp, read(raw).conflicts))


BASE = Entity(
    "zookeeper", "Zookeeper", "concept", ("zk", "old"), (Relationship("uses", "disk"), Relationship("part_of", "queue", "2023")),
    (("owner", "ada"), ("home", "x")), "One.\n\nTwo.",
)  # fmt: skip
