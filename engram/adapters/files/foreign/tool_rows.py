"""Translate JSON rows of other memory tools into the keys that `import_fields` reads.

A tool's rows are recognised by keys that only it uses, so nobody has to say from which tool a file is.
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
_ACTIONS = ("action", "approach", "strategy", "solution", "steps", "what_was_done")
_RESULTS = ("outcome", "result", "final_outcome", "output_summary", "evaluation")
_ENTITY_KEYS = {
    "importanceScore": "importance", "createdBy": "created_by", "firstSeen": "first_seen", "lastSeen": "last_seen"
}  # fmt: skip
_MEM0_KEYS = ("created_at", "updated_at", "agent_id")  # fields of an entry with the same names
_FAILED = ("fail", "failed", "failure", "error", "false", "incorrect", "negative")


class Left(NamedTuple):
    """A row that is left out on purpose: why, and what to do about it ("": it is not reported)."""

    message: str
    hint: str = ""


class EntityRow(NamedTuple):
    """A row that is an entity, with further facts, and (name, kind, since) of related entities."""

    name: str
    alias: str
    type: str
    metadata: tuple[tuple[str, str], ...] = ()
    related: tuple[tuple[str, str, str], ...] = ()


def detect_kind(name: str, values: Sequence[object]) -> str:
    """Return the tool that these rows, from a file of this name, are from; `json` if unknown."""
    if name.lower().rpartition("/")[2].startswith("experience") and any(
        _is_experience(row) for row in values
    ):
        return EXPERIENCE
    return next((kind for row in values[:20] if (kind := _kind_of(row))), JSON)


def translate_rows(kind: str, values: Values, *, own: bool = False) -> Values:
    """Return the translated rows, each with its place; one that is left out on purpose is a `Left`.

    `own`: they go into a person's own store, where rows marked personal belong.
    """
    if kind == MCP_MEMORY:
        return _translate_graph(values)
    translate = _TRANSLATE.get(kind)
    if translate is None:
        return values
    rows = [
        (where, {**row, "scope": ""} if own and isinstance(row, Mapping) else row) for where, row in values
    ]
    return [(where, translate(row) if isinstance(row, Mapping) else row) for where, row in rows]


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
        _first_key(row, _LESSONS)
        or (_first_key(row, _TASKS) and (_first_key(row, _RESULTS) or _first_key(row, _ACTIONS)))
    )


def _translate_graph(values: Values) -> Values:
    """Translate entities and relations; a relation of an unknown entity stays a row.

    Each entity gives an entry with its observations and relations, and an entity with its typed relations.
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
            kind = _relation_kind(str(row["relationType"]))
            typed.setdefault(str(row["from"]), []).append((str(row["to"]), kind, ""))
        else:
            rest.append((where, row))
    found = [(where, _as_entry(row, relations) if isinstance(row, Mapping) else row) for where, row in rest]
    for where, row in rest:
        if isinstance(row, Mapping) and "observations" in row and isinstance(row.get("name"), str):
            name, kind = str(row["name"]), str(row.get("entityType") or "").lower()
            facts = (("kind", kind),) if kind and kind not in TYPES else ()
            found.append(
                (where, EntityRow(name, "", kind if kind in TYPES else "", facts, tuple(typed.get(name, ()))))
            )
    return found


def _relation_kind(text: str) -> str:
    return re.sub(r"\W+", "_", text.lower()).strip("_")


def _as_entry(row: Row, relations: Mapping[str, Sequence[str]]) -> object:
    name, observations = row.get("name"), row.get("observations")
    if not isinstance(name, str) or not isinstance(observations, list):
        return row
    texts = [text for text in observations if isinstance(text, str)]
    lines = [f"- {text}" for text in (*texts, *relations.get(name, ()))]
    if not lines:
        return Left("an entity without observations and relations says nothing")
    kind = row.get("entityType")
    tags = [kind] if isinstance(kind, str) and kind.lower() not in ("", "entity") else []
    return {"title": name, "content": "\n".join(lines), "tags": tags, "entities": [name]}


def _translate_gentleman(row: Row) -> object:
    if row.get("deleted_at"):
        return Left("it was deleted there")
    if row.get("scope") == "personal":
        hint = "Import it into your own store: engram --scope user import."
        return Left("it is marked personal", hint)
    content = _PRIVATE.sub("[private]", str(row.get("content") or ""))
    kind, project = str(row.get("type") or ""), row.get("project")
    fields = {key: row[key] for key in ("title", "created_at", "updated_at") if row.get(key)}
    category = OTHER_WORDS.get(kind.lower(), "")
    tags = [tag for tag in (project, "" if category else kind) if isinstance(tag, str) and tag]
    rest = _rest(row, "content", "type", "project", "scope", "title", "created_at", "updated_at")
    return {**fields, "content": content, "category": category, "tags": tags, "properties": rest}


def _translate_recall(row: Row) -> object:
    """Keep ids and counts; sources, which are names there and clones here, become context."""
    dropped = ("source_id", "sources", "embedding", "embedding_status", "synced_at", "type", "memory")
    fields = {key: value for key, value in row.items() if key not in dropped}
    source = row.get("source_id")
    context = [text for text in (row.get("context"), f"Recorded by {source}" if source else "") if text]
    return {**fields, "context": context}


