"""A screen with a store. Every call to the store runs in a thread; its answer or its error comes back to the screen.

An exclusive call is dropped if a newer one of its group was made meanwhile; a write never is. Only one thread at a
time uses the store; one that was cancelled while it waited returns at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual.screen import Screen
from textual.worker import get_current_worker

from engram.domain.errors import StoreError
from engram.domain.text.safe_text import safe_text
from engram_tui.shell.errors import EXPECTED, describe_defect, describe_error

if TYPE_CHECKING:
    from textual.timer import Timer

    from engram.app import Engram

T = TypeVar("T")


class StoreScreen(Screen[None]):
    """A screen as the app knows it. Code that runs in a thread touches no widget."""

    SCREEN: ClassVar[str] = ""  # the name of its tab
    OVERLAY: ClassVar[bool] = False  # it lies over the screen of a tab and has no number key

    def __init__(self, store: Engram) -> None:
        super().__init__()
        self.store = store
        self.stale = False  # the store changed while another screen was open
        self._debounced: dict[str, Timer] = {}
        self._unanswered: set[str] = set()  # groups of questions asked by `ask_if_idle`

    def now(self) -> float:
        """Return the time by the store's clock, in Unix seconds."""
        return self.store.store.clock.now().timestamp()

    def ask(
        self,
        group: str,
        question: Callable[[Engram], T],
        answer: Callable[[T], None],
        *,
        failed: Callable[[str], None] | None = None,
        exclusive: bool = True,
        unlocked: bool = False,
        own_store: bool = False,
        opens: bool = False,
    ) -> None:
        """Run `question` in a thread, then `answer` with its result on the event loop.

        An error goes to `failed` as one line, by default to `show_error`. An `exclusive` question is dropped if a
        newer one of its group was asked meanwhile. An `unlocked` one may take long: it takes the store's lock itself
        where it needs it, so that others need not wait. With `own_store` it gets a store of its own. If the answer
        `opens` something to type into, the keys that follow wait for it, and are dropped if it cannot be opened.
        """
        release = self.hold_keys() if opens else None
        exclusive = exclusive and not opens  # a dropped question would not release the keys

        def run() -> None:
            opened = False
            worker = get_current_worker()
            try:
                with nullcontext() if unlocked or own_store else self.store.store.lock:
                    if exclusive and worker.is_cancelled:
                        return
                    check_folder(self.store)
                    with _reopen(self.store) if own_store else nullcontext(self.store) as store:
                        found = question(store)
            except EXPECTED as error:
                self.call_later(failed or self.show_error, describe_error(error))
            except Exception as error:  # noqa: BLE001 - a defect must not end the app
                self.call_later(failed or self.show_error, describe_defect(error))
            else:
                if not (exclusive and worker.is_cancelled):
                    self.call_later(answer, found)
                    opened = True
            finally:
                if release is not None:
                    self.call_later(release, opened)

        self.run_worker(run, thread=True, exclusive=exclusive, group=group, exit_on_error=False)

    def ask_if_idle(self, group: str, question: Callable[[Engram], T], answer: Callable[[T], None]) -> None:
        """Ask unless a question of this group is still unanswered."""
        if group in self._unanswered:
            return
        self._unanswered.add(group)

        def finish(show: Callable[[Any], None], found: object) -> None:
            self._unanswered.discard(group)
            show(found)

        self.ask(
            group, question, partial(finish, answer), failed=partial(finish, self.show_error), exclusive=False
        )

    def debounce(self, name: str, seconds: float, work: Callable[[], object]) -> None:
        """Do this work once it has not been requested again under this name for `seconds`."""
        if name in self._debounced:
            self._debounced[name].stop()
        self._debounced[name] = self.set_timer(seconds, work)

    def hold_keys(self) -> Callable[[bool], None]:
        """Hold keys back until the returned function is called with whether their target opened."""
        return lambda _opened: None

    def show_error(self, line: str) -> None:
        """Show an error in one line; "" hides it."""
        self.notify(safe_text(line), severity="error", markup=False)

    def toast(self, title: str, text: str) -> None:
        """Show a toast in place of any earlier one."""
        self.app.clear_notifications()
        self.notify(safe_text(text), title=safe_text(title), markup=False)

    def show_frame(self) -> None:
        """Redraw the lines around the body."""

    def store_changed(self) -> None:
        """Reload and keep the cursor where it was: somebody else, or undo, changed the store."""

    def returned_from(self, entry_id: str) -> None:
        """Move the cursor to an entry that was opened from here and has been closed."""


def check_folder(store: Engram) -> None:
    """Raise StoreError if the store's folder is gone; it must not look like an empty store."""
    if not os.path.isdir(store.path):
        raise StoreError(f"{store.path} no longer exists.", "Restore it, then press r; nothing was written.")


@contextmanager
def _reopen(store: Engram) -> Iterator[Engram]:
    """Open the same store once more, to read for seconds in one thread without holding the store's lock."""
    from engram.app import Engram
    from engram.usecases.opening.open_store import open_store

    own = open_store(store.path, store.store.caller, clock=store.store.clock)
    with Engram(own, background=False) as opened:
        yield opened
