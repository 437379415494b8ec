"""The words for each kind of feedback, as commit subjects say them."""

from __future__ import annotations

from engram.domain.entry.confidence import HELPFUL, INCORRECT, NOT_RELEVANT

_WORDS = {HELPFUL: "helpful", INCORRECT: "incorrect", NOT_RELEVANT: "not relevant"}


def judged_subject(kind: str, entry: str) -> str:
    """Return what an operation that judged an entry is called."""
    return f"feedback: {_WORDS.get(kind, kind)} ({entry})"


def kind_of(subject: str) -> str:
    """Return the judgement that the subject of an operation tells of; "" where it is none."""
    return next((kind for kind, word in _WORDS.items() if subject.startswith(f"feedback: {word} (")), "")
