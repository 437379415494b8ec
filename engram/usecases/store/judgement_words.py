"""Subjects of the operations that judgements are, worded like commit subjects."""

from __future__ import annotations

from engram.domain.entry.confidence import HELPFUL, INCORRECT, NOT_RELEVANT
from engram.domain.judgements.ledger import CONFIRMED, RETRACTED, SAME, Judgement
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


FEEDBACK_WORDS = {HELPFUL: "helpful", INCORRECT: "incorrect", NOT_RELEVANT: "not relevant"}
_CONFIRMATION_WORDS = {CONFIRMED: "confirmed", SAME: "said again"}


def judged_subjects(lines: Iterable[Judgement]) -> dict[str, str]:
    """Return the subjects of these lines, which are sorted by id, by line id: "undo: feedback: helpful (ID)"."""
    found: dict[str, str] = {}
    for line in lines:
        retracted = found.get(line.of)
        if line.kind != RETRACTED:
            word = FEEDBACK_WORDS.get(line.kind) or _CONFIRMATION_WORDS.get(line.kind, "unknown")
            found[line.id] = f"feedback: {word} ({line.entry})"
        elif retracted is None:
            found[line.id] = f"undo: feedback ({line.entry})"
        elif retracted.startswith("undo: "):
            found[line.id] = f"redo: {retracted}"
        else:
            found[line.id] = f"undo: {retracted.removeprefix('redo: undo: ')}"
    return found


def kind_of(subject: str) -> str:
    """Return the kind of judgement in the subject of an operation; "" if it is none."""
    return next(
        (kind for kind, word in FEEDBACK_WORDS.items() if subject.startswith(f"feedback: {word} (")), ""
    )
