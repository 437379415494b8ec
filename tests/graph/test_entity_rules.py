"""Names and slugs of entities: which entity a name means."""

from __future__ import annotations

import pytest

from engram.domain.entry.named_files import is_entity
from engram.domain.errors import AmbiguousError
from engram.domain.graph.entity import Entity, Relationship
from engram.domain.graph.entity_rules import (
    free_slug,
    key_of,
    match_name,
    resolve_relationships,
    slug_of,
    the_one,
)

PATH = "lore/entities/zookeeper.md"


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
