"""The sentences of the browse screen. Everything that comes from a store passes the sanitiser here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.domain.confidence import HELPFUL, INCORRECT
from engram.domain.safe_text import safe_text
from engram_tui.lore_list import fitted
from engram_tui.rows import BEST, SORT_NAMES, count, fraction

if TYPE_CHECKING:
    from engram.usecases.feedback import Judged
    from engram_tui.reading import Heading, Matches


def heading_line(path: str, heading: Heading | None, total: int, strategy: str, cells: int) -> str:
    """The first line, in that many cells: a long path loses its beginning."""
    parts = [count(total, "lore")]
    if heading is not None:
        parts.insert(0, heading.branch or "not in git")
        parts.append(strategy or heading.strategy)
    rest = "".join(f" · {safe_text(part)}" for part in parts if part)
    room = max(12, cells - len("engram  ") - len(rest))
    path = safe_text(path)
    return f"engram  {path if len(path) <= room else '…' + path[-room + 1 :]}{rest}"


def counts(matches: Matches | None, total: int, order: str) -> str:
    """What the list shows of how much, and in which order."""
    if matches is None:
        return f"{count(total, 'lore')} · {SORT_NAMES[order]}"
    took = f"{matches.took_ms:.0f} ms" if matches.took_ms >= 1 else "under 1 ms"
    sorting = "" if order == BEST else f" · {SORT_NAMES[order]}"
    return f"{count(len(matches.rows))} of {count(total)} · {matches.strength} · {took}{sorting}"


def judgement(judged: Judged, title: str) -> tuple[str, str]:
    """A headline and a sentence about what a judgement did."""
    before, after = fraction(round(judged.previous * 1000)), fraction(round(judged.current * 1000))
    what = fitted(safe_text(title), 40).rstrip()
    if judged.repeated:
        return "Said before in this session", f"{what}: confidence stays {after}"
    if judged.kind == HELPFUL:
        return "Helpful", f"{what}: confidence {before} → {after}, helpful {judged.validation_count}×"
    if judged.kind == INCORRECT:
        return "Incorrect", f"{what}: confidence {before} → {after}"
    return "Not relevant", f"{what}: noted, confidence stays {after}"


def no_match(text: str) -> tuple[str, ...]:
    """What a search without a result says."""
    return (f"Nothing here answers “{safe_text(text)}”.", "", "Try other words; esc shows everything again.")


def empty_store() -> tuple[str, ...]:
    """How lore gets in."""
    return (
        "No lore here yet. It gets in like this:",
        "",
        'engram record "Queue consumers must be idempotent." --category PATTERN_OUTCOME',
        "    one lore from you",
        "engram import FOLDER",
        "    notes that you already have",
        "engram connect claude-code",
        "    an agent records and recalls by itself",
        "",
        "r looks again, q leaves.",
    )
