"""Render captured entries for a model: fenced, whole, each marked as not confirmed."""

from __future__ import annotations

from engram.domain.agents.fence import INDENT, NOTICE
from engram.domain.agents.neutralization import FRAME, neutralize
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAD = "Captured in an earlier session; a person can confirm it with `engram review`:"


class CapturedNote(NamedTuple):
    """A captured entry as it is shown: its text, its category, and when it was captured (`captured yesterday`)."""

    content: str
    category: str
    when: str


def heading_of(note: CapturedNote) -> str:
    """Return Engram's own line about a captured entry."""
    return f"[{note.when}, not confirmed] {note.category}"


def as_lines(note: CapturedNote, prefix: str = INDENT) -> list[str]:
    """Render a captured entry: Engram's heading, then the neutralized text, each line after `prefix`."""
    text = neutralize(note.content.strip("\n"), lines=True, is_checked=False)
    return [neutralize(heading_of(note)), *(f"{prefix}{line}" for line in text.split("\n") if line.strip())]


def fence_notes(notes: Sequence[CapturedNote]) -> str:
    """Fence the notes; "" for none."""
    lines = [line for note in notes for line in as_lines(note)]
    return "\n".join([f"<{FRAME}>", NOTICE, LEAD, *lines, f"</{FRAME}>"]) if lines else ""
