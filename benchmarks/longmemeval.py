"""LongMemEval as retrieval sets: find the session of a user's long history with the evidence for a question.

Each instance is a store of its own. The data (xiaowu0162/LongMemEval, `longmemeval_s.json`, MIT) is read from wherever you
keep it and is not part of this project. A question whose id ends with `_abs` has no answer in its history.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import retrieval_set
from retrieval_set import Document

from engram.domain.entry.lore import MAX_CONTENT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from retrieval_set import RetrievalSet

_NAME = "longmemeval_session"
_ABSTENTION = "_abs"
_HEAD = 4096  # characters; the first instance names its type in them


def is_longmemeval(path: str) -> bool:
    """Return whether a JSON file is a list of LongMemEval instances. Raises OSError, ValueError."""
    with open(path, encoding="utf-8") as file:
        head = file.read(_HEAD)
    return head.lstrip().startswith("[") and '"question_type"' in head


def load(path: str) -> list[RetrievalSet]:
    """Load a set for each instance, with sessions as documents. Raises OSError, ValueError, KeyError."""
    with open(path, encoding="utf-8") as file:
        instances: list[dict[str, Any]] = json.load(file)
    return [_set(instance) for instance in instances]


def _set(instance: Mapping[str, Any]) -> RetrievalSet:
    query = str(instance["question_id"])
    sessions = dict(zip(instance["haystack_session_ids"], instance["haystack_sessions"], strict=True))
    answered = not query.endswith(_ABSTENTION)
    judged = {session: 1 for session in instance["answer_session_ids"] if session in sessions and answered}
    return retrieval_set.assemble(
        _NAME,
        [Document(name, part) for name, turns in sessions.items() for part in _parts(turns)],
        {query: instance["question"]},
        {query: judged},
        {query: instance["question_type"]},
    )


def _parts(turns: list[dict[str, Any]]) -> Iterator[str]:
    """Cut a session into texts no longer than an entry, between turns, or between words of a longer turn."""
    part = ""
    for turn in turns:
        text = f"{turn['role']}: {turn['content']}".strip()
        while len(text) > MAX_CONTENT:
            cut = text.rfind(" ", 1, MAX_CONTENT)
            cut = cut if cut > 0 else MAX_CONTENT
            yield from filter(None, [part])
            part, text = text[:cut], text[cut:].strip()
        if part and len(part) + len(text) + 1 > MAX_CONTENT:
            yield part
            part = ""
        part = f"{part}\n{text}".strip()
    if part:
        yield part
