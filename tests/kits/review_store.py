"""A store with at least one review item of each kind that is possible without other clones."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import engram

if TYPE_CHECKING:
    from pathlib import Path

    from engram.usecases.store.store import Clock

BROKEN = "---\nid: nonsense\nconfidence: [\n---\nA file that nobody can read.\n"
CACHE = "The cache is warmed at deploy."
RETRY = "Retry with full jitter, because equal waits synchronised all clients of the queue."
AGAIN = "Retry with full jitter, as equal waits had synchronised all clients of the queue."
HOURS, MINUTES = (
    f"Sessions of the proxy expire after {time} of inactivity." for time in ("12 hours", "30 minutes")
)
NIGHTLY, ORDERS, QUESTION = (
    "The nightly build needs Node 22.",
    "Orders are numbered by the database.",
    "Is this the right place?",
)
WEAK, OLD = "Use selectinload for collections.", "Staging is down until Friday."
CONFLICTS = f"""conflicts:
  - field: content
    value: "{CACHE}\\n\\nIt takes 90 seconds."
    from: P3ZD0000
    at: "2026-03-04T10:00:00Z"
  - field: tags
    value: "cache\\ndeploy"
    from: P3ZD0000
    at: "2026-03-04T10:00:00Z"
---
"""


def make(folder: Path, clock: Clock | None = None) -> Path:
    """Make the store and return its path."""
    root = folder / "s"
    with engram.open(
        root, session="t", clock=clock
    ) as store:  # with other entries in between, since ids within a millisecond are unordered
        store.record(HOURS, category="EDGE_CASE_DISCOVERY", tags=["session", "auth"])
        store.record(f"{RETRY}\n\nThe load test showed it.", category="FAILURE", tags=["retry"])
        store.record(NIGHTLY, category="FACT", agent="claude-code", status="pending")
        store.record(ORDERS, category="FACT", agent="codex", status="pending")
        store.record(QUESTION, category="FACT", agent="codex", status="pending")
        store.record(WEAK, category="PATTERN_OUTCOME", confidence=0.2)
        store.record(OLD, category="FACT", expires_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
        store.record(MINUTES, category="EDGE_CASE_DISCOVERY", agent="claude-code", tags=["session"])
        store.record(
            f"{AGAIN}\n\nThe load test showed it again.", category="FAILURE", tags=["jitter"], agent="codex"
        )
        cache = store.get(
            store.record(
                f"{CACHE}\n\nIt takes 40 seconds.", category="DEPENDENCY_BEHAVIOR", tags=["cache"]
            ).lore.id
        ).path
    text = (root / cache).read_text("utf-8")
    (root / cache).write_text(text.replace("---\n\n", f"{CONFLICTS}\n", 1), "utf-8")
    (root / "lore" / "broken.md").write_text(BROKEN, "utf-8")
    with engram.open(root, session="t", clock=clock) as store:
        assert set(store.review().by_kind) == {
            "problem", "conflict", "pending", "contradiction", "duplicate", "stale", "weak",
        }  # fmt: skip
    return root
