"""Measure the MCP server as an agent uses it: `python benchmarks/mcp_server.py [--store FOLDER] [--size 10k] [--runs 7]`.

Starts `engram mcp` and speaks MCP over its pipes: the time until `initialize` is answered, the round trip of each tool
call, and the memory of the server at the end. `--store` is copied before it is used.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Self

import generate
from figures import Figure, Group, against, describe_machine, report, timed
from measuring import Cost, median
from run import compile_all, count_of
from scratch_store import PYTHON_PATH, isolate

if TYPE_CHECKING:
    from collections.abc import Sequence

SEED = 1
_COMMAND = (sys.executable, "-m", "engram", "mcp", "--store")
_CALLS = 200
_TICKS = os.sysconf("SC_CLK_TCK")
_CLIENT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


class Server:
    """A running server and its pipes."""

    def __init__(self, store: str) -> None:
        """Start it; the attribute `initialize` is the cost until that is answered."""
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [*_COMMAND, store], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=store
        )
        self._last = 0
        self.request("initialize", _CLIENT)
        self.initialize = Cost(self.cpu_ms(), (time.perf_counter() - began) * 1000)
        self._send({"method": "notifications/initialized"})

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its result. Raises RuntimeError for an error."""
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        assert self._process.stdout is not None
        while True:
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._last:
                break
        if "error" in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{method} failed: {json.dumps(answer)[:500]}")
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, name: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its structured content. Raises RuntimeError."""
        found: dict[str, Any] = self.request("tools/call", {"name": name, "arguments": arguments})
        return dict(found["structuredContent"])

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def cpu_ms(self) -> float:
        """Return the CPU ms that the process has used so far."""
        with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / _TICKS

    def resident_mb(self) -> float:
        """Return its resident memory in MB, mapped files included."""
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as file:
            line = next(line for line in file if line.startswith("VmRSS"))
        return int(line.split()[1]) * 1024 / 1e6

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", help="a folder with lore to copy (default: one is generated)")
    parser.add_argument("--size", default="10k", help="how many entries to generate (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=7, help="number of starts (default: %(default)s)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="engram-benchmark-") as temporary:
        isolate(os.path.join(temporary, "home"))
        os.environ["ENGRAM_BACKGROUND"] = "inline"  # no background process outlives the temporary folder
        os.environ["PYTHONPATH"] = PYTHON_PATH
        compile_all()
        root = os.path.join(temporary, "store")
        if options.store:
            shutil.copytree(options.store, root)
        else:
            generate.generate(root, count_of(options.size), SEED)
        groups = [Group("Start", _starts(root, options.runs)), Group("Calls", _calls(root))]
    print(report(groups, describe_machine(), time.strftime("%Y-%m-%d"), "python benchmarks/mcp_server.py"))
    return 0


def _starts(root: str, runs: int) -> list[Figure]:
    costs = []
    for _ in range(runs):
        with Server(root) as server:
            costs.append(server.initialize)
    spent = median(costs)
    return [against(timed("`initialize` answered, cold", spent), spent.wall_ms, 1500, "ms")]


def _calls(root: str) -> list[Figure]:
    questions = generate.questions(_CALLS, SEED + 1)
    writer = generate.Writer(SEED + 3)
    notes = [writer.lore(int.from_bytes(os.urandom(6))) for _ in range(_CALLS // 4)]
    with Server(root) as server:
        began = time.perf_counter()
        count = server.call("recall_status")["lore_count"]
        first = Figure("First call", None, (time.perf_counter() - began) * 1000, f"{count:,} entries indexed")
        found = [server.call("recall_query", query=text) for text in questions[:20]]
        refs = [one["ref"] for answer in found for one in answer.get("lore", ())][:_CALLS]
        records = [{"content": note.content, "category": note.category} for note in notes]
        figures = [
            first,
            _measure_calls(server, "recall_status", [{}] * 20),
            _measure_calls(server, "recall_query", [{"query": text} for text in questions]),
            _measure_calls(server, "recall_get", [{"refs": [ref]} for ref in refs]),
            _measure_calls(server, "recall_feedback", [{"helpful": [ref]} for ref in refs]),
            _measure_calls(server, "recall_record", records),
            _measure_calls(
                server,
                "recall_forget",
                [{"refs": [ref], "confirm": True} for ref in list(dict.fromkeys(refs))[:20]],
            ),
        ]
        resident = server.resident_mb()
    return [*figures, against(Figure("Memory in the end", more=f"{resident:.0f} MB"), resident, 160, "MB")]


def _measure_calls(server: Server, tool: str, calls: Sequence[dict[str, object]]) -> Figure:
    walls, before = [], server.cpu_ms()
    for arguments in calls:
        began = time.perf_counter()
        server.call(tool, **arguments)
        walls.append((time.perf_counter() - began) * 1000)
    spent = (server.cpu_ms() - before) / len(calls)  # the mean, since threads also work after the answer
    middle = statistics.median(walls)
    worst = statistics.quantiles(walls, n=100)[98]
    return against(
        Figure(f"`{tool}`, there and back (p50)", spent, middle, f"p99 {worst:.1f} ms"), middle, 10, "ms"
    )


if __name__ == "__main__":
    sys.exit(main())
