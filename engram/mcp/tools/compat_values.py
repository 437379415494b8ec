"""Values in the forms of other memories: lists with commas, numbers beyond a limit, spans of time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator

from engram.domain.entry import times
from engram.domain.errors import UsageError

MOST = 20
_BEGIN = ("since", "from", "start", "after", "begin")
_END = ("until", "to", "end", "before")
_LEAST_MILLISECONDS = 1e11  # smaller numbers are seconds since 1970


def clamp_count(value: object, most: int = MOST) -> object:
    """Clamp a number of results to 1..`most`."""
    return min(most, max(1, round(value))) if isinstance(value, (int, float)) else value


def split_words(value: object) -> list[str]:
    """Return the texts of a list, or of a text with commas."""
    split = _split(value)
    return [str(item) for item in split] if isinstance(split, (list, tuple)) else []


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


def parse_span(value: object) -> tuple[str, str]:
    """Return the start and end of a span ("" if open): an object with `start` and `end` or the like, or a list of both.

    Both are dates, times, or seconds or milliseconds since 1970. Raises UsageError.
    """
    if isinstance(value, dict):
        lower = {str(name).lower(): moment for name, moment in value.items()}
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
        seconds = value / 1000 if abs(value) >= _LEAST_MILLISECONDS else value
        try:
            return times.render(datetime.fromtimestamp(seconds, UTC))
        except (ValueError, OverflowError, OSError):
            raise UsageError(f"{value} is not a time.", _SPAN) from None
    return "" if value is None else str(value)


Metadata = dict[str, Any]
Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
Count = Annotated[int, BeforeValidator(clamp_count)]
