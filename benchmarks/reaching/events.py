"""Questions of a retrieval set as events of a coding agent: a prompt, a failed command, an edit, a command that names a file.

Each is the JSON that Claude Code passes to its hooks. An error stands within other output of a program.
"""

from __future__ import annotations

import posixpath
import random
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from retrieval_set import UNANSWERABLE

from engram.adapters.agents import hook_events
from reaching.judging import SHOWN_OF_LONG, WHOLE_UP_TO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from retrieval_set import RetrievalSet

AGENT = "claude-code"
SEED = 1
EDIT, COMMAND, NAMED = "path: edit", "path: command", "path: prompt"
SECTION = "section of a long entry"
PROMPTS = ("task", "paraphrase", "keyword", "typo")
KINDS = ("task", "error", EDIT, COMMAND, NAMED, "paraphrase", "keyword", "typo", SECTION, UNANSWERABLE)
_FEWEST_WORDS = 2  # of a prompt that names a path; a bare path is no prompt
_FEWEST_SECTIONS = 4  # headings and texts of a long entry
_HEADING = re.compile(r"^##+ +(.+)\n", re.MULTILINE)
_SENTENCE_OF_PROSE = re.compile(r"[A-Z][^\n`\[\]]{30,}?[.:](?=\s)")
_FILE = re.compile(r"[\w.@+-]*(?:[/.][\w.@+*-]+)+/?")

# (a failed command, its output), where {error} is the message.
_FAILURES = (
    (
        "python -m pytest -x -q tests",
        (
            "Exit code 1\n"
            "..........................F\n"
            "=================================== FAILURES ===================================\n"
            "________________________________ test_round_trip _______________________________\n\n"
            "tmp_path = PosixPath('/tmp/pytest-of-dev/pytest-412/test_round_trip0')\n\n"
            "    def test_round_trip(tmp_path):\n"
            ">       run(tmp_path)\n\n"
            "tests/test_flow.py:88:\n"
            "_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _\n"
            "E       {error}\n\n"
            "src/main.py:214: Failure\n"
            "=========================== short test summary info ============================\n"
            "FAILED tests/test_flow.py::test_round_trip\n"
            "!!!!!!!!!!!!!!!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!!!!!!!!!!!!!!!!\n"
            "1 failed, 26 passed in 3.41s"
        ),
    ),
    (
        "make run",
        (
            "Exit code 2\n"
            "2026-11-23T09:41:07.113Z INFO  starting, pid=48121 build=3f9c2e1a7b\n"
            "2026-11-23T09:41:07.987Z INFO  configuration read from /srv/app/config.toml\n"
            "2026-11-23T09:41:09.020Z DEBUG pool 0x7f3a9c0412d0 has 4 connections\n"
            "2026-11-23T09:41:12.541Z ERROR {error}\n"
            "2026-11-23T09:41:12.544Z INFO  shutting down\n"
            "make: *** [Makefile:31: run] Error 1"
        ),
    ),
    (
        "python scripts/run.py --verbose",
        (
            "Exit code 1\n"
            "Loading 1,204 rows  100%|##########| 1204/1204 [00:02<00:00, 577.10it/s]\n"
            "Traceback (most recent call last):\n"
            '  File "/srv/ci/work/scripts/run.py", line 63, in <module>\n'
            "    main()\n"
            '  File "/srv/ci/work/src/main.py", line 141, in main\n'
            "    return handle(request, timeout=30)\n"
            '  File "/srv/ci/work/.venv/lib/python3.12/site-packages/anyio/_core/_eventloop.py", line 74, in run\n'
            "    return async_backend.run(func, args, {}, backend_options)\n"
            "{error}"
        ),
    ),
    (
        "npm run build",
        (
            "Exit code 1\n\n"
            "> app@4.18.2 build\n"
            "> node scripts/build.js\n\n"
            "npm warn deprecated glob@7.2.3: Glob versions prior to v9 are no longer supported\n"
            "transforming (1841) node_modules/.pnpm/scheduler@0.23.2/index.js\n"
            "{error}\n"
            "    at Object.<anonymous> (/srv/ci/work/src/main.js:52:11)\n"
            "    at Module._compile (node:internal/modules/cjs/loader:1358:14)\n"
            "npm error Lifecycle script `build` failed with error:\n"
            "npm error code 1\n"
            "npm error path /srv/ci/work"
        ),
    ),
    (
        "./ci/step.sh deploy",
        (
            "Exit code 1\n"
            "+ set -euo pipefail\n"
            "+ cd /srv/ci/work\n"
            "[1/4] resolve ................ done (0.4 s)\n"
            "[2/4] fetch sha256:9f2d6c41ab07e5 12.4 MB / 12.4 MB\n"
            "[3/4] apply\n"
            "{error}\n"
            "step apply ended with status 1 after 41.7 s\n"
            "+ cleanup /tmp/step.Xk3PqA"
        ),
    ),
    ("bash -lc './run.sh'", "Exit code 1\n{error}"),
)
_COMMANDS = (
    "sed -n '1,120p' {file}",
    "git diff HEAD~3 -- {file}",
    "grep -n 'TODO' {file}",
    "cat {file} | head -80",
    "git log --oneline -5 {file}",
)


