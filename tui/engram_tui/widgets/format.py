"""Numbers, times and titles as the app writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from engram.domain.admission.credit import earned_tier
from engram.domain.text.counted_nouns import elapsed

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore
    from engram.usecases.lookup.listing import Shown

_MAX_TITLE = 40
_SHORT_CATEGORIES = {
    "ARCHITECTURAL_DECISION": "DECISION",
    "PATTERN_OUTCOME": "PATTERN",
    "INTERFACE_LESSON": "INTERFACE",
    "EDGE_CASE_DISCOVERY": "EDGE CASE",
    "IMPLEMENTATION_FRICTION": "FRICTION",
    "TESTING_STRATEGY": "TESTING",
    "DEPENDENCY_BEHAVIOR": "DEPENDENCY",
    "PERFORMANCE_INSIGHT": "PERFORMANCE",
    "SESSION_SUMMARY": "SESSION",
    "CONTEXT_NOTE": "NOTE",
}


def fraction(thousandths: int) -> str:
    """Format a value from 0 to 1 without its leading zero: `.83`, `1.0`; always three characters."""
    hundredths = max(0, min(100, (thousandths + 5) // 10))
    return "1.0" if hundredths == 100 else f".{hundredths:02d}"


def decimals(value: float) -> str:
    """Format a value from 0 to 1 to two decimals, without its leading zero: `.83`."""
    return f"{value:.2f}".removeprefix("0")


def count(number: int) -> str:
    """Format a number with separators: `10,412`."""
    return f"{number:,}"


def format_age(moment: datetime, now: float) -> str:
    """Format a moment in the past as `3 d ago` or `just now`; `now` in Unix seconds."""
    text = elapsed(now - moment.timestamp())
    return "just now" if text == "now" else f"{text} ago"


def short_category(category: str) -> str:
    """Abbreviate a category to fit its column, if it has a short name."""
    return _SHORT_CATEGORIES.get(category, category.replace("_", " "))


def quote(title: str) -> str:
    """Quote a title for a sentence; cut a long one."""
    return f"“{title if len(title) <= _MAX_TITLE else title[: _MAX_TITLE - 1] + '…'}”"


def format_helpful(lore: Lore, now: float) -> str:
    """Format how often an entry helped, and when it last did or was confirmed otherwise: `✓14, last 2 d ago`."""
    times = f"✓{lore.validation_count}" if lore.validation_count else ""
    if lore.last_validated is None:
        return times or "not validated yet"
    last = format_age(lore.last_validated, now)
    return f"{times}, last {last}" if times else f"confirmed {last}"


def format_earned(shown: Shown, now: float) -> str:
    """Format how people other than its author judged an entry: `confirmed 2×, last by Ada 3 days ago`."""
    found = earned_tier(shown.lore, ()) if shown.counted is None else shown.counted.earned
    return found.words(datetime.fromtimestamp(now, UTC))
