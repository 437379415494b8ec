"""LoCoMo as retrieval sets: find the turn, or the session, of a long conversation with the evidence for a question.

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
    """Return whether a JSON file is a list of conversations. Raises OSError, ValueError."""
    with open(path, encoding="utf-8") as file:
        return file.read(64).lstrip().startswith("[")


def load(path: str, level: str) -> list[RetrievalSet]:
    """Load a set for each conversation, with turns or sessions as documents. Raises OSError, ValueError, KeyError."""
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
    # A question whose evidence is not in the conversation is an error in the data, and is left out.
    judged = {query: dict.fromkeys(found & known, 1) for query, found in evidence.items() if found & known}
    return retrieval_set.assemble(
        f"locomo_{level}",
        documents,
        {query: asked[query]["question"] for query in judged},
        judged,
        {query: _KINDS[asked[query]["category"]] for query in judged},
    )


def _evidence(items: Iterable[str], level: str) -> set[str]:
    """Return the ids that a question's evidence names; an item may name several, or have a leading zero."""
    pairs = [(int(session), int(turn)) for text in items for session, turn in _DIALOGUE_ID.findall(text)]
    return {f"D{session}:{turn}" if level == TURN else f"D{session}" for session, turn in pairs}


def _turns(sessions: Iterable[list[dict[str, Any]]]) -> Iterator[Document]:
    """Yield each turn, related to the one before it, as in a conversation recorded turn by turn."""
    for turns in sessions:
        before = ""
        for turn in turns:
            yield Document(turn["dia_id"], _turn_text(turn), follows=before)
            before = turn["dia_id"]


def _sessions(sessions: Iterable[list[dict[str, Any]]]) -> Iterator[Document]:
    """Yield each session; one longer than an entry in parts, cut between turns, each of which counts for it."""
    for turns in sessions:
        part: list[str] = []
        for turn in turns:
            if part and sum(map(len, part)) + len(part) + len(_turn_text(turn)) > MAX_CONTENT:
                yield Document(_session_of(turns), "\n".join(part))
                part = []
            part.append(_turn_text(turn))
        if part:
            yield Document(_session_of(turns), "\n".join(part))


def _session_of(turns: list[dict[str, Any]]) -> str:
    return str(turns[0]["dia_id"]).partition(":")[0]


def _turn_text(turn: Mapping[str, Any]) -> str:
    """Return the text of a turn with its speaker and the caption of its picture."""
    caption = turn.get("blip_caption")
    shown = f" [{caption}]" if caption else ""
    return f"{turn['speaker']}: {turn['text']}{shown}"
