"""The tally of judgements: replayed in order, clamped to 0..1, retracted only by their source, decaying with time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry import ulid
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Lore
from engram.domain.judgements import tally as tallies
from engram.domain.judgements.ledger import Judgement, LegacyAccount
from engram.domain.judgements.tally import Belief, tally
from tests.judgements.plain_replay import plain_tally

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
TODAY = tallies.day_of(NOW)
AUTHOR, ADA, BOB, CAM = ("01KJPY44E0" + letter * 16 for letter in "ABCD")
ENTRY = ulid.encode(int(NOW.timestamp() * 1000), 7)


def lore(stated: int = 700, **more: object) -> Lore:
    return Lore(
        ENTRY, "Retries need jitter", "PATTERN_OUTCOME", NOW, NOW, prior=stated, source_id=AUTHOR
    )._replace(**more)


def line(number: int, kind: str = "helpful", source: str = ADA, of: str = "", text: str = "") -> Judgement:
    return Judgement(ulid.encode(int(NOW.timestamp() * 1000) + number, 0), ENTRY, kind, of, text, "", source)


def value(*lines: Judgement, stated: int = 700, day: int = TODAY) -> int:
    return tally(lore(stated), lines, (), day).confidence


def test_each_judgement_moves_the_confidence_by_its_weight() -> None:
    assert value() == 700
    assert value(line(1)) == 780
    assert value(line(1, "incorrect")) == 550
    assert value(line(1, "not_relevant"), line(2, "same"), line(3, "unheard of")) == 700


def test_twenty_helpful_votes_raise_a_high_confidence_to_one_at_most() -> None:
    found = tally(lore(950), [line(n) for n in range(20)], (), TODAY)
    assert (found.confidence, found.validation_count) == (1000, 20)
    assert value(*[line(n) for n in range(20)], line(21, "incorrect"), stated=950) == 850


def test_a_confirmation_counts_once_for_each_source_and_never_for_the_author() -> None:
    assert value(line(1, "confirmed"), line(2, "confirmed")) == 800
    assert value(line(1, "confirmed"), line(2, "confirmed", BOB)) == 900
    assert value(line(1, "confirmed", AUTHOR)) == 700


def test_retracting_a_retraction_restores_the_count() -> None:
    first = line(1)
    undo = line(2, "retracted", of=first.id)
    redo = line(3, "retracted", of=undo.id)
    again = line(4, "retracted", of=first.id)
    for lines, count in (([first, undo], 0), ([first, undo, redo], 1), ([first, undo, redo, again], 0)):
        found = tally(lore(), lines, (), TODAY)
        assert (found.validation_count, found.confidence) == (count, 700 + 80 * count), lines
        assert found.last_validated is None or count


def test_a_source_cannot_retract_lines_of_others_or_later_lines() -> None:
    assert value(line(1), line(2, "retracted", BOB, of=line(1).id)) == 780
    assert value(line(5), line(2, "retracted", of=line(5).id)) == 780


@given(
    st.permutations(
        [line(1), line(2, "incorrect", BOB), line(3, "confirmed", BOB), line(4, "retracted", of=line(1).id)]
    )
)
def test_the_order_in_which_lines_arrive_and_copies_of_them_do_not_matter(lines: list[Judgement]) -> None:
    assert value(*lines, *lines) == 650


def test_accounts_of_format_1_come_first_and_the_larger_of_two_counts_once() -> None:
    mine = LegacyAccount(ENTRY, "6R2H5F8K", Vote(160, 0, 2), int(NOW.timestamp() * 1000))
    found = tally(
        lore(votes={"6R2H5F8K": Vote(80, 0, 1), "idle.2026-02": Vote(0, 10, 0)}),
        [line(1)],
        [mine, mine],
        TODAY,
    )
    assert (found.confidence, found.validation_count) == (940, 3)


def test_an_entry_of_format_1_has_the_confidence_that_its_file_says() -> None:
    votes = {"6R2H5F8K": Vote(80, 150, 1), "same.6R2H5F8K": Vote(0, 100, 0)}
    old = lore(votes=votes, merged_from=("01KJPY44E039MMV97SZGY6V9EQ", "01KJPY44E039MMV97SZGY6V9ER"))
    moved = tally(tallies.without_accounts(old), (), tallies.accounts_of(old), TODAY)
    assert old.thousandths == tally(old, (), (), TODAY).confidence == moved.confidence == 730
    assert (moved.validation_count, tallies.without_accounts(old).votes) == (1, {})


def test_a_confidence_of_format_1_above_one_is_kept_as_an_account() -> None:
    old = lore(1200, votes={"6R2H5F8K": Vote(0, 300, 0)})
    moved = tally(tallies.without_accounts(old), (), tallies.accounts_of(old), TODAY)
    assert old.thousandths == moved.confidence == 900


def test_accounts_of_a_folded_entry_count_as_format_1_carried_them() -> None:
    folded = "01KJPY44E039MMV97SZGY6V9EQ"
    carried = LegacyAccount(ENTRY, f"6R2H5F8K.{ulid.short(folded)}", Vote(80, 0, 1))
    theirs = LegacyAccount(folded, "6R2H5F8K", Vote(80, 0, 1))
    assert tally(lore(), (), [carried, theirs], TODAY).confidence == 780


@pytest.mark.parametrize(("days", "lost"), [(29, 0), (30, 10), (59, 10), (60, 20), (10_000, 700)])
def test_a_semantic_entry_decays_by_a_hundredth_each_full_month(days: int, lost: int) -> None:
    assert value(day=TODAY + days) == 700 - lost


def test_episodic_and_pinned_entries_do_not_decay() -> None:
    for change in ({"type": "episodic"}, {"pinned": True}):
        assert tally(lore(**change), (), (), TODAY + 300).confidence == 700


def test_a_helpful_judgement_restarts_decay_unless_it_is_retracted() -> None:
    later = Judgement(
        ulid.encode(int((NOW + timedelta(days=90)).timestamp() * 1000), 0), ENTRY, "helpful", source=ADA
    )
    undo = Judgement(
        ulid.encode(int((NOW + timedelta(days=91)).timestamp() * 1000), 0),
        ENTRY,
        "retracted",
        later.id,
        source=ADA,
    )
    assert value(later, day=TODAY + 100) == 780
    assert value(later, undo, day=TODAY + 100) == 670


def test_a_clock_ten_years_ahead_moves_nothing_beyond_today() -> None:
    ahead = Judgement(
        ulid.encode(int((NOW + timedelta(days=3650)).timestamp() * 1000), 0), ENTRY, "helpful", source=ADA
    )
    found = tally(lore(updated_at=NOW + timedelta(days=3650)), [ahead], (), TODAY)
    assert found.confidence == 780
    assert found.last_validated is not None
    assert found.last_validated < NOW + timedelta(days=1)


def test_only_judgements_of_others_on_the_current_text_support_or_oppose_it() -> None:
    lines = [line(1, text="now"), line(2, source=BOB, text="before"), line(3, source=AUTHOR, text="now")]
    assert tally(lore(), lines, (), TODAY, "now").supporters == (ADA,)
    assert tally(lore(), [*lines, line(4, "incorrect", BOB, text="now")], (), TODAY, "now").opponents == (
        BOB,
    )


def test_days_are_counted_from_1970_in_utc() -> None:
    assert [tallies.day_of(datetime(1970, 1, day, 23, 59, tzinfo=UTC)) for day in (1, 2)] == [0, 1]


def test_only_lines_of_the_kind_retracted_retract() -> None:
    assert value(line(1), line(2, "same", of=line(1).id), line(3, "confirmed", of=line(1).id)) == 880


def test_the_accounts_say_how_much_each_source_really_moved_the_confidence() -> None:
    lines = [line(1), line(2, source=BOB), line(3, "incorrect", BOB), line(4, "not_relevant", AUTHOR)]
    found = tally(lore(950), lines, (), TODAY)
    assert found.accounts == {ulid.short(ADA): Vote(50, 0, 1), ulid.short(BOB): Vote(0, 150, 1)}
    empty = LegacyAccount(ENTRY, "6R2H5F8K", Vote())
    assert tally(lore(), (), [empty], TODAY).accounts == {}


def test_decay_is_an_account_of_its_own_and_starts_at_the_last_judgement() -> None:
    assert tally(lore(), (), (), TODAY + 30).accounts == {"decay": Vote(0, 10, 0)}
    later = Judgement(
        ulid.encode(int((NOW + timedelta(days=9)).timestamp() * 1000), 0), ENTRY, "helpful", source=ADA
    )
    assert [tally(lore(), lines, (), TODAY + 20).anchor for lines in ((), (later,))] == [TODAY, TODAY + 9]


def test_the_last_helpful_judgement_is_validation_and_none_is_later_than_today() -> None:
    found = tally(lore(), [line(1000), line(2000, "incorrect")], (), TODAY)
    assert found.last_validated == NOW + timedelta(seconds=1)
    tomorrow = Judgement(
        ulid.encode(int((NOW + timedelta(days=1)).timestamp() * 1000), 0), ENTRY, "helpful", source=ADA
    )
    assert tally(lore(), [tomorrow], (), TODAY).last_validated == NOW.replace(hour=23, minute=59, second=59)


def test_accounts_of_a_file_keep_when_it_was_validated_and_what_it_stated_beyond_zero_and_one() -> None:
    votes = {"6R2H5F8K": Vote(80, 0, 1), "DBNFY6G9": Vote(0, 150, 0), "idle.2026-02": Vote(0, 10, 0)}
    moment = int(NOW.timestamp() * 1000)
    for prior, stated in ((1200, Vote(200, 0, 0)), (-50, Vote(0, 50, 0))):
        old = lore(prior, votes=votes, last_validated=NOW)
        assert tallies.accounts_of(old) == [
            LegacyAccount(ENTRY, "6R2H5F8K", Vote(80, 0, 1), moment),
            LegacyAccount(ENTRY, "DBNFY6G9", Vote(0, 150, 0)),
            LegacyAccount(ENTRY, "stated", stated),
        ]
        assert tallies.without_accounts(old) == lore(min(max(prior, 0), 1000))
    assert tallies.accounts_of(lore(votes=votes))[0].at == 0


def test_an_entry_of_format_2_stays_as_it_is_but_for_what_is_derived() -> None:
    assert tallies.without_accounts(lore()) is not None
    assert tallies.without_accounts(lore()) == lore() == tallies.without_accounts(lore(last_validated=NOW))
    assert tallies.without_accounts(lore(1100)).prior == 1000


def test_a_source_supports_or_opposes_by_the_majority_of_its_judgements() -> None:
    def sides(*kinds: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        found = tally(lore(), [line(n, kind, text="now") for n, kind in enumerate(kinds)], (), TODAY, "now")
        return found.supporters, found.opponents

    assert sides("helpful", "incorrect") == ((), ())
    assert sides("helpful", "incorrect", "incorrect") == ((), (ADA,))
    assert sides("helpful", "confirmed", "incorrect") == ((ADA,), ())
    assert sides("confirmed", "incorrect", "incorrect") == ((), (ADA,))
    assert sides("confirmed") == ((ADA,), ())
    assert sides("not_relevant") == ((), ())


def test_accounts_of_format_1_support_any_words_unless_they_are_the_authors_or_say_wrong() -> None:
    def supporters(name: str, vote: Vote) -> tuple[str, ...]:
        return tally(lore(), (), [LegacyAccount(ENTRY, name, vote)], TODAY, "now").supporters

    assert supporters("6R2H5F8K", Vote(150, 150, 1)) == ("6R2H5F8K",)
    assert supporters("6R2H5F8K", Vote(80, 150, 1)) == ()
    assert supporters("6R2H5F8K", Vote(80, 0, 0)) == ()
    assert supporters(ulid.short(AUTHOR), Vote(80, 0, 1)) == ()


_KINDS = ("helpful", "incorrect", "confirmed", "not_relevant", "same", "retracted", "unheard of")


@st.composite
def _histories(draw: st.DrawFn) -> tuple[Lore, list[Judgement], list[LegacyAccount], Belief]:
    """An entry and what was said of it: any lines, in any order, some twice, some by clocks that are years off."""
    count = draw(st.integers(0, 14))
    drawn = []
    for number in range(count):
        kind = draw(st.sampled_from(_KINDS))
        moment = draw(st.sampled_from([number, number, -400_000_000_000, 400_000_000_000 + number]))
        of = line(draw(st.integers(0, count))).id if kind == "retracted" else ""
        one = line(moment, kind, draw(st.sampled_from([AUTHOR, ADA, BOB, CAM])), of)
        drawn.append(one._replace(text=draw(st.sampled_from(["now", "now", "before", ""]))))
    lines = draw(st.permutations([*drawn, *drawn[: draw(st.integers(0, 3))]]))
    names = draw(st.dictionaries(st.sampled_from([AUTHOR, ADA, BOB, CAM]), st.sampled_from(["Ada", "Bo"])))
    sources = st.frozensets(st.sampled_from([AUTHOR, ADA, BOB, CAM]), max_size=2)
    forged = frozenset(one.id for one in drawn if draw(st.integers(0, 9)) == 0)
    belief = Belief(draw(sources), draw(sources), forged, names)
    numbers = st.integers(0, 300)
    accounts = [
        LegacyAccount(ENTRY, name, Vote(draw(numbers), draw(numbers), draw(st.integers(0, 3))), 1000 * at)
        for name in draw(st.lists(st.sampled_from([ulid.short(ADA), ulid.short(AUTHOR), "OTHERONE"])))
        for at in (draw(st.integers(0, 2_000_000_000)),)
    ]
    found = lore(draw(st.integers(0, 1000)), pinned=draw(st.booleans()), type="semantic")
    return found._replace(source_id=draw(st.sampled_from([AUTHOR, None]))), lines, accounts, belief


@given(_histories(), st.integers(-30, 200))
def test_the_fast_sums_are_those_of_a_plain_replay(
    drawn: tuple[Lore, list[Judgement], list[LegacyAccount], Belief], days: int
) -> None:
    entry, lines, accounts, belief = drawn
    today = TODAY + days
    found = tally(entry, lines, accounts, today, "now", belief)
    assert found == plain_tally(entry, lines, accounts, today, "now", belief)
    sums = tallies.sums_of(entry, lines, accounts, "now", belief)
    kept = found._replace(accounts={}, supporters=(), opponents=(), people=(), against=0, judged_at=0)
    assert tallies.tally_from_sums(entry, sums, today) == kept


def test_a_line_from_the_future_counts_as_of_its_commit_and_then_as_of_its_own_time() -> None:
    day = 86_400_000
    ahead, wrong = line(400 * day), line(500 * day, "incorrect")
    committed = {ahead.id: int(NOW.timestamp() * 1000) + 2 * day}

    def anchor(*lines: Judgement, after: int) -> int:
        return tally(lore(), lines, (), TODAY + after, "", tallies.EVERYBODY, committed).anchor - TODAY

    assert [anchor(ahead, after=days) for days in (0, 5, 399, 400, 600)] == [2, 2, 2, 400, 400]
    assert anchor(ahead, wrong, after=5) == 2, "what does not support an entry validates nothing"
    assert anchor(line(day), ahead, after=5) == 2
    assert anchor(line(3 * day), ahead, after=5) == 3
    assert anchor(line(300 * day), after=5) == 300, "not committed yet: today, on every day until then"
    account = LegacyAccount(ENTRY, ulid.short(BOB), Vote(80, 0, 1), int(NOW.timestamp() * 1000) + 4 * day)
    found = tally(lore(), [ahead], [account], TODAY + 5, "", tallies.EVERYBODY, committed)
    assert found.anchor == TODAY + 4


def test_the_last_millisecond_of_a_day_is_of_that_day() -> None:
    late = Judgement(ulid.encode(tallies.end_of(TODAY), 0), ENTRY, "helpful")
    assert ulid.milliseconds(late.id) == tallies.end_of(TODAY)
    assert tallies.day_of(ulid.moment(late.id)) == TODAY


def test_a_line_from_the_past_counts_as_of_when_it_came_once_that_is_past() -> None:
    day = 86_400_000
    early = line(-100 * day)
    came = {early.id: int(NOW.timestamp() * 1000) + 3 * day}

    def anchor(after: int) -> int:
        return tally(lore(), [early], (), TODAY + after, "", tallies.EVERYBODY, came).anchor - TODAY

    assert [anchor(days) for days in (0, 2, 3, 400)] == [0, 0, 3, 3]