class Event(NamedTuple):
    """An event: its kind, Engram's name of the hook, the agent's JSON without session and folder, and the right entries.

    `passage` is the part of a long entry that answers, "" if that is unknown.
    """

    kind: str
    hook: str
    payload: dict[str, Any]
    right: frozenset[str]
    question: str
    passage: str = ""


def draw(found: RetrievalSet, sample: int, seed: int = SEED) -> list[Event]:
    """Draw at most `sample` events of every kind, the same ones for the same seed."""
    by_kind: dict[str, list[Event]] = {kind: [] for kind in KINDS}
    for number, event in enumerate(_all_events(found)):
        by_kind[event.kind].append(_with_call_id(event, number))
    chance = random.Random(seed)
    return [
        event for several in by_kind.values() for event in chance.sample(several, min(sample, len(several)))
    ]


def first(drawn: Iterable[Event], sample: int) -> list[Event]:
    """Return the first `sample` events of every kind."""
    by_kind: dict[str, list[Event]] = {}
    for event in drawn:
        by_kind.setdefault(event.kind, []).append(event)
    return [event for several in by_kind.values() for event in several[:sample]]


def sections(found: RetrievalSet, sample: int, seed: int = SEED) -> list[Event]:
    """Make prompts about sections of long entries: title and heading ask, and the section's first sentence answers."""
    made = []
    for document in found.documents:
        title, *parts = _HEADING.split(document.text)
        if len(document.text) <= WHOLE_UP_TO or len(parts) < _FEWEST_SECTIONS:
            continue
        for heading, body in zip(parts[::2], parts[1::2], strict=True):
            sentence = _SENTENCE_OF_PROSE.match(body.strip())
            if sentence and len(body.strip()) >= SHOWN_OF_LONG:
                text = f"{title.strip().splitlines()[0]}: {heading.strip()}"
                one = prompt(SECTION, text, frozenset({document.answers}))
                made.append(one._replace(passage=sentence[0].strip()))
    return random.Random(seed).sample(made, min(sample, len(made)))


def in_session(event: Event, session: str, folder: str) -> dict[str, Any]:
    """Return the JSON of an event in a session whose agent works in a folder."""
    payload = dict(event.payload)
    if isinstance(payload.get("tool_input"), dict):
        tool_input = {name: value.replace("@CWD@", folder) for name, value in payload["tool_input"].items()}
        payload["tool_input"] = tool_input
    return {"session_id": session, "transcript_path": "/t.jsonl", "cwd": folder, **payload}