def _translate_mem0(row: Row) -> object:
    """Translate a memory with its metadata; a relation of the graph becomes one of an entity."""
    start, kind, end = row.get("source"), row.get("relationship"), row.get("target") or row.get("destination")
    if start and kind and end and not row.get("memory"):
        return EntityRow(str(start), "", "", (), ((str(end), _relation_kind(str(kind)), ""),))
    given = row.get("metadata")
    metadata = given if isinstance(given, Mapping) else {}
    kind = next((key for key in ("category", "type") if metadata.get(key)), "")
    until = next((key for key in ("expires_at", "expiration_date") if row.get(key)), "")
    properties = _rest(row, "memory", "categories", until, *_MEM0_KEYS, *(["metadata"] if metadata else []))
    for key, value in metadata.items():
        name = str(key)
        while name in properties and properties[name] != value:  # the row has another value for that name
            name = f"metadata_{name}"
        properties |= {name: value} if key != kind else {}
    return {
        **{key: row[key] for key in _MEM0_KEYS if row.get(key)},
        "expires_at": row.get(until),
        "content": row.get("memory"),
        "category": metadata.get(kind),
        "tags": row.get("categories"),
        "properties": properties,
    }


def _translate_fact(row: Row) -> object:
    """Translate a fact with its type, entities, importance and author; an entity becomes an `EntityRow`."""
    if "entityId" in row and "content" not in row:
        return _translate_entity(row)
    ids, source = row.get("entityIds"), row.get("source")
    copied = ("content", "tags", "timestamp", "_id", "id")
    return {
        **{key: row[key] for key in copied if row.get(key)},
        "category": row.get("factType"),
        "importance": row.get("importanceScore"),
        "agent": row.get("createdBy"),
        "context": [source] if isinstance(source, str) and source else [],
        "entities": [name_of_id(one) for one in ids if isinstance(one, str)] if isinstance(ids, list) else [],
        "properties": _rest(row, *copied, "factType", "importanceScore", "createdBy", "source", "entityIds"),
    }


def _translate_entity(row: Row) -> object:
    name, alias = row.get("name") or row.get("entityId"), row.get("entityId")
    if not isinstance(name, str) or not name.strip() or not isinstance(alias, str):
        return Left("an entity without a name", "Give it a `name`.")
    kind = str(row.get("type") or "").lower()
    facts = dict(_facts_of(row.get("metadata")))
    facts |= {own: str(row[key]) for key, own in _ENTITY_KEYS.items() if row.get(key) not in (None, "")}
    facts |= {"kind": kind} if kind and kind not in TYPES else {}
    relationships = row.get("relationships")
    related = [
        (name_of_id(str(way.get("targetId") or way.get("toEntityId") or "")), str(way.get("relationType") or ""),
         str(way.get("since") or ""))
        for way in (relationships if isinstance(relationships, list) else [])
        if isinstance(way, Mapping)
    ]  # fmt: skip
    return EntityRow(
        name.strip(), name_of_id(alias), kind if kind in TYPES else "", tuple(facts.items()),
        tuple(one for one in related if one[0]),
    )  # fmt: skip


def _facts_of(value: object) -> list[tuple[str, str]]:
    """Return the values of an object as texts, by key."""
    found = value if isinstance(value, Mapping) else {}
    return [
        (
            re.sub(r"\W", "_", str(key)),
            item if isinstance(item, str) else json.dumps(item, ensure_ascii=False),
        )
        for key, item in found.items()
        if item not in (None, "")
    ]


def _translate_experience(row: Row) -> object:
    named = [_first_key(row, names) for names in (_LESSONS, _TASKS, _ACTIONS, _RESULTS)]
    lesson, task, done, result = (_text_of(row, name) for name in named)
    sections = [("", lesson), ("Task: ", task), ("Done: ", done), ("Outcome: ", result)]
    texts = [f"{name}{text}" for name, text in sections if text]
    if not (lesson or (task and (result or done))):
        return Left(
            "it tells neither a lesson nor how a task ended",
            "Give it a `lesson`, or a `task` and an `outcome`.",
        )
    failed = row.get("success") is False or result.lower().startswith(_FAILED)
    category = row.get("category") or ("FAILURE" if failed else "PATTERN_OUTCOME" if lesson else "OUTCOME")
    copied = ("tags", "keywords", "files", "confidence", "timestamp", "created_at", "agent", "agent_id")
    fields = {key: row[key] for key in copied if row.get(key) not in (None, "")}
    rest = _rest(row, "category", *named, *copied)
    return {**fields, "content": "\n\n".join(texts), "category": category, "properties": rest}


def _first_key(row: Row, names: Sequence[str]) -> str:
    """Return the first of these keys that has a text in the row; "" if none has."""
    return next((name for name in names if _text_of(row, name)), "")


def _text_of(row: Row, name: str) -> str:
    """Return the text under a key, "" if there is none; several become a list."""
    value = row.get(name)
    if isinstance(value, list):
        return "\n".join(f"- {one.strip()}" for one in value if isinstance(one, str) and one.strip())
    return value.strip() if isinstance(value, str) else ""


def _rest(row: Row, *taken: str) -> dict[str, object]:
    """Return the values of a row that no field has `taken`: properties of the entry."""
    return {key: value for key, value in row.items() if key not in taken}


_TRANSLATE: dict[str, Callable[[Row], object]] = {
    GENTLEMAN: _translate_gentleman,
    RECALL: _translate_recall,
    MEM0: _translate_mem0,
    EXPERIENCE: _translate_experience,
    FACTS: _translate_fact,
}
