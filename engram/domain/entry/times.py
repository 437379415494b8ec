"""UTC times as written in files: RFC 3339, in whole seconds unless milliseconds are needed to keep order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

MILLISECOND = timedelta(milliseconds=1)
_LAST = datetime.max.replace(microsecond=999_000, tzinfo=UTC)


def render(moment: datetime) -> str:
    """Format a time: `2026-11-21T09:30:00Z`, or with `.001` if it has milliseconds."""
    # Not strftime: its %Y writes the year 987 as `987`, which cannot be parsed.
    text = moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()
    milliseconds = moment.microsecond // 1000
    return f"{text}.{milliseconds:03d}Z" if milliseconds else f"{text}Z"


def parse(text: str) -> datetime:
    """Parse an RFC 3339 time or date; without a zone it is UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text.strip())
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError(f"{text.strip()} is outside the years 1 to 9999 in UTC") from None


def whole_seconds(moment: datetime) -> datetime:
    """Return the moment without its fraction of a second."""
    return moment.replace(microsecond=0) if moment.microsecond else moment


def whole_milliseconds(moment: datetime) -> datetime:
    """Return the moment with the precision of files, milliseconds."""
    more = moment.microsecond % 1000
    return moment.replace(microsecond=moment.microsecond - more) if more else moment


def after(now: datetime, previous: datetime) -> datetime:
    """Return the stamp of a change: now in whole seconds, but always later than the previous stamp."""
    return max(whole_seconds(now), previous + MILLISECOND if previous < _LAST else _LAST)
