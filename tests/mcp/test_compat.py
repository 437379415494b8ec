"""The names of other memories: each called by the official client, with the arguments of the other memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import SECRET, make_plain_store, open_test_store
from effort import sampled
from mcp_kit import answer_with, connect_inside, refused, text

from engram.domain.errors import UsageError
from engram.mcp.tools import COMPAT, SETS, choose_sets, tools_of
from engram.mcp.tools.compat import SHARED, SOURCES, rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

RABBIT = "RabbitMQ redelivers what was not acknowledged within thirty minutes."
# What an answer has to hold is named by a key of its data; `#N` is the id that the N-th call gave.
CALLS: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "surreal": [
        ("store_memory", {"content": RABBIT, "memory_type": "semantic", "scope": "project", "tags": ["queue"],
                          "importance": 0.8, "metadata": {"a": 1}}, "id"),
        ("recall_memories", {"query": "rabbitmq redelivers", "memory_type": "semantic", "scope": "all", "limit": 50}, "lore"),
        ("mark_retrieval_useful", {"query": "rabbitmq redelivers", "was_useful": True, "reason": "x"}, "updated"),
        ("tag_memory", {"memory_id": "#0", "tags": ["broker"]}, "id"),
        ("update_memory", {"memory_id": "#0", "tags": ["rabbit"], "importance": 0.4, "metadata": {}}, "id"),
        ("promote_memory", {"memory_id": "#0", "target_scope": "user"}, "promoted"),
        ("reflect_and_consolidate", {"scope": "project", "dry_run": True}, "applied"),
        ("get_memory_status", {}, "lore_count"),
        ("forget_memory", {"memory_id": "#0", "reason": "stale"}, "ids"),
    ],
    "engram-js": [
        ("engram_remember", {"content": "Fastify is preferred to Express here.", "category": "preference", "entity": "Fastify",
                             "confidence": 0.8, "namespace": "default", "force": True}, "id"),
        ("engram_recall", {"query": "express or fastify", "limit": 5, "threshold": 0.3, "category": "preference"}, "lore"),
        ("engram_feedback", {"memory_id": "#0", "helpful": True, "context": "x"}, "updated"),
        ("engram_context", {"query": "fastify", "format": "xml", "max_tokens": 100}, "lore"),
        ("engram_status", {}, "strategy"),
        ("engram_forget", {"memory_id": "#0"}, "ids"),
    ],
    "convex": [
        ("memory_store_fact", {"content": "Convex functions time out after ten seconds.", "source": "conversation",
                               "entityIds": ["tool:convex"], "tags": ["convex"], "factType": "insight",
                               "scopeId": "project"}, "id"),
        ("memory_recall", {"query": "convex functions", "limit": 10, "searchStrategy": "hybrid", "minImportance": 0.1}, "lore"),
        ("memory_search", {"text": "convex functions", "tags": ["convex"], "factType": "insight", "limit": 20}, "lore"),
        ("memory_record_feedback", {"recallId": "r", "usedFactIds": ["#0"], "unusedFactIds": []}, "updated"),
        ("memory_update_fact", {"factId": "#0", "tags": ["limits"], "factType": "fact"}, "id"),
        ("memory_archive_fact", {"factId": "#0"}, "status"),
        ("memory_query_raw", {"table": "facts", "filter": {"tags": "convex"}, "sort": "-timestamp", "limit": 5}, "tables"),
    ],
    "gentleman": [
        ("mem_save", {"title": "Fixed the login", "content": "**What**: the cookie was not sent.", "type": "bugfix",
                      "project": "store", "scope": "project", "topic_key": "bug/login"}, "id"),
        ("mem_search", {"query": "login cookie", "type": "bugfix", "project": "store", "limit": 3}, "lore"),
        ("mem_get_observation", {"id": "#0"}, "lore"),
        ("mem_update", {"id": "#0", "content": "The cookie lacked SameSite.", "title": "x"}, "id"),
        ("mem_session_summary", {"content": "## Goal\nThe login works on Safari again.", "session_id": "s"}, "id"),
        ("mem_context", {"limit": 2, "project": "store"}, "lore"),
        ("mem_stats", {}, "lore_count"),
        ("mem_delete", {"id": "#0", "hard_delete": True}, "ids"),
    ],
    "go": [
        ("remember", {"fact": "Staging is reset every Sunday night.", "kind": "note", "tags": "staging, reset"}, "id"),
        ("recall", {"query": "when is staging reset", "limit": 3}, "lore"),
        ("forget", {"memory_id": "#0"}, "ids"),
    ],
    "mem0": [
        ("add_memory", {"text": "Alex works in Lisbon on Tuesdays.", "user_id": "default", "infer": True,
                        "metadata": {"a": 1}}, "id"),
        ("search_memories", {"query": "where does alex work", "filters": {"AND": [{"user_id": "*"}]}, "limit": 5}, "lore"),
        ("update_memory", {"memory_id": "#0", "text": "Alex works in Porto on Tuesdays."}, "id"),
        ("get_memory", {"memory_id": "#0"}, "lore"),
        ("get_memories", {"page": 1, "page_size": 3, "user_id": "all"}, "lore"),
        ("delete_memory", {"memory_id": "#0"}, "ids"),
        ("add_memories", {"text": "The staff meeting moved to noon."}, "id"),
        ("search_memory", {"query": "staff meeting at noon"}, "lore"),
        ("list_memories", {"project": "Store"}, "lore"),
        ("delete_memories", {"memory_ids": ["#6"]}, "ids"),
    ],
    "basic-memory": [
        ("write_note", {"title": "Project Plan", "content": "Ship the importer in March.", "folder": "plans",
                        "tags": "plan,importer", "project": "main"}, "id"),
        ("search_notes", {"query": "ship importer", "page": 1, "page_size": 10, "search_type": "text"}, "lore"),
        ("read_note", {"identifier": "memory://project plan", "project": "main"}, "lore"),
        ("recent_activity", {"timeframe": "7d", "depth": 1}, "lore"),
        ("delete_note", {"identifier": "#0"}, "ids"),
    ],
    "reference": [
        ("create_entities",
         {"entities": [{"name": "Ada", "entityType": "person", "observations": ["Ada reviews all migrations."]}]}, "ids"),
        ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["Ada prefers short commits.", "Ada left."]}]},
         "ids"),
        ("search_nodes", {"query": "who reviews migrations"}, "lore"),
    ],
    "memory-service": [
        ("store_memory", {"content": "Wheels are built on the Linux runner.", "tags": ["wheels"], "memory_type": "note",
                          "client_hostname": "h"}, "id"),
        ("retrieve_memory", {"query": "where are wheels built", "n_results": 3, "min_similarity": 0.2}, "lore"),
        ("recall_memory", {"query": "where are wheels built", "n_results": 3}, "lore"),
        ("search_by_tag", {"tags": "wheels", "match_all": True}, "lore"),
        ("check_database_health", {}, "lore_count"),
        ("delete_memory", {"content_hash": "#0"}, "ids"),
    ],
}  # fmt: skip

# Of sets that a server may have besides.
GRAPH: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "surreal": [("search_knowledge_graph", {"query": "Ada", "depth": 1, "limit": 10, "entity_type": "person"}, "tables")],
    "convex": [("memory_link_entity", {"entityId": "person:ada", "name": "Ada", "type": "person", "metadata": {"a": 1},
                 "relationships": [{"toEntityId": "project:engram", "relationType": "works_on"}]}, "linked")],
    "reference": [("create_relations", {"relations": [{"from": "Ada", "to": "Grace", "relationType": "reports_to"}]}, "linked")],
}  # fmt: skip
TEAM: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "convex": [
        ("memory_register_agent", {"agentId": "cammy", "name": "Cammy", "capabilities": ["memory"], "telos": "x"}, "id"),
        ("memory_get_context", {"topic": "convex functions", "maxFacts": 20, "tokenBudget": 4000}, "tokens"),
        ("memory_observe", {"observation": "The build took nine minutes.", "emotionalContext": "x"}, "id"),
        ("memory_end_session", {"summary": "The importer is done; its tests are not.", "conversationId": "c"}, "id"),
    ]
}  # fmt: skip
for name, more in (("graph", GRAPH), ("team", TEAM)):
    for key, calls in more.items() if name in SETS else ():
        CALLS[key] = [*CALLS[key], *calls]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for all."""
    root = make_plain_store(tmp_path_factory.mktemp("compat") / "store")
    with open_test_store(root) as engram:
        engram.record("Ada wrote the parser.", category="fact", entities="Ada")
    return root


