"""Run rivals as processes: whole commands with their cost, and MCP servers over their pipes."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TICKS = os.sysconf("SC_CLK_TCK")
LIMIT_SECONDS = 300.0
_CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
_LONGEST_MESSAGE = 300


class PeerError(Exception):
    """A rival failed; the text says why, in its own words if it printed any."""


class Spent(NamedTuple):
    """Processor and wall time in ms, and the output of the command."""

    cpu_ms: float
    wall_ms: float
    output: str = ""


def command(
    arguments: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    *,
    limit: float = LIMIT_SECONDS,
    expected: Sequence[int] = (0,),
) -> Spent:
    """Run a command to its end. Raises PeerError if it fails or takes too long."""
    began, before = time.perf_counter(), os.times()
    process = subprocess.Popen(
        list(arguments), cwd=folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        kill_group(process)
        process.communicate()
        raise PeerError(f"took longer than {limit:.0f} s") from None
    after = os.times()
    if process.returncode not in expected:
        raise PeerError(last_line(errors or output) or f"exit code {process.returncode}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(cpu * 1000, (time.perf_counter() - began) * 1000, output.decode(errors="replace"))


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with everything it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def last_line(raw: bytes) -> str:
    """Return the last line that is not blank."""
    lines = [line.strip() for line in raw.decode(errors="replace").splitlines() if line.strip()]
    return " ".join(lines[-1:])[:_LONGEST_MESSAGE]


class Server:
    """A running MCP server and its pipes."""

    def __init__(self, arguments: Sequence[str], folder: str, environment: Mapping[str, str]) -> None:
        """Start it and initialize the connection. Raises PeerError."""
        self._errors = open(os.path.join(folder, f"server-{time.monotonic_ns()}.log"), "w+b")  # noqa: SIM115
        self._process = subprocess.Popen(
            list(arguments), cwd=folder, env={**os.environ, **environment}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._buffer = b""
        self._last = 0
        self.request("initialize", _CLIENT)
        self._send({"method": "notifications/initialized"})

    def request(self, method: str, params: dict[str, Any], limit: float = 120.0) -> dict[str, Any]:
        """Send a request and return its result. Raises PeerError for an error, its exit, or no answer within `limit` seconds."""
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        deadline = time.monotonic() + limit
        while True:
            answer = json.loads(self._line(deadline))
            if answer.get("id") == self._last and "method" not in answer:
                break
        if "error" in answer:
            raise PeerError(str(answer["error"].get("message", answer["error"]))[:_LONGEST_MESSAGE])
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, name: str, **arguments: object) -> str:
        """Call a tool and return the text of its answer. Raises PeerError."""
        return _text(self.result(name, **arguments))

    def result(self, name: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its result, with structured content. Raises PeerError."""
        result = self.request("tools/call", {"name": name, "arguments": arguments})
        if result.get("isError"):
            raise PeerError(_text(result)[:_LONGEST_MESSAGE])
        return result

    def tools_tokens(self) -> int:
        """Return the approximate number of tokens in the list of tools: a quarter of its characters."""
        return len(json.dumps(self.request("tools/list", {})["tools"], separators=(",", ":"))) // 4

    def cpu_ms(self) -> float:
        """Return the CPU ms that the server and its children have used so far."""
        return sum(_cpu_ms(pid) for pid in self._tree())

    def resident_mb(self) -> float:
        """Return the resident memory in MB of the server and its children, mapped files included."""
        return sum(_resident_mb(pid) for pid in self._tree())

    def close(self) -> None:
        """Stop the server."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        kill_group(self._process)
        self._process.stdout.close()
        self._selector.close()
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _line(self, deadline: float) -> bytes:
        while b"\n" not in self._buffer:
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                self.close()
                raise PeerError("did not answer in time")
            assert self._process.stdout is not None
            part = os.read(self._process.stdout.fileno(), 1 << 16)
            if not part:
                self._errors.seek(0)
                raise PeerError(f"ended: {last_line(self._errors.read())}")
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line if line.startswith(b"{") else b"{}"

    def _tree(self) -> list[int]:
        found = [self._process.pid]
        for pid in found:
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file,
            ):
                found += [int(child) for child in file.read().split()]
        return found

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._errors.seek(0)
            raise PeerError(f"ended: {last_line(self._errors.read())}") from None


def _cpu_ms(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) * 1000 / TICKS
    except OSError:
        return 0.0


def _resident_mb(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return 0.0


def _text(result: dict[str, Any]) -> str:
    return "\n".join(str(part.get("text", "")) for part in result.get("content", []))
