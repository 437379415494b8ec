"""A command of the network in a thread of its own, while this one goes on with what it has."""

from __future__ import annotations

import threading
from collections import deque

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    Tell = Callable[[str], None]
    Done = tuple[str, str | None]  # a branch of the remote, and its commit
    Work = Callable[[Tell], Done]  # is given what hears how far it is

_LOOK_SECONDS = 0.1


class _StoppedError(Exception):
    """Nobody waits for the work any more."""


class Beside:
    """Work under way. Left as a context (or by `stop`), it is ended, with the git that it started."""

    def __init__(self, work: Work) -> None:
        """Begins."""
        self._work = work
        self._told: deque[str] = deque()
        self._stopped = False
        self._result: Done = "", None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="engram-network")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait(self, tell: Tell | None = None) -> Done:
        """What the work came to; raises what it raised. What `tell` raises, who hears how far it is, ends it."""
        try:
            while self._thread.is_alive():
                self._tell(tell)
                self._thread.join(_LOOK_SECONDS)
            self._tell(tell)
        finally:
            self.stop()
        if self._error is not None:
            raise self._error
        return self._result

    def stop(self) -> None:
        """End it where it is; returns when it has ended. Harmless when it has."""
        self._stopped = True
        self._thread.join()

    def _tell(self, tell: Tell | None) -> None:
        while tell is not None and self._told:
            tell(self._told.popleft())

    def _hear(self, said: str) -> None:
        # A transfer tells the same again and again while it waits, so that this can end it.
        if self._stopped:
            raise _StoppedError
        if not self._told or self._told[-1] != said:
            self._told.append(said)

    def _run(self) -> None:
        try:
            self._result = self._work(self._hear)
        except BaseException as error:  # noqa: BLE001 - whoever waits hears of it
            self._error = error
