"""The set `compat`: tools under the names of other memories, so that prompts written for those still work.

`docs/compat.md` is made from the table. The names of arguments are from the sources of those memories.
"""

from __future__ import annotations

from typing import NamedTuple

from engram.mcp.tools.aliases import Alias, alias_tool
from engram.mcp.tools.scope_arguments import FILTERS, OWNER, PROJECT, SCOPE
from engram.mcp.tools.tool import LoreTool

_LIMIT, _ID = {"query": "query", "limit": "k"}, {"memory_id": "refs"}
_MEM0 = ("enable_graph", "messages", "filters", "rerank", "infer")
_MEM0_WHOSE = {
    "user_id": OWNER, "agent_id": OWNER, "app_id": OWNER, "run_id": OWNER, "project": PROJECT, "filters": FILTERS
}  # fmt: skip
_NOTES = ("output_format", "page")
_NOTES_WHOSE = {"project": PROJECT, "workspace": OWNER, "project_id": OWNER}
_NAMESPACE, _SCOPE_ID, _NAMED = {"namespace": SCOPE}, {"scopeId": SCOPE}, {"scope": SCOPE}
_GO_WHOSE = {"project": PROJECT, **_NAMESPACE}
_GENTLEMAN_WHOSE = {"project": PROJECT, "scope": SCOPE}
_GENTLEMAN_READ = {**_GENTLEMAN_WHOSE, "session_id": OWNER}
_GENTLEMAN = (
    "session_id", "topic_key", "capture_prompt", "project_choice_reason", "recovery_token", "all_projects",
    "match_mode", "response_format", "include_history", "history_cursor", "hard_delete", "compact", "max_bytes",
)  # fmt: skip


class Source(NamedTuple):
    """Another memory and its rows. `--tools compat:KEY` chooses these alone."""

    key: str
    what: str
    rows: tuple[Alias, ...]


