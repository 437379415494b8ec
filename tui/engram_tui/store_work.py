"""The store, asked in threads: a screen that can, and answers itself with messages.

Reading is exclusive per group: a newer question makes an older one pointless. Writing never is: every
judgement must be written. Only one thread at a time is inside the store; one that waited for it and is
no longer wanted leaves at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from textual import work
from textual.screen import Screen
from textual.worker import get_current_worker

from engram.domain.confidence import HELPFUL, INCORRECT, KINDS, NOT_RELEVANT
from engram.domain.errors import EngramError
from engram_tui import reading
from engram_tui.messages import Described, Failed, Fetched, Listed, Matched, Voted

if TYPE_CHECKING:
    from engram.app import Engram

FIRST_PAGE = 500


class StoreWork(Screen[None]):
    """A screen with a store behind it. Its workers touch no widget: they post messages."""

    def __init__(self, store: Engram) -> None:
        super().__init__()
        self.store = store

    def now(self) -> float:
        """The present moment, by the store's clock, in Unix seconds."""
        return self.store.store.clock.now().timestamp()

    @work(thread=True, exclusive=True, group="list", exit_on_error=False)
    def read_list(self, order: str, *, thorough: bool = False) -> None:
        """The list in this order: a first page soon, then all of it. `thorough` looks at every file before."""
        with self._asking() as wanted:
            if wanted and thorough:
                self.store.refresh()
            if wanted:
                page = reading.read_page(self.store, order, FIRST_PAGE)
                self.post_message(Listed(page))
                if not page.complete:
                    self.post_message(Listed(reading.read_page(self.store, order, None)))

    @work(thread=True, exclusive=True, group="search", exit_on_error=False)
    def read_matches(self, text: str) -> None:
        """What answers `text`."""
        with self._asking() as wanted:
            if wanted:
                self.post_message(Matched(reading.read_matches(self.store, text)))

    @work(thread=True, exclusive=True, group="lore", exit_on_error=False)
    def read_lore(self, lore_id: str) -> None:
        """One lore, from its file."""
        try:
            with self._entered() as wanted:
                if wanted:
                    self.post_message(Fetched(lore_id, self.store.get(lore_id)))
        except (EngramError, OSError) as error:
            self.post_message(Fetched(lore_id, None, one_line(error)))

    @work(thread=True, exclusive=True, group="heading", exit_on_error=False)
    def read_heading(self) -> None:
        """How the store is doing."""
        with self._asking() as wanted:
            if wanted:
                self.post_message(Described(reading.read_heading(self.store)))

    @work(thread=True, group="judgement", exit_on_error=False)
    def judge(self, kind: str, lore_id: str, title: str) -> None:
        """Write a judgement: `helpful`, `incorrect` or `not_relevant`."""
        with self._asking():
            chosen = {name: (lore_id,) if name == kind else () for name in KINDS}
            done = self.store.feedback(
                helpful=chosen[HELPFUL], incorrect=chosen[INCORRECT], not_relevant=chosen[NOT_RELEVANT]
            )
            for judged in done:
                self.post_message(Voted(judged, title))

    @contextmanager
    def _asking(self) -> Iterator[bool]:
        """Inside the store, expected trouble becomes a line on the screen."""
        try:
            with self._entered() as wanted:
                yield wanted
        except (EngramError, OSError) as error:
            self.post_message(Failed(one_line(error)))

    @contextmanager
    def _entered(self) -> Iterator[bool]:
        worker = get_current_worker()
        with self.store.store.lock:
            yield not worker.is_cancelled


def one_line(error: Exception) -> str:
    """What happened and what to do, without line breaks."""
    words = (
        f"{error.message} {error.hint}"
        if isinstance(error, EngramError)
        else f"{type(error).__name__}: {error}"
    )
    return " ".join(words.split())
