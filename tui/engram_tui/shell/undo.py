"""What was done in the app, so that it can be taken back and brought back, newest first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.app import Engram


class Step(NamedTuple):
    """A deed: the sentence about it, its id, and how many operations it wrote, by scope.

    `back` and `again` are for what it noted without writing a file.
    """

    said: str
    deed: str
    operations: dict[str, int]
    back: Callable[[Engram], bool] | None = None
    again: Callable[[Engram], bool] | None = None


class Steps:
    """What can be undone, and what can be redone."""

    def __init__(self) -> None:
        self.done: list[Step] = []
        self.undone: list[Step] = []

    def add(self, step: Step) -> None:
        """Something new was done: what was undone before cannot be brought back any more."""
        self.done.append(step)
        self.undone.clear()

    @property
    def next_undo(self) -> str:
        """What undo would take back; "" where there is nothing."""
        return self.done[-1].said if self.done else ""

    @property
    def next_redo(self) -> str:
        """What redo would bring back; "" where there is nothing."""
        return self.undone[-1].said if self.undone else ""
