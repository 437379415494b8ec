"""Write docs/what-the-agent-sees.md: a session of Claude Code, message by message, as sent to its model.

`python tools/show_session.py`, with `claude` on PATH (tools/check_agents.sh installs it). A program stands in for the model.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

from agent_sessions import ROOT, Session
from stand_in_model import SAID

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT.parent / "docs" / "what-the-agent-sees.md"
_HEAD = """\
# What the agent sees

One session of Claude Code with Engram connected, as its model received it. Written by `python tools/show_session.py`, with
[a program in place of the model](../tools/stand_in_model.py) that runs one failing command and then says what it learned.
Engram's text is given in full; the agent's own instructions and tools only by kind and length.
"""
_ENGRAM = re.compile(
    r"<engram-lore>.*?</engram-lore>|Engram is this project's shared memory.*?(?=\n\n|</system-reminder>|\Z)",
    re.DOTALL,
)
_AGENT = "claude-code"


def messages(requests: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Yield speaker and text of each message once, in the order in which they were sent to the model."""
    seen: set[str] = set()
    for path in sorted(requests.glob("*.json")):
        body: dict[str, Any] = json.loads(path.read_text("utf-8"))["body"]
        if not body.get("tools"):
            continue  # a request for a title, and the like
        for message in body.get("messages") or ():
            content = message["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for part in parts:
                text = _text(part)
                if text and text not in seen:
                    seen.add(text)
                    yield _speaker(message["role"], part), text


def _speaker(role: str, part: dict[str, Any]) -> str:
    return {"tool_use": "The model calls a tool", "tool_result": "The tool's result"}.get(
        part["type"], "The model" if role == "assistant" else "To the model"
    )


def _text(part: dict[str, Any]) -> str:
    if part["type"] == "tool_use":
        return f"{part['name']}: {json.dumps(part['input'])}"
    if part["type"] == "tool_result":
        content = part["content"]
        return content if isinstance(content, str) else "\n".join(_text(block) for block in content)
    return str(part.get("text", ""))


def render(text: str) -> str:
    """Return a message for the page: Engram's text and short messages in full, only the length of others."""
    engram_texts = _ENGRAM.findall(text)
    if engram_texts:
        rest = len(text) - sum(map(len, engram_texts))
        more = f"\n\n({rest:,} characters of the agent's own around it)" if rest > 200 else ""
        return "\n\n".join(engram_texts) + more
    if len(text) < 600:
        return text
    return f"({len(text):,} characters of the agent's own: {' '.join(text.split())[:60]}…)"


def main() -> int:
    """Run the session and write the page; return 1 if Engram's text did not reach the model."""
    # A hook's background process may still be writing there.
    with tempfile.TemporaryDirectory(prefix="session-", ignore_cleanup_errors=True) as folder:
        session = Session(pathlib.Path(folder) / _AGENT, _AGENT)
        command = (sys.executable, str(ROOT / "stand_in_model.py"), str(session.requests))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as model:
            try:
                assert model.stdout is not None
                url = model.stdout.readline().strip()
                session.set_up(url)
                variables = {
                    key: value.replace("@URL@", url) for key, value in session.agent.variables.items()
                }
                session.run(*session.agent.ask, **variables)
            finally:
                model.terminate()
        found = [*((who, render(text)) for who, text in messages(session.requests)), ("The model", SAID)]
        home = str(session.home)
    if not any("<engram-lore>" in text for _, text in found):
        print("The agent's model was given nothing of Engram's.", file=sys.stderr)
        return 1
    parts = [
        f"## {number}. {who}\n\n~~~text\n{text.strip()}\n~~~" for number, (who, text) in enumerate(found, 1)
    ]
    page = "\n\n".join([_HEAD.strip(), *parts]).replace(home, "~") + "\n"
    PAGE.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
