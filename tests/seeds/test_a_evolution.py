"""The plan of an evolving memory: its test plan line by line, its seventeen tools, code mode, recursion and meta-evolution.

Where Engram differs on purpose, the test says `Differs:` and why; docs/designs.md has the same in tables. The plan's steps
that only rename files, set up worktrees and name a language and a database are not ours: the form of Engram stands above them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from apikit import QUEUE, TIDES, SetClock, cli, deviates, make_plain_store, open_test_store
from connectkit import make_project, run
from effort import sampled
from endpoint_kit import served
from mcp_kit import answer_with, connect_inside, ok, refused

from engram.adapters.embed.cached_embedder import EncodedEmbedder
from engram.adapters.embed.endpoint import Endpoint, EndpointEncoder, check_endpoint
from engram.adapters.embed.vector_cache import VectorCache
from engram.domain.recall import ranking
from engram.domain.settings import KEYS
from engram.domain.tuning.evolution import HALF_LIFE_FACTOR, WEIGHT_STEP
from engram.usecases.store.store import Clock

SETS = ("compat:surreal", "explore", "skills", "curate")
# The tools that the plan's hook allows without asking: all of its tools.
TOOLS = """
    store_memory recall_memories forget_memory get_memory_status promote_memory update_memory tag_memory search_knowledge_graph
    reflect_and_consolidate engram_explore engram_execute recall_skill mark_retrieval_useful memory_peek memory_partition
    memory_aggregate evolve_memory_system
""".split()  # noqa: SIM905 - a table to read
SKILL = "# Newest entries\n\nWhich entries are the newest.\n\n```surql\nSELECT title FROM memory ORDER BY created_at LIMIT 2\n```"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store for tools that read: two entries and an entity."""
    root = make_plain_store(tmp_path_factory.mktemp("seed-a") / "store")
    with open_test_store(root, agent="ada") as engram:
        engram.record(QUEUE, category="pattern", tags=["queue"], entities=["Kafka"])
        engram.record(TIDES, category="fact", tags=["print"])
        engram.record(SKILL, category="skill", tags=["skill"])
        engram.link_entity("Kafka", type="tool", to="Billing", kind="used_by")
        engram.refresh()
    return root


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Make an empty store, for tools that write."""
    return make_plain_store(tmp_path / "store")


def table(data: dict[str, Any], number: int = 0) -> list[dict[str, Any]]:
    """Return the rows of a table in an answer, by column."""
    found = data["tables"][number]
    return [dict(zip(found["columns"], row, strict=True)) for row in found.get("rows", ())]


def settings_of(root: Path) -> bytes:
    """Read the settings of a store."""
    return (root / ".engram.toml").read_bytes()


# --- the test plan


def test_the_plugin_folder_has_a_manifest_a_server_and_hooks(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`claude --plugin-dir .` loads it; tools/check_agents.sh tries that with the program itself."""
    folder = make_project(home, monkeypatch) / "plugin"
    run("connect", "claude-code", "--plugin", str(folder))
    manifest = json.loads((folder / ".claude-plugin/plugin.json").read_text("utf-8"))
    assert manifest["name"] == "engram"
    assert list(manifest["mcpServers"]) == ["engram"]
    hooks = json.loads((folder / "hooks/hooks.json").read_text("utf-8"))["hooks"]
    assert hooks.keys() >= {"SessionStart", "PostToolUse", "Stop"}
    for command in ("remember", "recall", "memory-status"):
        assert (folder / f"commands/{command}.md").read_text("utf-8").strip()
    assert deviates("A", "Bun, TypeScript, SurrealDB")
    assert deviates("A", "a file of settings in")
    assert deviates("A", "hooks after a tool write to a log")


async def test_memory_status_names_the_store(root: Path) -> None:
    async with connect_inside(root, sets=SETS) as client:
        status = await ok(client, "get_memory_status")
    assert status["store"] == str(root)
    assert status["lore_count"] == 3


