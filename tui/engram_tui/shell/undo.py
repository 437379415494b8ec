"""The undo stack: changes made in the app, to be undone and redone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.app import Engram


class Step(NamedTuple):
    """A command that ran: the sentence about it, the id of its mark, and the number of operations it wrote, by scope.

    `redos` is the number of operations to redo in each scope once it is undone. `undo` and `redo` are for what it noted
    without writing a file. `at` is when it ran (Unix seconds), `screen` the title of the tab where it did.
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
    """The steps that can be undone, and those that can be redone."""

    def __init__(self) -> None:
        self.done: list[Step] = []
        self.undone: list[Step] = []

    def add(self, step: Step) -> None:
        """Add a step; undone steps can no longer be redone."""
        self.done.append(step)
        self.undone.clear()

    def drop(self, is_over: Callable[[Step], bool]) -> None:
        """Forget the steps for which `is_over` is true: there is nothing left to undo or redo."""
        self.done, self.undone = (
            [step for step in steps if not is_over(step)] for steps in (self.done, self.undone)
        )

    @property
    def next_undo(self) -> str:
        """The message of the next step to undo; "" if there is none."""
        return self.done[-1].message if self.done else ""

    @property
    def next_redo(self) -> str:
        """The message of the next step to redo; "" if there is none."""
        return self.undone[-1].message if self.undone else ""


def undo_step(store: Engram, step: Step) -> tuple[str, ...]:
    """Undo a step by new commits and judgements; returns a line for each change by others that stays."""
    notes: tuple[str, ...] = ()
    for scope, written in step.operations.items():
        done = store.undo(written, deed=step.mark, scope=scope)
        step.redos[scope] = done.written
        notes += done.kept
    if step.undo:
        step.undo(store)
    return notes


def redo_step(store: Engram, step: Step) -> None:
    """Redo a step that was undone."""
    for scope, written in step.redos.items():
        for _ in range(written):
            store.redo(scope=scope)
    if step.redo:
        step.redo(store)
