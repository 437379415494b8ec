"""Answer what a client asks first while the SDK is still loading, which takes most of a second.

The answers to `initialize` and to the first `tools/list` are constant, and kept in `handshake.json` as the SDK gives them
(`python tools/generate_handshake.py`; a test holds the two equal). Whatever else comes is left to the SDK: it gets every line
that was read here, and what it answers again is dropped.
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
_LARGEST = 1 << 20  # bytes of a first line that is looked at


class Handshake(NamedTuple):
    """The lines that were read, and the ids of the requests that were answered; `ended` says that the client has gone."""

    lines: tuple[bytes, ...] = ()
    answered: frozenset[int | str] = frozenset()
    ended: bool = False


def answer_handshake(load: Callable[[], object], *, with_tools: bool) -> Handshake:
    """Answer on descriptors 0 and 1 what is constant, while a thread runs `load`; return when something else is asked.

    `with_tools` says that the server has the tools of the core set, which are those that are kept.
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
        request = _request(line)
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
    """Return the constant answer to a request, None where there is none."""
    method, given = request.get("method"), request.get("params") or {}
    if not isinstance(given, dict) or not isinstance(request.get("id"), (int, str)):
        return None
    if method == "initialize" and not answered and isinstance(given.get("clientInfo"), dict):
        asked = given.get("protocolVersion")
        version = asked if asked in known["versions"] else known["versions"][-1]
        about = {**known["initialize"]["serverInfo"], "version": __version__}
        return {**known["initialize"], "protocolVersion": version, "serverInfo": about}
    if method == "tools/list" and answered and with_tools and not given.get("cursor"):
        return {"tools": known["tools"]}
    return None


def _request(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line) if len(line) <= _LARGEST else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _read_line() -> bytes:
    """Read one line, byte by byte: what comes after it belongs to the SDK. Without a line feed the input has ended."""
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