async def test_remember_stores_and_recall_finds_it(mine: Path) -> None:
    async with connect_inside(mine, sets=SETS) as client:
        done = await ok(client, "store_memory", content=QUEUE, memory_type="semantic", scope="project", tags=["queue"],
                        importance=0.8)  # fmt: skip
        found = await ok(
            client,
            "recall_memories",
            query="idempotent handlers",
            scope="project",
            memory_type="semantic",
            limit=5,
        )
        assert found["lore"][0]["text"] == QUEUE
        whole = await ok(client, "memory_get", memory_id=done["id"])
    assert whole["lore"][0]["tags"] == ["queue"]


async def test_explore_shows_more_at_each_depth(root: Path) -> None:
    async with connect_inside(root, sets=SETS) as client:
        scopes, kinds, fields, samples = [
            await ok(client, "engram_explore", depth=depth) for depth in range(4)
        ]
        by_default = await ok(client, "engram_explore")
    assert by_default == scopes
    assert {row["scope"]: row["lore"] for row in table(scopes)}["project"] == 3
    assert {"FACT", "SKILL"} <= {row["category"] for row in table(kinds)}
    assert {row["table"] for row in table(kinds, 1)} >= {"lore", "entities", "relations", "retrievals"}
    assert "confidence" in [row["field"] for row in table(fields)]
    assert len(table(samples)) == 3


async def test_execute_rejects_drop_table_and_allows_select(root: Path) -> None:
    async with connect_inside(root, sets=SETS) as client:
        said = await refused(client, "engram_execute", surql="DROP TABLE memory", scope="project")
        assert "Only SELECT statements" in said or "not allowed" in said
        found = await ok(client, "engram_execute", surql="SELECT title FROM memory ORDER BY title", scope="project",
                         allow_writes=False)  # fmt: skip
    assert QUEUE in [row["title"] for row in table(found)]
    assert deviates("A", "`engram_execute`: SurrealQL")


async def test_a_dry_run_of_evolution_gives_the_analysis_and_changes_nothing(root: Path) -> None:
    before = settings_of(root)
    async with connect_inside(root, sets=SETS) as client:
        await ok(client, "recall_memories", query="idempotent queue handlers")
        await ok(
            client,
            "mark_retrieval_useful",
            query="idempotent queue handlers",
            was_useful=True,
            reason="it was",
        )
        found = await ok(client, "evolve_memory_system", dry_run=True)
        (tool,) = [one for one in (await client.list_tools()).tools if one.name == "evolve_memory_system"]
    assert "dry_run" in tool.input_schema["properties"]
    assert found["verdict"]
    (strategies,) = [one for one in found["tables"] if one["name"] == "strategies"]
    assert strategies["columns"] == ["strategy", "judged", "helpful", "not_relevant", "incorrect", "rate"]
    assert strategies["rows"][0][:3] == ["hybrid", 1, 1]
    assert settings_of(root) == before
    assert deviates("A", "`evolve_memory_system` writes")
    assert deviates("A", "a strategy's share")


# --- the seventeen tools


async def test_every_tool_of_the_plan_exists_by_its_name(root: Path) -> None:
    """Differs: tools are allowed without asking only on request (`--allow-tools`), and then only those that read."""
    async with connect_inside(root, sets=SETS) as client:
        assert set(TOOLS) <= {tool.name for tool in (await client.list_tools()).tools}
    assert deviates("A", "all tools allowed")


async def test_a_private_memory_never_goes_to_the_projects_store(mine: Path) -> None:
    async with connect_inside(mine, sets=SETS) as client:
        done = await ok(client, "store_memory", content="I prefer tabs.", scope="user")
        session = await ok(client, "store_memory", content="The port is 4711 for now.", scope="session")
    assert (done["scope"], session["scope"]) == ("user", "session")
    with open_test_store(mine) as engram:
        assert not engram.list().lore


