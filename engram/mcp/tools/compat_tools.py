"""Tools for the names of other memories: recall, record and judge with more arguments of the Python API.

The core tools have few arguments, since agents read them in every session; prompts written for other memories use more.
None of these is listed under its own name, only under those in `engram.mcp.tools.compat`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field

from engram.domain.agents.neutralization import neutralize_data
from engram.domain.agents.skills import TAG as SKILL
from engram.domain.entry.categories import TYPES
from engram.domain.entry.lore import ACTIVE, slug
from engram.domain.errors import NotFoundError
from engram.domain.graph.entity_rules import name_of_id
from engram.domain.recall.ranking import DEFAULT_IMPORTANCE, importance_of
from engram.domain.scopes import PROJECT, TEAM, USER
from engram.mcp import present, results
from engram.mcp.tools.arguments import Refs, Share, SomeRefs, Words
from engram.mcp.tools.compat_entities import TOOLS as ENTITIES
from engram.mcp.tools.compat_raw import compat_query_raw
from engram.mcp.tools.compat_values import MOST, Count, Metadata, Names, parse_span, split_words
from engram.mcp.tools.core import TOOLS as CORE
from engram.mcp.tools.team import Agent, Kept, Prepared, present_context, present_observed
from engram.mcp.tools.tool import LoreTool, answer, by_name, lore_tool, reading, writing
from engram.operations.team import OBSERVE, REGISTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recall.question import Recalled

_OTHER_SKILL = "surql-skill"
# Our scopes for the default scopes of another memory.
_DEFAULT_SCOPES = {"private": USER, "personal": USER, "local": USER, "team": PROJECT, "public": PROJECT}


@lore_tool("Record", writing(), index=False)
def compat_record(
    engram: Engram,
    content: Annotated[str, Field(description="Markdown, at most 4000 characters")],
    category: str = "",
    title: str = "",
    context: Words = (),
    tags: Names = (),
    files: Names = (),
    entities: Words = (),
    confidence: Share | None = None,
    importance: Share | None = None,
    redact: bool = False,
    metadata: Metadata = {},  # noqa: B006 - pydantic copies it
    scope: str = "",
) -> Annotated[CallToolResult, results.Recorded]:
    """Record an entry; an unknown category becomes a tag of a fact, none is guessed. Of metadata, tags and the type count."""
    category = category or next((str(metadata[key]) for key in ("type", "category") if metadata.get(key)), "")
    tags = _plain_tags([*tags, *split_words(metadata.get("tags"))])
    whole = (
        f"# {title.strip()}\n\n{content}"
        if title.strip() and not content.lstrip().startswith("#")
        else content
    )
    from engram.usecases.opening.scopes import open_scope_of
    from engram.usecases.recording.record import Draft, record

    where = open_scope_of(engram.store, scope, make=True)
    known = where.categories.near(category) if category else ""  # "" is guessed
    kind = category.lower() if category.lower() in TYPES else ""
    tagged = (*tags, *((slug(category),) if category and not known else ()))
    draft = Draft(
        whole, known or ("FACT" if category else ""), context, confidence, tagged, files,
        tuple(name_of_id(name) for name in entities), type=kind, importance=importance, redact=redact,
    )  # fmt: skip
    done = record(where, draft)
    engram.edited()
    return present.present_recorded(engram, done)


@lore_tool("Recall", reading())
def compat_recall(
    engram: Engram,
    query: str,
    k: Count = 5,
    category: str = "",
    tags: Names = (),
    files: Names = (),
    min_confidence: Share | None = None,
    min_importance: Share | None = None,
    scope: str = "",
) -> Annotated[CallToolResult, results.Found]:
    """Recall lore; a category that is none here is looked for among the tags."""
    kind, known, tagged = _filters(engram, category, tags)
    budget = int(engram.store.settings.number("recall.budget"))
    found = engram.query(
        query, k if min_importance is None else MOST, min_confidence, known, types=kind, tags=tagged, files=files,
        budget=budget, scopes=scope or (),
    )  # fmt: skip
    if min_importance is not None:
        found = found._replace(
            lore=tuple(hit for hit in found.lore if _importance(engram, hit) >= min_importance)[:k]
        )
    return present.present_answer(engram, found)


@lore_tool("Search", reading())
def compat_search(
    engram: Engram,
    text: str = "",
    limit: Count = 10,
    category: str = "",
    tags: Names = (),
    agents: Words = (),
    date_range: Any = None,
    scope: str = "",
) -> Annotated[CallToolResult, results.Found]:
    """Lore that matches every filter; a category that is none here is looked for among the tags."""
    kind, known, tagged = _filters(engram, category, tags)
    every = engram.store.categories
    categories = known or [name for name in every.names if kind and every.type_of(name) in kind]
    since, until = parse_span(date_range)
    found = engram.search(
        text,
        tags=tagged,
        categories=categories,
        agents=agents,
        since=since,
        until=until,
        scope=scope,
        limit=limit,
    )
    return present.present_entries(engram, found, found.notes, "No entry matches.", text)


@lore_tool("Context for a topic", writing())
def compat_context(
    engram: Engram,
    topic: str,
    max_tokens: int = 1000,
    most: Count = 8,
    sessions: bool = True,
    entities: bool = True,
    scope: str = "",
) -> Annotated[CallToolResult, Prepared]:
    """All you should know to begin: work handed to you (this takes it over), lore, recent sessions, entities."""
    return present_context(
        engram.get_context(topic, max_tokens, scope=scope, most=most, sessions=sessions, entities=entities)
    )


class Registered(Agent):
    """A registered agent, and the scopes here."""

    scopes: list[str]


@lore_tool("Register an agent", writing(idempotent=True), REGISTER, index=False)
def compat_register(
    engram: Engram,
    default_scope: str,
    **given: Any,
) -> Annotated[CallToolResult, Registered]:
    """Say who you are and what you can do; again: what changed."""
    from engram.usecases.opening.scopes import reachable_scopes

    teams = engram.store.settings.teams()
    own = (
        teams[0]
        if default_scope == TEAM and len(teams) == 1
        else _DEFAULT_SCOPES.get(default_scope, default_scope)
    )
    done = engram.register_agent(**given, default_scope=own)
    facts = {**done.as_dict(), "scopes": list(reachable_scopes(engram.store))}
    data = Registered.model_validate(neutralize_data(facts, is_checked=False))
    text = f"Registered {data.id}: {', '.join(data.capabilities) or data.name}"
    return answer(f"{text}\nScopes: {', '.join(data.scopes)}", data)


def _plain_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return tags without the `#`; a query for another database also gets the tag of a skill."""
    plain = [tag.strip().lstrip("#") for tag in tags]
    return tuple(dict.fromkeys([*filter(None, plain), *([SKILL] if _OTHER_SKILL in plain else [])]))


