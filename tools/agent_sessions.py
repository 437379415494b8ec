"""Run sessions with real agents, each connected by `engram connect` in a home folder of its own.

`python tools/agent_sessions.py FOLDER [AGENT...]`, with the agents on PATH; tools/check_agents.sh installs them. Checks what
each agent sent to its model and left in the store, that is, whether the vendor's program accepts the files Engram writes.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import stand_in_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = pathlib.Path(__file__).parent
ENGRAM = (sys.executable, "-P", "-m", "engram")
LESSON = "Queue consumers must be idempotent: redelivery happens after a missed ack."
PROMPT = "why are queue consumers idempotent, does redelivery happen after a missed ack?"
FAILURE = "make fails with 'undefined symbol: tls_get_addr' until the sysroot is mounted."
UNRELATED = (
    "Invoices are numbered by the database sequence `invoice_no`, never by the application.",
    "The staging cluster is rebuilt on Sundays; its data is gone on Monday morning.",
    "Prices are stored in cents; only the template `price.html` turns them into euros.",
    "`make seed` needs the VPN: it copies the catalogue from the warehouse.",
    "Feature flags older than 90 days fail the build, so that nobody forgets to remove them.",
    "The search page uses the replica, which may be five seconds behind.",
    "Translations are reviewed by the support team before a release.",
)
RULES = "Engram is this project's shared memory."
TOOL = "recall_query"
_TIMEOUT = 30.0


class Agent(NamedTuple):
    """The commands that ask an agent a question (empty if it has no model) and list its servers, with text expected in the list.

    `@URL@` stands for the address of the model.
    """

    ask: tuple[str, ...]
    listing: tuple[str, ...]
    listed: str
    variables: Mapping[str, str] = {}
    config: tuple[str, Mapping[str, object]] = ("", {})
    recalls_prompts: bool = True
    validate: tuple[str, ...] = ()


_STAND_IN = "model_providers.m={name='m',base_url='@URL@/v1',wire_api='responses',env_key='KEY',supports_websockets=false}"
AGENTS = {
    "claude-code": Agent(
        ("claude", "-p", PROMPT, "--allowedTools", "Bash"),
        ("claude", "mcp", "list"),
        "Connected",
        {"ANTHROPIC_BASE_URL": "@URL@", "ANTHROPIC_API_KEY": "none"},
        validate=("claude", "plugin", "validate", "--strict", "@PLUGIN@"),
    ),
    "codex": Agent(
        ("codex", "exec", "-c", "model_provider=m", "-c", _STAND_IN, "-m", "m",
         "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", PROMPT),
        ("codex", "mcp", "list"),
        "enabled",
        {"KEY": "none"},
    ),
    "gemini-cli": Agent(
        ("gemini", "--yolo", "-m", "gemini-2.5-flash", "-p", PROMPT),
        ("gemini", "mcp", "list"),
        "engram mcp (stdio)",  # its own test of the connection has a timeout of five seconds
        {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "@URL@"},
        (".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}}),
    ),
    "opencode": Agent(
        ("opencode", "run", "-m", "stand/m", PROMPT),
        ("opencode", "mcp", "list"),
        "connected",
        config=(
            ".config/opencode/opencode.json",
            {"provider": {"stand": {
                "npm": "@ai-sdk/openai-compatible", "name": "stand", "options": {"baseURL": "@URL@/v1", "apiKey": "none"},
                "models": {"m": {"name": "m", "tool_call": True}},
            }}},
        ),
    ),
    "copilot-cli": Agent(
        ("copilot", "-p", PROMPT, "--allow-all-tools"),
        ("copilot", "mcp", "get", "engram"),
        "Enabled",
        {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": "@URL@/v1", "COPILOT_MODEL": "gpt-5"},
        recalls_prompts=False,
    ),
    "openclaw": Agent((), ("openclaw", "skills", "info", "engram"), "Visible to model: yes"),
}  # fmt: skip


class Session:
    """One agent in a home folder of its own, with a store in its project."""

    def __init__(self, folder: pathlib.Path, name: str) -> None:
        self.name, self.agent = name, AGENTS[name]
        self.home, self.project, self.requests = folder, folder / "project", folder / "requests"
        self.project.mkdir(parents=True)
        self.requests.mkdir()
        variables = {
            key: os.environ[key] for key in ("PATH", "PYTHONPATH", "LANG", "TERM") if key in os.environ
        }
        self.environment = {
            **variables,
            "HOME": str(folder),
            "DISABLE_AUTOUPDATER": "1",
            "ENGRAM_HOOK_SECONDS": "4",
        }
        self.failed: list[str] = []

    def check(self, name: str, holds: bool) -> None:
        """Print a line of the report, and note a failure."""
        print(f"{'ok     ' if holds else 'FAILED '} {self.name}: {name}", flush=True)
        self.failed += [] if holds else [name]

    def run(self, *command: str, **variables: str) -> str:
        """Return what a program prints; "" if it fails or takes too long."""
        try:
            done = subprocess.run(
                command, cwd=self.project, env={**self.environment, **variables}, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=180, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout + done.stderr if done.returncode == 0 else ""

    def set_up(self, url: str) -> None:
        """Make a store whose brief is full of unrelated entries, write the agent's configuration, and connect it."""
        self.run("git", "init", "-q", ".")
        self.run(*ENGRAM, "init", ".", ENGRAM_BACKGROUND="inline")
        others = [(other, "0.95") for other in UNRELATED]
        for text, confidence in [*others, (LESSON, "0.6"), (FAILURE, "0.6")]:
            self.run(
                *ENGRAM, "record", text, "-c", "fact", "--confidence", confidence, ENGRAM_BACKGROUND="inline"
            )
        self.run(*ENGRAM, "reindex")
        path_in_home, values = self.agent.config
        if path_in_home:
            path = self.home / path_in_home
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(values, indent=2).replace("@URL@", url))
        connected = self.run(*ENGRAM, "connect", self.name, "--allow-tools", "--yes")
        self.check("is connected", bool(connected))

    def sent_requests(self) -> str:
        """Return all that the agent has sent to its model."""
        return "\n".join(path.read_text("utf-8") for path in sorted(self.requests.glob("*.json")))

    def pending(self) -> str:
        """Wait for captured entries, at most `_TIMEOUT` seconds, and return the pending ones as JSON."""
        end = time.monotonic() + _TIMEOUT
        while True:
            found = self.run(*ENGRAM, "review", "--kind", "pending", "--json")
            if stand_in_model.SAID in found or time.monotonic() > end:
                return found
            time.sleep(0.5)


