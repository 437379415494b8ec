"""Rows of JSON as other memory tools write them, put into the words that every row is read in.

Each tool's rows are told by the keys that only it uses, so that nobody has to say which tool a file is from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from engram.domain.entry.categories import OTHER_WORDS
from engram.domain.exchange.memory_kinds import EXPERIENCE, FACTS, GENTLEMAN, JSON, MCP_MEMORY, MEM0, RECALL
from engram.domain.graph.entity import TYPES
from engram.domain.graph.entity_rules import name_of_id
from engram.domain.typed import NamedTuple

Row = Mapping[str, object]
Values = list[tuple[str, object]]

_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.IGNORECASE | re.DOTALL)
_LESSONS = (
    "lesson", "lessons", "lesson_learned", "lessons_learned", "learned", "learning", "learnings", "insight",
    "recommendation", "takeaway",
)  # fmt: skip
_TASKS = ("task", "task_description", "situation", "problem", "issue", "goal", "primary_goal", "context")
_DEEDS = ("action", "approach", "strategy", "solution", "steps", "what_was_done")
_RESULTS = ("outcome", "result", "final_outcome", "output_summary", "evaluation")
_OF_ENTITIES = {
    "importanceScore": "importance", "createdBy": "created_by", "firstSeen": "first_seen", "lastSeen": "last_seen"
}  # fmt: skip
_OF_MEM0 = ("created_at", "updated_at", "agent_id")  # fields of an entry under the same name
_FAILED = ("fail", "failed", "failure", "error", "false", "incorrect", "negative")


class Left(NamedTuple):
    """A row that is left out on purpose: why, and what to do about it ("" for nothing: it is not even told)."""

    message: str
    hint: str = ""


class EntityRow(NamedTuple):
    """A row that is an entity: what it is called and is, its further facts, and (name, kind, since) of those it is related to."""

    name: str
    alias: str
    type: str
    metadata: tuple[tuple[str, str], ...] = ()
    related: tuple[tuple[str, str, str], ...] = ()


def detect_kind(name: str, values: Sequence[object]) -> str:
    """Return which tool's rows these are, from a file of that name; `json` where nothing tells."""
    if name.lower().rpartition("/")[2].startswith("experience") and any(
        _is_experience(one) for one in values
    ):
        return EXPERIENCE
    return next((kind for one in values[:20] if (kind := _kind_of(one))), JSON)


def translate_rows(kind: str, values: Values, *, own: bool = False) -> Values:
    """Return the rows in plain words, with where each was; one that is left out on purpose is a `Left`.

    `own`: they go into a person's own store, where what is marked personal belongs.
    """
    if kind == MCP_MEMORY:
        return _entities(values)
    translate = _TRANSLATE.get(kind)
    if translate is None:
        return values
    rows = [
        (where, {**one, "scope": ""} if own and isinstance(one, Mapping) else one) for where, one in values
    ]
    return [(where, translate(one) if isinstance(one, Mapping) else one) for where, one in rows]


def _kind_of(row: object) -> str:
    if not isinstance(row, Mapping):
        return ""
    keys = set(row)
    if "factType" in keys or {"content", "importanceScore"} <= keys or {"entityId", "name"} <= keys:
        return FACTS
    if {"entityType", "observations"} <= keys or "relationType" in keys:
        return MCP_MEMORY
    if {"session_id", "type", "title", "content"} <= keys:
        return GENTLEMAN
    if {"content", "category", "confidence", "validation_count"} <= keys and "votes" not in keys:
        return RECALL
    if isinstance(row.get("memory"), str) and keys & {"user_id", "agent_id", "run_id", "app_id", "hash"}:
        return MEM0
    if _is_experience(row) and keys.isdisjoint(("content", "text", "body", "memory")):
        return EXPERIENCE
    return ""


def _is_experience(row: object) -> bool:
    return isinstance(row, Mapping) and bool(
        _named(row, _LESSONS) or (_named(row, _TASKS) and (_named(row, _RESULTS) or _named(row, _DEEDS)))
    )


