"""LongMemEval as retrieval sets: which session of somebody's long history holds the evidence for a question.

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
_HEAD = 4096  # characters, in which the first instance names its type


def is_longmemeval(path: str) -> bool:
    """Whether a JSON file is a list of LongMemEval's instances. Raises OSError, ValueError."""
    with open(path, encoding="utf-8") as file:
        head = file.read(_HEAD)
    return head.lstrip().startswith("[") and '"question_type"' in head


def load(path: str) -> list[RetrievalSet]:
    """One set for each instance, its documents the sessions. Raises OSError, ValueError, KeyError."""
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
    """A session as texts no longer than an entry, cut between turns, and a longer turn between words."""
    part = ""
    for turn in turns:
        said = f"{turn['role']}: {turn['content']}".strip()
        while len(said) > MAX_CONTENT:
            cut = said.rfind(" ", 1, MAX_CONTENT)
            cut = cut if cut > 0 else MAX_CONTENT
            yield from filter(None, [part])
            part, said = said[:cut], said[cut:].strip()
        if part and len(part) + len(said) + 1 > MAX_CONTENT:
            yield part
            part = ""
        part = f"{part}\n{said}".strip()
    if part:
        yield part
