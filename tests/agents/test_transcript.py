"""Transcripts: read from any bytes, in the formats of agents, and only the end of a long one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hookkit import PROMPT, SAID

from engram.adapters.agents import transcript

SESSIONS = Path(__file__).parents[1] / "data/agents/sessions"
CAUSE = SAID.split("\n", maxsplit=1)[0]


def test_a_transcript_of_any_bytes_is_read_as_far_as_possible(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    assert transcript.read(str(path)) == transcript.Transcript()
    assert transcript.read(str(tmp_path)) == transcript.Transcript()
    assert transcript.read("\0") == transcript.Transcript()
    path.write_bytes(
        b'\xff\n[1]\n{"message": 3}\n{"payload": {"role": "assistant", "content": [{"type": "output_text", "text": "hi"}, 7]}}\n'
    )
    assert transcript.read(str(path)).said == ("hi",)


@pytest.mark.parametrize("agent", ["codex", "copilot-cli", "gemini-cli"])
def test_transcripts_that_agents_wrote_are_understood(agent: str) -> None:
    """Read shortened sessions of Codex 0.169, Copilot CLI 1.0.102 and Gemini CLI 0.61, each with an edit added."""
    found = transcript.read(str(SESSIONS / f"{agent}.jsonl"))
    assert found.prompts == (PROMPT,)
    assert found.said == (CAUSE,)
    assert found.files == ("src/queue.py",)


def test_turns_are_in_order_without_text_that_the_program_inserts_as_the_user(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows: list[dict[str, object]] = [
        {"role": "user", "content": "This session continues another one.", "isCompactSummary": True},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "Caveat: a command follows.", "isMeta": True},
        {"role": "user", "content": "<command-name>/clear</command-name>"},
        {"role": "user", "content": "three"},
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    assert transcript.read(str(path)).turns == (("user", "one"), ("assistant", "two"), ("user", "three"))


def test_only_the_end_of_a_long_transcript_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    line = json.dumps({"role": "assistant", "content": "x" * 1000}) + "\n"
    path.write_text(line * 2000 + json.dumps({"role": "assistant", "content": "the last"}) + "\n")
    said = transcript.read(str(path)).said
    assert said[-1] == "the last"
    assert len(said) <= transcript.READ // len(line) + 1
