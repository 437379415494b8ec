"""Tools of the MCP server over HTTP: the sets that only read, with the answers that their schemas promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from apikit import QUEUE, TIDES, opened, plain
from http_kit import asked, serving
from jsonschema import Draft202012Validator

from engram.http.openapi import document
from engram.http.routes import ROOT
from engram.http.tools import tools

SQL = "Find by tag.\n\n```sql\nSELECT title FROM tags JOIN lore USING (id) WHERE tag = :tag\n```"
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
    root = plain(tmp_path / "store")
    with opened(root) as store:
        store.record(QUEUE, category="fact", tags="queue")
        store.record(TIDES, category="fact")
        store.record(SQL, category="skill", tags="skill")
        store.link_entity("Queue", type="concept")
    return root


async def test_each_tool_answers_as_its_schema_says(root: Path) -> None:
    said = document()
    assert {tool.name for tool in tools()} == set(CALLS)
    async with serving(root, **{"engram-session": "s"}) as client:
        for query in ("queue consumers", "tide tables"):
            await asked(client, "POST", "/query", {"query": query})
        found = {}
        for name, body in CALLS.items():
            found[name] = (await asked(client, "POST", f"/tools/{name}", body)).json()
            operation = said["paths"][f"{ROOT}/tools/{name}"]["post"]
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            whole = {**schema, "components": said["components"]}
            Draft202012Validator(whole).validate(found[name])
    assert found["engram_execute"]["tables"][0]["rows"] == [[QUEUE]]
    assert "Tide" in str(found["memory_aggregate"]["tables"][0]["rows"][0])
    assert [one["content"] for one in found["search"]["lore"]] == [QUEUE]
    assert found["recall_skill"]["result"]["rows"] == [["Find by tag."]]


async def test_what_a_tool_refuses_is_a_problem(root: Path) -> None:
    async with serving(root) as client:
        for name, body, status in (
            ("engram_execute", {"sql": "DELETE FROM lore"}, 422),
            ("engram_execute", {}, 422),
            ("engram_explore", {"depth": 9}, 422),
            ("memory_partition", {"key": "colour"}, 422),
            ("memory_peek", {"scope": "nowhere"}, 422),
            ("recall_forget", {"refs": ["L1"]}, 404),
        ):
            problem = await asked(client, "POST", f"/tools/{name}", body, status)
            assert problem.headers["content-type"] == "application/problem+json"
        assert (await asked(client, "GET", "/lore")).json()["total"] == 3
