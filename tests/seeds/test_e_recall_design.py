"""Design E, Engram and Recall: its HTTP examples as printed, and the scenarios of its appendix, one by one.

What deviates on purpose names its row of docs/designs.md.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from apikit import SetClock, dedicated, deviates, open_test_store
from http_kit import Served, get, open_client, post, run_server
from mcp_kit import connect_inside, ok, refused, text
from sync_kit import bare, make_connected_store

from engram.domain.entry import ulid
from engram.domain.entry.categories import Categories
from engram.domain.entry.confidence import state
from engram.usecases.placement.clone import clone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp import Client

    from engram.app import Engram

CATEGORIES = (
    "ARCHITECTURAL_DECISION", "PATTERN_OUTCOME", "INTERFACE_LESSON", "EDGE_CASE_DISCOVERY", "IMPLEMENTATION_FRICTION",
    "TESTING_STRATEGY", "DEPENDENCY_BEHAVIOR", "PERFORMANCE_INSIGHT",
)  # fmt: skip
QUEUE = "Queue consumer idempotency: queue consumers benefit from a key for each message, since brokers deliver twice."
BROKER = "Message brokers confirm a publish only when the channel is in confirm mode."
BATCH = "Batches above 10,000 records run out of memory: stream them instead."
SERIALIZER = "Empty collections require special handling in the serializer."
ORM = "The ORM generates N+1 queries for this relationship unless eager loading is configured."
REPOSITORY = "Repository pattern added unnecessary abstraction for simple CRUD."
_IDS = iter(range(1, 1000))


def new_id() -> str:
    """Return a ULID of January 2024, as a client makes it."""
    return ulid.encode(1_705_314_600_000, next(_IDS))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with run_server(dedicated(tmp_path_factory.mktemp("central") / "store")) as one:
        yield one


def printed(said: str, **more: Any) -> dict[str, Any]:
    """Return an entry with the fields of the document's example."""
    return {
        "id": new_id(), "content": said, "context": "story-2.1 implementation", "category": "PATTERN_OUTCOME",
        "confidence": 0.75, "created_at": "2024-01-15T10:30:00Z", **more,
    }  # fmt: skip


def sent(server: Served, source: str, *entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return server.ask("POST", "/lore", {"source_id": source, "lore": list(entries), **more}).json()


def read(server: Served, lore_id: str) -> dict[str, Any]:
    return server.ask("GET", f"/lore/{lore_id}").json()["lore"]


def everything(server: Served) -> str:
    return server.ask("GET", "/lore/snapshot").text


# 6.2: the API of the central service


def test_health_has_the_printed_fields_and_the_last_snapshot(server: Served) -> None:
    before = server.ask("GET", "/health").json()
    assert {"status", "version", "embedding_model", "lore_count", "last_snapshot"} <= set(before)
    assert before["status"] == "healthy"
    everything(server)
    after = server.ask("GET", "/health").json()["last_snapshot"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", after)
    assert set(get(f"{server.url}/health").json()) == {"status", "version"}
    assert deviates("E", "health for everyone")


def test_a_batch_is_answered_with_the_printed_counts(server: Served) -> None:
    source, entry = new_id(), printed("Retries of payments need a budget for each account.")
    first = sent(server, source, entry)
    assert (first["accepted"], first["merged"], first["rejected"], first["errors"]) == (1, 0, 0, [])
    kept = read(server, entry["id"])
    for field in ("id", "content", "context", "category", "confidence", "created_at"):
        assert kept[field] == entry[field], field
    assert (kept["sources"], kept["agent"]) == ([source], source)
    assert deviates("E", "`source_id` of an entry")


def test_the_same_batch_again_changes_nothing(server: Served) -> None:
    batch = [
        printed(f"Shard {number} of the ledger is read-only after its month.") for number in (11, 12, 13)
    ]
    assert sent(server, "laptop", *batch)["accepted"] == 3
    before = everything(server)
    again = sent(server, "laptop", *batch)
    assert (again["accepted"], again["merged"], again["rejected"]) == (0, 3, 0)
    assert [one["id"] for one in again["lore"]] == [one["id"] for one in batch]
    assert everything(server) == before


def test_an_id_with_other_content_or_of_a_deleted_entry_is_rejected(server: Served) -> None:
    entry = printed("The staging bucket is emptied on Mondays.")
    sent(server, "laptop", entry)
    other = sent(server, "laptop", {**entry, "content": "The staging bucket is emptied on Fridays."})
    assert (other["rejected"], other["lore"][0]["error"]["code"]) == (1, "conflict")
    assert read(server, entry["id"])["content"] == entry["content"]
    server.ask("DELETE", f"/lore/{entry['id']}")
    assert sent(server, "laptop", entry)["rejected"] == 1
    server.ask("GET", f"/lore/{entry['id']}", status=404)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": "x" * 4001}, "content"),
        ({"content": "a\0b"}, "content"),
        ({"context": "x" * 1001}, "context"),
        ({"category": "WISDOM"}, "category"),
        ({"confidence": 1.01}, "confidence"),
        ({"confidence": -0.01}, "confidence"),
        ({"id": "8c1f2a7e-0000-4000-8000-000000000000"}, "id"),
        ({"created_at": "yesterday"}, "created_at"),
        ({"created_at": "2999-01-01T00:00:00Z"}, "created_at"),
        ({"source_id": "x" * 41}, "source_id"),
    ],
)
def test_an_invalid_field_is_rejected_by_name(server: Served, change: dict[str, Any], field: str) -> None:
    done = sent(server, "laptop", printed("A valid entry beside an invalid one.", **change))
    assert (done["accepted"], done["rejected"]) == (0, 1)
    assert done["errors"][0].startswith(f"lore[0].{field}: "), done["errors"]
    assert deviates("E", "`id`")
    assert deviates("E", "`source_id`: ULID")


