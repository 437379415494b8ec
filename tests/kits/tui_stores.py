"""Small stores for screens about the past: an entry with a history, logged queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from storekit import SteadyClock
from tui_kit import MONEY, QUEUE, lore, make_template

import engram
from engram.usecases.recording.edit import Edit

if TYPE_CHECKING:
    from pathlib import Path

NOTE = "Acks are sent before the work is done."
ASKED = "why does the queue consumer see a message twice"


def with_a_past(folder: Path) -> Path:
    """Make four entries and a note that refines the newest of them, which was judged, edited and recalled."""
    root = make_template(folder)
    with engram.open(root, session="t", clock=SteadyClock()) as store:
        queue, money = lore(store, QUEUE).id, lore(store, MONEY).id
        store.record(
            NOTE, category="FACT", relations=[("refines", queue), ("see_also", money)], agent="codex"
        )
        store.feedback(helpful=[queue])
        store.edit(queue, Edit(content=f"# {QUEUE}\n\nThe broker delivers again after a missed ack."))
        store.edit(queue, Edit(add_tags=("ack",)))
        store.query("idempotent queue consumers")
    return root


def asked(folder: Path) -> Path:
    """Make a store in which an agent asked two questions, the second without an answer."""
    made = make_template(folder)
    with engram.open(made, session="agent", agent="claude-code") as store:
        store.query(ASKED)
        store.query("how to bake bread without yeast")
    return made
