"""The messages of the browse screen: counts, and what an empty list says. Text from the store is sanitized here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.domain.text.counted_nouns import entries
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.format import count

if TYPE_CHECKING:
    from engram_tui.browse.queries import Matches
    from engram_tui.shell.picker import Choice

FIRST_STEPS = (
    (
        'engram record "Queue consumers must be idempotent." --category PATTERN_OUTCOME',
        "an entry of your own; N writes one here",
    ),
    ("engram import FOLDER", "notes that you already have"),
    ("engram connect claude-code", "an agent records and recalls by itself; engram agents lists them"),
)


def counts(matches: Matches | None, matching: int, total: int, narrow: bool = False) -> str:
    """Say how many entries the list shows, and of how many."""
    if matches is None:
        return entries(total) if matching == total else f"{count(matching)} of {entries(total)}"
    duration = f"{matches.took_ms:.0f} ms" if matches.took_ms >= 1 else "under 1 ms"
    found = f"{count(len(matches.rows))} of {count(total)} · {matches.strength}"
    return found if narrow else f"{found} · {duration}"


def describe_no_match(text: str) -> tuple[str, ...]:
    """Say that a search found nothing."""
    return (f"Nothing here answers “{safe_line(text)}”.", "", "Try other words; esc shows everything again.")


def describe_no_fit(filters: str) -> tuple[str, ...]:
    """Say that no entry matches the filters."""
    return (f"No entry matches: {safe_line(filters)}.", "", "F removes all filters, f changes one.")


def describe_empty_store() -> tuple[str, ...]:
    """Say how to fill an empty store."""
    steps = [line for command, what in FIRST_STEPS for line in (command, f"    {what}")]
    return (
        "This store is empty. Three ways to fill it:",
        "",
        *steps,
        "",
        "enter copies a command, N writes an entry, q quits.",
    )


def first_steps() -> list[Choice]:
    """Return the commands to choose from."""
    from engram_tui.shell.picker import Choice

    return [Choice(command, command.split(" ")[1], after=what) for command, what in FIRST_STEPS]
