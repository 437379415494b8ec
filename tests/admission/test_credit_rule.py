"""The rules for what an entry counts as: its claims, its tier, and who confirmed it.

Mutants that make no difference: the figures of a tally that nobody made, of which the confidence alone is asked, and `None`
for `False`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from engram.domain.admission.credit import (
    ANY_TEXT,
    RAISED,
    UNLIMITED,
    Confirmation,
    EarnedTier,
    EffectiveValues,
    Limit,
    claims_of,
    credit_of,
    earned_tier,
    in_effect,
    limit_of,
    limit_raised,
)
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Lore, Relation, Tally
from engram.domain.judgements.tally import day_of

OWN, OTHER, THIRD = (f"01J{letter * 23}" for letter in "ACD")
NOW = datetime(2026, 1, 2, tzinfo=UTC)
TODAY = day_of(NOW)
ALL, NOTHING, PIN = None, frozenset[str](), frozenset({"pinned"})
MORE = ": more is claimed in another clone, and confirmed by nobody here"


def test_confirmations_as_json_have_the_time_and_how_people_are_counted() -> None:
    moment = datetime(2026, 11, 27, 9, 5, 7, tzinfo=UTC)
    by_name = EarnedTier("confirmed", 2, "ada", round(moment.timestamp() * 1000))
    assert by_name.as_dict() == {
        "people": 2, "counted_by": "name", "last_by": "ada", "last_at": "2026-11-27T09:05:07Z",
    }  # fmt: skip
    assert by_name._replace(by_signature=True).as_dict()["counted_by"] == "signature"
    assert EarnedTier().as_dict()["last_at"] is None


def test_the_tier_in_words_has_the_known_details_of_confirmations() -> None:
    now = datetime(2026, 11, 27, 9, 5, 7, tzinfo=UTC)
    known = EarnedTier("confirmed", 2, "ada", round((now.timestamp() - 3 * 86_400) * 1000))
    assert known.words(now) == "confirmed 2×, last by ada 3 days ago"
    assert known._replace(by="").words(now) == "confirmed 2×, last 3 days ago"
    assert known._replace(at=0).words(now) == "confirmed 2×, last by ada"
    assert known._replace(at=0, by="").words(now) == "confirmed 2×"
    assert known._replace(tier="disputed", by="here", by_signature=True).words(now) == (
        "disputed, confirmed 2× by signature, last here 3 days ago"
    )
    assert EarnedTier("held").words(now) == "held"


def test_the_default_importance_is_no_claim() -> None:
    class Line:
        pinned, when = 0, ""
        importance: float | None = None

    assert claims_of(Line()) == {}
    Line.importance = 0.5
    assert claims_of(Line()) == {}
    Line.importance = 0.51
    assert claims_of(Line()) == {"importance": "importance 0.51"}


def test_moments_are_claimed_in_the_same_words_from_a_file_and_from_the_catalog() -> None:
    shown = {"when": "shown at command: git push, file: *.tf"}

    class Line:
        pinned, importance = 0, None
        when = "command: git push\nfile: *.tf"

    class Entry(Line):
        when = ("command: git push", "file: *.tf")  # type: ignore[assignment]

    assert claims_of(Line()) == claims_of(Entry()) == shown


def lore(**fields: Any) -> Lore:
    return Lore("01JBBBBBBBBBBBBBBBBBBBBBBB", "x", "FACT", NOW, NOW)._replace(**fields)


@pytest.mark.parametrize(
    ("note", "is_own", "limit"),
    [
        (None, True, (1000, ALL, False)),
        (None, False, (700, NOTHING, False)),
        (Confirmation("d", 900, ALL), False, (900, ALL, True)),
        (Confirmation("d", 400, ALL), False, (700, ALL, True)),
        (Confirmation("another text", 900, ALL), False, (700, NOTHING, False)),
        (Confirmation(ANY_TEXT, 1000, ALL), False, (1000, ALL, True)),
        (Confirmation(RAISED, 800, ALL), True, (800, ALL, False)),
        (Confirmation(RAISED, 800, ALL), False, (700, NOTHING, False)),
        (Confirmation("another text", 700, PIN), True, (1000, PIN, True)),
    ],
)
def test_the_limit_follows_from_the_note_the_text_and_the_source(
    note: Confirmation | None, is_own: bool, limit: tuple[object, ...]
) -> None:
    assert limit_of(note, "d", is_own=is_own) == limit


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"source_id": OTHER}, "warm"),
        ({"source_id": OTHER, "prior": 200}, "cold"),
        ({"source_id": OTHER, "votes": {OTHER[-8:]: Vote(80, 0, 9)}}, "warm"),
        ({"source_id": OTHER, "votes": {THIRD[-8:]: Vote(80, 80, 1)}}, "trusted"),
        ({"source_id": OTHER, "votes": {THIRD[-8:]: Vote(80, 0, 0)}}, "warm"),
        ({"source_id": OTHER, "votes": {OWN[-8:]: Vote(80, 0, 1)}}, "trusted"),
        ({"source_id": OTHER, "sources": (OTHER,)}, "warm"),
        ({"source_id": OTHER, "votes": {THIRD[-8:]: Vote(80, 0, 1)}}, "trusted"),
        ({"source_id": OTHER, "votes": {THIRD[-8:]: Vote(80, 150, 1)}}, "warm"),
        ({"source_id": OTHER, "sources": (OTHER, THIRD)}, "trusted"),
        ({"source_id": OWN}, "warm"),
        ({"source_id": OWN, "votes": {OWN[-8:]: Vote(80, 0, 1)}}, "trusted"),
    ],
)
def test_a_confidence_is_named_trusted_only_if_others_judged_the_entry(
    fields: dict[str, Any], state: str
) -> None:
    limit = limit_of(None, "d", is_own=fields["source_id"] == OWN)._replace(confidence=700)
    found = credit_of(lore(**fields), limit, {OWN}, TODAY)
    assert found.state == state
    assert in_effect(lore(**fields), found).thousandths == found.confidence


def test_an_entry_confirmed_here_needs_no_judgement_of_others() -> None:
    found = credit_of(lore(source_id=OTHER, prior=900), Limit(900, NOTHING, True), {OWN}, TODAY)
    assert (found.state, found.is_confirmed, found.is_judged) == ("authoritative", True, True)


@pytest.mark.parametrize("claimed", [False, True])
@pytest.mark.parametrize("allowed", [False, True])
def test_a_pin_counts_if_it_is_claimed_and_allowed(claimed: bool, allowed: bool) -> None:
    found = credit_of(
        lore(source_id=OTHER, pinned=claimed, prior=900),
        Limit(800, ALL if allowed else NOTHING),
        {OWN},
        TODAY,
    )
    assert (found.pinned, found.confidence, found.is_confirmed) == (claimed and allowed, 800, False)
    assert in_effect(lore(source_id=OTHER, pinned=claimed, prior=900), found).pinned is (claimed and allowed)


@pytest.mark.parametrize(
    ("thousandths", "fraction"), [(704, 0.7), (705, 0.71), (1000, 1.0), (0, 0.0), (4, 0.0), (5, 0.01)]
)
def test_a_confidence_is_shown_in_hundredths_and_halves_round_up(thousandths: int, fraction: float) -> None:
    assert EffectiveValues(thousandths, False, False, False).fraction == fraction


@pytest.mark.parametrize(
    ("fields", "confidence", "pinned", "words"),
    [
        ({"prior": 900, "pinned": True}, 900, True, ""),
        ({"prior": 900}, 900, False, ""),
        ({"prior": 900}, 700, False, f"as 0.70{MORE}"),
        ({"prior": 900, "pinned": True}, 700, True, f"as 0.70{MORE}"),
        ({"prior": 900, "pinned": True}, 900, False, f"as 0.90, not pinned{MORE}"),
        ({"prior": 1000, "pinned": True}, 700, False, f"as 0.70, not pinned{MORE}"),
    ],
)
def test_values_lower_than_the_file_claims_are_explained(
    fields: dict[str, Any], confidence: int, pinned: bool, words: str
) -> None:
    assert EffectiveValues(confidence, pinned, False, False).words(lore(**fields)) == words


FULL = Limit(1000, ALL)


@pytest.mark.parametrize(
    ("before", "after", "limit", "note"),
    [
        (None, {}, FULL, (RAISED, 700, NOTHING)),
        ({}, {}, FULL, None),
        ({}, {"content": "y"}, FULL, (RAISED, 700, NOTHING)),
        ({}, {"context": ("Elsewhere",)}, FULL, (RAISED, 700, NOTHING)),
        ({"prior": 900}, {"prior": 900}, FULL, None),
        ({"prior": 900}, {"prior": 901}, FULL, (RAISED, 900, NOTHING)),
        ({"prior": 900}, {"prior": 400}, FULL, None),
        ({"prior": 400}, {"prior": 700}, FULL, None),
        ({"prior": 400}, {"prior": 701}, FULL, (RAISED, 700, NOTHING)),
        ({"prior": 900}, {"prior": 900}, Limit(800, ALL), (RAISED, 800, NOTHING)),
        ({"prior": 900}, {"prior": 800}, Limit(800, ALL), None),
        ({}, {"pinned": True}, FULL, (RAISED, 700, NOTHING)),
        ({"pinned": True}, {"pinned": True}, FULL, None),
        ({"pinned": True}, {}, FULL, None),
        ({"pinned": True}, {"prior": 900}, FULL, (RAISED, 700, PIN)),
        ({"pinned": True}, {"pinned": True}, Limit(1000, NOTHING), (RAISED, 700, NOTHING)),
    ],
)
def test_a_sync_that_raises_an_entry_of_this_clone_is_noted_with_what_it_was(
    before: dict[str, Any] | None,
    after: dict[str, Any],
    limit: Limit,
    note: tuple[str, int, frozenset[str]] | None,
) -> None:
    was = None if before is None else lore(prior=700)._replace(**before)
    assert limit_raised(was, lore(prior=700)._replace(**after), limit) == note


def test_higher_values_and_moments_that_do_not_count_are_explained() -> None:
    entry = lore(prior=900, pinned=True)
    ignored = "as 0.95: what a source ignored here said is left out"
    assert EffectiveValues(950, True, False, False).words(entry) == ignored
    assert (
        EffectiveValues(900, True, False, False, has_moments=False).words(entry)
        == f"as 0.90, not at its moments{MORE}"
    )


@pytest.mark.parametrize(("limit", "counts"), [(Limit(1000, ALL), 0.9), (Limit(1000, NOTHING), 0.5)])
def test_a_claimed_importance_counts_if_it_is_allowed(limit: Limit, counts: float) -> None:
    assert credit_of(lore(source_id=OTHER, importance=0.9), limit, {OWN}, TODAY).importance == counts


def test_a_confirmation_here_counts_as_one_person_more_unless_that_person_has_a_line() -> None:
    entry = lore(source_id=OTHER)
    assert earned_tier(entry, {OWN}) == EarnedTier()
    assert earned_tier(entry, {OWN}, is_confirmed=True) == EarnedTier("confirmed", 1, "here")
    assert earned_tier(entry, {OTHER}, is_confirmed=True) == EarnedTier()
    assert earned_tier(entry._replace(status="pending"), {OWN}, is_confirmed=True) == EarnedTier("held")
    tally = Tally(700, 700, 0, 1, None, {}, people=("ada", "bob"), against=2, judged_at=5)
    judged = entry._replace(tally=tally)
    assert earned_tier(judged, {OWN}) == EarnedTier("confirmed", 2, "bob", 5)
    assert earned_tier(judged, {OWN}, is_confirmed=True) == EarnedTier("confirmed", 3, "bob", 5)
    mine = judged._replace(tally=tally._replace(supporters=(OWN,)))
    assert earned_tier(mine, {OWN}, is_confirmed=True) == EarnedTier("confirmed", 2, "bob", 5)
    against = judged._replace(tally=tally._replace(against=3, by_signature=True))
    assert earned_tier(against, {OWN}) == EarnedTier("disputed", 2, "bob", 5, by_signature=True)
    assert credit_of(judged, UNLIMITED, {OWN}, TODAY).is_judged
    assert not credit_of(entry._replace(tally=tally._replace(people=())), UNLIMITED, {OWN}, TODAY).is_judged


def test_an_entry_that_contradicts_another_is_disputed() -> None:
    assert earned_tier(lore(relations=(Relation("contradicts", OTHER),)), {OWN}).tier == "disputed"
    assert earned_tier(lore(relations=(Relation("refines", OTHER),)), {OWN}).tier == "unconfirmed"


@pytest.mark.parametrize(("limit", "counts"), [(Limit(1000, ALL), True), (Limit(1000, NOTHING), False)])
def test_the_moments_of_an_entry_count_if_they_are_allowed(limit: Limit, counts: bool) -> None:
    entry = lore(source_id=OTHER, when=("command: git push",))
    found = in_effect(entry, credit_of(entry, limit, {OWN}, TODAY))
    assert found.when == (entry.when if counts else ())
