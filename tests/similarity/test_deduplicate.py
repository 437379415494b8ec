"""Folding one entry into another: not symmetric, but the same whoever does it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from engram.domain.entry.lore import ARCHIVED, Conflict, Lore, Relation
from engram.domain.similarity.deduplicate import fold, may_fold

START = datetime(2026, 3, 4, tzinfo=UTC)
OLD, NEW = "01KJVKTDG000G0000000000002", "01KJVKTEF80180000000000005"
HERE, THERE = "01KJVKTDG000G00000000000AA", "01KJVKTDG000G00000000000BB"


def lore(lore_id: str = OLD, source: str = HERE, **fields: object) -> Lore:
    made = Lore(lore_id, "Retries need jitter.", "FACT", START, START, source_id=source)
    return made._replace(**fields)  # type: ignore[arg-type]


def test_only_active_entries_of_one_category_and_two_clones_may_be_folded() -> None:
    other = lore(NEW, THERE)
    assert may_fold(lore(), other)
    assert may_fold(lore(), other._replace(category="PLAN"))
    refused = [
        lore(NEW, HERE), lore(NEW, ""), lore(OLD, THERE), lore(NEW, THERE, category="PLAN", content="Retrying needs jitter."),
        lore(NEW, THERE, status=ARCHIVED), lore(NEW, THERE, merged_from=(OLD,)),
    ]  # fmt: skip
    assert not any(may_fold(lore(), found) or may_fold(found, lore()) for found in refused)


def test_the_older_entry_keeps_its_text_and_gains_the_data_of_the_other() -> None:
    one = lore(tags=("a",), context=("here",), importance=0.2, expires_at=START + timedelta(days=1))
    lost = Conflict("category", "PLAN", "BB", "2026-03-04T00:00:00Z")
    other = lore(
        NEW, THERE, content="Retrying needs jitter.", tags=("b", "a"), context=("there",), importance=0.6, pinned=True,
        relations=(Relation("refines", OLD), Relation("see_also", THERE)), conflicts=(lost,),
        updated_at=START + timedelta(hours=1), merged_from=(HERE,),
    )  # fmt: skip
    folded = fold(one, other)
    assert folded is not None
    assert (folded.id, folded.content) == (OLD, one.content)
    assert (folded.tags, folded.context) == (("a", "b"), ("here", "there"))
    assert folded.relations == (Relation("see_also", THERE),)
    assert folded.conflicts == (lost,)
    assert folded.merged_from == (NEW, HERE)
    assert folded.sources == (HERE, THERE)
    assert (folded.importance, folded.pinned, folded.expires_at) == (0.6, True, None)
    assert folded.updated_at == START + timedelta(hours=1)


def test_a_fold_names_the_sources_that_are_known_and_changes_no_confidence() -> None:
    for one, other in ((HERE, HERE), ("", "")):
        same = fold(lore(OLD, one), lore(NEW, other))
        assert same is not None
        assert (same.votes, same.merged_from, same.sources) == ({}, (NEW,), ())
        assert fold(lore(OLD, one), lore(NEW, other)) == same
    written = fold(lore(OLD, ""), lore(NEW, THERE))
    assert written is not None
    assert written.sources == (THERE,)


def test_entries_whose_lists_are_too_long_together_are_not_folded() -> None:
    many = [tuple(f"{side}{number}" for number in range(150)) for side in "ab"]
    assert fold(lore(tags=many[0]), lore(NEW, THERE, tags=many[1])) is None