async def test_the_other_tools_correct_tag_copy_relate_and_delete(mine: Path, home: Path) -> None:
    """Differs: forgetting, and copying to a scope beyond the project, ask a person first."""
    async with connect_inside(
        mine, sets=SETS, elicitation_callback=answer_with("accept", agreed=True)
    ) as client:
        lore_id = (await ok(client, "store_memory", content=QUEUE, memory_type="semantic"))["id"]
        changed = await ok(client, "update_memory", memory_id=lore_id, content=TIDES, importance=0.9)
        assert changed["id"] == lore_id
        assert (await ok(client, "tag_memory", memory_id=lore_id, tags=["print"]))["tags"] == ["print"]
        copied = await ok(client, "promote_memory", memory_id=lore_id, target_scope="user")
        assert copied["promoted"][0]["scope"] == "user"
        with open_test_store(mine) as engram:
            engram.link_entity("Kafka", type="tool", to="Billing", kind="used_by")
        graph = await ok(
            client, "search_knowledge_graph", query="Kafka", entity_type="concept", depth=1, limit=5
        )
        assert "billing" in str(graph["tables"]).lower()
        assert (await ok(client, "forget_memory", memory_id=lore_id, reason="stale"))["deleted"]
    with open_test_store(mine) as engram:
        assert not engram.list().lore


async def test_a_judgement_of_an_answer_belongs_to_its_last_query(mine: Path) -> None:
    with open_test_store(mine) as engram:
        lore_id = engram.record(QUEUE, category="pattern").lore.id
    async with connect_inside(mine, sets=SETS) as client:
        await ok(client, "recall_memories", query="idempotent handlers")
        useful = await ok(client, "mark_retrieval_useful", query="idempotent handlers", was_useful=True)
        useless = await ok(client, "mark_retrieval_useful", query="idempotent handlers", was_useful=False)
        assert "No query of this session" in await refused(
            client, "mark_retrieval_useful", query="never asked", was_useful=True
        )
    assert [(one["id"], one["kind"]) for one in useful["updated"]] == [(lore_id, "helpful")]
    assert [one["kind"] for one in useless["updated"]] == ["not_relevant"]


async def test_a_skill_is_found_by_its_task_and_run(mine: Path) -> None:
    """Differs: a query is run from a fence alone, and is SQLite's SQL, not SurrealQL; a text without a fence is a recipe."""
    async with connect_inside(mine, sets=SETS) as client:
        await ok(client, "store_memory", content=QUEUE, memory_type="semantic")
        await ok(client, "store_memory", content=SKILL, memory_type="procedural", tags=["#surql-skill"])
        asked = {"task_description": "which entries are the newest", "scope": "project"}
        found = await ok(client, "recall_skill", **asked)
        assert found["query"].startswith("SELECT title")
        assert "result" not in found
        ran = await ok(client, "recall_skill", **asked, execute=True)
        assert len(ran["result"]["rows"]) == 2
        assert ran["runs"] == found.get("runs", 0) + 1
        none = await ok(client, "recall_skill", task_description="polish the brass of the lighthouse")
    assert none["notice"].startswith("No skill here")
    assert deviates("A", "`recall_skill` runs any text")


async def test_consolidation_plans_first_then_archives_stale_entries(mine: Path) -> None:
    """Differs: nothing is tidied without a person's consent, and archived entries stay in git."""
    clock = SetClock(Clock().now())
    clock.advance(days=-400)
    with open_test_store(mine, clock=clock) as engram:
        stale = engram.record(TIDES, category="fact").lore.id
    asking = answer_with("accept", agreed=True)
    async with connect_inside(mine, sets=SETS, elicitation_callback=asking) as client:
        plan = await ok(client, "reflect_and_consolidate", scope="project", dry_run=True)
        assert plan["counts"] == {"archive": 1}
        with open_test_store(mine) as engram:
            assert engram.get(stale).lore.status == "active"
        done = await ok(client, "reflect_and_consolidate", scope="project", dry_run=False)
    assert done["applied"]
    with open_test_store(mine) as engram:
        assert engram.get(stale).lore.status == "archived"
    assert deviates("A", "consolidation archives")


# --- code mode


@sampled("depth", range(4), 2)
async def test_the_scope_all_is_every_scope_at_each_depth(mine: Path, depth: int) -> None:
    with open_test_store(mine) as engram:
        engram.record(QUEUE, category="pattern")
    async with connect_inside(mine, sets=SETS) as client:
        await ok(client, "store_memory", content="I prefer tabs.", scope="user")
        found = await ok(client, "engram_explore", depth=depth, scope="all")
    names = [one["name"] for one in found["tables"]]
    if depth == 0:
        assert {row["scope"] for row in table(found)} >= {"project", "user"}
    elif depth == 1:
        assert names[:2] == ["project: kinds", "project: tables"]
        assert "user: kinds" in names
    elif depth == 3:
        assert {"project: lore", "user: lore"} <= set(names)
    else:
        assert "lore" in names


