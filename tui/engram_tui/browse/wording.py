"""The sentences of the browse screen. Everything that comes from a store passes the sanitiser here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.domain.text.safe_text import safe_text
from engram_tui.widgets.rows import count

if TYPE_CHECKING:
    from engram_tui.browse.queries import Matches


def counts(matches: Matches | None, matching: int, total: int, narrow: bool = False) -> str:
    """What the list shows of how much."""
    if matches is None:
        return count(total, "lore") if matching == total else f"{count(matching)} of {count(total, 'lore')}"
    took = f"{matches.took_ms:.0f} ms" if matches.took_ms >= 1 else "under 1 ms"
    return (
        f"{count(len(matches.rows))} of {count(total)} · {matches.strength}{'' if narrow else f' · {took}'}"
    )


def nothing_fits(filters: str) -> tuple[str, ...]:
    """What a list says that the filters leave empty."""
    return (f"No lore fits: {safe_text(filters)}.", "", "F takes all filters away, f changes one.")


def no_match(text: str) -> tuple[str, ...]:
    """What a search without a result says."""
    return (f"Nothing here answers “{safe_text(text)}”.", "", "Try other words; esc shows everything again.")
