"""A command: a change to the store that can be repeated, undone and redone, logged with its equivalent on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from engram.usecases.store.store import Deed as Mark
from engram_tui.shell.errors import EXPECTED, describe_defect, describe_error

if TYPE_CHECKING:
    from engram.app import Engram


class Command(NamedTuple):
    """A change to the store.

    `execute` makes it to the entries with the given ids and returns a sentence about the result; it runs in a thread.
    `command_line` is the equivalent on the command line, with `{}` for the ids. `repeats` lets `.` run it again, on a
    screen that selects the same `target`. `creates` says that it is about no existing entry, and gets no ids.
    `undo` and `redo` are for what it noted without writing a file; they return whether there was anything.
    """

    title: str
    execute: Callable[[Engram, tuple[str, ...]], str]
    command_line: str = ""
    repeats: bool = True
    creates: bool = False
    target: str = "entry"
    undo: Callable[[Engram], bool] | None = None
    redo: Callable[[Engram], bool] | None = None


class Outcome(NamedTuple):
    """The outcome of a command: a sentence, the mark of its changes, and the error ("" if none)."""

    message: str
    mark: Mark
    error: str = ""


def run_command(store: Engram, command: Command, ids: tuple[str, ...]) -> Outcome:
    """Run a command and mark its changes: one that fails half-way can be undone, too. Call it in a thread."""
    from engram.usecases.index.refresh import refresh

    error_line = message = ""
    with mark_changes(store) as mark:
        try:
            message = command.execute(store, ids)
        except EXPECTED as error:
            error_line = describe_error(error)
        except Exception as error:  # noqa: BLE001 - a defect must not end the app
            error_line = describe_defect(error)
    if mark.operations:
        try:
            refresh(store.store, thorough=False)
        except EXPECTED as error:
            error_line = error_line or describe_error(error)
    return Outcome(message, mark, error_line)


@contextmanager
def mark_changes(store: Engram) -> Iterator[Mark]:
    """Mark everything written in this context, in any scope, as one change. The caller holds the store's lock."""
    mark = Mark(store.store.clock.new_id(), {}, set())
    for opened in (store.store, *store.store.others.values()):
        opened.deed = mark
    try:
        yield mark
    finally:
        for opened in (store.store, *store.store.others.values()):
            opened.deed = None