def run_session(folder: pathlib.Path, name: str) -> list[str]:
    """Run a session with an agent; return the failed checks."""
    session = Session(folder, name)
    command = (sys.executable, str(ROOT / "stand_in_model.py"), str(session.requests))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as model:
        try:
            assert model.stdout is not None
            url = model.stdout.readline().strip()
            session.set_up(url)
            variables = {key: value.replace("@URL@", url) for key, value in session.agent.variables.items()}
            _check_settings(session, variables)
            if session.agent.ask:
                session.run(*[word.replace("@URL@", url) for word in session.agent.ask], **variables)
                _check_recall(session)
        finally:
            model.terminate()
    if session.agent.ask:
        session.check("what it said last waits for review", stand_in_model.SAID in session.pending())
    disconnected = session.run(*ENGRAM, "disconnect", name, "--yes")
    session.check(
        "is disconnected",
        bool(disconnected) and session.agent.listed not in session.run(*session.agent.listing, **variables),
    )
    return session.failed


def _check_settings(session: Session, variables: Mapping[str, str]) -> None:
    listing = session.run(*session.agent.listing, **variables)
    session.check(
        f"`{' '.join(session.agent.listing)}` says: {session.agent.listed}",
        session.agent.listed in listing and "engram" in listing,
    )
    if session.agent.validate:
        folder = str(session.home / "plugin")
        session.run(*ENGRAM, "connect", session.name, "--plugin", folder, "--yes")
        words = [word.replace("@PLUGIN@", folder) for word in session.agent.validate]
        session.check(f"`{' '.join(words[:3])}` passes", "passed" in session.run(*words))


def _check_recall(session: Session) -> None:
    requests = session.sent_requests()
    session.check("its model is given the tools", TOOL in requests)
    session.check(
        "its model is given the rules and the brief",
        RULES in requests and any(other in requests for other in UNRELATED),
    )
    if session.agent.recalls_prompts:
        session.check("a prompt brings the lore that answers it", LESSON in requests)
    session.check("a failure brings the lore about it", FAILURE in requests.replace("\\u0027", "'"))


def main(arguments: Sequence[str]) -> int:
    """Run a session with each of the named agents, or with all."""
    folder = pathlib.Path(arguments[0])
    names = [
        name
        for name in arguments[1:] or AGENTS
        if shutil.which(AGENTS[name].listing[0]) or print(f"{name} is not here")
    ]
    failed = [check for name in names for check in run_session(folder / name, name)]
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