SOURCES = (
    Source("surreal", "baladithyab/engram: MCP tools on SurrealDB", (
        Alias("store_memory", "compat_record", "Record lore",
              {"content": "content", "memory_type": "category", "tags": "tags", "importance": "importance"},
              unused=("client_hostname",), scoping=_NAMED),
        Alias("recall_memories", "compat_recall", "Recall lore", {**_LIMIT, "memory_type": "category"}, scoping=_NAMED),
        Alias("mark_retrieval_useful", "compat_judge_answer", "Say whether an answer helped",
              {"query": "query", "was_useful": "was_useful"}, unused=("reason",)),
        Alias("forget_memory", "recall_forget", "Delete lore", _ID, unused=("reason",)),
        Alias("get_memory_status", "recall_status", "Report the state of the memory"),
        Alias("search_knowledge_graph", "search_graph", "What is related to an entity",
              {"query": "entity", "entity_type": "types", "depth": "depth", "limit": "limit"}),
    )),
    Source("engram-js", "An engram in JavaScript, of four tools at first and of six later", (
        Alias("engram_remember", "compat_record", "Record lore",
              {"content": "content", "category": "category", "entity": "entities", "confidence": "confidence", "tags": "tags"},
              unused=("force",), scoping=_NAMESPACE),
        Alias("engram_recall", "compat_recall", "Recall lore", {**_LIMIT, "category": "category"},
              unused=("threshold", "time_filter"), scoping=_NAMESPACE),
        Alias("engram_forget", "recall_forget", "Delete lore", _ID),
        Alias("engram_feedback", "compat_judge", "Say whether lore helped", {"memory_id": "ref", "helpful": "helpful"},
              unused=("context",)),
        Alias("engram_context", "compat_recall", "Recall lore", _LIMIT,
              unused=("format", "include_metadata", "categories", "max_tokens"), scoping=_NAMESPACE),
        Alias("engram_status", "recall_status", "Report the state of the memory"),
    )),
    Source("convex", "RyanLisse/engram: MCP tools on Convex", (
        Alias("memory_store_fact", "compat_record", "Record lore",
              {"content": "content", "factType": "category", "source": "context", "entityIds": "entities", "tags": "tags"},
              unused=("emotionalContext",), scoping=_SCOPE_ID),
        Alias("memory_recall", "compat_recall", "Recall lore",
              {**_LIMIT, "factType": "category", "minImportance": "min_importance"},
              unused=("searchStrategy",), scoping=_SCOPE_ID),
        Alias("memory_search", "compat_search", "Lore that matches every filter",
              {"text": "text", "tags": "tags", "factType": "category", "agentId": "agents", "dateRange": "date_range",
               "limit": "limit"}, scoping=_SCOPE_ID),
        Alias("memory_record_feedback", "recall_feedback", "Judge lore that was recalled",
              {"usedFactIds": "helpful", "unusedFactIds": "not_relevant"}, unused=("recallId",)),
        Alias("memory_update_fact", "update_memory", "Correct lore",
              {"factId": "memory_id", "content": "content", "tags": "tags"}, {"factType": "category"}),
        Alias("memory_archive_fact", "update_memory", "Archive lore", {"factId": "memory_id"},
              defaults={"status": "archived"}),
        Alias("memory_link_entity", "compat_link", "Make or relate an entity",
              {"entityId": "entity_id", "name": "name", "type": "entity_type", "relationships": "relationships",
               "metadata": "metadata"}),
        Alias("memory_get_context", "compat_context", "What to know to begin",
              {"topic": "topic", "maxFacts": "most", "includeSessions": "sessions", "includeEntities": "entities"},
              {"tokenBudget": "max_tokens"}, unused=("profile", "includeThemes"), scoping=_SCOPE_ID),
        Alias("memory_observe", "compat_observe", "Note in passing", {"observation": "text"},
              unused=("emotionalContext",), scoping=_SCOPE_ID),
        Alias("memory_register_agent", "compat_register", "Say who you are",
              {"agentId": "id", "name": "name", "capabilities": "capabilities", "defaultScope": "default_scope"},
              unused=("telos", "isInnerCircle")),
        Alias("memory_query_raw", "compat_query_raw", "Rows of a table",
              {"table": "table", "filter": "filter", "sort": "sort", "limit": "limit"}),
        Alias("memory_end_session", "handoff", "Hand your work over", {"summary": "summary"}, unused=("conversationId",)),
    )),
    Source("gentleman", "Gentleman-Programming/engram, and the Go programs like it", (
        Alias("mem_save", "compat_record", "Record lore", {"title": "title", "content": "content", "type": "category"},
              {"observation": "content"}, unused=_GENTLEMAN, scoping=_GENTLEMAN_WHOSE),
        Alias("mem_search", "compat_recall", "Recall lore", {**_LIMIT, "type": "category"},
              unused=_GENTLEMAN, scoping=_GENTLEMAN_READ),
        Alias("mem_get_observation", "recall_get", "Show lore", {"id": "refs"}, unused=_GENTLEMAN, scoping=_GENTLEMAN_WHOSE),
        Alias("mem_update", "update_memory", "Correct lore", {"id": "memory_id", "content": "content"},
              {"type": "category"}, unused=(*_GENTLEMAN, "title"), scoping=_GENTLEMAN_WHOSE),
        Alias("mem_delete", "recall_forget", "Delete lore", {"id": "refs"}, unused=_GENTLEMAN, scoping=_GENTLEMAN_WHOSE),
        Alias("mem_session_summary", "compat_record", "Record what a session came to", {"content": "content"},
              defaults={"category": "session_summary"}, unused=_GENTLEMAN, scoping=_GENTLEMAN_WHOSE),
        Alias("mem_context", "compat_list", "The newest lore", {"limit": "limit"}, unused=_GENTLEMAN, scoping=_GENTLEMAN_READ),
        Alias("mem_stats", "recall_status", "Report the state of the memory", unused=_GENTLEMAN, scoping=_GENTLEMAN_WHOSE),
    )),
    Source("go", "Programs, most of them in Go, with two or three short names", (
        Alias("remember", "compat_record", "Record lore", {"content": "content", "type": "category", "tags": "tags"},
              {"fact": "content", "insight": "content", "kind": "type", "memory_type": "type"},
              unused=("source", "summary"), scoping=_GO_WHOSE),
        Alias("recall", "compat_recall", "Recall lore", _LIMIT, {"k": "limit"}, scoping=_GO_WHOSE),
        Alias("forget", "recall_forget", "Delete lore", {"id": "refs"}, {"memory_id": "id"}, scoping={"project": PROJECT}),
    )),
    Source("mem0", "mem0-mcp-server, and OpenMemory", (
        Alias("add_memory", "compat_record", "Record lore", {"text": "content"}, unused=_MEM0, scoping=_MEM0_WHOSE),
        Alias("search_memories", "compat_recall", "Recall lore", _LIMIT, {"top_k": "limit"}, unused=_MEM0, scoping=_MEM0_WHOSE),
        Alias("get_memories", "compat_list", "The newest lore", {"page_size": "limit"},
              unused=(*_MEM0, "page"), scoping=_MEM0_WHOSE),
        Alias("get_memory", "recall_get", "Show lore in full", _ID, unused=_MEM0, scoping=_MEM0_WHOSE),
        Alias("delete_memory", "recall_forget", "Delete lore", _ID, {"content_hash": "memory_id"},
              unused=_MEM0, scoping=_MEM0_WHOSE),
        Alias("add_memories", "compat_record", "Record lore", {"text": "content"}, unused=_MEM0, scoping=_MEM0_WHOSE),
        Alias("search_memory", "compat_recall", "Recall lore", {"query": "query"}, unused=_MEM0, scoping=_MEM0_WHOSE),
        Alias("list_memories", "compat_list", "The newest lore", unused=_MEM0, scoping=_MEM0_WHOSE),
        Alias("delete_memories", "recall_forget", "Delete lore", {"memory_ids": "refs"}, unused=_MEM0, scoping=_MEM0_WHOSE),
    )),
    Source("basic-memory", "basic-memory: markdown notes", (
        Alias("write_note", "compat_record", "Record lore",
              {"title": "title", "content": "content", "tags": "tags"}, {"note_type": "category"},
              unused=(*_NOTES, "directory", "folder", "dir", "path", "overwrite", "expected_checksum"), scoping=_NOTES_WHOSE),
        Alias("read_note", "compat_read", "Show lore in full, by title or id", {"identifier": "refs"},
              unused=(*_NOTES, "page_size"), scoping=_NOTES_WHOSE),
        Alias("search_notes", "compat_recall", "Recall lore", {"query": "query", "page_size": "k", "tags": "tags"},
              unused=(*_NOTES, "search_type", "types", "entity_types", "note_types", "after_date", "metadata_filters", "status",
                      "min_similarity"), scoping=_NOTES_WHOSE),
        Alias("delete_note", "recall_forget", "Delete lore", {"identifier": "refs"}, unused=_NOTES, scoping=_NOTES_WHOSE),
        Alias("recent_activity", "compat_list", "The newest lore",
              unused=(*_NOTES, "type", "depth", "timeframe", "page_size"), scoping=_NOTES_WHOSE),
    )),
    Source("reference", "The reference memory server of the Model Context Protocol", (
        Alias("create_entities", "compat_create_entities", "Record entities and facts about them", {"entities": "entities"}),
        Alias("add_observations", "compat_add_observations", "Record more about entities", {"observations": "observations"}),
        Alias("create_relations", "compat_relate", "Relate entities", {"relations": "relations"}),
        Alias("search_nodes", "compat_recall", "Recall lore", {"query": "query"}),
    )),
    Source("memory-service", "doobidoo/mcp-memory-service", (
        Alias("retrieve_memory", "compat_recall", "Recall lore", {"query": "query", "n_results": "k"},
              unused=("min_similarity",)),
        Alias("recall_memory", "compat_recall", "Recall lore", {"query": "query", "n_results": "k"}),
        Alias("search_by_tag", "compat_list", "The newest lore with one of these tags",
              {"tags": "tags", "match_all": "match_all"}, defaults={"match_all": False}),
        Alias("check_database_health", "recall_status", "Report the state of the memory"),
    )),
)  # fmt: skip
# Names that several memories have, or that the set `curate` has with the same arguments.
SHARED = {
    "surreal": ("reflect_and_consolidate", "promote_memory", "update_memory", "tag_memory"),
    "mem0": ("update_memory",),
    "memory-service": ("store_memory", "delete_memory"),
}


