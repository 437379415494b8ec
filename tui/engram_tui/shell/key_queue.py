"""Keys one after another: each acts before the next is looked at, so that a burst lands where a person means it.

A terminal may send `/merge` at once. `/` moves the focus to the search line; were `m` looked at meanwhile, it
would still go to the list and merge. So a key waits until whoever got the one before has dealt with it.
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

PATIENCE = 0.5  # seconds for one that is busy; then the next key goes on
LONGEST = 5.0  # seconds that keys wait for what opens; then they are dropped


class Typist:
    """Hands keys out in order."""

    def __init__(
        self, app: App[None], deal: Callable[[events.Key], Awaitable[None]], moves: Callable[[str], bool]
    ) -> None:
        """`deal` is how the app deals with a key, `moves` whether one only moves in a list."""
        self._app = app
        self._deal = deal
        self._moves = moves
        self._keys: deque[events.Key] = deque()
        self._task: asyncio.Task[None] | None = None
        self._opening: set[object] = set()
        self._opened = asyncio.Event()

    def hold(self) -> Callable[[bool], None]:
        """Have the keys that follow wait for what opens until what is returned is called, with whether it is there.

        Where it is not, they are dropped: elsewhere they would do what nobody meant.
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

    def type(self, key: events.Key) -> None:
        """Deal with a key as soon as those before it are dealt with."""
        self._keys.append(key)
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._keys and self._app.is_running:
                if self._opening:
                    await self._until_opened()
                    continue
                key = self._keys.popleft()
                await self._deal(key)
                if self._repeats(key):
                    await asyncio.sleep(0)  # held down: what has piled up is one repaint
                elif self._keys:
                    await self._quiet()
        finally:
            self._task = None

    def _repeats(self, key: events.Key) -> bool:
        """Whether the next key is the same, and can do nothing but move on."""
        return bool(self._keys) and self._keys[0].key == key.key and self._moves(key.key)

    async def _until_opened(self) -> None:
        """Wait for what opens; where that takes too long, without the keys."""
        try:
            await asyncio.wait_for(self._opened.wait(), LONGEST)
        except TimeoutError:
            self._keys.clear()
            self._opening.clear()
        else:
            await self._quiet()

    async def _quiet(self) -> None:
        """Wait until the focused widget, then the screen have done what they were told until now."""
        for _ in range(2):  # what the widget tells the screen in answer is the second round
            for pump in (self._app.focused, self._app.screen, self._app):
                if pump is not None:
                    await _reached(pump)


async def _reached(pump: MessagePump) -> None:
    done = asyncio.Event()
    if pump.call_later(done.set):
        try:
            await asyncio.wait_for(done.wait(), PATIENCE)
        except TimeoutError:
            return
