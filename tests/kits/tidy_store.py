"""A store with work for consolidation: a group of three entries, a superseded one, three expired ones."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from apikit import record_apart

import engram

if TYPE_CHECKING:
    from pathlib import Path

RETRY = "Retry with full jitter; equal waits synchronised the clients of the queue."
OTHERS = (
    "Retry with a full jitter: equal waits synchronised the clients of the queue.",
    "Retries with full jitter; the equal waits synchronised the clients of the queue.",
)
FRIDAY, PIPELINE = "Deployments happen on Friday with the blue script.", "Deployments happen by the pipeline."
HOSTS = ("alpha", "beta", "gamma")


def make(folder: Path) -> Path:
    """Make the store and return its path."""
    root = folder / "s"
    with engram.open(root, session="t") as store:
        store.record(RETRY, category="FAILURE", tags=["retry"])
        old = store.record(FRIDAY, category="FACT").lore
        store.record(PIPELINE, category="FACT", relations=[("supersedes", old.id)])
        record_apart(store, OTHERS[0], "FAILURE", tags=("queue",))
        for host in HOSTS:
            store.record(
                f"Host {host} is down.",
                category="EDGE_CASE_DISCOVERY",
                expires_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
            )
        record_apart(store, OTHERS[1], "FAILURE", tags=("jitter",))
        store.query("how should clients of the queue retry")
    return root