def memories() -> tuple[str, ...]:
    """Return the keys of the memories whose names can be chosen alone."""
    return tuple(source.key for source in SOURCES)


def rows_of(key: str = "") -> list[Alias]:
    """Return the rows of a memory, or of all."""
    return [row for source in SOURCES if key in ("", source.key) for row in source.rows]


def tools(key: str = "") -> list[LoreTool]:
    """Return the tools of this set, or those of a memory. Raises KeyError for an unknown one."""
    if key not in ("", *memories()):
        raise KeyError(key)
    rows = rows_of(key)
    shared = dict.fromkeys(name for memory, names in SHARED.items() if key in ("", memory) for name in names)
    rows += [row for row in rows_of() if row.name in shared and row not in rows]
    known = _all_tools()
    return [
        *[alias_tool(row, known[row.tool]) for row in rows],
        *[known[name] for name in shared if name in known],
    ]


def _all_tools() -> dict[str, LoreTool]:
    """Return every tool that a row may name."""
    from engram.mcp.tools import graph, team
    from engram.mcp.tools.compat_tools import TOOLS as COMPAT_TOOLS
    from engram.mcp.tools.curate import TOOLS as CURATING

    return {**COMPAT_TOOLS, **CURATING, **graph.TOOLS, **team.TOOLS}
