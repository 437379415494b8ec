"""Hooks as an agent calls them: a store to work in, recorded payloads, and one call with its answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apikit import Result, cli, opened

from engram.usecases.store.store import Clock

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORDED = json.loads((Path(__file__).parents[1] / "data/agents/payloads.json").read_text("utf-8"))
CALLS = [(agent, event) for agent, events in RECORDED.items() for event in events]

LESSON = "Queue consumers must be idempotent: redelivery happens after a missed ack."
PROMPT = "why are queue consumers idempotent, does redelivery happen after a missed ack?"
ABOUT_FILE = "The visibility timeout of the work list is ninety seconds, set by hand."
FAILURE = "make fails with 'undefined symbol: tls_get_addr' until the sysroot is mounted."
ERROR = "ld: error: undefined symbol: tls_get_addr"
SAID = "Root cause: the upload client retries without the multipart header, so the proxy drops the body.\n\nDone."
UNRELATED = "The palette of the settings page was chosen for contrast, not for beauty."


def make_store(root: Path) -> Path:
    """A plain store with one entry for each kind of recall, indexed."""
    with opened(root, agent="human", clock=Clock()) as engram:
        engram.record(LESSON, category="FACT")
        engram.record(ABOUT_FILE, category="FACT", files=["src/queue.py"])
        engram.record(FAILURE, category="FAILURE")
        engram.record(UNRELATED, category="DECISION")
        engram.refresh()
    return root


def recorded(agent: str, event: str, root: Path, **changed: Any) -> dict[str, Any]:
    """The recorded payload of an agent's event, for a session in `root`."""
    text = json.dumps(RECORDED[agent][event])
    transcript = root / "transcript.jsonl"
    for mark, value in {
        "@CWD@": str(root), "@PROMPT@": PROMPT, "@ERROR@": ERROR, "@SAID@": SAID, "@TRANSCRIPT@": str(transcript),
    }.items():  # fmt: skip
        text = text.replace(mark, json.dumps(value)[1:-1])
    return {**json.loads(text), **changed}


def call(agent: str, event: str, payload: Mapping[str, Any] | bytes, *more: str, **variables: str) -> Result:
    """One call of a hook; an error in it is let through."""
    stdin = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    calm = {"ENGRAM_HOOK_SECONDS": "60", "ENGRAM_TRACEBACK": "1", **variables}
    return cli("hook", event, "--agent", agent, *more, stdin=stdin, **calm)


def answer(agent: str, event: str, root: Path, **changed: Any) -> Any:
    """The answer to a recorded event, None for none."""
    done = call(agent, event, recorded(agent, event, root, **changed))
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out) if done.out else None


def text_of(found: Any) -> str:
    """All texts in an answer, in one."""
    if isinstance(found, dict):
        return "\n".join(text_of(value) for value in found.values())
    return found if isinstance(found, str) else ""