def test_an_invalid_batch_is_unprocessable_and_a_wrong_token_unauthorized(server: Served) -> None:
    for body in (
        {"source_id": "x", "lore": []},
        {"source_id": 7, "lore": [{}]},
        {"source_id": "x", "lore": "all"},
    ):
        assert server.ask("POST", "/lore", body, 422).json()["errors"]
    for path in ("/lore", "/lore/snapshot", "/lore/delta"):
        assert get(f"{server.url}{path}").status_code == 401
    for path in ("/lore", "/lore/feedback"):
        assert post(f"{server.url}{path}", json={}).status_code == 401
    assert deviates("E", "API key for each organization")


async def test_too_many_requests_are_refused(root: Path) -> None:
    async with open_client(root, rate=4) as client:
        statuses = [(await client.get("/api/v1/lore")).status_code for _ in range(6)]
    assert 429 in statuses


def test_the_snapshot_has_every_entry_and_is_the_start_of_deltas(server: Served) -> None:
    entry = printed("Feature flags are evaluated once for each request.")
    sent(server, "laptop", entry)
    whole = server.ask("GET", "/lore/snapshot")
    assert whole.headers["content-disposition"] == 'attachment; filename="lore.jsonl"'
    assert entry["id"] in [json.loads(line)["id"] for line in whole.text.splitlines()]
    assert deviates("E", "snapshot: a binary `lore.db`")


def test_a_delta_has_the_printed_fields_and_refuses_a_wrong_time(server: Served) -> None:
    kept, dropped = printed("The delta has what came."), printed("The delta names what went.")
    cursor = server.ask("GET", "/lore/delta").json()["cursor"]
    sent(server, "laptop", kept, dropped)
    server.ask("GET", f"/lore/delta?since={cursor}")
    server.ask("DELETE", f"/lore/{dropped['id']}")
    delta = server.ask("GET", "/lore/delta?since=2024-01-15T12:00:00Z").json()
    assert {"lore", "deleted_ids", "as_of"} <= set(delta)
    assert kept["id"] in [one["id"] for one in delta["lore"]]
    assert dropped["id"] in delta["deleted_ids"]
    for wrong in ("yesterday", "2999-01-01T00:00:00Z"):
        assert server.ask("GET", f"/lore/delta?since={wrong}", status=400).json()["status"] == 400
    server.ask("GET", "/lore/delta?since=ZZZZZZZZ-1", status=410)
    assert deviates("E", "invalid `since`: 400")


