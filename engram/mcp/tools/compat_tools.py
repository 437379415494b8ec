"""What the names of other memories do: recall, record and judge with all that the Python API takes.

The core tools are kept short for agents that read them in every session; prompts written for another memory name more.
None of these is listed by a server under its own name: `engram.mcp.tools.compat` says under which.
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
from engram.mcp.tools.compat_values import MOST, Count, Metadata, Names, span, words
from engram.mcp.tools.core import TOOLS as CORE
from engram.mcp.tools.team import Agent, Kept, Prepared, present_context
from engram.mcp.tools.tool import LoreTool, answer, by_name, lore_tool, reading, writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recall.question import Recalled

_OTHER_SKILL = "surql-skill"
# Where an agent of another memory writes that keeps to itself, shares with its team, or with everybody.
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
    tags = _plain_tags([*tags, *words(metadata.get("tags"))])
    whole = (
        f"# {title.strip()}\n\n{content}"
        if title.strip() and not content.lstrip().startswith("#")
        else content
    )
    from engram.usecases.opening.scopes import reach
    from engram.usecases.recording.record import Draft, record

    where = reach(engram.store, scope, make=True)
    known = where.categories.near(category) if category else ""  # without one it is guessed
    kind = category.lower() if category.lower() in TYPES else ""
    tagged = (*tags, *((slug(category),) if category and not known else ()))
    draft = Draft(
        whole, known or ("FACT" if category else ""), context, confidence, tagged, files,
        tuple(name_of_id(one) for one in entities), type=kind, importance=importance, redact=redact,
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
    since, until = span(date_range)
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
    """An agent as it is registered, and the scopes that there are here."""

    scopes: list[str]


@lore_tool("Register an agent", writing(idempotent=True), index=False)
def compat_register(
    engram: Engram,
    id: str,  # noqa: A002 - the tool's argument
    name: str = "",
    capabilities: Words = (),
    default_scope: str = "",
) -> Annotated[CallToolResult, Registered]:
    """Say who you are and what you can do; again: what changed."""
    from engram.usecases.opening.scopes import reachable_scopes

    teams = engram.store.settings.teams()
    own = (
        teams[0]
        if default_scope == TEAM and len(teams) == 1
        else _DEFAULT_SCOPES.get(default_scope, default_scope)
    )
    done = engram.register_agent(id, name=name, capabilities=capabilities, default_scope=own)
    facts = {key: value for key, value in done.as_dict().items() if key != "text"}
    harmless = neutralize_data({**facts, "scopes": list(reachable_scopes(engram.store))}, is_checked=False)
    data = Registered.model_validate(harmless)
    text = f"Registered {data.id}: {', '.join(data.capabilities) or data.name}"
    return answer(f"{text}\nScopes: {', '.join(data.scopes)}", data)


def _plain_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return tags as lore has them: without the sign, and with what makes a skill of a query for another database."""
    plain = [tag.strip().lstrip("#") for tag in tags]
    return tuple(dict.fromkeys([*filter(None, plain), *([SKILL] if _OTHER_SKILL in plain else [])]))


def _filters(
    engram: Engram, category: str, tags: Sequence[str]
) -> tuple[Sequence[str], Sequence[str], list[str]]:
    """Return what the other memory's type comes to: a type of lore, a category, or one more tag."""
    kind = category.lower() if category.lower() in TYPES else ""
    known = "" if kind else engram.store.categories.near(category)
    more = [slug(category)] if category and not kind and not known else []
    return [kind] if kind else [], [known] if known else [], [*tags, *more]


def _importance(engram: Engram, hit: Recalled) -> float:
    """Return what a file states, else what the graph of entities says, else the usual."""
    generation = engram.store.index.generation
    rank = generation.ranks().get(hit.lore.id) if generation else None
    stated = importance_of(hit.counted.importance, rank)
    return DEFAULT_IMPORTANCE if stated is None else stated


@lore_tool("List", reading())
def compat_list(
    engram: Engram, limit: Count = 10, tags: Names = (), match_all: bool = True, scope: str = ""
) -> Annotated[CallToolResult, results.Whole]:
    """The newest lore, of those with all these tags, or with one of them."""
    wanted: list[tuple[str, ...]] = [tags] if match_all or not tags else [(tag,) for tag in tags]
    from engram.usecases.lookup.listing import list_lore
    from engram.usecases.opening.scopes import reach

    where = reach(engram.store, scope)
    found = [
        one for those in wanted for one in list_lore(where, limit=2 * MOST, tags=those, status=ACTIVE).lore
    ]
    each = {one.lore.id: one for one in found if present.is_readable(engram, one)}
    newest = sorted(each.values(), key=lambda one: (one.lore.created_at, one.lore.id), reverse=True)
    return present.wholes(engram, newest[:limit])


@lore_tool("Read", reading())
def compat_read(engram: Engram, refs: SomeRefs) -> Annotated[CallToolResult, results.Whole]:
    """Entries whole, by ref, id, title, or the name of its file."""
    return present.wholes(engram, [_find_entry(engram, name) for name in dict.fromkeys(refs)])


@lore_tool("Observe", writing(), index=False)
def compat_observe(
    engram: Engram,
    text: Annotated[str, Field(max_length=8000)],
    files: Words = (),
    agent: str = "",
    scope: str = "",
) -> Annotated[CallToolResult, Kept]:
    """Note something in passing; later it becomes lore, if there is something in it."""
    done = engram.observe(text, files=files, agent=agent, scope=scope)
    return answer(f"Kept; {done.waiting} waiting.", Kept(**done._asdict()))


@lore_tool("Judge", writing(idempotent=True))
def compat_judge(engram: Engram, ref: str, helpful: bool) -> Annotated[CallToolResult, results.Judged]:
    """Say of one entry whether it helped."""
    return present.present_feedback(_judge(engram, [ref], helpful=helpful))


@lore_tool("Judge an answer", writing(idempotent=True), index=False)
def compat_judge_answer(
    engram: Engram, query: str, was_useful: bool, refs: Refs = ()
) -> Annotated[CallToolResult, results.Judged]:
    """Say whether the answer to an earlier query helped: judges its best entry if so, all of it if not; or these refs."""
    names = refs or _answer_to(engram, query)[: 1 if was_useful else None]
    return present.present_feedback(_judge(engram, names, helpful=was_useful))


def _judge(engram: Engram, names: Sequence[str], *, helpful: bool) -> Any:
    return engram.feedback(helpful=names) if helpful else engram.feedback(not_relevant=names)


def _answer_to(engram: Engram, query: str) -> list[str]:
    """The ids that this session's last such query was answered with. Raises NotFoundError."""
    session = engram.store.caller.session
    for entry in reversed(engram.live(limit=200)):
        if (entry.session, entry.action, entry.query.strip()) == (
            session,
            "query",
            query.strip(),
        ) and entry.ids:
            return list(entry.ids)
    raise NotFoundError(
        "No query of this session with these words had an answer.",
        "Give the words of the query, or refs (L1).",
    )


def _find_entry(engram: Engram, name: str) -> Shown:
    """The entry of a ref, id, title or file name. Raises NotFoundError, AmbiguousError."""
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
# What each of these comes nearest to, for the page about them.
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
