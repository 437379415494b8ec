"""ULIDs and the times of files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram.domain.entry import times, ulid

YEAR_10000 = 253_402_300_800_000  # in milliseconds since 1970
milliseconds = st.integers(0, (1 << 48) - 1)
randomness = st.integers(0, (1 << 80) - 1)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(timezones=st.just(UTC) | zones)


def test_the_time_of_the_example_in_the_specification() -> None:
    assert ulid.moment("01ARZ3NDEKTSV4RRFFQ69G5FAV") == datetime(2016, 7, 30, 23, 54, 10, 259000, tzinfo=UTC)


@given(milliseconds, randomness)
def test_a_ulid_keeps_its_time(when: int, chance: int) -> None:
    made = ulid.encode(when, chance)
    assert len(made) == ulid.LENGTH
    assert ulid.is_valid(made) == (when < YEAR_10000), "datetime ends there"
    if ulid.is_valid(made):
        assert ulid.moment(made) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=when)


@given(milliseconds, randomness, milliseconds, randomness)
def test_ulids_sort_as_their_times(one: int, chance: int, other: int, more: int) -> None:
    assert (ulid.encode(one, chance) < ulid.encode(other, more)) == ((one, chance) < (other, more))


@pytest.mark.parametrize("bad", [(-1, 0), (1 << 48, 0), (0, -1), (0, 1 << 80)])
def test_values_out_of_range_are_refused(bad: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="48 bits"):
        ulid.encode(*bad)


@pytest.mark.parametrize(
    "text",
    [
        *("", "0" * 25, "0" * 27, "8" + "0" * 25, "7" + "Z" * 25, "0" * 25 + "I", "0" * 25 + "u"),
        *("01arz3ndektsv4rrffq69g5fav", "\uff10" * 26),
    ],
)
def test_malformed_ulids_are_invalid(text: str) -> None:
    assert not ulid.is_valid(text)


@given(st.text(max_size=30))
def test_any_text_can_be_checked(text: str) -> None:
    assert isinstance(ulid.is_valid(text), bool)


def test_the_short_form_is_the_last_eight_characters() -> None:
    assert ulid.short("01ARZ3NDEKTSV4RRFFQ69G5FAV") == "Q69G5FAV"


@given(moments)
@example(datetime(1, 1, 1, tzinfo=UTC))
@example(datetime(999, 12, 31, 23, 59, 59, tzinfo=UTC))
def test_a_time_survives_its_text_to_the_millisecond(moment: datetime) -> None:
    try:
        expected = moment.astimezone(UTC)
    except OverflowError:
        return
    expected = expected.replace(microsecond=expected.microsecond // 1000 * 1000)
    assert times.parse(times.render(moment)) == expected


@given(moments)
def test_texts_of_times_are_rfc_3339(moment: datetime) -> None:
    try:
        text = times.render(moment)
    except OverflowError:
        return
    assert text.endswith("Z")
    assert text[4] == text[7] == "-"
    assert text[10] == "T"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-04", datetime(2026, 3, 4, tzinfo=UTC)),
        ("2026-03-04T05:06:07", datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)),
        (" 2026-03-04T05:06:07Z ", datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)),
        ("2026-03-04 07:06:07.5+02:00", datetime(2026, 3, 4, 5, 6, 7, 500000, tzinfo=UTC)),
    ],
)
def test_times_are_read_with_or_without_a_zone(text: str, expected: datetime) -> None:
    assert times.parse(text) == expected


@given(st.text(max_size=30))
@example("0001-01-01T00:00:00+14:00")
@example("9999-12-31T23:59:59-14:00")
@example("2026-13-01")
@example("")
def test_malformed_times_raise_only_value_error(text: str) -> None:
    try:
        found = times.parse(text)
    except ValueError:
        return
    assert found.tzinfo is UTC


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
@example(datetime(2026, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
def test_the_stamp_of_a_change_is_later_than_the_previous_one(now: datetime, previous: datetime) -> None:
    stamp = times.after(now, previous)
    assert stamp > previous or previous > datetime.max.replace(tzinfo=UTC) - times.MILLISECOND
    assert stamp >= now.replace(microsecond=0)
