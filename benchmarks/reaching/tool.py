"""Measure what `recall_query` of the real MCP server puts before a model, by the official client, and the cost of its tools."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import anyio
from mcp import Client, StdioServerParameters
from mcp_server import Server
from measuring import Cost, median, run
from scratch_store import PYTHON_PATH

import engram

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_types import CallToolResult
    from retrieval_set import RetrievalSet

    from reaching.hooks import Place
    from reaching.judging import Seen

FIRST_RANKS = 3
_RANKED = 10


class Asked(NamedTuple):
    """A question: its right entries among those that `engram query -k 10` ranks 1 to 3, and the answer as data and as text."""

    kind: str
    right: frozenset[str]
    ranked: frozenset[str]
    data: Seen
    text: Seen


class Tools(NamedTuple):
    """The size of the answer to `tools/list` in characters of JSON, with and without output schemas.

    `started` is the cost from the start until that answer, `bare` that of a Python that does nothing, at about the same time.
    """

    tools: int
    characters: int
    without_output: int
    started: Cost
    bare: Cost


def ask(place: Place, found: RetrievalSet, queries: Sequence[str]) -> list[Asked]:
    """Ask these questions of a set with the tool's defaults, all in one session of one server."""
    ranked: dict[str, list[str]] = {}
    with engram.open(place.folder, background=False) as store:
        for query in queries:
            answer = store.query(found.queries[query], k=_RANKED, keep=False)
            ranked[query] = [place.keys[hit.lore.id] for hit in answer.lore]
    results = anyio.run(_call_queries, place.folder, [found.queries[query] for query in queries])
    asked, refs, data_refs = list[Asked](), dict[str, str](), dict[str, str]()
    for query, result in zip(queries, results, strict=True):
        text, right = found.queries[query], frozenset(found.judged[query])
        seen = place.judge.text("\n".join(block.text for block in result.content), text, refs)
        data = place.judge.data(result.structured_content, text, data_refs)
        refs |= seen.refs
        data_refs |= data.refs
        first = frozenset(ranked[query][:FIRST_RANKS]) & right
        asked.append(Asked(found.kinds[query], right, first, data, seen))
    return asked


def tools(root: str, runs: int) -> Tools:
    """Measure the start of the server until it has answered `initialize` and `tools/list`; the costs are medians."""
    costs, listed = list[Cost](), list[dict[str, object]]()
    for _ in range(runs):
        began = time.perf_counter()
        with Server(root) as server:
            listed = server.request("tools/list", {})["tools"]
            costs.append(Cost(server.cpu_ms(), (time.perf_counter() - began) * 1000))
    bare = [run([sys.executable, "-c", "pass"], root).cost for _ in range(runs)]
    without = [{name: value for name, value in tool.items() if name != "outputSchema"} for tool in listed]
    return Tools(len(listed), _size(listed), _size(without), median(costs), median(bare))


async def _call_queries(root: str, questions: Sequence[str]) -> list[CallToolResult]:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-P", "-m", "engram", "mcp"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": PYTHON_PATH},
    )
    async with Client(server) as client:
        results = [await client.call_tool("recall_query", {"query": question}) for question in questions]
    failed = [result for result in results if result.is_error]
    if failed:
        raise RuntimeError(f"recall_query failed: {failed[0].content}")
    return results


def _size(listed: Sequence[Mapping[str, object]]) -> int:
    return len(json.dumps({"tools": listed}, ensure_ascii=False, separators=(",", ":")))
