"""The server around the tools: which store it finds, whose session it is, work that is long, and what it costs to load."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import pytest
from apikit import QUEUE, cli, dedicated, opened, plain
from mcp import MCPError
from mcp_kit import CACHE, CORE, ERAS, inside, ok, refused, working_in
from mcp_types import PromptReference, ResourceTemplateReference

from engram.adapters.files.durable.lock import FileLock
from engram.domain.errors import UsageError
from engram.domain.recall import budget
from engram.mcp import folders
from engram.mcp.server import INSTRUCTIONS
from engram.mcp.tools import choose_sets, tools_of
from engram.mcp.tools.schema import compact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from engram.mcp.memory import Memory

MOST_TOKENS, MOST_WITHOUT_OUTPUTS = 1800, 1050


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plain(tmp_path / "store")


# --- what it costs an agent


async def test_the_core_set_costs_an_agent_little_context(root: Path) -> None:
    """At four characters a token, as everywhere here; three tokenizers of language models count 2 to 10 % less."""
    async with inside(root) as client:
        listed = (await client.list_tools()).tools
    tools = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed]
    assert len(tools) == len(CORE) <= 6
    assert budget.tokens(json.dumps(tools, separators=(",", ":")) + INSTRUCTIONS) <= MOST_TOKENS
    bare = [{name: value for name, value in tool.items() if name != "outputSchema"} for tool in tools]
    assert budget.tokens(json.dumps(bare, separators=(",", ":"))) <= MOST_WITHOUT_OUTPUTS


async def test_an_answer_keeps_to_the_budget(root: Path) -> None:
    with opened(root) as engram:
        for number in range(8):
            engram.record(
                f"Queue lesson {number}: " + f"consumers of queue {number} retry. " * 60, category="fact"
            )
    async with inside(root) as client:
        result = await client.call_tool("recall_query", {"query": "queue consumers retry"})
    found, said = result.structured_content, result.content[0].text
    assert len(found["lore"]) + len(found["also"]) == 5, "none of them stands out"
    assert all("excerpt, recall_get has all" in lore["about"] for lore in found["lore"])
    assert all(lore["text"].startswith("Queue lesson") for lore in found["lore"])
    assert all(lore["text"].endswith("retry.") for lore in found["lore"]), "not inside a sentence"
    assert all(f"> {ref} {title}" in said for ref, title in found["also"].items())
    assert budget.tokens(said) <= 500
    assert budget.tokens(json.dumps(found, separators=(",", ":"))) <= 500


async def test_three_quarters_of_an_answer_are_lore_and_each_entry_is_whole(root: Path) -> None:
    notes = [
        f"Consumers of queue {number} retry {number} times\n\nThe broker of queue {number} delivers a message again when an "
        f"ack is missed, so the handlers of queue {number} keep the ids of the last {number} hours and drop what they know. "
        f"Without that an order of queue {number} was billed twice, which nobody noticed before the end of the month."
        for number in range(8)
    ]
    with opened(root) as engram:
        for note in notes:
            engram.record(note, category="DEPENDENCY_BEHAVIOR")
    async with inside(root) as client:
        found = await ok(client, "recall_query", query="queue consumers retry")
    texts = [lore["text"] for lore in found["lore"]]
    assert (found["strength"], len(texts)) == ("weak", 5), "eight alike: none stands out"
    assert set(texts) <= set(notes)
    assert sum(map(len, texts)) >= 0.75 * len(json.dumps(found, ensure_ascii=False, separators=(",", ":")))
    assert max(budget.tokens(f"{lore['ref']} {lore['about']}") for lore in found["lore"]) <= 20


async def test_a_weak_answer_shows_three_entries_and_others_that_score_nearly_as_much(root: Path) -> None:
    question = "who keeps backups for a month"
    near = "Keep the month of a bill apart from that of its order"
    with opened(root) as engram:
        for region in ("one", "two", "three"):
            engram.record(f"Backups of region {region} run nightly and are kept for a month", category="FACT")
        for text in (near, "The backups folder of the laptop is ignored by git"):
            engram.record(text, category="FACT")
        answered = engram.query(question)
        shares = [hit.score.total / answered.lore[0].score.total for hit in answered.lore]
        assert answered.strength == "weak"
        assert shares[3] > 0.6 > shares[4]
    async with inside(root) as client:
        found = await ok(client, "recall_query", query=question)
    assert [lore["text"] for lore in found["lore"]][3:] == [near]


def test_a_schema_loses_words_but_no_field() -> None:
    schema = {
        "$defs": {"Part": {"title": "Part", "type": "object", "properties": {"title": {"type": "string", "title": "Title"}}}},
        "title": "Whole",
        "properties": {
            "title": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Title"},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}, "default": [], "description": "Parts"},
            "many": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        },
    }  # fmt: skip
    part = {"type": "object", "properties": {"title": {"type": "string"}}}
    assert compact(schema, words=False) == {
        "properties": {
            "title": {"type": "string"},
            "parts": {"type": "array", "items": part},
            "many": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        }
    }
    assert compact(schema)["properties"]["parts"]["description"] == "Parts"


# --- tool sets


def test_tool_sets_are_chosen_by_name() -> None:
    assert choose_sets(" core, CORE ") == ("core",)
    assert [tool.name for tool in tools_of(choose_sets("all"))][: len(CORE)] == list(CORE)
    for wrong in ("wisdom", "core,wisdom", "", ","):
        with pytest.raises(UsageError) as error:
            choose_sets(wrong)
        assert "core, " in error.value.hint


def test_a_wrong_set_or_json_is_a_usage_error(root: Path) -> None:
    assert cli("mcp", "--tools", "wisdom", cwd=root).code == 2
    result = cli("mcp", "--json", cwd=root)
    assert result.code == 2
    assert result.json["error"]["code"] == "usage"


# --- which store


@pytest.mark.parametrize("era", ERAS)
async def test_the_store_is_the_one_where_the_client_works(root: Path, tmp_path: Path, era: str) -> None:
    (root / "src").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    client_folders = working_in(tmp_path / "gone", elsewhere, root / "src")
    async with inside(None, era, list_roots_callback=client_folders) as client:
        assert "Newest" not in (await client.read_resource("lore://session")).contents[0].text
        assert (await ok(client, "recall_status"))["store"] == str(root)


async def test_a_named_store_goes_before_the_clients_folders(root: Path, tmp_path: Path) -> None:
    other = plain(tmp_path / "other")
    async with inside(other, list_roots_callback=working_in(root)) as client:
        assert (await ok(client, "recall_status"))["store"] == str(other)


async def test_a_client_that_does_not_answer_is_served_anyway(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.chdir(root)

    async def silent(_context: object) -> None:
        await anyio.sleep_forever()

    async with inside(None, list_roots_callback=silent) as client:
        assert (await ok(client, "recall_status"))["store"] == str(root)


async def test_a_store_made_while_the_server_runs_is_used_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    async with inside(None) as client:
        assert (await ok(client, "recall_status"))["scope"] == "user"
        plain(project)
        assert (await ok(client, "recall_status"))["store"] == str(project)


async def test_a_missing_store_is_told_and_used_once_it_is_made(tmp_path: Path) -> None:
    root = tmp_path / "later"
    async with inside(root) as client:
        said = await refused(client, "recall_query", query="x")
        assert said == f"There is no store at {root} or above it. Create one: engram init {root}"
        prompt = (await client.get_prompt("recall", {"task": "bake"})).messages[0].content.text
        assert "Go on without it" in prompt
        plain(root)
        assert (await ok(client, "recall_query", query="x"))["strength"] == "none"


async def test_a_home_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_DATA_HOME", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    async with inside(None) as client:
        assert "cannot" in await refused(client, "recall_record", content=QUEUE, category="fact")
        with pytest.raises(MCPError):
            await client.read_resource("lore://recent")
        assert (await client.list_tools()).tools


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///tmp/a%20b", "/tmp/a b"),
        ("file://localhost/tmp", "/tmp"),
        ("file:///C:/work", "C:/work"),
        ("file://server/share", ""),
        ("https://example.invalid/x", ""),
        ("file:///a%00b", ""),
    ],
)
def test_only_a_local_file_uri_is_a_folder(uri: str, path: str) -> None:
    assert folders._path(uri) == path


# --- whose session


async def test_refs_go_on_across_calls_and_are_those_of_the_agents_session(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "c1")
    async with inside(root) as client:
        await ok(client, "recall_record", content=QUEUE, category="fact")
        made = await ok(client, "recall_record", content=CACHE, category="fact")
        (first,) = (await ok(client, "recall_query", query="queue consumers", k=1))["lore"]
        (second,) = (await ok(client, "recall_query", query="session cache warmed", k=1))["lore"]
        assert (first["ref"], second["ref"]) == ("L1", "L2")
        assert second["about"] == "fact · claude-code · today"
        reflect = (await client.get_prompt("reflect", {"outcome": "It works."})).messages[0].content.text
        assert "> L2 · The session cache is warmed" in reflect
        assert reflect.endswith("Outcome: It works.")
        assert "> L1 · " in (await client.read_resource("lore://session")).contents[0].text
    judged = cli("feedback", "--helpful", "L2", "--json", "--store", str(root), ENGRAM_SESSION="c1").json
    assert judged["updated"][0]["id"] == made["id"]


async def test_each_server_without_a_named_session_is_one_of_its_own(root: Path) -> None:
    async with inside(root) as one, inside(root) as other:
        await ok(one, "recall_record", content=QUEUE, category="fact")
        await ok(one, "recall_query", query="queue consumers")
        assert "was not shown any lore yet" in await refused(other, "recall_feedback", helpful=["L1"])


# --- resources, prompts, completions


async def test_resources_are_listed_and_a_missing_one_is_an_error(root: Path) -> None:
    async with inside(root) as client:
        assert [str(one.uri) for one in (await client.list_resources()).resources] == [
            "lore://recent",
            "lore://session",
        ]
        assert [one.uri_template for one in (await client.list_resource_templates()).resource_templates] == [
            "lore://{id}"
        ]
        made = await ok(client, "recall_record", content=QUEUE, category="fact")
        assert (
            f"> {made['id']} · Queue consumer patterns"
            in (await client.read_resource("lore://recent")).contents[0].text
        )
        part = (await client.read_resource(f"lore://{made['id'][:20]}")).contents[0]
        assert (part.mime_type, "> Queue consumer patterns" in part.text) == ("text/markdown", True)
        with pytest.raises(MCPError, match="There is no entry 01JZZZZZZZZZZZZZZZZZZZZZZZ"):
            await client.read_resource("lore://01JZZZZZZZZZZZZZZZZZZZZZZZ")


async def test_arguments_are_completed(tmp_path: Path) -> None:
    root = plain(tmp_path / "store", '[store]\nfolder = "lore"\ncategories = { RUNBOOK = "procedural" }\n')
    async with inside(root) as client:
        made = await ok(client, "recall_record", content=QUEUE, category="runbook", tags=["queue", "Quota"])
        prompt, template = PromptReference(name="recall"), ResourceTemplateReference(uri="lore://{id}")

        async def complete(reference: object, name: str, value: str) -> list[str]:
            return (await client.complete(reference, {"name": name, "value": value})).completion.values

        assert await complete(prompt, "category", "run") == ["RUNBOOK"]
        assert await complete(prompt, "category", "testing-s") == ["TESTING_STRATEGY"]
        assert await complete(prompt, "tag", "qu") == ["Quota", "queue"]
        assert await complete(prompt, "task", "qu") == []
        assert await complete(template, "id", "01") == [made["id"]]


# --- long work


def filled(root: Path, count: int) -> Path:
    """A store with files that no index knows yet."""
    for number in range(count):
        (root / "lore" / f"note-{number}.md").parent.mkdir(parents=True, exist_ok=True)
        (root / "lore" / f"note-{number}.md").write_text(
            f"Note {number}: consumers of queue {number} retry.\n"
        )
    return root


async def test_the_first_query_of_a_large_store_tells_its_progress(root: Path) -> None:
    filled(root, 200)
    told: list[tuple[float, float | None, str | None]] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))

    async with inside(root) as client:
        found = await client.call_tool("recall_query", {"query": "queue 7 consumers"}, progress_callback=note)
    assert found.structured_content["lore"]
    assert told[0] == (0, 200, "indexing 0 of 200")


async def test_a_cancelled_call_stops_its_work_and_the_next_one_is_answered(root: Path) -> None:
    filled(root, 2000)
    async with inside(root) as client:
        with anyio.CancelScope() as scope:

            async def cancel(*_: object) -> None:
                scope.cancel()

            await client.call_tool("recall_query", {"query": "queue"}, progress_callback=cancel)
        assert scope.cancelled_caught
        store = client.memory.engram.store

        def left() -> bool:
            with store.lock:  # the work has ended when its lock is free
                return store.index.look() is not None

        assert not await anyio.to_thread.run_sync(left)
        assert (await client.list_tools()).tools


@contextmanager
def impatient(memory: Memory) -> Iterator[None]:
    """A server that waits for 0.3 seconds: only while something hangs, because a busy machine may need as long."""
    opening = memory._opening
    memory._opening = opening._replace(patience=0.3)
    try:
        yield
    finally:
        memory._opening = opening


async def test_a_store_that_hangs_is_told_and_its_agent_goes_on(root: Path) -> None:
    async with inside(root) as client:
        await ok(client, "recall_status")
        store = client.memory.engram.store
        ready, done = threading.Event(), threading.Event()

        def hold() -> None:
            with store.lock:
                ready.set()
                done.wait()

        holder = threading.Thread(target=hold)
        holder.start()
        ready.wait()
        try:
            with impatient(client.memory):
                said = await refused(client, "recall_record", content=QUEUE, category="fact")
            assert "still busy after 0.3 seconds" in said
            assert (await client.list_tools()).tools
        finally:
            done.set()
            holder.join()
        assert not (await client.call_tool("recall_status")).is_error


async def test_another_process_that_writes_for_long_blocks_nobody(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    async with inside(root) as client:
        await ok(client, "recall_status")
        with FileLock(str(client.memory.engram.store.files.lock().path)), impatient(client.memory):
            assert "still busy" in await refused(client, "recall_record", content=QUEUE, category="fact")
