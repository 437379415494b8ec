"""Short transcripts and documents, each labelled with the entries to be extracted from it, and no others.

Written by hand in the style of real sessions: one to four lessons among talk, output and plans.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from apikit import SECRET


class Labelled(NamedTuple):
    """A source and its lessons: (start of the text, category)."""

    name: str
    text: str
    expected: tuple[tuple[str, str], ...]


def _lines(*messages: tuple[str, object]) -> str:
    return "\n".join(
        json.dumps({"type": role, "message": {"role": role, "content": said}}) for role, said in messages
    )


def _tool(name: str, path: str) -> dict[str, object]:
    return {"type": "tool_use", "name": name, "input": {"file_path": path}}


def _said(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


LABELLED = (
    Labelled(
        "a debugging session of Claude Code",
        _lines(
            ("user", "The upload of large files fails with 413 since Tuesday. Can you look?"),
            ("assistant", [_said("I'll look at the proxy first."), _tool("Read", "deploy/proxy.conf")]),
            ("user", [{"type": "tool_result", "content": "Root cause: this is what a log said, with forty characters and more"}]),
            ("assistant", [_said("Root cause: probably the client, which might be sending the header twice.")]),
            ("assistant", [
                _said("Root cause: `client_max_body_size` in deploy/proxy.conf was reset to 1 MB by the new base image.\n\n"
                      "I changed it and all tests pass. Let me know if you want anything else."),
                _tool("Edit", "deploy/proxy.conf"),
            ]),
        ),
        (("Root cause: `client_max_body_size`", "EDGE_CASE_DISCOVERY"),),
    ),
    Labelled(
        "a cause that was taken back",
        _lines(
            ("assistant", "Root cause: the DNS cache of the worker keeps the old address for an hour."),
            ("assistant", "I was mistaken, the cache is empty after a restart."),
            ("assistant", "Root cause: the load balancer pins a connection for its whole life, so new pods get none."),
        ),
        (("Root cause: the load balancer", "EDGE_CASE_DISCOVERY"),),
    ),
    Labelled(
        "a plain chat with two speakers",
        "User: Should we keep Redis for the job queue?\n"
        "Assistant: There are two options here. Redis is fast, and Postgres is there already.\n"
        "User: Decision: the job queue moves to Postgres, because nobody on call knows Redis.\n"
        "Assistant: Good. I will write the migration now.\n"
        "Gotcha: `SKIP LOCKED` needs an index on (state, run_at), or the queue scans the table.\n"
        "Tool: Gotcha: printed by a linter about a line that is too long to be read by anyone\n",
        (("Decision: the job queue", "ARCHITECTURAL_DECISION"), ("Gotcha: `SKIP LOCKED`", "EDGE_CASE_DISCOVERY")),
    ),
    Labelled(
        "a person asks, guesses and wonders",
        "Human: Is the root cause: the broker, or is it the client that sends everything twice?\n"
        "Human: Root cause: I say it is the broker and I will not hear anything else about it.\n"
        "Assistant: Let me check both. The tests take a while.\n"
        "Assistant: Outcome: still open, I could not reproduce it on this machine in an hour.\n",
        (),
    ),
    Labelled(
        "a retrospective in markdown",
        "# Retrospective, sprint 14\n\nPeople: Ada, Grace. We met for an hour and talked about many things.\n\n"
        "## Lessons learned\n\n- A feature flag without an owner stays for ever; every flag gets a name and a date.\n"
        "- Short.\n- Should we ever do a big migration on a Friday again?\n\n"
        "## Next steps\n\n- Write the release notes for the next version and send them to everybody.\n",
        (("A feature flag without an owner", "PATTERN_OUTCOME"),),
    ),
    Labelled(
        "an architecture decision record",
        "# 7. Identifiers of orders\n\n## Status\n\nAccepted by the team in spring, after two rounds of comments.\n\n"
        "## Context\n\nOrders come from three systems, which number them each for itself.\n\n"
        "## Decision\n\nWe will identify orders by ULIDs made in src/orders/ids.py, never by numbers of a database.\n\n"
        "```python\nDecision: not this line, it is code and stands within a fence of its own\n```\n",
        (("We will identify orders by ULIDs", "ARCHITECTURAL_DECISION"),),
    ),
    Labelled(
        "a build log with a banner",
        "2026-05-01 10:00:00 INFO starting\n2026-05-01 10:00:01 ERROR result: 14 of 300 tests failed in module\n"
        "npm WARN deprecated request@2.88.2: request has been deprecated\nFixed 3 of 3 files\n",
        (),
    ),
    Labelled(
        "notes with secrets in them",
        f"Workaround: call the registry with the token {SECRET} until the proxy is mended.\n\n"
        "Workaround: pull the images by digest until the proxy of the registry is mended.\n",
        (("Workaround: pull the images by digest", "IMPLEMENTATION_FRICTION"),),
    ),
    Labelled(
        "messages of another agent, as one JSON document",
        json.dumps({"messages": [
            {"role": "system", "content": "Decision: you are a careful assistant who always answers in full sentences."},
            {"role": "user", "content": "Remember: staging is reset every Monday at 06:00, so keep nothing there."},
            {"role": "assistant", "content": "Noted. Lesson learned: seed data belong into a script, not into staging."},
            {"role": "assistant", "content": "Lesson learned: seed data belong into a script, and not into staging."},
        ]}),
        (("Remember: staging is reset", "FACT"), ("Lesson learned: seed data", "PATTERN_OUTCOME")),
    ),
    Labelled(
        "what Engram itself had said",
        "<engram-lore>\nNotes.\n[L1] Decision: this note was put there by Engram and is known to it already.\n</engram-lore>\n\n"
        "I read the notes above and went on with the task as it was described there.\n",
        (),
    ),
    Labelled(
        "a session of mere work",
        _lines(
            ("user", "Rename the module and update the imports, please. Never mind the docs."),
            ("assistant", "Done: I renamed src/a.py to src/b.py, updated 14 imports and ran the tests, which pass."),
            ("assistant", "The fix is in place. Next I would add a test for the empty case, if you like?"),
        ),
        (),
    ),
)  # fmt: skip