def _filters(
    engram: Engram, category: str, tags: Sequence[str]
) -> tuple[Sequence[str], Sequence[str], list[str]]:
    """Return the types, categories and tags to filter by: the other memory's category is one of the three."""
    kind = category.lower() if category.lower() in TYPES else ""
    known = "" if kind else engram.store.categories.near(category)
    more = [slug(category)] if category and not kind and not known else []
    return [kind] if kind else [], [known] if known else [], [*tags, *more]


def _importance(engram: Engram, hit: Recalled) -> float:
    """Return the importance that the file states, else that of the graph, else the default."""
    generation = engram.store.index.generation
    rank = generation.ranks().get(hit.lore.id) if generation else None
    stated = importance_of(hit.counted.importance, rank)
    return DEFAULT_IMPORTANCE if stated is None else stated


@lore_tool("List", reading())
def compat_list(
    engram: Engram, limit: Count = 10, tags: Names = (), match_all: bool = True, scope: str = ""
) -> Annotated[CallToolResult, results.Whole]:
    """The newest lore, of those with all these tags, or with one of them."""
    from engram.usecases.lookup.listing import list_lore
    from engram.usecases.opening.scopes import open_scope_of

    filters: list[tuple[str, ...]] = [tags] if match_all or not tags else [(tag,) for tag in tags]
    where = open_scope_of(engram.store, scope)
    found = [
        entry
        for all_of in filters
        for entry in list_lore(where, limit=2 * MOST, tags=all_of, status=ACTIVE).lore
    ]
    by_id = {entry.lore.id: entry for entry in found if present.is_readable(engram, entry)}
    newest = sorted(by_id.values(), key=lambda entry: (entry.lore.created_at, entry.lore.id), reverse=True)
    return present.present_whole(engram, newest[:limit])