def test_feedback_is_answered_with_the_printed_numbers(server: Served) -> None:
    entries = [
        printed("Timeouts of the gateway are shorter than those of the service.", confidence=0.80),
        printed("Blue is the colour of the release branch in the pipeline.", confidence=0.75),
        printed("Cron jobs run in the time zone of the cluster.", confidence=0.70),
        printed("Thumbnails are made by a worker of their own.", confidence=0.60),
    ]
    sent(server, "laptop", *entries)
    outcomes = ("helpful", "helpful", "incorrect", "not_relevant")
    body = {
        "source_id": "laptop",
        "feedback": [{"id": one["id"], "outcome": word} for one, word in zip(entries, outcomes, strict=True)],
    }
    updates = {one["id"]: one for one in server.ask("POST", "/lore/feedback", body).json()["updates"]}
    found = [
        tuple(updates[one["id"]][key] for key in ("previous", "current", "validation_count"))
        for one in entries
    ]
    assert found == [(0.80, 0.88, 1), (0.75, 0.83, 1), (0.70, 0.55, 0), (0.60, 0.60, 0)]
    again = server.ask("POST", "/lore/feedback", body).json()["updates"]
    assert all(one["repeated"] for one in again)
    elsewhere = {**body, "source_id": "desktop"}
    found = [one["current"] for one in server.ask("POST", "/lore/feedback", elsewhere).json()["updates"]]
    assert 0.96 in found
    assert deviates("E", "each `helpful` counts")


def test_feedback_about_an_unknown_entry_or_with_an_unknown_outcome_judges_nothing(server: Served) -> None:
    entry = printed("Search results are cached for a minute.")
    sent(server, "laptop", entry)
    judged = {"id": entry["id"], "outcome": "helpful"}
    unknown = {"source_id": "x", "feedback": [judged, {"id": new_id(), "outcome": "helpful"}]}
    server.ask("POST", "/lore/feedback", unknown, 404)
    server.ask(
        "POST", "/lore/feedback", {"source_id": "x", "feedback": [{**judged, "outcome": "great"}]}, 422
    )
    assert read(server, entry["id"])["confidence"] == 0.75
    assert deviates("E", "404 where one id")


# 7: the sync protocol


def test_bootstrap_push_and_pull_of_a_client(server: Served) -> None:
    assert server.ask("GET", "/health").json()["embedding_model"]
    whole = server.ask("GET", "/lore/snapshot")
    since = whole.headers["engram-as-of"]
    entry = printed("Pushed at shutdown by one client, pulled by another.")
    assert sent(server, "desktop", entry, flush=True)["accepted"] == 1
    pulled = server.ask("GET", f"/lore/delta?since={since}").json()
    assert entry["id"] in [one["id"] for one in pulled["lore"]]
    for term in ("`flush: true`", "sync queue", "replica must have the same embedding model"):
        assert deviates("E", term)


def test_the_reinforcement_flow_of_a_session(server: Served) -> None:
    entries = [
        printed(QUEUE, confidence=0.80),
        printed(BROKER, confidence=0.75),
        printed(BATCH, confidence=0.65),
    ]
    sent(server, "devcontainer-a", *entries)
    session = {"engram-session": "flow"}
    refs: dict[str, str] = {}
    for words in (
        "queue consumers deliver twice",
        "message broker confirm mode",
        "batch memory of 10,000 records",
    ):
        refs |= server.ask("POST", "/query", {"query": words, "k": 5}, **session).json()["session_refs"]
    named = {lore_id: ref for ref, lore_id in refs.items()}
    helpful, other = [named[one["id"]] for one in entries[:2]], named[entries[2]["id"]]
    done = server.ask(
        "POST", "/lore/feedback", {"helpful": helpful, "not_relevant": [other]}, **session
    ).json()
    found = {one["id"]: (one["previous"], one["current"]) for one in done["updates"]}
    assert [found[one["id"]] for one in entries] == [(0.80, 0.88), (0.75, 0.83), (0.65, 0.65)]
    later = {"engram-session": "another devcontainer"}
    hit = server.ask("POST", "/query", {"query": "queue consumers deliver twice"}, **later).json()["lore"][0]
    assert (hit["confidence"], hit["validation_count"]) == (0.88, 1)
    assert hit["last_validated"]


