"""What was changed in the app, so that it can be undone and redone, the newest first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.app import Engram


class Step(NamedTuple):
    """A command that ran: the sentence about it, the id of its mark, and how many operations it wrote, by scope.

    `redos` is how many times to redo in each scope once it is undone. `undo` and `redo` are for what it noted without
    writing anything. `at` is when it ran (Unix seconds), `screen` the name of the tab where.
    """

    message: str
    mark: str
    operations: dict[str, int]
    redos: dict[str, int]
    undo: Callable[[Engram], bool] | None = None
    redo: Callable[[Engram], bool] | None = None
    at: float = 0.0
    screen: str = ""


class UndoStack:
    """What can be undone, and what can be redone."""

    def __init__(self) -> None:
        self.done: list[Step] = []
        self.undone: list[Step] = []

    def add(self, step: Step) -> None:
        """Add a step; what was undone before cannot be redone any more."""
        self.done.append(step)
        self.undone.clear()

    def drop(self, is_over: Callable[[Step], bool]) -> None:
        """Forget the steps of what is over: there is nothing left to undo or redo."""
        self.done, self.undone = (
            [step for step in steps if not is_over(step)] for steps in (self.done, self.undone)
        )

    @property
    def next_undo(self) -> str:
        """What undo would take back; "" where there is nothing."""
        return self.done[-1].message if self.done else ""

    @property
    def next_redo(self) -> str:
        """What redo would bring back; "" where there is nothing."""
        return self.undone[-1].message if self.undone else ""


def undo_step(store: Engram, step: Step) -> tuple[str, ...]:
    """Undo a step by new commits and judgements; returns a line for each change of others that stays."""
    kept: tuple[str, ...] = ()
    for scope, written in step.operations.items():
        done = store.undo(written, deed=step.mark, scope=scope)
        step.redos[scope] = done.written
        kept += done.kept
    if step.undo:
        step.undo(store)
    return kept


def redo_step(store: Engram, step: Step) -> None:
    """Redo a step that was undone."""
    for scope, written in step.redos.items():
        for _ in range(written):
            store.redo(scope=scope)
    if step.redo:
        step.redo(store)
