"""Values as prompts for other memories give them: lists with commas, numbers beyond a limit, spans of time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator

from engram.domain.entry import times
from engram.domain.errors import UsageError

MOST = 20
_BEGIN = ("since", "from", "start", "after", "begin")
_END = ("until", "to", "end", "before")
_MILLISECONDS = 1e11  # a number above is no count of seconds since 1970


def clamp_count(value: object, most: int = MOST) -> object:
    """Return a number of results, as far as there are so many."""
    return min(most, max(1, round(value))) if isinstance(value, (int, float)) else value


def words(value: object) -> list[str]:
    """Return the texts of a list, or of one text with commas."""
    split = _split(value)
    return [str(one) for one in split] if isinstance(split, (list, tuple)) else []


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def span(value: object) -> tuple[str, str]:
    """Return begin and end of a span ("" where open): an object with `start` and `end` or the like, or a list of both.

    Moments are dates, times, or seconds or milliseconds since 1970. Raises UsageError.
    """
    if isinstance(value, dict):
        lower = {str(name).lower(): one for name, one in value.items()}
        begin = next((lower[name] for name in _BEGIN if name in lower), None)
        end = next((lower[name] for name in _END if name in lower), None)
        if value and begin is None and end is None:
            raise UsageError("The time range has neither a start nor an end.", _SPAN)
        return _moment(begin), _moment(end)
    if isinstance(value, list) and len(value) <= 2:
        begin, end = [*value, None, None][:2]
        return _moment(begin), _moment(end)
    if value in (None, ""):
        return "", ""
    raise UsageError("That is not a time range.", _SPAN)


_SPAN = 'For example {"start": "2026-11-01", "end": "2026-11-30"}.'


def _moment(value: object) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = value / 1000 if abs(value) >= _MILLISECONDS else value
        try:
            return times.render(datetime.fromtimestamp(seconds, UTC))
        except (ValueError, OverflowError, OSError):
            raise UsageError(f"{value} is not a time.", _SPAN) from None
    return "" if value is None else str(value)


Metadata = dict[str, Any]
Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
Count = Annotated[int, BeforeValidator(clamp_count)]
