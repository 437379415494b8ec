"""Files of entities: what is read, what is refused, and how little an edit changes.

Mutants that make no difference: a merged file that is written without looking whether it says the merged values; no
file is known that says others.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given
from merge_kit import quick

from engram.adapters.files.frontmatter import entity_file
from engram.adapters.files.merge.merge_named import merge_named
from engram.domain.entry.lore import Conflict
from engram.domain.entry.named_files import is_entity
from engram.domain.errors import AmbiguousError, LoreFileError, ValidationError
from engram.domain.graph.entity import TYPES, Entity, Relationship
from engram.domain.graph.entity_rules import (
    OWN_KEYS,
    free_slug,
    key_of,
    match_name,
    resolve_relationships,
    slug_of,
    the_one,
)
from engram.domain.graph.mentions import Names
from engram.domain.merge.merge import Edit

PATH = "lore/entities/zookeeper.md"
EARLY = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LATE = EARLY + timedelta(days=2)
NOW = EARLY + timedelta(days=9)
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
_ways = st.builds(
    Relationship, st.sampled_from(["uses", "works_on"]), _slugs, st.sampled_from(["", "2024", "2024-02-29"])
)
_keys = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,8}", fullmatch=True).filter(lambda key: key not in OWN_KEYS)
_texts = st.text(_LETTERS + "\n", max_size=40).map(str.strip)
entities = st.builds(
    Entity, st.just("zookeeper"), _words, st.sampled_from(TYPES),
    st.lists(_words, max_size=3, unique=True).map(tuple),
    st.lists(_ways, max_size=3, unique_by=lambda way: way[:2]).map(tuple),
    st.dictionaries(_keys, _texts.filter(bool), max_size=3).map(lambda found: tuple(found.items())),
    _texts.map(lambda text: text if text == " ".join(text.split()) else "Two\n\nparagraphs."),
)  # fmt: skip


def read(raw: bytes) -> entity_file.EntityFile:
    return entity_file.read(raw, PATH)


def test_a_quotation_mark_at_the_end_of_an_alias_belongs_to_it() -> None:
    screen = BASE._replace(aliases=('27"', "screen"))
    assert read(entity_file.write_new(screen, EARLY)).entity.aliases == ('27"', "screen")


@quick
@given(entities, entities)
def test_what_is_written_is_read_and_an_edit_says_just_what_is_meant(one: Entity, other: Entity) -> None:
    raw = entity_file.write_new(one, EARLY)
    file = read(raw)
    assert (file.entity, file.updated_at) == (one, EARLY)
    assert entity_file.rewrite(file, one, EARLY) == raw
    again = read(entity_file.rewrite(file, other, LATE))
    assert again.entity._replace(metadata=()) == other._replace(metadata=())
    assert dict(again.entity.metadata) == dict(other.metadata)
    assert again.updated_at == LATE


def test_an_edit_of_what_a_person_wrote_changes_only_the_lines_that_differ() -> None:
    file = read(BY_HAND)
    assert file.entity == Entity(
        "zookeeper", "ZooKeeper", "tool", ("zk", "Apache ZooKeeper"), (Relationship("uses", "outbox", "2024-01"),),
        (("owner", '{"team": ["ada", "bob"]}'),), "Coordinates the brokers.\n\nSee [[outbox]].",
    )  # fmt: skip
    changed = entity_file.rewrite(file, file.entity._replace(type="project"), EARLY)
    assert changed == BY_HAND.replace(b"type: tool\n", b"type: project\n").replace(
        b"[ada, bob]}\n", b"[ada, bob]}\nupdated_at: 2026-03-04T05:06:07Z\n"
    )
    crlf = BY_HAND.replace(b"\n", b"\r\n")
    with_alias = file.entity._replace(aliases=("zk",))
    assert entity_file.rewrite(read(crlf), with_alias, None).replace(b"\r\n", b"\n") == BY_HAND.replace(
        b"aliases:\n  - zk\n  - Apache ZooKeeper\n", b"aliases: [zk]\n"
    )


def test_a_file_of_text_alone_is_an_entity_and_only_gains_what_it_must() -> None:
    file = entity_file.read(b"What we know of it.\n", "lore/entities/Big Data.md")
    assert file.entity == Entity("big-data", "Big Data", "concept", content="What we know of it.")
    done = entity_file.rewrite(file, file.entity._replace(aliases=("data lake",)), EARLY)
    assert (
        done == b"---\naliases: [data lake]\nupdated_at: 2026-03-04T05:06:07Z\n---\n\nWhat we know of it.\n"
    )


@pytest.mark.parametrize(
    ("fields", "line", "said"),
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
def test_invalid_fields_are_refused_with_their_line(fields: str, line: int, said: str) -> None:
    with pytest.raises(LoreFileError) as refused:
        read(f"---\n{fields}\n---\n".encode())
    assert refused.value.line == line
    assert refused.value.reason.startswith(said)
    assert refused.value.hint


def test_what_no_file_can_say_is_refused() -> None:
    for wrong in (
        Entity("x", "", "tool"), Entity("x", "X", "fruit"), Entity("x", "X", "tool", ("a\nb",)),
        Entity("x", "X", "tool", content="<<<<<<< ours"),
    ):  # fmt: skip
        with pytest.raises(ValidationError):
            entity_file.write_new(wrong, EARLY)


# --- names


def test_slugs_of_names_that_fold_alike_stay_apart() -> None:
    assert free_slug("Net", {"net"}) == "net-2"
    assert (slug_of("C++"), slug_of("C#")) == ("c-plus-plus", "c-sharp")
    assert (slug_of("Lore"), slug_of("Aux")) == ("lore", "entity-aux")
    assert slug_of("北京") == slug_of(" 北京") != slug_of("東京")
    assert key_of("Apache-ZooKeeper") == key_of("apache zookeeper") != key_of("apachezookeeper")
    assert len({key_of("C"), key_of("C++"), key_of("C#")}) == 3
    assert is_entity(PATH, "lore")
    assert not any(
        is_entity(path, "lore") for path in ("lore/entities/a/b.md", "lore/x.md", "lore/entities/.x.md")
    )


def test_a_name_means_what_is_called_just_so_before_what_is_called_nearly_so() -> None:
    known = [
        Entity("go", "Go", "tool"),
        Entity("go-2", "GO", "company"),
        Entity("zk", "ZooKeeper", "tool", ("keeper",)),
    ]
    assert match_name(known, "GO") == ("go-2",)
    assert match_name(known, "go") == ("go",)
    assert match_name(known, "gO") == ("go", "go-2")
    assert the_one(known, "Keeper").slug == "zk"
    assert the_one(known, "nobody") is None
    with pytest.raises(AmbiguousError, match="go, go-2"):
        the_one(known, "gO")


def test_relationships_to_names_and_aliases_lead_to_slugs() -> None:
    ways = tuple(Relationship("uses", to) for to in ("Keeper", "zk", "New Thing"))
    found = resolve_relationships(
        [Entity("a", "A", "project", (), ways), Entity("zk", "ZooKeeper", "tool", ("keeper",))]
    )
    assert [way.to for way in found[0].relationships] == ["zk", "zk", "new-thing"]


# --- names in texts

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


# --- merging

BASE = Entity(
    "zookeeper", "Zookeeper", "concept", ("zk", "old"), (Relationship("uses", "disk"), Relationship("part_of", "queue", "2023")),
    (("owner", "ada"), ("home", "x")), "One.\n\nTwo.",
)  # fmt: skip


def merged(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> entity_file.EntityFile:
    """The merge, which is the same whichever side is ours."""
    done, other = (
        merge_named(base, *sides, PATH, NOW, entity_file.KIND) for sides in ((ours, theirs), (theirs, ours))
    )
    assert done.content == other.content
    assert done.content is not None
    return read(done.content)


def test_all_that_two_clones_changed_is_in_the_merge() -> None:
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
    assert found.entity == Entity(
        "zookeeper", "ZooKeeper", "tool", ("zk", "Apache ZooKeeper", "keeper"),
        (Relationship("uses", "disk", "2024"), Relationship("guards", "queue"), Relationship("uses", "net")),
        (("owner", "bob"), ("home", "y"), ("team", "ops")), "1.\n\n2.",
    )  # fmt: skip
    assert (found.updated_at, found.conflicts) == (LATE, ())


@pytest.mark.parametrize(("more", "expected"), [(50, 200), (51, 51)])
def test_relationships_too_many_together_are_the_later_ones_and_the_others_are_kept(
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
    assert len(found.entity.relationships) == expected
    lost = "\n".join([f"uses a{number}" for number in range(150)])
    assert [one.value for one in found.conflicts] == ([] if expected == 200 else [lost])


def test_where_both_changed_one_thing_the_later_stays_and_the_other_is_kept() -> None:
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
    assert found.entity == theirs
    at = "2026-03-04T05:06:07Z"
    assert set(found.conflicts) == {
        Conflict("name", "A", "", at), Conflict("content", "Mine.", "", at), Conflict("home", "z", "", at),
        Conflict("relationships", "uses disk 2021", "", at),
    }  # fmt: skip
    assert found.entity.aliases == BASE.aliases


def test_an_entity_that_two_clones_made_is_one() -> None:
    ours = Entity("zookeeper", "ZooKeeper", "tool", ("zk",), content="Text.")
    theirs = Entity("zookeeper", "ZooKeeper", "tool", ("keeper",), (Relationship("uses", "disk"),))
    found = merged(None, entity_file.write_new(ours, EARLY), entity_file.write_new(theirs, LATE))
    assert found.entity == ours._replace(aliases=("keeper", "zk"), relationships=theirs.relationships)
    assert found.conflicts == ()


def test_comments_and_order_of_a_person_stay() -> None:
    theirs = BY_HAND.replace(b"  - zk\n", b"")
    ours = entity_file.rewrite(read(BY_HAND), read(BY_HAND).entity._replace(type="project"), LATE)
    done = merge_named(BY_HAND, ours, theirs, PATH, NOW, entity_file.KIND).content
    assert done == ours.replace(b"  - zk\n", b"")


def test_deleted_on_one_side() -> None:
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
    assert read(done.content).entity.type == "tool"


def test_an_unreadable_side_is_kept_and_markers_are_taken_apart() -> None:
    base = entity_file.write_new(BASE, EARLY)
    good = entity_file.write_new(BASE._replace(type="tool"), LATE)
    found = merged(base, base.replace(b"type: concept", b"type: fruit"), good)
    assert (found.entity.type, found.conflicts[0].field) == ("tool", "file")
    marked = b"<<<<<<< ours\n" + good + b"=======\n" + base.replace(b"One", b"1") + b">>>>>>> theirs\n"
    mended = merged(base, entity_file.write_new(BASE._replace(aliases=()), EARLY), marked)
    assert (mended.entity.type, mended.entity.aliases, mended.entity.content) == ("tool", (), "One.\n\nTwo.")
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
    there = {*one.aliases, *other.aliases}
    assert set(found.entity.aliases) <= there
    if base is None:
        assert set(found.entity.aliases) == there
    lost = {entry.value for entry in found.conflicts}
    for side in (one, other):
        assert side.name in {found.entity.name, *lost} or (base and base.name == side.name)


# --- the pages that specify it

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str, kind: str) -> list[bytes]:
    """The examples of a kind on a page."""
    text = (DOCS / page).read_text("utf-8")
    found = re.findall(rf"^```markdown entity {kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [one.encode() for one in found]


def test_the_examples_of_the_format_are_what_engram_reads_and_writes() -> None:
    (canonical,), (by_hand,) = blocks("lore-format.md", "canonical"), blocks("lore-format.md", "by-hand")
    file = read(canonical)
    assert entity_file.write_new(file.entity, file.updated_at) == canonical
    assert entity_file.read(by_hand, "lore/entities/Big Data.md").entity.name == "Big Data"
    table = (DOCS / "lore-format.md").read_text("utf-8").partition("## Entities")[2]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == OWN_KEYS
