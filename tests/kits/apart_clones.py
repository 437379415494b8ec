"""Two clones that diverged from four common entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import prepared
from sync_kit import Clones, Left

from engram.usecases.recording.edit import Edit

if TYPE_CHECKING:
    from pathlib import Path

JITTER, MONEY, SESSIONS, GONE = (
    "Retry with full jitter.",
    "Money is integer cents.",
    "Sessions last 12 hours.",
    "Old.",
)
NEW_HERE, NEW_THERE = "The linter runs first.", "Cursors need a unique last key."


def apart(folder: Path) -> Left:
    """Make two clones that diverged from four common entries; the second one has pushed its changes."""
    made = Clones(folder)
    ids = [made.record("a", text).id for text in (JITTER, MONEY, SESSIONS, GONE)]
    made.settle()
    made.clock.advance(seconds=5)
    made["b"].edit(ids[0], Edit(add_tags=("retry",)))
    made["b"].edit(ids[1], Edit(add_tags=("cents",)))
    made["b"].edit(ids[2], Edit(content="Sessions last 30 minutes."))
    made["b"].forget(ids[3])
    made.record("b", NEW_THERE)
    made.sync("b")
    made.clock.advance(seconds=5)
    made["a"].edit(ids[0], Edit(add_tags=("jitter",)))
    made["a"].edit(ids[2], Edit(content="Sessions last 8 hours."))
    made.record("a", NEW_HERE)
    return made.leave()


def copy(folder: Path) -> Clones:
    """Open a copy of the clones; call `leave` at the end."""
    return Clones.again(folder, prepared.copy("clones that went on", folder, apart))
