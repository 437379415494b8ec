"""Answer a client's first requests while the SDK is still loading, which takes most of a second.

The answers to `initialize` and to the first `tools/list` are constant. They are stored in `handshake.json` as the SDK gives
them (`python tools/generate_handshake.py`; a test compares the two). Everything else is left to the SDK: it gets all lines
that were read here, and its second answer to a request is dropped.
"""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = os.path.join(os.path.dirname(__file__), "handshake.json")
_LARGEST = 1 << 20  # bytes of a line that is parsed here


class Handshake(NamedTuple):
    """The lines that were read, the ids of the answered requests, and whether the input has ended."""

    lines: tuple[bytes, ...] = ()
    answered: frozenset[int | str] = frozenset()
    ended: bool = False


def answer_handshake(load: Callable[[], object], *, with_tools: bool) -> Handshake:
    """Answer constant requests on descriptors 0 and 1 while a thread runs `load`; return at the first other request.

    `with_tools`: the server has just the tools of the core set, whose list is stored.
    """
    loading = threading.Thread(target=load, daemon=True)
    loading.start()
    with open(DATA, encoding="utf-8") as file:
        known = json.load(file)
    lines: list[bytes] = []
    answered: set[int | str] = set()
    while True:
        line = _read_line()
        lines.append(line)
        if not line.endswith(b"\n"):
            ended = True
            break
        request = _parse_request(line)
        found = _answer(request, known, answered, with_tools)
        if found is None and request.get("method") != "notifications/initialized":
            ended = False
            break
        if found is not None:
            answered.add(request["id"])
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": found}
            _write(json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    if not ended:
        loading.join()  # a module must not be imported by two threads at once
    return Handshake(tuple(lines), frozenset(answered), ended)


def _answer(
    request: dict[str, Any], known: dict[str, Any], answered: set[int | str], with_tools: bool
) -> dict[str, Any] | None:
    """Return the constant answer to a request, or None."""
    method, given = request.get("method"), request.get("params") or {}
    if not isinstance(given, dict) or not isinstance(request.get("id"), (int, str)):
        return None
    if method == "initialize" and not answered and isinstance(given.get("clientInfo"), dict):
        requested = given.get("protocolVersion")
        version = requested if requested in known["versions"] else known["versions"][-1]
        server = {**known["initialize"]["serverInfo"], "version": __version__}
        return {**known["initialize"], "protocolVersion": version, "serverInfo": server}
    if method == "tools/list" and answered and with_tools and not given.get("cursor"):
        return {"tools": known["tools"]}
    return None


def _parse_request(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line) if len(line) <= _LARGEST else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _read_line() -> bytes:
    """Read a line byte by byte, since the following bytes belong to the SDK. If it has no line feed, the input has ended."""
    found = bytearray()
    while not found.endswith(b"\n") and len(found) <= _LARGEST:
        part = os.read(0, 1)
        if not part:
            break
        found += part
    return bytes(found)


def _write(line: bytes) -> None:
    while line:
        line = line[os.write(1, line) :]
