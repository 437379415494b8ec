"""Judgements of a source are ignored in this clone alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import ok
from sync_kit import Clones, of_ada_and_bob

from engram.domain.errors import NotFoundError, UsageError
from engram.usecases.agents.brief import brief
from engram.usecases.index.refresh import refresh
from tests.store.test_trusted_judges import MINE, THEIRS, counts, earned, lore_of, push_judgements, theirs


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return of_ada_and_bob(tmp_path)


def test_an_ignored_source_stays_ignored_here_alone_through_syncs_and_rebuilds(
    clones: Clones, tmp_path: Path
) -> None:
    lore, source = theirs(clones), clones.clock.new_id()
    mine = clones["a"].record(MINE, category="fact", type="procedural", confidence=0.9).lore
    clones.sync("a", "b")
    for one in (lore, mine):
        push_judgements(clones, one, source, 4, "incorrect", name="Mallory")
    clones.settle()
    root, a = clones.root("a"), clones["a"]
    assert earned(clones, lore.id).tier == earned(clones, mine.id).tier == "disputed"
    assert "1 source ignored" in ok("trust", "ignore", source, cwd=root).out

    def check() -> None:
        assert [counts(clones, one.id).confidence for one in (lore, mine)] == [700, 900]
        assert [earned(clones, one.id).tier for one in (lore, mine)] == ["unconfirmed", "unconfirmed"]
        assert [lore_of(clones, "a", one.id).thousandths for one in (lore, mine)] == [100, 300], "shared"
        rows = {row["id"]: row["here"] for row in ok("query", "retries", "--json", cwd=root).json["lore"]}
        assert rows == {lore.id: 0.7, mine.id: 0.9}
        with a.calling("reader", "tester"):
            assert THEIRS in brief(a.store, str(tmp_path)), "what counts here decides"

    check()
    push_judgements(clones, lore, source, 2, "incorrect", name="Mallory")
    clones.settle()
    assert counts(clones, lore.id).confidence == 700
    push_judgements(clones, lore, clones.clock.new_id(), 0)
    refresh(a.store, rebuild="for a test")
    assert counts(clones, lore.id).confidence == 700
    Path(a.store.places.state, "judgements.db").unlink()
    a.close()
    assert counts(clones, lore.id).confidence == 700
    assert ok("trust", "ignore", "--json", cwd=root).json["ignored"] == [
        {"source": source, "name": "Mallory", "judgements": 10}
    ]
    assert counts(clones, lore.id, "b").confidence == 0, "in no other clone"
    assert "1 source counted again" in ok("trust", "heed", source, cwd=root).out
    assert counts(clones, lore.id).confidence == 0
    assert earned(clones, lore.id).tier == "disputed"


def test_ignoring_an_invalid_or_own_id_is_refused(clones: Clones) -> None:
    a = clones["a"]
    with pytest.raises(UsageError, match="not the id"):
        a.ignore("everybody")
    with pytest.raises(UsageError, match="own id"):
        a.ignore(a.store.source_id)
    with pytest.raises(NotFoundError, match="not ignored"):
        a.heed(clones.clock.new_id())
    assert a.ignored() == []
