"""Times and ids at the limits of the calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.entry import times, ulid

LAST = "76EZ91ZPZZZZZZZZZZZZZZZZZZ"
MOMENTS = st.datetimes(timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)


@given(MOMENTS)
def test_every_time_is_read_back(moment: datetime) -> None:
    assert times.parse(times.render(moment)) == moment
    assert len(times.render(moment)) in (20, 24)


@pytest.mark.parametrize("year", [1, 9, 99, 987, 1677, 2262, 9999])
def test_years_have_four_digits(year: int) -> None:
    assert times.render(datetime(year, 1, 2, tzinfo=UTC)) == f"{year:04}-01-02T00:00:00Z"


def test_the_last_id_with_a_time_and_the_first_without() -> None:
    assert ulid.is_valid(LAST)
    assert ulid.moment(LAST) == datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)
    assert not ulid.is_valid("76EZ91ZQ000000000000000000")
    assert not ulid.is_valid("7ZZZZZZZZZZZZZZZZZZZZZZZZZ")


@given(st.text(ulid.ALPHABET + "ILOU8z", min_size=26, max_size=26))
def test_every_valid_id_has_a_time(text: str) -> None:
    if ulid.is_valid(text):
        assert ulid.moment(text).year < 10_000


@given(st.text(max_size=40))
def test_parse_gives_a_time_or_a_value_error(text: str) -> None:
    try:
        moment = times.parse(text)
    except (ValueError, OverflowError):
        return
    assert times.parse(times.render(moment)) == moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def test_a_zone_beyond_the_calendar_is_refused() -> None:
    edge = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
    with pytest.raises((ValueError, OverflowError)):
        times.parse(edge.isoformat())
