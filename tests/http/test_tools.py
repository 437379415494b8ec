"""MCP tools over HTTP: the tools that only read, with answers that match their schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from apikit import QUEUE, TIDES, make_plain_store, open_test_store
from http_kit import KEY, on_the_loopback, open_client, send_request
from jsonschema import Draft202012Validator

from engram.http.openapi import build_document
from engram.http.routes import ROOT
from engram.http.tools import list_tools

SQL = "Find by tag.\n\n```sql\nSELECT title FROM tags JOIN lore USING (id) WHERE tag = :tag\n```"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
CALLS: dict[str, dict[str, Any]] = {
    "engram_explore": {"depth": 1},
    "engram_execute": {
        "sql": "SELECT title FROM lore WHERE title LIKE :start",
        "parameters": {"start": "Queue%"},
    },
    "memory_peek": {},
    "memory_partition": {"key": "category"},
    "memory_aggregate": {"lists": [["L1", "L2"], ["L2"]]},
    "search": {"text": "queue", "tags": ["queue"], "since": "2026-01-01"},
    "search_graph": {"entity": "queue"},
    "recall_skill": {"task": "find by tag", "execute": True, "parameters": {"tag": "skill"}},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_plain_store(tmp_path / "store")
    with open_test_store(root) as store:
        store.record(QUEUE, category="fact", tags="queue")
        store.record(TIDES, category="fact")
        store.record(SQL, category="skill", tags="skill")
        store.link_entity("Queue", type="concept")
    return root


async def test_each_tool_answers_as_its_schema_says(root: Path) -> None:
    said = build_document()
    assert {tool.name for tool in list_tools()} == set(CALLS)
    async with open_client(root, **{"engram-session": "s"}) as client:
        for query in ("queue consumers", "tide tables"):
            await send_request(client, "POST", "/query", {"query": query})
        found = {}
        for name, body in CALLS.items():
            found[name] = (await send_request(client, "POST", f"/tools/{name}", body)).json()
            operation = said["paths"][f"{ROOT}/tools/{name}"]["post"]
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            whole = {**schema, "components": said["components"]}
            Draft202012Validator(whole).validate(found[name])
    assert found["engram_execute"]["tables"][0]["rows"] == [[QUEUE]]
    assert "Tide" in str(found["memory_aggregate"]["tables"][0]["rows"][0])
    assert [one["text"] for one in found["search"]["lore"]] == [QUEUE]
    assert found["recall_skill"]["result"]["rows"] == [["Find by tag."]]


async def test_errors_of_tools_are_problems(root: Path) -> None:
    async with open_client(root) as client:
        for name, body, status in (
            ("engram_execute", {"sql": "DELETE FROM lore"}, 422),
            ("engram_execute", {}, 422),
            ("engram_explore", {"depth": 9}, 422),
            ("memory_partition", {"key": "colour"}, 422),
            ("memory_peek", {"scope": "nowhere"}, 422),
            ("recall_forget", {"refs": ["L1"]}, 404),
        ):
            problem = await send_request(client, "POST", f"/tools/{name}", body, status)
            assert problem.headers["content-type"] == "application/problem+json"
        assert (await send_request(client, "GET", "/lore")).json()["total"] == 3


async def answered_meanwhile(
    root: Path, tool: str, body: dict[str, Any], times: int
) -> list[httpx2.Response]:
    """The answers to a call of a tool sent so many times at once, while the server must go on answering others."""
    found: list[httpx2.Response] = []
    with on_the_loopback(root) as port:
        address = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(base_url=address, headers=KEY, timeout=60, verify=False) as client:
            await send_request(client, "GET", "/lore")

            async def ask() -> None:
                found.append(await client.post(f"{ROOT}/tools/{tool}", json=body))

            slowest = 0.0
            async with anyio.create_task_group() as group:
                for _ in range(times):
                    group.start_soon(ask)
                while len(found) < times:
                    began = anyio.current_time()
                    await send_request(client, "GET", "/lore")
                    slowest = max(slowest, anyio.current_time() - began)
    assert 0 < slowest < 1.5  # of the 2 s that a question takes
    return found


@pytest.mark.slow
async def test_while_sql_runs_to_its_limit_others_are_answered(root: Path) -> None:
    for answer in await answered_meanwhile(root, "engram_execute", {"sql": ENDLESS}, 4):
        assert (answer.status_code, "took longer than 2 seconds" in answer.text) == (422, True)


@pytest.mark.slow
async def test_while_the_query_of_a_skill_runs_to_its_limit_others_are_answered(root: Path) -> None:
    with open_test_store(root) as store:
        store.record(f"Count without an end.\n\n```sql\n{ENDLESS}\n```", category="skill", tags="skill")
    body = {"task": "count without an end", "execute": True}
    (answer,) = await answered_meanwhile(root, "recall_skill", body, 1)
    assert "took longer than 2 seconds" in answer.json()["error"]
    async with open_client(root) as client:
        again = await send_request(client, "POST", "/tools/recall_skill", {"task": "count without an end"})
        assert again.json()["runs"] == 1