# 8 and "Conflict Resolution": equivalent entries


def test_an_equivalent_entry_of_another_source_reinforces_the_first(server: Served) -> None:
    first, second = printed(REPOSITORY, confidence=0.6), printed(REPOSITORY, context="story-3.4 review")
    sent(server, "devcontainer-a", first)
    total = server.ask("GET", "/lore").json()["total"]
    done = sent(server, "devcontainer-b", second)
    assert (done["accepted"], done["merged"], done["lore"][0]["id"]) == (0, 1, first["id"])
    kept = read(server, first["id"])
    assert (kept["confidence"], kept["sources"]) == (0.7, ["devcontainer-a", "devcontainer-b"])
    assert kept["context"] == ["story-2.1 implementation", "story-3.4 review"]
    assert read(server, second["id"])["id"] == first["id"]
    sent(server, "devcontainer-b", second)
    sent(server, "devcontainer-b", {**second, "id": new_id()})
    sent(server, "devcontainer-a", first)
    assert read(server, first["id"])["confidence"] == 0.7
    sent(server, "devcontainer-c", printed(f"{REPOSITORY}\n"))
    assert read(server, first["id"])["confidence"] == 0.8
    assert server.ask("GET", "/lore").json()["total"] == total
    assert deviates("E", "merged: +0.10 each time")
    assert deviates("E", "equivalent: cosine")


def test_confirmation_by_many_sources_ends_at_one(server: Served) -> None:
    content = "Every service has its own database schema."
    first = printed(content, confidence=0.95)
    sent(server, "s0", first)
    for number in range(1, 4):
        sent(server, f"s{number}", printed(content))
    assert read(server, first["id"])["confidence"] == 1.0


# 3.3 and 18: recording, querying, feedback, by the tools of the document


async def recorded(client: Client, content: str, category: str, **more: Any) -> dict[str, Any]:
    return await ok(client, "recall_record", content=content, category=category, **more)


async def refs_of(client: Client, query: str, **more: Any) -> dict[str, str]:
    """Return the refs in an answer by the first words of their entries."""
    found = await ok(client, "recall_query", query=query, **more)
    return {one["text"][:12]: one["ref"] for one in found["lore"]}


async def test_all_categories_of_the_document_are_recorded_and_filtered_by(root: Path) -> None:
    async with connect_inside(root) as client:
        for number, category in enumerate(CATEGORIES):
            done = await recorded(client, f"Kafka lesson number {number} is about partitions.", category)
            assert done["category"] == category
        one = await ok(client, "recall_query", query="kafka partitions", categories=["DEPENDENCY_BEHAVIOR"])
        assert ["number 6" in hit["text"] for hit in one["lore"]] == [True]
        wanted = ["IMPLEMENTATION_FRICTION", "TESTING_STRATEGY", "DEPENDENCY_BEHAVIOR"]
        several = await ok(client, "recall_query", query="kafka partitions", categories=wanted, k=8)
    found = {number for hit in several["lore"] for number in range(8) if f"number {number}" in hit["text"]}
    also = {
        number
        for title in several.get("also", {}).values()
        for number in range(8)
        if f"number {number}" in title
    }
    assert found | also == {4, 5, 6}
    assert set(CATEGORIES) <= set(Categories().names)


async def test_a_long_text_and_an_unknown_category_are_validation_errors(root: Path) -> None:
    async with connect_inside(root) as client:
        assert "4,000" in await refused(client, "recall_record", content="x" * 4001, category="FACT")
        assert "category" in await refused(client, "recall_record", content=QUEUE, category="WISDOM")
        assert (await ok(client, "recall_status"))["lore_count"] == 0


async def test_a_query_finds_by_meaning_and_an_empty_store_answers_nothing(root: Path) -> None:
    async with connect_inside(root) as client:
        nothing = await client.call_tool("recall_query", {"query": "implementing message consumers"})
        assert not nothing.is_error
        assert nothing.structured_content["strength"] == "none"
        assert "lore" not in nothing.structured_content
        for content in (QUEUE, SERIALIZER, ORM):
            await recorded(client, content, "PATTERN_OUTCOME")
        found = await ok(client, "recall_query", query="implementing message consumers")
        assert found["lore"][0]["text"] == QUEUE


