"""The words for each kind of feedback, as commit subjects say them."""

from __future__ import annotations

from engram.domain.entry.confidence import HELPFUL, INCORRECT, NOT_RELEVANT
from engram.domain.judgements.ledger import CONFIRMED, RETRACTED, SAME, Judgement
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


_WORDS = {HELPFUL: "helpful", INCORRECT: "incorrect", NOT_RELEVANT: "not relevant"}
_LINES = {CONFIRMED: "confirmed", SAME: "said again"}


def judged_subjects(lines: Iterable[Judgement]) -> dict[str, str]:
    """Return what the operations of these lines, in the order of their ids, are called: "undo: feedback: helpful (ID)"."""
    found: dict[str, str] = {}
    for line in lines:
        taken_back = found.get(line.of)
        if line.kind != RETRACTED:
            word = _WORDS.get(line.kind) or _LINES.get(line.kind, "unknown")
            found[line.id] = f"feedback: {word} ({line.entry})"
        elif taken_back is None:
            found[line.id] = f"undo: feedback ({line.entry})"
        elif taken_back.startswith("undo: "):
            found[line.id] = f"redo: {taken_back}"
        else:
            found[line.id] = f"undo: {taken_back.removeprefix('redo: undo: ')}"
    return found


def kind_of(subject: str) -> str:
    """Return the judgement that the subject of an operation tells of; "" where it is none."""
    return next((kind for kind, word in _WORDS.items() if subject.startswith(f"feedback: {word} (")), "")
