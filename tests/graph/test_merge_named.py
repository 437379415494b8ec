"""Files of entities are merged by field: no change of a clone is lost.

Mutants that make no difference: skipping the check that a merged file has the merged values; no file is known that has
others.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import hypothesis.strategies as st
import pytest
from hypothesis import given
from merge_kit import quick

from engram.adapters.files.frontmatter import entity_file
from engram.adapters.files.merge.merge_named import merge_named
from engram.domain.entry.lore import Conflict
from engram.domain.graph.entity import Entity, Relationship
from engram.domain.merge.merge import Edit
from tests.graph.entity_files import BASE, BY_HAND, PATH, edited, entities, read

if TYPE_CHECKING:
    from engram.adapters.files.frontmatter.named_file import FileContents

EARLY = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LATE = EARLY + timedelta(days=2)
NOW = EARLY + timedelta(days=9)


def merged(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> FileContents:
    """Return the merge, which must not depend on which side is ours."""
    done, other = (
        merge_named(base, *sides, PATH, NOW, entity_file.KIND) for sides in ((ours, theirs), (theirs, ours))
    )
    assert done.content == other.content
    assert done.content is not None
    return read(done.content)


def test_a_merge_keeps_the_changes_of_both_clones() -> None:
    ours = BASE._replace(
        name="ZooKeeper", aliases=("zk", "keeper"), metadata=(("owner", "bob"), ("home", "x")), content="1.\n\nTwo.",
        relationships=(Relationship("uses", "disk", "2024"), Relationship("part_of", "queue", "2023"), Relationship("uses", "net")),
    )  # fmt: skip
    theirs = BASE._replace(
        type="tool", aliases=("zk", "old", "Apache ZooKeeper"), metadata=(("owner", "ada"), ("home", "y"), ("team", "ops")),
        relationships=(Relationship("uses", "disk"), Relationship("guards", "queue")), content="One.\n\n2.",
    )  # fmt: skip
    raws = [
        entity_file.write_new(entity, stamp)
        for entity, stamp in ((BASE, EARLY), (ours, EARLY), (theirs, LATE))
    ]
    found = merged(*raws)
    assert found.record == Entity(
        "zookeeper", "ZooKeeper", "tool", ("zk", "Apache ZooKeeper", "keeper"),
        (Relationship("uses", "disk", "2024"), Relationship("guards", "queue"), Relationship("uses", "net")),
        (("owner", "bob"), ("home", "y"), ("team", "ops")), "1.\n\n2.",
    )  # fmt: skip
    assert (found.updated_at, found.conflicts) == (LATE, ())


@pytest.mark.parametrize(("more", "expected"), [(50, 200), (51, 51)])
def test_of_too_many_merged_relationships_the_later_win_and_the_others_are_a_conflict(
    more: int, expected: int
) -> None:
    base = BASE._replace(relationships=())
    ours, theirs = (
        base._replace(
            relationships=tuple([Relationship("uses", f"{name}{number}") for number in range(count)])
        )
        for name, count in (("a", 150), ("b", more))
    )
    versions = (base, EARLY), (ours, EARLY), (theirs, LATE)
    found = merged(*(entity_file.write_new(*version) for version in versions))
    assert len(found.record.relationships) == expected
    lost = "\n".join([f"uses a{number}" for number in range(150)])
    assert [one.value for one in found.conflicts] == ([] if expected == 200 else [lost])


def test_the_later_of_conflicting_changes_wins_and_the_other_is_a_conflict() -> None:
    ours = BASE._replace(
        name="A",
        relationships=(Relationship("uses", "disk", "2021"),),
        content="Mine.",
        metadata=(("home", "z"),),
    )
    theirs = BASE._replace(
        name="B",
        relationships=(Relationship("uses", "disk", "2022"),),
        content="Yours.",
        metadata=(("home", "y"),),
    )
    found = merged(
        *(entity_file.write_new(one, stamp) for one, stamp in ((BASE, EARLY), (ours, EARLY), (theirs, LATE)))
    )
    assert found.record == theirs
    at = "2026-03-04T05:06:07Z"
    assert set(found.conflicts) == {
        Conflict("name", "A", "", at), Conflict("content", "Mine.", "", at), Conflict("home", "z", "", at),
        Conflict("relationships", "uses disk 2021", "", at),
    }  # fmt: skip
    assert found.record.aliases == BASE.aliases


def test_entities_created_in_two_clones_are_merged() -> None:
    ours = Entity("zookeeper", "ZooKeeper", "tool", ("zk",), content="Text.")
    theirs = Entity("zookeeper", "ZooKeeper", "tool", ("keeper",), (Relationship("uses", "disk"),))
    found = merged(None, entity_file.write_new(ours, EARLY), entity_file.write_new(theirs, LATE))
    assert found.record == ours._replace(aliases=("keeper", "zk"), relationships=theirs.relationships)
    assert found.conflicts == ()


def test_a_merge_keeps_comments_and_order_of_fields() -> None:
    theirs = BY_HAND.replace(b"  - zk\n", b"")
    ours = edited(BY_HAND, read(BY_HAND).record._replace(type="project"), LATE)
    done = merge_named(BY_HAND, ours, theirs, PATH, NOW, entity_file.KIND).content
    assert done == ours.replace(b"  - zk\n", b"")


def test_an_entity_changed_on_one_side_survives_deletion_on_the_other() -> None:
    base = entity_file.write_new(BASE, EARLY)
    assert (
        merge_named(base, None, entity_file.write_new(BASE, LATE), PATH, NOW, entity_file.KIND).content
        is None
    )
    done = merge_named(
        base,
        entity_file.write_new(BASE._replace(type="tool"), LATE),
        None,
        PATH,
        NOW,
        entity_file.KIND,
        (Edit("AAAA"), Edit("BBBB")),
    )
    assert [(entry.field, entry.source) for entry in done.conflicts] == [("deleted", "BBBB")]
    assert read(done.content).record.type == "tool"


def test_an_unreadable_side_is_kept_and_conflict_markers_are_resolved() -> None:
    base = entity_file.write_new(BASE, EARLY)
    good = entity_file.write_new(BASE._replace(type="tool"), LATE)
    found = merged(base, base.replace(b"type: concept", b"type: fruit"), good)
    assert (found.record.type, found.conflicts[0].field) == ("tool", "file")
    marked = b"<<<<<<< ours\n" + good + b"=======\n" + base.replace(b"One", b"1") + b">>>>>>> theirs\n"
    mended = merged(base, entity_file.write_new(BASE._replace(aliases=()), EARLY), marked)
    assert (mended.record.type, mended.record.aliases, mended.record.content) == ("tool", (), "One.\n\nTwo.")
    assert "1.\n\nTwo." in [entry.value for entry in mended.conflicts]
    both = merge_named(base, b"---\ntype: a\n---\n", b"---\ntype: b\n---\n", PATH, NOW, entity_file.KIND)
    assert (both.content, [kept.content for kept in both.kept]) == (
        b"---\ntype: b\n---\n",
        [b"---\ntype: a\n---\n"],
    )


@quick
@given(st.none() | entities, entities, entities)
def test_a_merge_is_symmetric_and_readable(base: Entity | None, one: Entity, other: Entity) -> None:
    raws = [None if entity is None else entity_file.write_new(entity, EARLY) for entity in (base, one, other)]
    found = merged(*raws)
    aliases = {*one.aliases, *other.aliases}
    assert set(found.record.aliases) <= aliases
    if base is None:
        assert set(found.record.aliases) == aliases
    lost = {entry.value for entry in found.conflicts}
    for side in (one, other):
        assert side.name in {found.record.name, *lost} or (base and base.name == side.name)
