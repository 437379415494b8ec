"""Retrieval sets: documents, questions, and which document answers which question.

A set is one JSON file (`docs`, `queries`, `qrels`), or a folder with `lore.jsonl` and `queries.jsonl`, whose entries have all
their fields and whose questions have a kind. docs/recall.md describes both. The scratch store of a set has an entry for each
document, all of the same age.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from scratch_store import FOLDER, make_plain, write_lore

from engram.domain.admission.secrets import find_secrets, redact
from engram.domain.entry import ulid
from engram.domain.entry.categories import Categories
from engram.domain.entry.confidence import DEFAULT_PRIOR
from engram.domain.entry.lore import MAX_CONTENT, Lore, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

UNANSWERABLE = "unanswerable"
_CREATED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
_FILES_PER_FOLDER = 500


class Document(NamedTuple):
    """The source of an entry; `text` begins with its title. `answers` is the id that a hit of the entry counts for.

    `follows` is the id of the preceding document in a conversation, to which the entry gets a relation.
    """

    answers: str
    text: str
    context: tuple[str, ...] = ()
    category: str = "FACT"
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    thousandths: int = DEFAULT_PRIOR
    follows: str = ""
    entities: tuple[str, ...] = ()


class RetrievalSet(NamedTuple):
    """`queries`: id → text; `judged`: query id → document id → grade; `kinds`: query id → kind, if the set has any.

    `unanswerable` are questions that nothing in the set answers; `cut` counts documents that were too long, `masked` those
    with secrets, which are masked as by `record --redact`.
    """

    name: str
    documents: list[Document]
    queries: dict[str, str]
    judged: dict[str, dict[str, int]]
    kinds: dict[str, str]
    unanswerable: list[str]
    cut: int
    masked: int


def load(path: str) -> RetrievalSet:
    """Read a set from a JSON file or a folder. Raises OSError, ValueError or KeyError if it is none."""
    if os.path.isdir(path):
        return _load_folder(path)
    with open(path, encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    documents = [Document(key, _text(document)) for key, document in data["docs"].items()]
    name = os.path.splitext(os.path.basename(path))[0]
    return assemble(name, documents, data["queries"], data["qrels"], {})


def assemble(
    name: str,
    documents: Iterable[Document],
    queries: Mapping[str, str],
    judged: Mapping[str, Mapping[str, int]],
    kinds: Mapping[str, str],
) -> RetrievalSet:
    """Make a set of these parts: cut and mask documents, and separate unanswerable questions."""
    whole = [document for document in documents if document.text.strip()]
    cut = [document._replace(text=_cut(document.text)) for document in whole]
    ready = [_mask_document(document) for document in cut]
    answerable = {query for query, grades in judged.items() if any(grades.values())}
    return RetrievalSet(
        name,
        ready,
        {query: text for query, text in queries.items() if query in answerable},
        {query: dict(judged[query]) for query in queries if query in answerable},
        {query: kind for query, kind in kinds.items() if query in answerable},
        [text for query, text in queries.items() if query not in answerable],
        sum(len(document.text) > MAX_CONTENT for document in whole),
        sum(one != other for one, other in zip(cut, ready, strict=True)),
    )


def with_everyday_words(found: RetrievalSet, path: str) -> RetrievalSet:
    """Return the set with two more sentences in each entry, from a file of `key`, `symptom` and `task`.

    Raises OSError, ValueError, KeyError.
    """
    words = {line["key"]: f"{line['symptom']} {line['task']}" for line in read_lines(path)}
    documents = [one._replace(text=f"{one.text}\n\n{words[one.answers]}") for one in found.documents]
    return found._replace(documents=documents)


def read_lines(path: str) -> list[dict[str, Any]]:
    """Read the objects of a JSON-lines file. Raises OSError, ValueError."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def _load_folder(path: str) -> RetrievalSet:
    lore = read_lines(os.path.join(path, "lore.jsonl"))
    asked = {str(number): line for number, line in enumerate(read_lines(os.path.join(path, "queries.jsonl")))}
    keys = {line["key"] for line in lore}
    unknown = {key for line in asked.values() for key in line["relevant"]} - keys
    if unknown:
        raise ValueError(f"{path}: no entry has the keys {', '.join(sorted(unknown))}")
    return assemble(
        os.path.basename(os.path.normpath(path)),
        map(_document, lore),
        {query: line["q"] for query, line in asked.items()},
        {query: dict.fromkeys(line["relevant"], 1) for query, line in asked.items()},
        {query: line["kind"] for query, line in asked.items()},
    )


def _document(line: Mapping[str, Any]) -> Document:
    """Convert a line of `lore.jsonl`; all but the key and the content may be missing."""
    return Document(
        line["key"],
        _text({"title": line.get("title", ""), "text": line["content"]}),
        _as_tuple(line.get("context")),
        line.get("category") or "FACT",
        _as_tuple(line.get("tags")),
        _as_tuple(line.get("files")),
        round(1000 * line["confidence"]) if line.get("confidence") is not None else DEFAULT_PRIOR,
    )


def _as_tuple(value: Any) -> tuple[str, ...]:
    if not value:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def _text(document: Mapping[str, str]) -> str:
    title, text = document.get("title", ""), document["text"]
    return "\n\n".join(part for part in (title, text) if part and (part is text or not text.startswith(part)))


def _cut(text: str) -> str:
    clean = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").strip("\n").rstrip()
    return clean[:MAX_CONTENT].rstrip()


def _mask_document(document: Document) -> Document:
    """Mask the secrets in the text and the context."""
    return document._replace(text=_cut(_mask(document.text)), context=tuple(map(_mask, document.context)))


def _mask(text: str) -> str:
    return redact(text, find_secrets(text))


def store_documents(root: str, found: RetrievalSet) -> dict[str, str]:
    """Make a store of the documents at `root`; return entry id → the document id that a hit counts for."""
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
            _CREATED,
            _CREATED,
            categories.type_of(category),
            prior=document.thousandths,
            context=document.context,
            tags=document.tags,
            files=document.files,
            entities=document.entities,
            relations=(Relation("see_also", by_answer[document.follows]),) if document.follows else (),
        )
        yield f"{FOLDER}/{number // _FILES_PER_FOLDER:04d}/{lore_id}.md", lore


def _lore_id(number: int) -> str:
    return ulid.encode(int(_CREATED.timestamp() * 1000), number + 1)