def filled(arguments: Mapping[str, Any], ids: list[str]) -> dict[str, Any]:
    """The arguments with what earlier calls gave."""

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(part) for part in value]
        return (
            ids[int(value[1:])]
            if isinstance(value, str) and value[:1] == "#" and value[1:].isdigit()
            else value
        )

    return {name: one(value) for name, value in arguments.items()}


@sampled("key", CALLS, 3)
async def test_each_alias_works_with_the_arguments_of_its_memory(root: Path, key: str) -> None:
    ids: list[str] = []
    async with connect_inside(
        root, sets=(f"{COMPAT}:{key}",), elicitation_callback=answer_with("accept", agreed=True)
    ) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert listed == {name for name, *_ in CALLS[key]}
        for name, arguments, told in CALLS[key]:
            result = await client.call_tool(name, filled(arguments, ids))
            assert not result.is_error, (name, text(result))
            data = result.structured_content
            assert data is not None
            assert data[told] or told == "applied", (name, data)
            unused = [one for one in arguments if one in data.get("not_used", ())]
            assert (f"Not used here: {', '.join(unused)}." in text(result)) is bool(unused), name
            ids.append(data.get("id", ""))


def test_every_alias_has_a_case_in_this_file() -> None:
    assert list(CALLS) == [source.key for source in SOURCES]
    for key, calls in CALLS.items():
        assert {name for name, *_ in calls} == {row.name for row in rows_of(key)} | set(
            SHARED.get(key, ())
        ), key
    names = [row.name for row in rows_of()]
    assert len(set(names)) == len(names)
    assert {tool.name for tool in tools_of((COMPAT,))} == {
        name for calls in CALLS.values() for name, *_ in calls
    }


