"""What an agent says by feedback, as keys: the chosen lore helped, is wrong, or is beside the point."""

from __future__ import annotations

from engram.domain.entry.confidence import HELPFUL, INCORRECT, NOT_RELEVANT
from engram_tui.entry_actions import commands
from engram_tui.shell.screen import ShellScreen


class Judging(ShellScreen):
    """A screen on which lore can be judged."""

    def action_helpful(self) -> None:
        """It helped."""
        self.do(commands.judge(HELPFUL), self.chosen())

    def action_incorrect(self) -> None:
        """It is wrong."""
        self.do(commands.judge(INCORRECT), self.chosen())

    def action_not_relevant(self) -> None:
        """It is beside the point."""
        self.do(commands.judge(NOT_RELEVANT), self.chosen())
