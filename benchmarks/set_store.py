"""The scratch store of a retrieval set: one entry for each document, all of the same age."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from scratch_store import FOLDER, make_plain, write_lore

from engram.domain.entry import ulid
from engram.domain.entry.categories import Categories
from engram.domain.entry.lore import Lore, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retrieval_set import Document, RetrievalSet

_MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_SHARD = 500


def store_documents(root: str, found: RetrievalSet) -> dict[str, str]:
    """Make a store of the documents at `root`; returns lore id → the id that a hit of it counts for."""
    make_plain(root)
    ids = {_lore_id(number): document for number, document in enumerate(found.documents)}
    write_lore(root, _files(ids))
    return {lore_id: document.answers for lore_id, document in ids.items()}


def _files(ids: dict[str, Document]) -> Iterator[tuple[str, Lore]]:
    categories = Categories()
    by_answer = {document.answers: lore_id for lore_id, document in ids.items()}
    for number, (lore_id, document) in enumerate(ids.items()):
        category = categories.parse(document.category)
        lore = Lore(
            lore_id,
            document.text,
            category,
            _MOMENT,
            _MOMENT,
            categories.type_of(category),
            prior=document.thousandths,
            context=document.context,
            tags=document.tags,
            files=document.files,
            entities=document.entities,
            relations=(Relation("see_also", by_answer[document.follows]),) if document.follows else (),
        )
        yield f"{FOLDER}/{number // _SHARD:04d}/{lore_id}.md", lore


def _lore_id(number: int) -> str:
    return ulid.encode(int(_MOMENT.timestamp() * 1000), number + 1)
