"""The details of an entry in the index: its names, links and tokens.

Mutants that make no difference: how many rows are asked for at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from codec_kit import OTHER, PLAIN

from engram.adapters.index import catalog_check, graph_rows
from engram.adapters.index.catalog import Catalog, Entry
from engram.adapters.index.graph_rows import LoreRow
from engram.adapters.index.row_details import drop_tokens, has_links, names, put_tokens, tokens
from engram.domain.entry.lore import Relation
from engram.domain.entry.note_markup import NoteMarkup

if TYPE_CHECKING:
    from pathlib import Path

MARKUP = NoteMarkup(("inbox", "The Inbox"), links=("queue",))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(str(tmp_path / "catalog.db"), create=True)


def entry(row: int, **changes: object) -> Entry:
    lore = PLAIN._replace(id=f"{OTHER[:-1]}{row}", **{"content": f"Entry {row}", **changes})
    return Entry(f"lore/{row}.md", (1, 2, 3), "digest", 9, lore, row=row, text_digest=f"text {row}")


def test_an_entry_names_its_relations_entities_and_links() -> None:
    assert names(None) == names(PLAIN) == []
    assert names(PLAIN._replace(content="See [[outbox]], [[outbox]], [here](inbox.md).")) == [
        "mention outbox"
    ]
    assert names(PLAIN._replace(entities=("Kafka",))) == ["entity Kafka"]
    assert names(PLAIN._replace(relations=(Relation("refines", OTHER),))) == [f"refines {OTHER}"]
    assert names(PLAIN, MARKUP) == ["mention queue", "name The Inbox", "name inbox"]


def test_the_graph_has_active_entries_with_references_from_or_to_them(catalog: Catalog) -> None:
    target = f"{OTHER[:-1]}5"
    note = entry(3, content="Also [[ignored]], as the markup says.")._replace(markup=MARKUP)
    catalog.put(
        [
            entry(6, content="See [[outbox]] and [there](inbox.md)."),
            entry(2, entities=("Redis", "Kafka")),
            note,
            entry(4, relations=(Relation("refines", target), Relation("contradicts", "ANOTHER"))),
            entry(5),
            entry(1),
            entry(7, entities=("Old",), status="archived"),
        ]
    )
    assert graph_rows.mentions(catalog) == [(3, "queue"), (6, "outbox")]
    assert graph_rows.names(catalog) == [(2, "Kafka"), (2, "Redis"), (7, "Old")]
    assert graph_rows.relations(catalog) == [(4, "contradicts", "ANOTHER"), (4, "refines", target)]
    assert graph_rows.own_names(catalog) == {3: ("The Inbox", "inbox")}
    every = graph_rows.all_lore(catalog, 0.0)
    assert [one.row for one in every] == [1, 2, 3, 4, 5, 6]
    assert every[0] == LoreRow(1, f"{OTHER[:-1]}1", "Entry 1", PLAIN.category, "lore/1.md", "text 1")
    assert graph_rows.naming_lore(catalog, 0.0) == every[1:]
    assert catalog_check.find_damage(catalog.connection) == []


def test_an_index_has_links_if_an_entry_supports_another(catalog: Catalog) -> None:
    catalog.put([entry(1, relations=(Relation("contradicts", OTHER),))])
    assert has_links(catalog.connection) is False
    catalog.put([entry(2, relations=(Relation("see_also", OTHER),))])
    assert has_links(catalog.connection) is True


def test_tokens_that_changed_or_belong_to_no_entry_are_damage(catalog: Catalog) -> None:
    catalog.put([entry(row) for row in (1, 2, 3, 4)])
    put_tokens(catalog.connection, 1, [b"one", b"two", b"three", b"four", b"five"])
    drop_tokens(catalog.connection, [2, 3])
    assert tokens(catalog.connection, [1, 2, 3, 4, 5]) == {1: b"one", 4: b"four", 5: b"five"}
    assert catalog_check.find_damage(catalog.connection) == ["the tokens of row 5"]
    catalog.connection.execute("UPDATE row_tokens SET tokens = x'00' WHERE row = 4")
    assert catalog_check.find_damage(catalog.connection) == ["the tokens of row 4", "the tokens of row 5"]