def _entities(values: Values) -> Values:
    """Entities with what was observed of them and how they relate to others; a relation of no entity stays a row.

    Each is an entry of what was observed, and an entity with its typed relations.
    """
    relations: dict[str, list[str]] = {}
    typed: dict[str, list[tuple[str, str, str]]] = {}
    known = {str(row.get("name")) for _, row in values if isinstance(row, Mapping) and "observations" in row}
    rest: Values = []
    for where, row in values:
        if isinstance(row, Mapping) and "observations" in row:
            rest.append((where, row))
        elif (
            isinstance(row, Mapping)
            and str(row.get("from")) in known
            and row.get("relationType")
            and row.get("to")
        ):
            line = f"{row['relationType']} [[{row['to']}]]"
            relations.setdefault(str(row["from"]), []).append(line)
            kind = _kind_of_relation(str(row["relationType"]))
            typed.setdefault(str(row["from"]), []).append((str(row["to"]), kind, ""))
        else:
            rest.append((where, row))
    found = [(where, _entity(row, relations) if isinstance(row, Mapping) else row) for where, row in rest]
    for where, row in rest:
        if isinstance(row, Mapping) and "observations" in row and isinstance(row.get("name"), str):
            name, kind = str(row["name"]), str(row.get("entityType") or "").lower()
            facts = (("kind", kind),) if kind and kind not in TYPES else ()
            found.append(
                (where, EntityRow(name, "", kind if kind in TYPES else "", facts, tuple(typed.get(name, ()))))
            )
    return found


def _kind_of_relation(said: str) -> str:
    return re.sub(r"\W+", "_", said.lower()).strip("_")


def _entity(row: Row, relations: Mapping[str, Sequence[str]]) -> object:
    name, seen = row.get("name"), row.get("observations")
    if not isinstance(name, str) or not isinstance(seen, list):
        return row
    lines = [f"- {one}" for one in (*[one for one in seen if isinstance(one, str)], *relations.get(name, ()))]
    if not lines:
        return Left("an entity without observations and relations says nothing")
    kind = row.get("entityType")
    tags = [kind] if isinstance(kind, str) and kind.lower() not in ("", "entity") else []
    return {"title": name, "content": "\n".join(lines), "tags": tags, "entities": [name]}


def _observation(row: Row) -> object:
    if row.get("deleted_at"):
        return Left("it was deleted there")
    if row.get("scope") == "personal":
        hint = "Import it into your own store: engram --scope user import."
        return Left("it is marked personal", hint)
    content = _PRIVATE.sub("[private]", str(row.get("content") or ""))
    kind, project = str(row.get("type") or ""), row.get("project")
    fields = {key: row[key] for key in ("title", "created_at", "updated_at") if row.get(key)}
    category = OTHER_WORDS.get(kind.lower(), "")
    tags = [one for one in (project, "" if category else kind) if isinstance(one, str) and one]
    rest = _rest(row, "content", "type", "project", "scope", "title", "created_at", "updated_at")
    return {**fields, "content": content, "category": category, "tags": tags, "properties": rest}


def _translate_recall(row: Row) -> object:
    """Ids and counts are kept; sources are names there and clones here, so they become words of the context."""
    dropped = ("source_id", "sources", "embedding", "embedding_status", "synced_at", "type", "memory")
    fields = {key: value for key, value in row.items() if key not in dropped}
    source = row.get("source_id")
    context = [one for one in (row.get("context"), f"Recorded by {source}" if source else "") if one]
    return {**fields, "context": context}


def _memory(row: Row) -> object:
    """Return a memory with all that is said of it; a relation of its graph as one of an entity."""
    start, kind, end = row.get("source"), row.get("relationship"), row.get("target") or row.get("destination")
    if start and kind and end and not row.get("memory"):
        return EntityRow(str(start), "", "", (), ((str(end), _kind_of_relation(str(kind)), ""),))
    meta = row.get("metadata")
    more = meta if isinstance(meta, Mapping) else {}
    kind = next((key for key in ("category", "type") if more.get(key)), "")
    until = next((key for key in ("expires_at", "expiration_date") if row.get(key)), "")
    said = _rest(row, "memory", "categories", until, *_OF_MEM0, *(["metadata"] if more else []))
    for key, value in more.items():
        name = str(key)
        while name in said and said[name] != value:  # the row says something else by that name
            name = f"metadata_{name}"
        said |= {name: value} if key != kind else {}
    return {
        **{key: row[key] for key in _OF_MEM0 if row.get(key)},
        "expires_at": row.get(until),
        "content": row.get("memory"),
        "category": more.get(kind),
        "tags": row.get("categories"),
        "properties": said,
    }


