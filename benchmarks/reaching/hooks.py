"""Run sessions of events in a store by real `engram hook` processes, and see what each put before the model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import retrieval_set
from scratch_store import PYTHON_PATH

import engram
from engram.domain.agents.error_lines import find_error_and_details
from reaching import events
from reaching.judging import NOTHING, Judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from retrieval_set import RetrievalSet

    from reaching.events import Event
    from reaching.judging import Seen

FRESH, BRIEF, RESUMED = "fresh session", "after the brief", "again after a resume"
DEADLINE_MS = 850  # the time limit of a hook; here it is off, and hooks that exceed it are counted
_COMMAND = (sys.executable, "-P", "-m", "engram", "hook")
_SECONDS = "60"
_TOUCHED = 6  # files touched by the last commit


class Outcome(NamedTuple):
    """The outcome of an event: what it put before the model, which entries stood there whole before, and wall time.

    `start` is what the start or resume of the session put there.
    """

    event: Event
    seen: Seen
    before: frozenset[str]
    start: Seen
    wall_ms: float

    @property
    def reached(self) -> bool:
        """Whether this event put a right entry before the model, whole."""
        return bool(self.seen.reached & self.event.right)

    @property
    def in_context(self) -> bool:
        """Whether a right entry is whole in the context, from this event or an earlier one."""
        return self.reached or bool(self.before & self.event.right)


def as_dict(one: Outcome, way: str) -> dict[str, Any]:
    """Return an outcome for JSON."""
    return {
        "way": way, "kind": one.event.kind, "question": one.event.question,
        "tool": one.event.payload.get("tool_input", {}), "right": sorted(one.event.right),
        "shown": sorted(one.seen.shown), "whole": sorted(one.seen.whole), "referred": sorted(one.seen.referred),
        "characters": one.seen.characters, "wall_ms": round(one.wall_ms),
    }  # fmt: skip


class Place(NamedTuple):
    """A project with an indexed store.

    `keys`: entry id → key in the set; `touched`: keys of entries about files of the last commit.
    """

    folder: str
    keys: dict[str, str]
    judge: Judge
    touched: frozenset[str]


def prepare(found: RetrievalSet, folder: str, project: RetrievalSet | None = None) -> Place:
    """Make a repository with the store of a set, and touch in its last commit some files that entries of `project` name.

    Without `project`, the entries of the store itself.
    """
    keys = retrieval_set.store_documents(folder, found)
    _git(folder, "init", "-q")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", "Keep what is known")
    files = sorted({file for one in (project or found).documents for file in one.files if _is_plain(file)})
    chosen = files[:: max(1, len(files) // _TOUCHED)][:_TOUCHED]
    for file in chosen:
        path = os.path.join(folder, file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as made:
            made.write("changed\n")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "--allow-empty", "-m", "Change some files")
    with engram.open(folder, background=False) as store:
        store.refresh()
        store.make_vectors()
    texts = {document.answers: document.text for document in found.documents}
    touched = {document.answers for document in found.documents if set(document.files) & set(chosen)}
    learned = {document.answers: "; ".join(document.context) for document in found.documents}
    return Place(folder, keys, Judge(texts, learned), frozenset(touched))


def run(place: Place, drawn: Sequence[Event], way: str, parallel: int = 2) -> list[Outcome]:
    """Run each event in a session of its own, `parallel` at a time."""
    sessions: dict[str, Callable[[Place, Event, str], Outcome]] = {
        FRESH: _run_fresh,
        BRIEF: _run_after_brief,
        RESUMED: _run_resumed,
    }
    with ThreadPoolExecutor(parallel) as pool:
        names = [f"{way} {number}" for number in range(len(drawn))]
        return list(pool.map(lambda event, name: sessions[way](place, event, name), drawn, names))


def start_and_resume(place: Place) -> dict[str, Seen]:
    """Start and resume a session, and return what each puts before the model."""
    began = _start(place, "looked at", "startup", {})
    return {"start": began, "resume": _start(place, "looked at", "resume", began.refs)}


def ranked_first(place: Place, drawn: Sequence[Event]) -> dict[str, float]:
    """Return by kind the percentage of prompts and errors for which `engram query` ranks a right entry first."""
    found: dict[str, list[bool]] = {}
    with engram.open(place.folder, background=False) as store:
        for event in drawn:
            text = event.payload.get("prompt") or find_error_and_details(event.payload.get("error", ""))[1]
            if not text or not event.right:
                continue
            answer = store.query(text, keep=False)
            first = answer.lore[0].lore.id if answer.lore else ""
            found.setdefault(event.kind, []).append(place.keys.get(first, "") in event.right)
    return {kind: 100 * sum(several) / len(several) for kind, several in found.items()}


def _run_fresh(place: Place, event: Event, session: str) -> Outcome:
    seen, wall_ms = _run_event(place, event, events.in_session(event, session, place.folder), {})
    return Outcome(event, seen, frozenset(), NOTHING, wall_ms)


def _run_after_brief(place: Place, event: Event, session: str) -> Outcome:
    start = _start(place, session, "startup", {})
    seen, wall_ms = _run_event(place, event, events.in_session(event, session, place.folder), start.refs)
    return Outcome(event, seen, start.reached, start, wall_ms)


def _run_resumed(place: Place, event: Event, session: str) -> Outcome:
    payload = events.in_session(event, session, place.folder)
    start = _start(place, session, "startup", {})
    first, _ = _run_event(place, event, payload, start.refs)
    refs = start.refs | first.refs
    resumed = _start(place, session, "resume", refs)
    refs |= resumed.refs
    seen, wall_ms = _run_event(place, event, events.repeat(payload, 1), refs)
    return Outcome(event, seen, start.reached | first.reached | resumed.reached, resumed, wall_ms)


def _start(place: Place, session: str, source: str, refs: dict[str, str]) -> Seen:
    output, _ = _run_hook("session-start", events.session_start(session, place.folder, source))
    return place.judge.text(output, "", refs)


def _run_event(
    place: Place, event: Event, payload: dict[str, Any], refs: dict[str, str]
) -> tuple[Seen, float]:
    if not events.is_called(event):
        return NOTHING, 0.0
    output, wall_ms = _run_hook(event.hook, payload)
    return place.judge.text(output, event.question, refs, event.passage), wall_ms


def _run_hook(name: str, payload: dict[str, Any]) -> tuple[str, float]:
    """Run a hook; return what it put before the model, and its wall time in ms. Raises RuntimeError if it fails."""
    began = time.perf_counter()
    done = subprocess.run(
        [*_COMMAND, name, "--agent", events.AGENT],
        input=json.dumps(payload), capture_output=True, text=True, check=False, cwd=payload["cwd"],
        env={**os.environ, "ENGRAM_HOOK_SECONDS": _SECONDS, "ENGRAM_BACKGROUND": "inline", "PYTHONPATH": PYTHON_PATH},
    )  # fmt: skip
    wall_ms = (time.perf_counter() - began) * 1000
    if done.returncode or done.stderr:
        raise RuntimeError(f"engram hook {name} failed: {done.stderr[-500:]}")
    if not done.stdout.strip():
        return "", wall_ms
    return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]), wall_ms


def _git(folder: str, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)


def _is_plain(file: str) -> bool:
    return "*" not in file and not file.endswith("/") and not os.path.isabs(file) and ".." not in file