async def test_an_entry_recorded_under_an_alias_is_an_ordinary_entry(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    async with connect_inside(root, sets=(COMPAT,)) as client:
        for name, arguments in (
            (
                "mem_save",
                {"title": "Fixed the login", "content": "The cookie was not sent.", "type": "bugfix"},
            ),
            (
                "store_memory",
                {"content": "Deploy with make.", "memory_type": "procedural", "importance": 0.8},
            ),
            ("remember", {"content": "Staging is reset on Sundays.", "type": "House Rule", "tags": "a, b"}),
            (
                "add_memory",
                {"text": "Noted in passing.", "metadata": {"tags": "x,y", "type": "preference", "z": 1}},
            ),
            ("engram_remember", {"content": "Kafka is pinned.", "category": "decision", "entity": "Kafka"}),
        ):
            assert not (await client.call_tool(name, arguments)).is_error
    with open_test_store(root) as engram:
        lore = {one.lore.title: one.lore for one in engram.list().lore}
    saved, deploy, staging = (
        lore["Fixed the login"],
        lore["Deploy with make."],
        lore["Staging is reset on Sundays."],
    )
    assert (saved.category, saved.content) == (
        "EDGE_CASE_DISCOVERY",
        "# Fixed the login\n\nThe cookie was not sent.",
    )
    assert (deploy.category, deploy.type, deploy.importance) == ("WORKFLOW", "procedural", 0.8)
    assert (staging.category, staging.tags) == ("FACT", ("a", "b", "house-rule"))
    assert (lore["Noted in passing."].category, lore["Noted in passing."].tags) == ("PREFERENCE", ("x", "y"))
    assert (lore["Kafka is pinned."].category, lore["Kafka is pinned."].entities) == (
        "ARCHITECTURAL_DECISION",
        ("Kafka",),
    )


async def test_errors_use_the_names_of_the_alias(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = make_plain_store(tmp_path / "store")
    async with connect_inside(root, sets=(COMPAT,)) as client:
        said = await refused(client, "get_memory", id="x")
        assert said == "get_memory has no argument 'id'. Arguments: memory_id (required)."
        assert (await refused(client, "engram_recall")).startswith(
            "query: Field required. Arguments: query (required), limit,"
        )
        assert (await refused(client, "mem_delete", id=["x"] * 21)).startswith(
            "id: Tuple should have at most 20 items"
        )
        told = await refused(client, "mark_retrieval_useful", query="never asked", was_useful=False)
        assert told.startswith("No query of this session with these words had an answer.")
        assert "redact=true" in await refused(client, "add_memory", text=f"The deploy token is {SECRET}.")
        made = await client.call_tool(
            "add_memory", {"text": f"The deploy token is {SECRET}.", "redact": True}
        )
        assert made.structured_content["redacted"] == 1
        said = await refused(client, "delete_memory", memory_id=made.structured_content["id"])
        assert "call delete_memory again with confirm=true" in said
        done = await client.call_tool(
            "delete_memory", {"memory_id": made.structured_content["id"], "confirm": True}
        )
        assert done.structured_content["deleted"]
    assert caplog.records == [], "what is foreseen is no news to whoever runs the server"


async def test_observations_name_their_entity_once_and_a_refused_one_does_not_stop_others(
    tmp_path: Path,
) -> None:
    root = make_plain_store(tmp_path / "store")
    told = [
        {"entityName": "person:Ada", "contents": ["Ada reviews all migrations.", f"Her token is {SECRET}."]}
    ]
    async with connect_inside(root, sets=("compat:reference",)) as client:
        done = (await client.call_tool("add_observations", {"observations": told})).structured_content
        again = (await client.call_tool("add_observations", {"observations": told})).structured_content
        said = await refused(client, "add_observations", observations=[{"name": "Ada"}])
    assert len(done["ids"]) == len(done["refused"]) == 1
    assert SECRET not in str(done)
    assert again["ids"] == done["ids"]
    assert said.startswith("observations.0.contents: Field required.")
    with open_test_store(root) as engram:
        (lore,) = [one.lore for one in engram.list().lore]
    assert (lore.category, lore.entities) == ("FACT", ("Ada",))


async def test_a_helpful_answer_judges_its_best_entry_and_another_lowers_nothing(
    tmp_path: Path,
) -> None:
    root = make_plain_store(tmp_path / "store")
    async with connect_inside(root, sets=("core", COMPAT)) as client:
        for content in (RABBIT, "RabbitMQ redelivers in another order than it delivered at first."):
            await client.call_tool("add_memory", {"text": content})
        found = await client.call_tool("recall_memories", {"query": "rabbitmq redelivers"})
        best = found.structured_content["lore"][0]["ref"]
        asked = {"query": " rabbitmq redelivers ", "was_useful": True}
        (judged,) = (await client.call_tool("mark_retrieval_useful", asked)).structured_content["updated"]
        assert (judged["ref"], judged["kind"], judged["current"]) == (best, "helpful", 0.78)
        done = await client.call_tool("mark_retrieval_useful", {**asked, "was_useful": False})
    assert [one["kind"] for one in done.structured_content["updated"]] == ["not_relevant", "not_relevant"]
    assert all(one["previous"] == one["current"] for one in done.structured_content["updated"])


async def test_entries_are_listed_by_one_tag_or_by_all(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    with open_test_store(root) as engram:
        ids = [engram.record(f"{tags} it is.", category="fact", tags=tags.split(), status="active").lore.id
               for tags in ("red", "blue", "red blue")]  # fmt: skip
    async with connect_inside(root, sets=("compat:memory-service",)) as client:
        for asked, found in (
            ({"tags": "red,blue"}, ids),
            ({"tags": ["red", "blue"], "match_all": True}, ids[2:]),
        ):
            result = await client.call_tool("search_by_tag", asked)
            assert [one["id"] for one in result.structured_content["lore"]] == found[::-1]


async def test_pending_lore_is_hidden_under_every_alias(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path / "store")
    with open_test_store(root) as engram:
        waits = engram.record(
            "Waiting for a person.", category="fact", status="pending", tags=["waits"]
        ).lore.id
    async with connect_inside(root, sets=(COMPAT,)) as client:
        for name, arguments in (
            ("list_memories", {}),
            ("search_by_tag", {"tags": ["waits"]}),
            ("search_notes", {"query": "waiting for a person"}),
        ):
            assert "Waiting" not in text(await client.call_tool(name, arguments)), name
        for name, arguments in (
            ("read_note", {"identifier": "waiting for a person."}),
            ("get_memory", {"memory_id": waits}),
            ("mem_update", {"id": waits, "content": "x"}),
            ("memory_archive_fact", {"factId": waits}),
        ):
            assert "Waiting for a person." not in await refused(client, name, **arguments), name


def test_the_names_of_one_memory_can_be_chosen_alone() -> None:
    assert choose_sets("core,compat:mem0") == ("core", "compat:mem0")
    assert COMPAT not in choose_sets("all")
    assert set(choose_sets("all,compat")) == set(SETS)
    for spoken, hint in (
        ("compat:", "Memories: surreal, "),
        ("compat:memo", "Memories: surreal, "),
        ("core:mem0", "Tool sets: "),
    ):
        with pytest.raises(UsageError, match="There is no tool set") as told:
            choose_sets(spoken)
        assert told.value.hint.startswith(hint)
