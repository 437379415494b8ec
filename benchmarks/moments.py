"""Measure how well entries with `when` are recalled at their moment: `python benchmarks/moments.py [--set FOLDER] [--json FILE]`.

The sessions of `moments_dev/sessions.jsonl` are events as Claude Code sends them: commands, edits, tools, failures and
small talk, each with the entries of `moments_dev/entries.jsonl` wanted at it. They go through the code of the hooks in
this process, one session after the other. Precision and recall are of the entries recalled by `when`, each of which must
be in the answer with every line.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from scratch_store import ROOT, isolate

import engram
from engram.adapters.agents import hook_events as names
from engram.adapters.state.hook_memory import MOMENT, HookMemory
from engram.hooks.events import EVENTS
from engram.hooks.payload import Input, parse
from engram.usecases.lookup.listing import get
from engram.usecases.opening.init import init
from engram.usecases.opening.open_store import open_store
from engram.usecases.store.store import Caller

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.usecases.store.store import Store

SET = os.path.join(ROOT, "benchmarks", "moments_dev")
AGENT = "claude-code"
WANTED = 0.95  # precision and recall, each


class Outcome(NamedTuple):
    """One event: its session and number in it, the event itself, the entries wanted and brought, and its time in ms."""

    session: int
    number: int
    event: Mapping[str, Any]
    wanted: frozenset[str]
    brought: frozenset[str]
    ms: float


class Figures(NamedTuple):
    """Counts of entries wanted, brought, and both."""

    wanted: int
    brought: int
    right: int

    @property
    def precision(self) -> float:
        """The share of the entries brought that were wanted."""
        return self.right / self.brought if self.brought else 1.0

    @property
    def recall(self) -> float:
        """The share of the entries wanted that were brought."""
        return self.right / self.wanted if self.wanted else 1.0


def read(name: str, folder: str = SET) -> list[dict[str, Any]]:
    """Read the rows of a file of the set in a folder."""
    with open(os.path.join(folder, f"{name}.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def prepare(folder: str, entries: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Make a repository with a store of these entries, and return the names of entries by id."""
    os.makedirs(folder)
    subprocess.run(["git", "init", "-q", folder], check=True)
    init(folder)
    with engram.open(folder, background=False) as store:
        found = {
            store.record(**{key: value for key, value in one.items() if key != "name"}).lore.id: str(
                one["name"]
            )
            for one in entries
        }
        store.refresh()
        return found


def run(folder: str, named: Mapping[str, str], sessions: Sequence[Mapping[str, Any]]) -> Iterator[Outcome]:
    """Run the hooks of each session's events and yield what each event brought."""
    for at, session in enumerate(sessions):
        for number, event in enumerate(session["events"]):
            working = os.path.join(folder, event.get("cwd", ""))
            os.makedirs(working, exist_ok=True)
            caller = Caller(f"session-{at}", AGENT, "hook")
            store = open_store(None, caller, working=working, start=folder)
            try:
                began = time.perf_counter()
                brought = _run_event(store, named, event, folder, working, number)
                ms = (time.perf_counter() - began) * 1000
            finally:
                store.close()
            yield Outcome(at, number, event, frozenset(event["wants"]), frozenset(brought), ms)


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Add up the outcomes of all events."""
    return Figures(
        sum(len(one.wanted) for one in outcomes),
        sum(len(one.brought) for one in outcomes),
        sum(len(one.wanted & one.brought) for one in outcomes),
    )


def _run_event(
    store: Store, named: Mapping[str, str], event: Mapping[str, Any], folder: str, working: str, number: int
) -> set[str]:
    memory, session = HookMemory(store.state), store.caller.session
    before = memory.marked(MOMENT, session)
    text = ""
    for name, payload in _payloads(event, folder, number):
        found = parse(Input(json.dumps({**payload, "session_id": session, "cwd": working}).encode()))
        assert found is not None
        text += EVENTS[name](store, found, AGENT).text
    brought = memory.marked(MOMENT, session) - before
    for lore_id in brought:
        content = get(store, lore_id).lore.content
        missing = [line for line in content.splitlines() if line and line not in text]
        assert not missing, f"{named[lore_id]} came without: {missing}"
    return {named[lore_id] for lore_id in brought}


def _payloads(event: Mapping[str, Any], folder: str, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the hooks that Claude Code calls for an event, each with its payload."""
    if "prompt" in event:
        yield names.PROMPT, {"hook_event_name": "UserPromptSubmit", "prompt": event["prompt"]}
        return
    tool_input: dict[str, Any] = {}
    if "command" in event:
        tool_input = {"command": event["command"], "description": "Run it"}
    if "file" in event:
        tool_input["file_path"] = os.path.join(folder, event["file"])
    call = {"tool_name": event["tool"], "tool_input": tool_input, "tool_use_id": f"toolu_{number}"}
    yield names.PRE_TOOL, {"hook_event_name": "PreToolUse", **call}
    if "error" in event:
        failure = {
            "error": f"Command exited with non-zero status code 1\n{event['error']}",
            "is_interrupt": False,
        }
        yield names.TOOL_FAILURE, {"hook_event_name": "PostToolUseFailure", **call, **failure}


def main(arguments: Sequence[str]) -> int:
    """Run the set, print errors and figures; return 1 if precision or recall is below `WANTED`."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument(
        "--set", metavar="FOLDER", default=SET, help="sessions and entries (default: %(default)s)"
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures and every event there")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="engram-moments-") as place:
        isolate(os.path.join(place, "home"))
        sessions = read("sessions", options.set)
        folder = os.path.join(place, "project")
        named = prepare(folder, read("entries", options.set))
        outcomes = list(run(folder, named, sessions))
    for one in outcomes:
        if one.wanted != one.brought:
            what = json.dumps({key: value for key, value in one.event.items() if key != "wants"})
            print(
                f"session {one.session}: {what[:160]}\n  wanted {sorted(one.wanted)}, came {sorted(one.brought)}"
            )
    found = figures(outcomes)
    times = sorted(one.ms for one in outcomes)
    print(
        f"{len(sessions)} sessions, {len(outcomes)} events, {found.wanted} entries wanted, {found.brought} brought"
    )
    print(
        f"precision {found.precision:.3f}, recall {found.recall:.3f}, median {times[len(times) // 2]:.1f} ms"
    )
    if options.json:
        rows = [
            one._asdict() | {"wanted": sorted(one.wanted), "brought": sorted(one.brought)} for one in outcomes
        ]
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"precision": found.precision, "recall": found.recall, "events": rows}, file, indent=1)
    return 0 if min(found.precision, found.recall) >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