async def test_a_minimum_confidence_leaves_out_lower_entries_and_says_so(root: Path) -> None:
    async with connect_inside(root) as client:
        for content, confidence in ((QUEUE, 0.9), (f"{QUEUE} Keys expire after a day.", 0.69)):
            await recorded(client, content, "PATTERN_OUTCOME", confidence=confidence)
        found = await ok(client, "recall_query", query="queue consumer idempotency", min_confidence=0.7)
        assert [hit["text"] for hit in found["lore"]] == [QUEUE]
        none = await client.call_tool(
            "recall_query", {"query": "queue consumer idempotency", "min_confidence": 0.95}
        )
        assert "confidence below 0.95" in text(none)


async def test_feedback_by_ref_and_by_words_changes_confidence_as_in_the_document(root: Path) -> None:
    async with connect_inside(root) as client:
        for content in (QUEUE, BROKER, BATCH, SERIALIZER):
            await recorded(client, content, "PATTERN_OUTCOME")
        refs: dict[str, str] = {}
        for words in (
            "queue consumer idempotency",
            "broker confirm mode",
            "batches out of memory",
            "empty collections",
        ):
            refs |= await refs_of(client, words)
        first, second, third, fourth = (refs[content[:12]] for content in (QUEUE, BROKER, BATCH, SERIALIZER))
        assert all(re.fullmatch(r"L[1-9]\d*", ref) for ref in refs.values())
        call = {"helpful": [first, second], "not_relevant": [third], "incorrect": [fourth]}
        done = (await ok(client, "recall_feedback", **call))["updated"]
        found = [(one["previous"], one["current"], one["validation_count"]) for one in done]
        assert found == [(0.7, 0.78, 1), (0.7, 0.78, 1), (0.7, 0.55, 0), (0.7, 0.7, 0)]
        whole = (await ok(client, "recall_get", refs=[first, third]))["lore"]
        assert whole[0]["last_validated"]
        assert "last_validated" not in whole[1]
    async with connect_inside(root) as another:
        await refs_of(another, "queue consumer idempotency")
        (by_words,) = (await ok(another, "recall_feedback", helpful=["queue consumer idempotency"]))[
            "updated"
        ]
        assert (by_words["previous"], by_words["current"], by_words["validation_count"]) == (0.78, 0.86, 2)


def test_confidence_stays_between_zero_and_one(root: Path) -> None:
    with open_test_store(root) as store:
        high = store.record(QUEUE, category="PATTERN_OUTCOME", confidence=0.95).lore.id
        low = store.record(BATCH, category="PATTERN_OUTCOME", confidence=0.10).lore.id
        done = store.feedback(helpful=[high], incorrect=[low])
        assert {one.id: one.current for one in done} == {high: 1.0, low: 0.0}


def test_the_states_have_the_bounds_of_the_document() -> None:
    bounds = {0: "cold", 300: "warm", 600: "trusted", 800: "authoritative"}
    assert {at: state(at) for at in bounds} == bounds
    assert [state(at - 1) for at in (300, 600, 800)] == ["cold", "warm", "trusted"]


def test_an_unused_entry_loses_a_hundredth_a_month_until_it_is_validated(root: Path) -> None:
    clock = SetClock()
    with open_test_store(root, clock=clock) as store:
        lore_id = store.record(ORM, category="DEPENDENCY_BEHAVIOR").lore.id
        clock.advance(days=90)
        assert store.get(lore_id).lore.confidence == 0.67
        store.feedback(helpful=[lore_id])
        assert store.get(lore_id).lore.confidence == 0.78
        clock.advance(days=29)
        assert store.get(lore_id).lore.confidence == 0.78


