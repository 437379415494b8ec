"""A command: one change to the store that can be repeated, undone and redone, and is logged as what the CLI calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from engram.usecases.store.store import Deed as Mark
from engram_tui.shell.errors import EXPECTED, describe_defect, describe_error

if TYPE_CHECKING:
    from engram.app import Engram


class Command(NamedTuple):
    """A change that can be made to any entries.

    `execute` makes it to the entries with these ids and returns a sentence about what happened; it runs in a thread.
    `command_line` does the same on the command line, with `{}` in the place of the ids. `repeats`: `.` makes it once
    more, on a screen that selects the same `target`. `creates`: it is about no entry that is there already, and gets
    no ids. `undo` and `redo` are for what it noted without writing a file; they return whether there was any.
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
    """What a command did: its sentence, the mark of what it wrote, and what went wrong ("": nothing)."""

    message: str
    mark: Mark
    error: str = ""


def run_command(store: Engram, command: Command, ids: tuple[str, ...]) -> Outcome:
    """Run a command in a thread and mark what it writes; one that fails half-way can be undone, too."""
    from engram.usecases.index.refresh import refresh

    error_line = message = ""
    with mark_changes(store) as mark:
        try:
            message = command.execute(store, ids)
        except EXPECTED as error:
            error_line = describe_error(error)
        except Exception as error:  # noqa: BLE001 - a defect must not take the app with it
            error_line = describe_defect(error)
    if mark.operations:
        try:
            refresh(store.store, thorough=False)
        except EXPECTED as error:
            error_line = error_line or describe_error(error)
    return Outcome(message, mark, error_line)


@contextmanager
def mark_changes(store: Engram) -> Iterator[Mark]:
    """Mark all that is written within this, in any scope, as one change. Call it holding the store's lock."""
    mark = Mark(store.store.clock.new_id(), {}, set())
    stores = [store.store, *store.store.others.values()]
    for one in stores:
        one.deed = mark
    try:
        yield mark
    finally:
        for one in (store.store, *store.store.others.values()):
            one.deed = None
