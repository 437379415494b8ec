"""The private database of a clone works although a later version has added columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.adapters.state.activity_table import ActivityLine
from engram.adapters.state.captured_table import CapturedTable
from engram.adapters.state.database import StateDatabase
from engram.adapters.state.hook_memory import HookMemory
from engram.adapters.state.learned_moments import LearnedMoments
from engram.adapters.state.moment_counts import MomentCounts

if TYPE_CHECKING:
    from pathlib import Path


def test_every_table_can_be_written_where_a_later_version_has_added_columns(tmp_path: Path) -> None:
    """An error would rename the file as damaged, and with it all that hooks captured."""
    reports: list[str] = []
    state = StateDatabase(str(tmp_path), reports.append)

    def write(name: str) -> None:
        CapturedTable(state).add(name, "captured", 2e12, 10)
        HookMemory(state).mark("shown", "session", name, 1.0)
        LearnedMoments(state).learn(name, ["error: boom"], 1.0)
        MomentCounts(state).count([name], is_new=True)
        state.record_feedback("session", name, "helpful", 1.0)
        state.put_aside(name, "mark", None)
        state.surface(name, [(name, "title")], 1.0)
        state.live.add(ActivityLine(1.0, "session", "query", "", "none", (), (), 1.0))
        state.live.flush()

    write("now")
    for (table,) in state.run(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
    ):
        state.run(f"ALTER TABLE {table} ADD COLUMN of_the_future TEXT")
    write("later")
    assert not reports
    assert [name for name, _ in CapturedTable(state).rows(1.0)] == ["now", "later"]