@lore_tool("Read", reading())
def compat_read(engram: Engram, refs: SomeRefs) -> Annotated[CallToolResult, results.Whole]:
    """Entries whole, by ref, id, title, or the name of its file."""
    return present.present_whole(engram, [_find_entry(engram, name) for name in dict.fromkeys(refs)])


@lore_tool("Observe", writing(), OBSERVE, index=False)
def compat_observe(engram: Engram, scope: str = "", **given: Any) -> Annotated[CallToolResult, Kept]:
    """Note something in passing; later it becomes lore, if there is something in it."""
    return present_observed(engram.observe(**given, scope=scope))


@lore_tool("Judge", writing(idempotent=True))
def compat_judge(engram: Engram, ref: str, helpful: bool) -> Annotated[CallToolResult, results.Judged]:
    """Say of one entry whether it helped."""
    return _judge(engram, [ref], helpful=helpful)


@lore_tool("Judge an answer", writing(idempotent=True), index=False)
def compat_judge_answer(
    engram: Engram, query: str, was_useful: bool, refs: Refs = ()
) -> Annotated[CallToolResult, results.Judged]:
    """Say whether the answer to an earlier query helped: judges its best entry if so, all of it if not; or these refs."""
    names = refs or _answer_to(engram, query)[: 1 if was_useful else None]
    return _judge(engram, names, helpful=was_useful)


def _judge(engram: Engram, names: Sequence[str], *, helpful: bool) -> CallToolResult:
    done = engram.feedback(helpful=names) if helpful else engram.feedback(not_relevant=names)
    return present.present_feedback(done)


def _answer_to(engram: Engram, query: str) -> list[str]:
    """Return the ids in the last answer to a query of this session. Raises NotFoundError."""
    wanted = (engram.store.caller.session, "query", query.strip())
    for entry in reversed(engram.live(limit=200)):
        if entry.ids and (entry.session, entry.action, entry.query.strip()) == wanted:
            return list(entry.ids)
    raise NotFoundError(
        "No query of this session with these words had an answer.",
        "Give the words of the query, or refs (L1).",
    )


def _find_entry(engram: Engram, name: str) -> Shown:
    """Return the entry with a ref, id, title or file name. Raises NotFoundError, AmbiguousError."""
    wanted = name.strip().removeprefix("memory://")
    try:
        return engram.get(wanted)
    except NotFoundError:
        found = engram.execute(
            "SELECT id FROM lore WHERE title = :name COLLATE NOCASE OR path IN (:name, :name || '.md')"
            " OR substr(path, -length(:name) - 4) = '/' || :name || '.md' ORDER BY updated_at DESC LIMIT 1",
            {"name": wanted},
            waiting=False,
        ).rows
        if not found:
            raise
        return engram.get(str(found[0][0]))


TOOLS: dict[str, LoreTool] = {
    **ENTITIES,
    compat_query_raw.name: compat_query_raw,
    **{name: CORE[name] for name in ("recall_get", "recall_forget", "recall_feedback", "recall_status")},
    **by_name(
        compat_record, compat_recall, compat_search, compat_context, compat_register, compat_list, compat_read,
        compat_observe, compat_judge, compat_judge_answer,
    ),
}  # fmt: skip
# The tool or resource that each is most like, for docs/compat.md.
DOCUMENTED = {
    "compat_record": "recall_record",
    "compat_recall": "recall_query",
    "compat_search": "search",
    "compat_context": "get_context",
    "compat_register": "register_agent",
    "compat_query_raw": "engram_execute",
    "compat_list": "lore://recent",
    "compat_read": "recall_get",
    "compat_observe": "observe",
    "compat_judge": "recall_feedback",
    "compat_judge_answer": "recall_feedback",
    "compat_add_observations": "recall_record",
    "compat_create_entities": "recall_record",
    "compat_link": "link_entity",
    "compat_relate": "link_entity",
}
