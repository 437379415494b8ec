"""Merging two versions of an entry's file: the rule of each field, by example.

Mutants that make no difference: `>` where two versions are put in order: two of the same digest are the same file.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from codec_kit import ID, OTHER, SOURCE
from codec_kit import NOW as START
from merge_kit import BASE, CATEGORIES, LATER, NOW, PATH, SOON, TEXT, both, judged, merged, with_changes

from engram.adapters.files.merge.merge_file import merge_files
from engram.domain.entry import times
from engram.domain.entry.confidence import HELPFUL, INCORRECT, Vote
from engram.domain.entry.lore import MAX_ITEMS, Conflict, Relation
from engram.domain.merge.merge import Edit, reference_time

# --- votes and dates


def test_two_helpful_votes_add_up() -> None:
    lore, done = merged(judged(BASE, "AAAAAAAA", HELPFUL), judged(BASE, "BBBBBBBB", HELPFUL))
    assert (lore.confidence, lore.validation_count, done.clean) == (0.86, 2, True)
    assert b"confidence: 0.86\n" in (done.content or b"")
    assert b"validation_count: 2\n" in (done.content or b"")


def test_helpful_against_incorrect() -> None:
    lore, done = merged(judged(BASE, "AAAAAAAA", HELPFUL), judged(BASE, "BBBBBBBB", INCORRECT))
    assert (lore.confidence, lore.validation_count, done.clean) == (0.63, 1, True)
    assert lore.last_validated == SOON
    assert done.fields == ("votes", "last_validated")


def test_votes_present_on_both_sides_are_counted_once() -> None:
    ours = judged(BASE, "AAAAAAAA", HELPFUL)
    theirs = judged(ours, "AAAAAAAA", HELPFUL)
    lore, _ = merged(with_changes(ours, status="archived"), theirs)
    assert lore.votes == {"AAAAAAAA": Vote(160, 0, 2)}


def test_a_confidence_set_by_hand_and_a_vote_both_count() -> None:
    by_hand = BASE.replace(b"category: FACT", b"category: FACT\nconfidence: 0.50")
    lore, done = merged(by_hand, judged(BASE, "AAAAAAAA", HELPFUL))
    assert (lore.prior, lore.confidence, done.clean) == (500, 0.58, True)


@pytest.mark.parametrize(("base", "confidence"), [(BASE, 0.7), (judged(BASE, "AAAAAAAA", HELPFUL), 0.98)])
def test_a_folded_entry_counts_once_and_only_in_format_1(base: bytes, confidence: float) -> None:
    lore, _ = both({"merged_from": (SOURCE, OTHER)}, {"merged_from": (SOURCE,), "pinned": True}, base)
    assert (lore.merged_from, lore.confidence) == ((SOURCE, OTHER), confidence)
    lore, _ = both({"merged_from": (SOURCE,)}, {"merged_from": (OTHER,)}, base)
    assert (lore.merged_from, lore.confidence) == ((OTHER, SOURCE), confidence)


def test_accounts_that_one_side_moved_to_the_ledger_are_there_only_where_the_other_grew() -> None:
    base = judged(judged(BASE, "AAAAAAAA", HELPFUL), "BBBBBBBB", INCORRECT)
    moved = with_changes(base, votes={}, prior=700, tags=("moved",))
    lore, _ = merged(moved, with_changes(base, pinned=True), base)
    assert (lore.votes, lore.prior, lore.tags, lore.pinned) == ({}, 700, ("moved",), True)
    lore, _ = merged(moved, judged(base, "BBBBBBBB", HELPFUL), base)
    assert lore.votes == {"BBBBBBBB": Vote(80, 150, 1)}


def test_the_earlier_creation_and_the_later_update_count() -> None:
    early = START - timedelta(days=3)
    lore, _ = both({"created_at": early, "updated_at": SOON}, {"updated_at": LATER, "pinned": True})
    assert (lore.created_at, lore.updated_at) == (early, LATER)


# --- lists


def test_lists_unite_and_keep_their_order() -> None:
    lore, done = both({"tags": ("queue", "acks", "zeta")}, {"tags": ("acks", "billing")})
    assert (lore.tags, done.clean) == (("acks", "billing", "zeta"), True)


def test_a_list_that_one_side_put_in_another_order_stays_as_it_wrote_it() -> None:
    base = with_changes(BASE, tags=("a", "b", "c"))
    for changed in (("c", "a", "b"), ("c", "d", "a")):
        for mine, yours in ((SOON, LATER), (LATER, SOON)):
            lore, _ = both({"tags": changed, "updated_at": mine}, {"pinned": True, "updated_at": yours}, base)
            assert lore.tags == changed


def test_removals_and_additions_of_one_side_are_both_applied() -> None:
    relation, other = Relation("refines", OTHER), Relation("see_also", OTHER)
    base = with_changes(BASE, relations=(relation,), context=("in CI",), files=("a.py", "b.py"))
    lore, done = both(
        {"relations": (relation, other), "files": ("a.py",)},
        {"relations": (), "context": ("in CI", "in production")},
        base,
    )
    assert (lore.relations, lore.context) == ((other,), ("in CI", "in production"))
    assert (lore.files, done.clean) == (("a.py",), True)


def test_the_same_text_learned_in_two_places_has_both_contexts() -> None:
    lore, done = both({"context": ("on Linux",)}, {"context": ("on macOS",)})
    assert (lore.context, done.clean) == (("on Linux", "on macOS"), True)


def test_the_own_source_of_an_entry_is_one_of_its_sources() -> None:
    base = with_changes(BASE, source_id=SOURCE)
    lore, _ = both({"sources": (SOURCE, ID)}, {"sources": (SOURCE, OTHER)}, base)
    assert lore.sources == (SOURCE, ID, OTHER)


def test_lists_too_long_together_are_not_cut() -> None:
    ours, theirs = tuple(f"a{n:03}" for n in range(150)), tuple(f"b{n}" for n in range(150))
    one = {"tags": ours, "files": ("a.py",), "updated_at": SOON}
    lore, done = both(one, {"tags": theirs, "files": ("b.py",), "updated_at": LATER})
    assert (lore.tags, lore.files) == (theirs, ("a.py", "b.py"))
    assert [(entry.field, entry.value) for entry in done.conflicts] == [("tags", "\n".join(ours))]
    base = with_changes(BASE, tags=())
    lore, done = both(one, {"tags": theirs[:50]}, base)
    assert (len(lore.tags), done.clean) == (MAX_ITEMS, True)


# --- single values


def test_the_later_side_wins_and_the_other_value_is_kept() -> None:
    lore, done = both(
        {"status": "archived", "updated_at": SOON}, {"status": "pending", "updated_at": LATER, "pinned": True}
    )
    assert (lore.status, lore.pinned) == ("pending", True)
    assert done.conflicts == lore.conflicts == (Conflict("status", "archived", "", "2026-11-21T10:30:00Z"),)


@pytest.mark.parametrize(
    ("field", "loser", "winner", "value"),
    [
        ("expires_at", LATER, SOON, times.render(LATER)),
        ("expires_at", None, SOON, ""),
        ("prior", 705, 910, "0.705"),
        ("prior", 50, 910, "0.050"),
        ("prior", 1000, 910, "1.000"),
        ("prior", 0, 910, "0.000"),
        ("importance", 0.25, 0.75, "0.25"),
        ("importance", None, 0.75, ""),
    ],
)
def test_a_value_that_loses_is_written_as_a_person_would(
    field: str, loser: object, winner: object, value: str
) -> None:
    at_first = {"expires_at": NOW, "prior": 333, "importance": 0.5}
    base = with_changes(BASE, **{field: at_first[field]})
    lore, done = both({field: loser, "updated_at": SOON}, {field: winner, "updated_at": LATER}, base)
    assert getattr(lore, field) == winner
    assert done.conflicts == lore.conflicts == (Conflict(field, value, "", times.render(SOON)),)


def test_a_category_takes_its_type_along() -> None:
    lore, done = both(
        {"category": "SKILL", "type": "procedural", "updated_at": SOON},
        {"category": "PLAN", "type": "working", "updated_at": LATER},
    )
    assert (lore.category, lore.type) == ("PLAN", "working")
    assert [entry.field for entry in done.conflicts] == ["category"]


def test_the_clone_that_wrote_the_losing_version_is_named() -> None:
    ours = with_changes(BASE, status="archived", updated_at=SOON)
    theirs = with_changes(BASE, status="pending", updated_at=LATER)
    done = merge_files(BASE, ours, theirs, PATH, CATEGORIES, NOW, (Edit("AAAAAAAA"), Edit("BBBBBBBB")))
    assert done.conflicts[0].source == "AAAAAAAA"


def test_equal_stamps_are_decided_by_the_bytes() -> None:
    lore, done = both({"status": "archived", "updated_at": SOON}, {"status": "pending", "updated_at": SOON})
    assert {lore.status, done.conflicts[0].value} == {"archived", "pending"}


def test_a_stamp_of_the_future_never_wins() -> None:
    future = NOW + timedelta(hours=24, seconds=1)
    lore, _ = both({"status": "archived", "updated_at": future}, {"status": "pending", "updated_at": SOON})
    assert (lore.status, lore.updated_at) == ("pending", SOON)
    believed = NOW + timedelta(hours=24)
    lore, _ = both({"status": "archived", "updated_at": believed}, {"status": "pending", "updated_at": SOON})
    assert (lore.status, lore.updated_at) == ("archived", believed)


def test_the_time_of_a_merge_is_the_same_whenever_it_is_made() -> None:
    heads = [SOON, LATER, START + timedelta(days=700)]
    for clock in (LATER, LATER + timedelta(minutes=1), LATER + timedelta(days=30)):
        assert reference_time(clock, heads) == LATER
    assert reference_time(START, [heads[2], heads[2] + timedelta(1)]) == heads[2]
    assert reference_time(SOON, [SOON, SOON + timedelta(days=1)]) == SOON + timedelta(days=1)


# --- text


def test_edits_of_different_paragraphs_are_both_in() -> None:
    ours, theirs = TEXT.replace("sends again", "repeats"), TEXT.replace("must be", "have to be")
    lore, done = both({"content": ours}, {"content": theirs})
    assert lore.content == ours.replace("must be", "have to be")
    assert done.clean
    assert "content" in done.fields


def test_a_single_character_may_be_all_that_two_deletions_leave() -> None:
    base = with_changes(BASE, content="a\n\nb\n\nc")
    lore, done = both({"content": "b\n\nc"}, {"content": "a\n\nb"}, base)
    assert (lore.content, done.clean) == ("b", True)


def test_of_two_edits_of_one_sentence_both_are_kept() -> None:
    ours, theirs = TEXT.replace("sends again", "repeats"), TEXT.replace("sends again", "delivers twice")
    lore, done = both({"content": ours, "updated_at": LATER}, {"content": theirs, "updated_at": SOON})
    assert lore.content == ours
    assert [(entry.field, entry.value) for entry in lore.conflicts] == [("content", theirs)]
    assert not done.clean


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("\n\n" + "x" * 2500, "y" * 2500 + "\n\n"), ("", "")],
    ids=["too long together", "nothing left"],
)
def test_a_text_that_no_entry_may_have_is_a_conflict(ours: str, theirs: str) -> None:
    first, last = "first\n\nkept", "kept\n\nlast"
    base = with_changes(BASE, content="first\n\nkept\n\nlast")
    one = "first\n\nkept\n\nlast" + ours if ours else first.replace("\n\nkept", "")
    other = theirs + "first\n\nkept\n\nlast" if theirs else last.replace("kept\n\n", "")
    if not ours:
        base = with_changes(BASE, content="first\nlast")
    lore, done = both({"content": one, "tags": ("x",)}, {"content": other, "tags": ("y",)}, base)
    assert {lore.content, *[entry.value for entry in lore.conflicts]} == {one, other}
    assert (lore.tags, done.clean) == (("x", "y"), False)


def test_where_lists_do_not_fit_together_the_winners_text_stays_whole_too() -> None:
    mine, yours = (tuple(letter * 990 + str(number) for number in range(9)) for letter in "ab")
    base = with_changes(BASE, content="one\n\ntwo")
    lore, done = both(
        {"content": "ONE\n\ntwo", "context": mine, "updated_at": SOON},
        {"content": "one\n\nTWO", "context": yours, "updated_at": LATER},
        base,
    )
    assert (lore.content, lore.context, done.clean) == ("one\n\nTWO", yours, False)
    found = {entry.field: entry.value for entry in lore.conflicts}
    assert found == {"content": "ONE\n\ntwo", "context": "\n".join(mine)}


# --- conflicts


def test_an_entry_that_one_side_resolved_is_gone() -> None:
    entries = (Conflict("status", "archived", "X", ""), Conflict("agent", "me", "", ""))
    base = with_changes(BASE, conflicts=entries)
    lore, done = both({"conflicts": entries[1:]}, {"pinned": True, "conflicts": entries}, base)
    assert (lore.conflicts, done.clean) == (entries[1:], True)


def test_a_conflict_that_a_side_knew_is_not_new() -> None:
    changed: tuple[dict[str, object], dict[str, object]] = (
        {"agent": "you", "updated_at": LATER},
        {"agent": "me"},
    )
    lore, done = both(*changed)
    assert [one.field for one in done.conflicts] == ["agent"]
    (loss,) = lore.conflicts
    again, done = both(changed[0] | {"conflicts": (loss,)}, changed[1])
    assert (again.conflicts, done.conflicts) == ((loss,), ())


def test_the_same_loss_found_twice_is_one_entry() -> None:
    one, two = Conflict("agent", "me", "Zoe", "2026-01-01"), Conflict("agent", "me", "Ann", "2026-02-02")
    lore, done = both({"conflicts": (one,)}, {"conflicts": (two,)})
    assert (lore.conflicts, done.clean) == ((two,), True)


def test_conflicts_stay_in_the_order_of_the_base_and_a_new_one_comes_last() -> None:
    first, second = Conflict("type", "working", "", ""), Conflict("content", "Other words.", "", "")
    base = with_changes(BASE, conflicts=(first, second))
    sides = {"agent": "you", "updated_at": LATER, "conflicts": (second, first)}, {"agent": "me"}
    lore, _ = both(*sides, base)
    assert [one.field for one in lore.conflicts] == ["type", "content", "agent"]