@pytest.mark.parametrize("name", ["memory", "entity", "relates_to", "retrieval_log"])
async def test_the_tables_of_the_plan_are_found_by_their_names(root: Path, name: str) -> None:
    """Differs: `evolution_state` is no table; what was applied is in `.engram.toml`, and shown by `evolve_memory_system`."""
    async with connect_inside(root, sets=SETS) as client:
        await ok(client, "recall_memories", query="idempotent queue handlers")
        fields = await ok(client, "engram_explore", depth=2, table=name)
        await ok(client, "engram_explore", depth=3, table=name, sample_size=2)
        rows = await ok(client, "engram_execute", surql=f"SELECT * FROM {name} LIMIT 3")
        assert [row["field"] for row in table(fields)] == rows["tables"][0]["columns"]
        assert "There is no table 'evolution_state'" in await refused(
            client, "engram_explore", depth=3, table="evolution_state"
        )
    assert deviates("A", "`evolution_state`, seeded")


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE lore", "DEFINE TABLE x", "REMOVE TABLE lore", "KILL 1", "USE NS a", "USE DB b", "INFO FOR DB",
        "INSERT INTO lore VALUES (1)", "UPDATE lore SET title = 'x'", "CREATE TABLE x (y)", "UPSERT lore:1", "RELATE a->b->c",
        "DELETE FROM lore", "SELECT 1; DROP TABLE lore", "PRAGMA query_only = OFF", "ATTACH 'x' AS y",
    ],
)  # fmt: skip
async def test_statements_that_the_plan_blocks_are_refused(root: Path, statement: str) -> None:
    async with connect_inside(root, sets=SETS) as client:
        await refused(client, "engram_execute", surql=statement)
        assert len(table(await ok(client, "engram_execute", sql="SELECT id FROM lore"))) == 3


async def test_sql_keywords_in_a_string_are_no_statement(root: Path) -> None:
    async with connect_inside(root, sets=SETS) as client:
        found = await ok(client, "engram_execute", surql="SELECT 'DROP TABLE x' AS said -- DELETE")
    assert table(found) == [{"said": "DROP TABLE x"}]
    assert deviates("A", "blocked words")


async def test_writing_by_sql_is_refused_even_with_allow_writes(root: Path) -> None:
    """Differs: there is no `allow_writes`. Files are the truth and SQL reads an index of them; tools write lore."""
    async with connect_inside(root, sets=SETS) as client:
        said = await refused(client, "engram_execute", surql="SELECT 1", allow_writes=True)
    assert said.startswith("SQL is read-only")
    assert deviates("A", "`allow_writes`")


# --- recursion


async def test_peek_partition_and_aggregate_work_on_a_memory_too_large_to_read(root: Path) -> None:
    async with connect_inside(root, sets=SETS) as client:
        peek = await ok(client, "memory_peek", scope="project")
        assert [one["name"] for one in peek["tables"]] == ["types", "statuses", "tags", "dates", "samples"]
        groups = table(await ok(client, "memory_partition", key="category"))
        assert {row["category"]: row["lore"] for row in groups} == {
            "PATTERN_OUTCOME": 1,
            "FACT": 1,
            "SKILL": 1,
        }
        first, second = [
            row["id"] for row in table(await ok(client, "engram_execute", sql="SELECT id FROM lore LIMIT 2"))
        ]
        fused = table(await ok(client, "memory_aggregate", lists=[[first, second], [second]]))
    assert [row["id"] for row in fused] == [second, first]
    assert fused[0]["score"] == pytest.approx(1 / 62 + 1 / 61, abs=1e-5)  # k = 60
    assert fused[1]["score"] == pytest.approx(1 / 61, abs=1e-5)


# --- evolution


def test_steps_have_the_bounds_of_the_plan() -> None:
    """At most ±0.2 for a weight, half or twice for a half-life."""
    assert (WEIGHT_STEP, HALF_LIFE_FACTOR) == (0.2, 2.0)


