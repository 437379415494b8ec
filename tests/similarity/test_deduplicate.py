"""Folding one entry into another: not symmetric, but exact in its votes, whoever does it and however often."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry.confidence import Vote, larger
from engram.domain.entry.lore import ARCHIVED, Conflict, Lore, Relation
from engram.domain.similarity.deduplicate import carry_votes, fold, may_fold

START = datetime(2026, 3, 4, tzinfo=UTC)
OLD, NEW = "01KJVKTDG000G0000000000002", "01KJVKTEF80180000000000005"
HERE, THERE = "01KJVKTDG000G00000000000AA", "01KJVKTDG000G00000000000BB"


def lore(lore_id: str = OLD, source: str = HERE, **fields: object) -> Lore:
    made = Lore(lore_id, "Retries need jitter.", "FACT", START, START, source_id=source)
    return made._replace(**fields)  # type: ignore[arg-type]


def test_only_active_lore_of_one_category_and_two_clones_may_be_folded() -> None:
    other = lore(NEW, THERE)
    assert may_fold(lore(), other)
    refused = [
        lore(NEW, HERE), lore(NEW, ""), lore(OLD, THERE), lore(NEW, THERE, category="PLAN"),
        lore(NEW, THERE, status=ARCHIVED), lore(NEW, THERE, merged_from=(OLD,)),
    ]  # fmt: skip
    assert not any(may_fold(lore(), found) or may_fold(found, lore()) for found in refused)


def test_the_older_entry_keeps_its_text_and_gains_the_data_of_the_other() -> None:
    one = lore(tags=("a",), context=("here",), importance=0.2, expires_at=START + timedelta(days=1))
    lost = Conflict("category", "PLAN", "BB", "2026-03-04T00:00:00Z")
    other = lore(
        NEW, THERE, content="Retrying needs jitter.", tags=("b", "a"), context=("there",), importance=0.6, pinned=True,
        relations=(Relation("refines", OLD), Relation("see_also", THERE)), conflicts=(lost,), last_validated=START,
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
    assert (folded.last_validated, folded.updated_at) == (START, START + timedelta(hours=1))


def test_repetition_by_one_source_gains_nothing_and_an_unknown_source_is_omitted() -> None:
    for one, other in ((HERE, HERE), ("", "")):
        same = fold(lore(OLD, one), lore(NEW, other))
        assert same is not None
        assert (same.thousandths, same.merged_from, same.sources) == (700, (NEW,), ())
        assert fold(lore(OLD, one), lore(NEW, other)) == same
    written = fold(lore(OLD, ""), lore(NEW, THERE))
    assert written is not None
    assert (written.thousandths, written.sources) == (800, (THERE,))


def test_entries_whose_lists_do_not_fit_into_one_file_are_not_folded() -> None:
    many = [tuple(f"{side}{number}" for number in range(150)) for side in "ab"]
    assert fold(lore(tags=many[0]), lore(NEW, THERE, tags=many[1])) is None


VOTES = st.dictionaries(
    st.sampled_from(["AAAAAAAA", "BBBBBBBB", "CCCCCCCC"]), st.builds(Vote, *[st.integers(0, 500)] * 3)
)


@given(VOTES, VOTES)
def test_every_vote_counts_once_however_often_it_is_carried(
    mine: dict[str, Vote], theirs: dict[str, Vote]
) -> None:
    once = carry_votes(mine, theirs, NEW)
    assert sum(vote.n for vote in once.values()) == sum(vote.n for vote in [*mine.values(), *theirs.values()])
    assert carry_votes(once, theirs, NEW) == once
    assert carry_votes(carry_votes({}, theirs, NEW), carry_votes({}, theirs, NEW), OLD) == carry_votes(
        {}, theirs, NEW
    )


@given(VOTES, VOTES, VOTES)
def test_a_later_vote_replaces_the_earlier_one_that_was_carried_over(
    mine: dict[str, Vote], theirs: dict[str, Vote], more: dict[str, Vote]
) -> None:
    grown = {
        clone: larger([theirs.get(clone, Vote()), more.get(clone, Vote())]) for clone in {*theirs, *more}
    }
    assert carry_votes(carry_votes(mine, theirs, NEW), grown, NEW) == carry_votes(mine, grown, NEW)
