"""LoCoMo as retrieval sets: which turn, or which session, of a long conversation holds the evidence for a question.

Each conversation is a store of its own. The data (snap-research/locomo, `locomo10.json`) is CC BY-NC 4.0: it is read from
wherever you keep it and is not part of this project.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import retrieval_set
from retrieval_set import Document

from engram.domain.entry.lore import MAX_CONTENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from retrieval_set import RetrievalSet

TURN, SESSION = LEVELS = ("turn", "session")
_KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_DIALOGUE_ID = re.compile(r"D(\d+):(\d+)")
_SESSION = re.compile(r"session_\d+")


def is_locomo(path: str) -> bool:
    """Whether a JSON file is a list of conversations. Raises OSError, ValueError."""
    with open(path, encoding="utf-8") as file:
        return file.read(64).lstrip().startswith("[")


def load(path: str, level: str) -> list[RetrievalSet]:
    """One set for each conversation, its documents turns or sessions. Raises OSError, ValueError, KeyError."""
    with open(path, encoding="utf-8") as file:
        conversations: list[dict[str, Any]] = json.load(file)
    return [_set(conversation, level) for conversation in conversations]


def _set(conversation: Mapping[str, Any], level: str) -> RetrievalSet:
    sessions = [
        turns
        for name, turns in conversation["conversation"].items()
        if _SESSION.fullmatch(name) and isinstance(turns, list)
    ]
    documents = list(_turns(sessions) if level == TURN else _sessions(sessions))
    known = {document.answers for document in documents}
    asked = {str(number): question for number, question in enumerate(conversation["qa"])}
    evidence = {query: _evidence(question["evidence"], level) for query, question in asked.items()}
    # A question whose evidence is not in the conversation is a slip of the data: nothing can be said of it.
    judged = {query: dict.fromkeys(found & known, 1) for query, found in evidence.items() if found & known}
    return retrieval_set.assemble(
        f"locomo_{level}",
        documents,
        {query: asked[query]["question"] for query in judged},
        judged,
        {query: _KINDS[asked[query]["category"]] for query in judged},
    )


def _evidence(said: Iterable[str], level: str) -> set[str]:
    """The ids that a question's evidence names; some entries name several, or have a zero too many."""
    pairs = [(int(session), int(turn)) for text in said for session, turn in _DIALOGUE_ID.findall(text)]
    return {f"D{session}:{turn}" if level == TURN else f"D{session}" for session, turn in pairs}


def _turns(sessions: Iterable[list[dict[str, Any]]]) -> Iterator[Document]:
    """Each turn, naming the one before it in its session, as a conversation that is recorded turn by turn does."""
    for turns in sessions:
        before = ""
        for turn in turns:
            yield Document(turn["dia_id"], _said(turn), follows=before)
            before = turn["dia_id"]


def _sessions(sessions: Iterable[list[dict[str, Any]]]) -> Iterator[Document]:
    """Each session; one longer than an entry in parts, cut between turns, each of which counts for it."""
    for turns in sessions:
        part: list[str] = []
        for turn in turns:
            if part and sum(map(len, part)) + len(part) + len(_said(turn)) > MAX_CONTENT:
                yield Document(_session_of(turns), "\n".join(part))
                part = []
            part.append(_said(turn))
        if part:
            yield Document(_session_of(turns), "\n".join(part))


def _session_of(turns: list[dict[str, Any]]) -> str:
    return str(turns[0]["dia_id"]).partition(":")[0]


def _said(turn: Mapping[str, Any]) -> str:
    """Who said what, and what the picture shows that came with it."""
    caption = turn.get("blip_caption")
    shown = f" [{caption}]" if caption else ""
    return f"{turn['speaker']}: {turn['text']}{shown}"
