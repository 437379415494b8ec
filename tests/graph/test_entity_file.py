"""Files of entities: reading, refusals, and edits that change only what differs."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from merge_kit import quick

from engram.adapters.files.frontmatter import entity_file
from engram.domain.errors import LoreFileError, ValidationError
from engram.domain.graph.entity import Entity, Relationship
from engram.domain.graph.entity_rules import OWN_KEYS
from tests.graph.entity_files import BASE, BY_HAND, edited, entities, read

EARLY = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LATE = EARLY + timedelta(days=2)


def test_an_alias_may_end_with_a_quotation_mark() -> None:
    screen = BASE._replace(aliases=('27"', "screen"))
    assert read(entity_file.write_new(screen, EARLY)).record.aliases == ('27"', "screen")


@quick
@given(entities, entities)
def test_files_and_edits_of_entities_round_trip(one: Entity, other: Entity) -> None:
    raw = entity_file.write_new(one, EARLY)
    file = read(raw)
    assert (file.record, file.updated_at) == (one, EARLY)
    assert edited(raw, one, EARLY) == raw
    again = read(edited(raw, other, LATE))
    assert again.record._replace(metadata=()) == other._replace(metadata=())
    assert dict(again.record.metadata) == dict(other.metadata)
    assert again.updated_at == LATE


def test_an_edit_changes_only_the_lines_that_differ() -> None:
    file = read(BY_HAND)
    assert file.record == Entity(
        "zookeeper", "ZooKeeper", "tool", ("zk", "Apache ZooKeeper"), (Relationship("uses", "outbox", "2024-01"),),
        (("owner", '{"team": ["ada", "bob"]}'),), "Coordinates the brokers.\n\nSee [[outbox]].",
    )  # fmt: skip
    changed = edited(BY_HAND, file.record._replace(type="project"), EARLY)
    assert changed == BY_HAND.replace(b"type: tool\n", b"type: project\n").replace(
        b"[ada, bob]}\n", b"[ada, bob]}\nupdated_at: 2026-03-04T05:06:07Z\n"
    )
    crlf = BY_HAND.replace(b"\n", b"\r\n")
    with_alias = file.record._replace(aliases=("zk",))
    assert edited(crlf, with_alias, None).replace(b"\r\n", b"\n") == BY_HAND.replace(
        b"aliases:\n  - zk\n  - Apache ZooKeeper\n", b"aliases: [zk]\n"
    )


def test_a_file_without_frontmatter_is_an_entity_and_gains_only_needed_fields() -> None:
    raw, path = b"What we know of it.\n", "lore/entities/Big Data.md"
    file = entity_file.read(raw, path)
    assert file.record == Entity("big-data", "Big Data", "concept", content="What we know of it.")
    wanted = file._replace(record=file.record._replace(aliases=("data lake",)), updated_at=EARLY)
    done = entity_file.rewrite(raw, path, wanted)
    assert (
        done == b"---\naliases: [data lake]\nupdated_at: 2026-03-04T05:06:07Z\n---\n\nWhat we know of it.\n"
    )


@pytest.mark.parametrize(
    ("fields", "line", "reason"),
    [
        ("type: fruit", 2, "type must be one of person, project, company, concept, tool, not 'fruit'"),
        ("name: [a]", 2, "name must be one text, not a list"),
        ("name: X\naliases: {a: b}", 3, "aliases must be a list of texts, not a mapping"),
        ("relationships: [{kind: Uses, to: y}]", 2, "the kind of a relationship cannot be 'Uses'"),
        ("relationships: [{kind: uses}]", 2, "a relationship (uses) has no target"),
        ("relationships: [{kind: uses, to: y, since: 2024-02-30}]", 2, "since cannot be '2024-02-30'"),
        ("relationships: [{kind: uses, to: y, why: z}]", 2, "relationships must be a list of mappings {kind: uses, to"),
        ("name: X\nnotes: [", 4, "the frontmatter is not YAML"),
    ],
)  # fmt: skip
def test_invalid_fields_are_refused_with_their_line(fields: str, line: int, reason: str) -> None:
    with pytest.raises(LoreFileError) as refused:
        read(f"---\n{fields}\n---\n".encode())
    assert refused.value.line == line
    assert refused.value.reason.startswith(reason)
    assert refused.value.hint


def test_an_entity_that_no_file_can_represent_is_refused() -> None:
    for wrong in (
        Entity("x", "", "tool"), Entity("x", "X", "fruit"), Entity("x", "X", "tool", ("a\nb",)),
        Entity("x", "X", "tool", content="<<<<<<< ours"),
    ):  # fmt: skip
        with pytest.raises(ValidationError):
            entity_file.write_new(wrong, EARLY)


def test_the_file_of_a_bare_entity_has_its_name_and_type() -> None:
    assert (
        entity_file.write_new(Entity("disk", "disk", "concept"), None)
        == b"---\nname: disk\ntype: concept\n---\n"
    )


DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str, kind: str) -> list[bytes]:
    """Return the examples of a kind on a page."""
    text = (DOCS / page).read_text("utf-8")
    found = re.findall(rf"^```markdown entity {kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [one.encode() for one in found]


def test_the_documented_examples_are_read_and_written_as_shown() -> None:
    (canonical,), (by_hand,) = blocks("lore-format.md", "canonical"), blocks("lore-format.md", "by-hand")
    file = read(canonical)
    assert entity_file.write_new(file.record, file.updated_at) == canonical
    assert entity_file.read(by_hand, "lore/entities/Big Data.md").record.name == "Big Data"
    table = (DOCS / "lore-format.md").read_text("utf-8").partition("## Entities")[2]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == OWN_KEYS
