"""The one door to the store: every call runs in a thread, and its answer or its trouble comes back as a call here.

Reading is exclusive in its group: a newer question makes an older one pointless. Writing never is: every change must
be written. Only one thread at a time is inside the store; one that waited and is no longer wanted leaves at once.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from textual.screen import Screen
from textual.worker import get_current_worker

from engram.domain.errors import EngramError, StoreError
from engram.domain.text.safe_text import safe_text
from engram.usecases.store.store import Deed as Mark

if TYPE_CHECKING:
    from engram.app import Engram

T = TypeVar("T")
EXPECTED = (EngramError, OSError, sqlite3.Error)


class Deed(NamedTuple):
    """A change that can be done to any lore, once more, and taken back.

    `work` does it to the lore with these ids and returns a sentence about what happened; it runs in a thread.
    `command` is what does the same on the command line, `{}` in the place of the ids. `repeats`: `.` does it again,
    on a screen whose choice is `about` the same. `creates`: it is about no lore that is there already, and gets no
    ids. `back` and `again` take back and bring back what it noted without writing a file; they say whether there was
    any such thing.
    """

    title: str
    work: Callable[[Engram, tuple[str, ...]], str]
    command: str = ""
    repeats: bool = True
    creates: bool = False
    about: str = "lore"
    back: Callable[[Engram], bool] | None = None
    again: Callable[[Engram], bool] | None = None


class Written(NamedTuple):
    """What a deed did: its sentence, the mark of what it wrote, and what went wrong ("" nothing)."""

    said: str
    mark: Mark
    trouble: str = ""


class StoreWork(Screen[None]):
    """A screen with a store behind it. What runs in a thread touches no widget."""

    def __init__(self, store: Engram) -> None:
        super().__init__()
        self.store = store

    def now(self) -> float:
        """The present moment, by the store's clock, in Unix seconds."""
        return self.store.store.clock.now().timestamp()

    def ask(
        self,
        group: str,
        question: Callable[[Engram], T],
        answer: Callable[[T], None],
        *,
        failed: Callable[[str], None] | None = None,
        exclusive: bool = True,
        apart: bool = False,
        opens: bool = False,
    ) -> None:
        """Have `question` run in a thread and `answer` here with what it returned.

        Expected trouble goes to `failed` as one line, else to `trouble`. An `exclusive` question is dropped
        where a newer one of its group was asked meanwhile. One that goes `apart` may take long: it takes the
        store's lock itself where it needs it, so that others need not wait. Where the answer `opens` something to
        type into, the keys that follow wait for it, and are dropped where it cannot be opened.
        """
        release = self.keys_wait() if opens else None
        exclusive = exclusive and not opens  # one that is dropped would not let the keys go

        def run() -> None:
            opened = False
            worker = get_current_worker()
            try:
                with nullcontext() if apart else self.store.store.lock:
                    if exclusive and worker.is_cancelled:
                        return
                    there(self.store)
                    found = question(self.store)
            except EXPECTED as error:
                self.call_later(failed or self.trouble, one_line(error))
            except Exception as error:  # noqa: BLE001 - a defect must not take the app with it
                self.call_later(failed or self.trouble, defect(error))
            else:
                if not (exclusive and worker.is_cancelled):
                    self.call_later(answer, found)
                    opened = True
            finally:
                if release is not None:
                    self.call_later(release, opened)

        self.run_worker(run, thread=True, exclusive=exclusive, group=group, exit_on_error=False)

    def keys_wait(self) -> Callable[[bool], None]:
        """Hold keys back until what is returned is called, with whether what they are for is there."""
        return lambda _opened: None

    def trouble(self, line: str) -> None:
        """Something went wrong: say so and carry on."""
        self.notify(safe_text(line), severity="error", markup=False)


def there(store: Engram) -> None:
    """Raise StoreError where the store's folder is gone; it must not look like an empty one."""
    if not os.path.isdir(store.path):
        raise StoreError(
            f"{store.path} is not there any more.", "Bring it back, then press r; nothing was written."
        )


def carry_out(store: Engram, deed: Deed, ids: tuple[str, ...]) -> Written:
    """Do a deed in a thread and mark what it writes; what fails half-way can be taken back, too."""
    from engram.usecases.index.refresh import refresh

    trouble = said = ""
    with marked(store) as mark:
        try:
            said = deed.work(store, ids)
        except EXPECTED as error:
            trouble = one_line(error)
        except Exception as error:  # noqa: BLE001 - a defect must not take the app with it
            trouble = defect(error)
    if mark.operations:
        try:
            refresh(store.store, thorough=False)
        except EXPECTED as error:
            trouble = trouble or one_line(error)
    return Written(said, mark, trouble)


@contextmanager
def marked(store: Engram) -> Iterator[Mark]:
    """Within this, what is written in any scope is marked as one deed. Call it holding the store's lock."""
    mark = Mark(store.store.clock.new_id(), {})
    stores = [store.store, *store.store.others.values()]
    for one in stores:
        one.deed = mark
    try:
        yield mark
    finally:
        for one in (store.store, *store.store.others.values()):
            one.deed = None


def one_line(error: Exception) -> str:
    """What happened and what to do, without line breaks."""
    if isinstance(error, EngramError):
        found = f"{error.message} {error.hint}"
    elif isinstance(error, OSError):
        found = f"{error.strerror or error}: {error.filename or ''}. Nothing else was changed; try again."
    else:
        found = f"{type(error).__name__}: {error}. Run `engram doctor`."
    return " ".join(found.split())


def defect(error: Exception) -> str:
    """What is our own fault, in one line."""
    return f"A defect in Engram: {type(error).__name__}: {' '.join(str(error).split())}. Please report it."