def is_called(event: Event) -> bool:
    """Return whether the agent calls a hook at this event, as set up by `engram connect`."""
    hook = hook_events.hook_of(AGENT, event.hook)
    if hook is None:
        return False
    return not hook.matcher or event.payload.get("tool_name") in hook.matcher.split("|")


def session_start(session: str, folder: str, source: str = "startup") -> dict[str, Any]:
    """Return the JSON of the start of a session."""
    return {
        "session_id": session, "transcript_path": "/t.jsonl", "cwd": folder, "hook_event_name": "SessionStart",
        "source": source, "model": "m",
    }  # fmt: skip


def repeat(payload: Mapping[str, Any], time: int) -> dict[str, Any]:
    """Return the same event again: another call of the tool, or the prompt typed again (with `time` trailing spaces)."""
    again = dict(payload)
    if "prompt" in again:
        again["prompt"] += " " * time
    else:
        again["tool_use_id"] = f"{again['tool_use_id']}-{time}"
    return again


def _all_events(found: RetrievalSet) -> Iterator[Event]:
    named: dict[str, set[str]] = {}
    for document in found.documents:
        for file in document.files:
            named.setdefault(file, set()).add(document.answers)
    files = {document.answers: document.files for document in found.documents}
    for number, (query, text) in enumerate(found.queries.items()):
        kind, right = found.kinds[query], frozenset(found.judged[query])
        if kind in PROMPTS:
            yield prompt(kind, text, right)
        elif kind == "error":
            yield _failure(text, number, right)
        elif kind == "path":
            if len(text.split()) >= _FEWEST_WORDS:
                yield prompt(NAMED, text, right)
            file = _file_of(text, [file for one in sorted(right) for file in files[one]])
            if file:
                about = frozenset(named[file])  # all entries that name the file, whatever the set says
                yield _edit(file, text, about)
                yield _command(_COMMANDS[number % len(_COMMANDS)].format(file=file), text, about)
    for text in found.unanswerable:
        yield prompt(UNANSWERABLE, text, frozenset())


def _file_of(question: str, files: list[str]) -> str:
    """Return the one of these files that a question names, at least in part; "" if it names a pattern or none."""
    for named in _FILE.findall(question):
        part = named.removeprefix("./").rstrip("/.")
        for file in files:
            if f"/{file}".endswith(f"/{part}") or f"/{part}/" in f"/{file}":
                return file
    return ""


def prompt(kind: str, text: str, right: frozenset[str]) -> Event:
    """Make the event of a prompt."""
    payload = {"permission_mode": "default", "hook_event_name": "UserPromptSubmit", "prompt": text}
    return Event(kind, hook_events.PROMPT, payload, right, text)


def _failure(error: str, number: int, right: frozenset[str]) -> Event:
    command, printed = _FAILURES[number % len(_FAILURES)]
    text = printed.replace("{error}", error)
    return Event(
        "error",
        hook_events.TOOL_FAILURE,
        {
            "hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
            "tool_input": {"command": command}, "error": text, "is_interrupt": False,
        },
        right,
        error,
    )  # fmt: skip


def _edit(file: str, question: str, right: frozenset[str]) -> Event:
    tool_input = {"file_path": posixpath.join("@CWD@", file), "old_string": "a", "new_string": "b"}
    return _pre_tool(EDIT, "Edit", tool_input, question, right)


def _command(command: str, question: str, right: frozenset[str]) -> Event:
    return _pre_tool(COMMAND, "Bash", {"command": command, "description": "Look at it"}, question, right)


def _pre_tool(
    kind: str, tool: str, tool_input: dict[str, str], question: str, right: frozenset[str]
) -> Event:
    payload = {
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": tool_input,
    }
    return Event(kind, hook_events.PRE_TOOL, payload, right, question)


def _with_call_id(event: Event, number: int) -> Event:
    """Add the id that the agent gives each call of a tool."""
    if "tool_input" not in event.payload:
        return event
    return event._replace(payload={**event.payload, "tool_use_id": f"toolu_{number:06d}"})
