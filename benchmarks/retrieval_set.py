"""Retrieval sets: documents, queries and which document answers which query, read from JSON and loaded into a store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from scratch_store import FOLDER, make_plain, write_lore

from engram.domain import ulid
from engram.domain.lore import MAX_CONTENT, Lore
from engram.domain.secrets import find_secrets, redact

_MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_SHARD = 500


class RetrievalSet(NamedTuple):
    """`documents`: id → text of at most 4,000 characters; `queries`: id → text; `judged`: query id → document id → grade.

    `unanswerable` are queries that nothing in the set answers; `cut` counts documents that were too long,
    `masked` those with a secret, which is masked as `record --redact` would.
    """

    name: str
    documents: dict[str, str]
    queries: dict[str, str]
    judged: dict[str, dict[str, int]]
    unanswerable: list[str]
    cut: int
    masked: int


def load(path: str) -> RetrievalSet:
    """Read a set. Raises OSError, ValueError or KeyError where the file is not one."""
    with open(path, encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    whole = {name: _text(document) for name, document in data["docs"].items()}
    cut = {name: _cut(text) for name, text in whole.items()}
    texts = {name: _cut(redact(text, find_secrets(text))) for name, text in cut.items() if text}
    answerable = {name for name, grades in data["qrels"].items() if grades}
    return RetrievalSet(
        str(data["name"]),
        texts,
        {name: text for name, text in data["queries"].items() if name in answerable},
        data["qrels"],
        [text for name, text in data["queries"].items() if name not in answerable],
        sum(len(text) > MAX_CONTENT for text in whole.values()),
        sum(text != cut[name] for name, text in texts.items()),
    )


def store_documents(root: str, found: RetrievalSet) -> dict[str, str]:
    """Make a store of the documents at `root`; returns lore id → document id.

    All lore have the same age, category and confidence, so nothing but their text ranks them.
    """
    make_plain(root)
    ids = {_lore_id(number): name for number, name in enumerate(found.documents)}
    write_lore(root, _lore(ids, found))
    return ids


def _lore(ids: dict[str, str], found: RetrievalSet) -> Iterator[tuple[str, Lore]]:
    for number, (lore_id, name) in enumerate(ids.items()):
        lore = Lore(lore_id, found.documents[name], "FACT", _MOMENT, _MOMENT)
        yield f"{FOLDER}/{number // _SHARD:04d}/{lore_id}.md", lore


def _lore_id(number: int) -> str:
    return ulid.encode(int(_MOMENT.timestamp() * 1000), number + 1)


def _text(document: dict[str, str]) -> str:
    parts = [document.get("title", ""), document["text"]]
    return "\n\n".join(part for part in parts if part)


def _cut(text: str) -> str:
    clean = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").strip("\n").rstrip()
    return clean[:MAX_CONTENT].rstrip()