# 18, "Sync Protocol": between clones


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Engram, Engram]]:
    clock, hub = SetClock(), bare(tmp_path / "hub.git")
    with make_connected_store(tmp_path / "a", hub, clock) as a:
        a.record(QUEUE, category="PATTERN_OUTCOME")
        a.sync()
        clone(str(hub), str(tmp_path / "b"))
        with open_test_store(tmp_path / "b", clock=clock) as b:
            clock.advance(seconds=1)
            yield a, b


def test_the_first_start_of_a_client_gets_everything(two: tuple[Engram, Engram]) -> None:
    _, b = two
    assert [one.lore.content for one in b.list().lore] == [QUEUE]


def test_recorded_entries_are_pushed_and_none_wait_afterwards(two: tuple[Engram, Engram]) -> None:
    a, b = two
    a.record(BROKER, category="DEPENDENCY_BEHAVIOR")
    done = a.sync()
    assert (done.pushed, done.errors) == (1, ())
    git = a.status()["git"]
    assert (git["ahead"], git["pending"]) == (0, 0)
    assert git["sync"]["succeeded"]
    assert b.sync().pulled == 1
    assert {one.lore.content for one in b.list().lore} == {QUEUE, BROKER}
    assert deviates("E", "`synced_at`")


def test_feedback_travels_to_every_clone(two: tuple[Engram, Engram]) -> None:
    a, b = two
    lore_id = b.list().lore[0].lore.id
    b.feedback(helpful=[lore_id])
    b.sync()
    a.sync()
    shown = a.get(lore_id).lore
    assert (shown.confidence, shown.validation_count) == (0.78, 1)


def test_equivalent_entries_of_two_clones_become_one_with_both_sources(two: tuple[Engram, Engram]) -> None:
    a, b = two
    kept = a.record(REPOSITORY, category="PATTERN_OUTCOME").lore
    b.record(REPOSITORY, category="PATTERN_OUTCOME")
    for one in (a, b, a, b):
        one.sync()
    found = [one.lore for one in b.list().lore if one.lore.content == REPOSITORY]
    assert [(one.id, one.confidence, len(one.sources)) for one in found] == [(kept.id, 0.8, 2)]


# 5.3, 13, 15: other requirements of the document


async def test_the_tools_have_the_names_and_arguments_of_the_document(root: Path) -> None:
    wanted = {
        "recall_query": {"query", "k", "min_confidence", "categories"},
        "recall_record": {"content", "category", "context", "confidence"},
        "recall_feedback": {"helpful", "not_relevant", "incorrect"},
    }
    async with connect_inside(root) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    for name, arguments in wanted.items():
        assert arguments <= set(tools[name].input_schema["properties"]), name
    assert tools["recall_query"].input_schema["properties"]["k"]["default"] == 5
    with open_test_store(root) as store:
        settings = store.store.settings
        assert (settings.number("record.confidence"), settings.number("recall.min_confidence")) == (0.7, 0.5)


def test_the_metrics_of_the_document_are_served_under_their_names(server: Served) -> None:
    sent(server, "laptop", printed("Metrics are counted from the first call."))
    server.ask("POST", "/query", {"query": "queue consumers"})
    said = server.ask("GET", "/metrics").text
    for name in (
        "recorded_total", "recalled_total", "recall_latency_ms", "sync_push_total", "sync_pull_total",
        "sync_errors_total", "store_size", "queue_pending",
    ):  # fmt: skip
        assert f"engram_{name}" in said, name
    assert deviates("E", "metrics")


def test_other_deviations_have_reasons() -> None:
    for term in (
        "central service", "Go, Chi", "embeddings by OpenAI", "injection: `[L1]", "`min_confidence` 0.6 for injection",
    ):  # fmt: skip
        assert deviates("E", term)


def test_an_entry_learned_long_ago_keeps_its_time_and_is_not_older_than_its_id(root: Path) -> None:
    clock = SetClock()
    with open_test_store(root, clock=clock) as store:
        from engram.usecases.recording.record import Draft

        when = clock.now() - timedelta(days=400)
        (done,) = store.record_all([Draft(ORM, "DEPENDENCY_BEHAVIOR", created_at=when, client="laptop")])
        kept = store.get(done.id).lore
        assert (kept.created_at, kept.sources) == (when, ("laptop",))
        assert kept.updated_at == clock.now()