def test_the_defaults_are_those_of_the_plan() -> None:
    """Differs: they are defaults of settings, not rows that are seeded; entries are promoted by use and by people."""
    weights = {key.name: key.default for key in KEYS if key.name.endswith(".weight")}
    assert {
        weights["scopes.session.weight"],
        weights["scopes.project.weight"],
        weights["scopes.user.weight"],
    } == {1.5, 1.0, 0.7}
    assert ranking.HALF_LIFE_DAYS == {"working": 0.042, "episodic": 1.0, "semantic": 7.0, "procedural": 30.0}
    assert deviates("A", "promotion at importance")


async def test_dry_run_false_applies_proposals_and_is_refused_with_apply(mine: Path) -> None:
    async with connect_inside(mine, sets=SETS) as client:
        done = await ok(client, "evolve_memory_system", dry_run=False)
        assert not done.get("file")
        assert "proposals need" in done["verdict"]
        said = await refused(client, "evolve_memory_system", dry_run=True, apply=True)
    assert said.startswith("A dry run changes nothing")


# --- hooks


def test_a_session_starts_with_entries_and_not_with_an_instruction_to_recall(root: Path) -> None:
    """Differs: the brief has the entries, since the hook can read them; nothing is done "silently" behind the user."""
    payload = json.dumps(
        {"session_id": "a", "cwd": str(root), "source": "startup", "hook_event_name": "SessionStart"}
    )
    done = cli(
        "hook", "session-start", "--agent", "claude-code", stdin=payload.encode(), ENGRAM_HOOK_SECONDS="60"
    )
    said = json.loads(done.out)["hookSpecificOutput"]["additionalContext"]
    assert "recall_query" in said
    assert "ilently" not in said
    assert deviates("A", "session start tells")


# --- retrieval


async def test_every_retrieval_is_logged_with_its_query_strategy_results_and_session(root: Path) -> None:
    async with connect_inside(root, sets=SETS) as client:
        await ok(client, "recall_memories", query="tide tables in local time")
        found = await ok(
            client, "engram_execute",
            surql="SELECT action, query, strategy, json_array_length(ids) AS results, session, at FROM retrieval_log"
                  " WHERE query = 'tide tables in local time'",
        )  # fmt: skip
    row = table(found)[-1]
    assert (row["action"], row["strategy"], row["results"]) == ("query", "hybrid", 1)
    assert row["session"]
    assert row["at"]


def test_without_vectors_only_words_are_searched_and_the_log_says_so(mine: Path) -> None:
    settings = '[store]\nfolder = "lore"\n\n[embedding]\nprovider = "none"\n'
    with open_test_store(mine, settings=settings) as engram:
        engram.record(QUEUE, category="pattern")
        assert engram.query("idempotent queue handlers").strategy == "words"
        assert engram.live()[-1].strategy == "words"
    assert deviates("A", "all-MiniLM-L6-v2")


def test_strength_counts_in_the_ranking_besides_words_and_meaning() -> None:
    """Differs: relevance is words 2.25 to meaning 1 to near tokens 1, and standing 0.1 of the score, as measured on labelled
    questions; 0.3/0.3/0.4 would put what is well confirmed before what answers."""
    assert (ranking.WORDS, ranking.STANDING) == (2.25, 0.1)
    assert deviates("A", "ranking: 0.3 words")


def test_requests_to_an_endpoint_have_model_texts_and_key_as_for_openai(tmp_path: Path) -> None:
    """Differs: the length of vectors is the model's own; `dimensions` is not sent, as few servers take it."""
    with served() as there:
        endpoint = check_endpoint(Endpoint(there.url, "words", "sk-not-a-real-key"))
        cache = VectorCache(str(tmp_path / "vectors.db"), endpoint.identity)
        EncodedEmbedder("endpoint", endpoint.identity, EndpointEncoder(endpoint), cache).embed(
            ["car", "bread"]
        )
        asked = there.asked[-1]
    assert (asked.path, asked.key) == ("/v1/embeddings", "Bearer sk-not-a-real-key")
    assert asked.body == {"model": "words", "input": ["car", "bread"]}
    assert deviates("A", "`dimensions` is sent")
