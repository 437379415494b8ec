"""Names and slugs of entities: which entity a name means."""

from __future__ import annotations

import pytest

from engram.domain.entry.named_files import is_entity
from engram.domain.errors import AmbiguousError
from engram.domain.graph.entity import Entity, Relationship
from engram.domain.graph.entity_rules import (
    find_by_name,
    free_slug,
    key_of,
    match_name,
    resolve_relationships,
    slug_of,
)

PATH = "lore/entities/zookeeper.md"


def test_names_with_similar_letters_get_different_slugs() -> None:
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


def test_exact_names_take_precedence_over_names_that_ignore_case() -> None:
    known = [
        Entity("go", "Go", "tool"),
        Entity("go-2", "GO", "company"),
        Entity("zk", "ZooKeeper", "tool", ("keeper",)),
    ]
    assert match_name(known, "GO") == ("go-2",)
    assert match_name(known, "go") == ("go",)
    assert match_name(known, "gO") == ("go", "go-2")
    assert find_by_name(known, "Keeper").slug == "zk"
    assert find_by_name(known, "nobody") is None
    with pytest.raises(AmbiguousError, match="go, go-2"):
        find_by_name(known, "gO")


def test_relationships_to_names_and_aliases_are_resolved_to_slugs() -> None:
    links = tuple(Relationship("uses", to) for to in ("Keeper", "zk", "New Thing"))
    found = resolve_relationships(
        [Entity("a", "A", "project", (), links), Entity("zk", "ZooKeeper", "tool", ("keeper",))]
    )
    assert [link.to for link in found[0].relationships] == ["zk", "zk", "new-thing"]
