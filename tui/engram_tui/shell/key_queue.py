"""Handle keys one after another, so that each key of a burst goes where the user means it.

A terminal may send `/merge` at once. `/` moves the focus to the search line; were `m` handled meanwhile, it would still
go to the list and merge. So a key waits until the widget that got the previous one has handled it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual import events
    from textual.app import App
    from textual.message_pump import MessagePump

PATIENCE = 2.0  # seconds to wait for a busy widget before the next key is handled
LONGEST = 5.0  # seconds that keys wait for their target to open before they are dropped


class KeyQueue:
    """Handles keys in order."""

    def __init__(
        self, app: App[None], handle: Callable[[events.Key], Awaitable[None]], moves: Callable[[str], bool]
    ) -> None:
        """`handle` handles a key, `moves` says whether a key only moves in a list."""
        self._app = app
        self._handle = handle
        self._moves = moves
        self._keys: deque[events.Key] = deque()
        self._task: asyncio.Task[None] | None = None
        self._opening: set[object] = set()
        self._opened = asyncio.Event()

    def hold(self) -> Callable[[bool], None]:
        """Hold the following keys until the returned function is called with whether their target opened.

        If it did not, they are dropped: elsewhere they would do something that nobody meant.
        """
        token = object()
        self._opening.add(token)
        self._opened.clear()

        def release(opened: bool) -> None:
            self._opening.discard(token)
            if not opened:
                self._keys.clear()
            if not self._opening:
                self._opened.set()

        return release

    def put(self, key: events.Key) -> None:
        """Handle a key as soon as those before it are handled."""
        self._keys.append(key)
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._keys and self._app.is_running:
                if self._opening:
                    await self._wait_for_target()
                    continue
                key = self._keys.popleft()
                await self._handle(key)
                if self._repeats(key):
                    await asyncio.sleep(0)  # held down: what has piled up is one repaint
                else:
                    await self._quiet()  # the next key may still be on its way
        finally:
            self._task = None

    def _repeats(self, key: events.Key) -> bool:
        """Return whether the next key is the same and only moves in a list."""
        return bool(self._keys) and self._keys[0].key == key.key and self._moves(key.key)

    async def _wait_for_target(self) -> None:
        """Wait until the target is open; drop the keys if that takes too long."""
        try:
            await asyncio.wait_for(self._opened.wait(), LONGEST)
        except TimeoutError:
            self._keys.clear()
            self._opening.clear()
        else:
            await self._quiet()

    async def _quiet(self) -> None:
        """Wait until the focused widget, then the screen, then the app have handled their messages."""
        for _ in range(2):  # the second round is for what the widget posted to the screen
            for pump in (self._app.focused, self._app.screen, self._app):
                if pump is not None:
                    await _drain(pump)


async def _drain(pump: MessagePump) -> None:
    """Wait until a pump has handled its messages, for at most `PATIENCE` seconds."""
    done = asyncio.Event()
    if pump.call_later(done.set):
        try:
            await asyncio.wait_for(done.wait(), PATIENCE)
        except TimeoutError:
            return