def _fact(row: Row) -> object:
    """Return a fact with its type, entities, importance and author; an entity as one."""
    if "entityId" in row and "content" not in row:
        return _entity_row(row)
    ids, source = row.get("entityIds"), row.get("source")
    kept = ("content", "tags", "timestamp", "_id", "id")
    return {
        **{key: row[key] for key in kept if row.get(key)},
        "category": row.get("factType"),
        "importance": row.get("importanceScore"),
        "agent": row.get("createdBy"),
        "context": [source] if isinstance(source, str) and source else [],
        "entities": [name_of_id(one) for one in ids if isinstance(one, str)] if isinstance(ids, list) else [],
        "properties": _rest(row, *kept, "factType", "importanceScore", "createdBy", "source", "entityIds"),
    }


def _entity_row(row: Row) -> object:
    name, alias = row.get("name") or row.get("entityId"), row.get("entityId")
    if not isinstance(name, str) or not name.strip() or not isinstance(alias, str):
        return Left("an entity without a name", "Give it a `name`.")
    kind = str(row.get("type") or "").lower()
    facts = dict(_facts_of(row.get("metadata")))
    facts |= {own: str(row[key]) for key, own in _OF_ENTITIES.items() if row.get(key) not in (None, "")}
    facts |= {"kind": kind} if kind and kind not in TYPES else {}
    ways = row.get("relationships")
    related = [
        (name_of_id(str(one.get("targetId") or one.get("toEntityId") or "")), str(one.get("relationType") or ""),
         str(one.get("since") or ""))
        for one in (ways if isinstance(ways, list) else [])
        if isinstance(one, Mapping)
    ]  # fmt: skip
    return EntityRow(
        name.strip(), name_of_id(alias), kind if kind in TYPES else "", tuple(facts.items()),
        tuple(one for one in related if one[0]),
    )  # fmt: skip


def _facts_of(value: object) -> list[tuple[str, str]]:
    """Return the facts of an object of any keys as texts."""
    found = value if isinstance(value, Mapping) else {}
    return [
        (re.sub(r"\W", "_", str(key)), one if isinstance(one, str) else json.dumps(one, ensure_ascii=False))
        for key, one in found.items()
        if one not in (None, "")
    ]


def _experience(row: Row) -> object:
    named = [_named(row, names) for names in (_LESSONS, _TASKS, _DEEDS, _RESULTS)]
    lesson, task, done, result = (_text_of(row, name) for name in named)
    parts = [("", lesson), ("Task: ", task), ("Done: ", done), ("Outcome: ", result)]
    told = [f"{name}{text}" for name, text in parts if text]
    if not (lesson or (task and (result or done))):
        return Left(
            "it tells neither a lesson nor how a task ended",
            "Give it a `lesson`, or a `task` and an `outcome`.",
        )
    failed = row.get("success") is False or result.lower().startswith(_FAILED)
    category = row.get("category") or ("FAILURE" if failed else "PATTERN_OUTCOME" if lesson else "OUTCOME")
    kept = ("tags", "keywords", "files", "confidence", "timestamp", "created_at", "agent", "agent_id")
    fields = {key: row[key] for key in kept if row.get(key) not in (None, "")}
    rest = _rest(row, "category", *named, *kept)
    return {**fields, "content": "\n\n".join(told), "category": category, "properties": rest}


def _named(row: Row, names: Sequence[str]) -> str:
    """Return the first of these names that has a text in the row; "" where none has."""
    return next((name for name in names if _text_of(row, name)), "")


def _text_of(row: Row, name: str) -> str:
    """Return the text under a name, "" where there is none; several are lines of a list."""
    value = row.get(name)
    if isinstance(value, list):
        return "\n".join(f"- {one.strip()}" for one in value if isinstance(one, str) and one.strip())
    return value.strip() if isinstance(value, str) else ""


def _rest(row: Row, *taken: str) -> dict[str, object]:
    """Return what no field has `taken` of a row: properties of the entry."""
    return {key: value for key, value in row.items() if key not in taken}


_TRANSLATE: dict[str, Callable[[Row], object]] = {
    GENTLEMAN: _observation,
    RECALL: _translate_recall,
    MEM0: _memory,
    EXPERIENCE: _experience,
    FACTS: _fact,
}
