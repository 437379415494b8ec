"""A tour: a run of the app that presses every key of a screen and checks its effect.

`Tour.left_out` names the actions of a screen's table that a tour did not try, so that a new action without a scenario
fails the tour. Each change is also undone and redone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from effort import is_thorough
from tui_kit import NARROW, User

from engram_tui.shell import actions

if TYPE_CHECKING:
    import engram
    from engram_tui.shell.action import Action
    from engram_tui.shell.screen import ShellScreen


class Tour:
    """A user who tries every key, and remembers which."""

    def __init__(self, user: User, store: engram.Engram) -> None:
        self.user, self.store = user, store
        self.narrow = user.app.size == NARROW
        self.tried: set[str] = set()
        self.times: Counter[str] = Counter()

    @property
    def screen(self) -> ShellScreen:
        """Return the open screen, even below a question."""
        found = self.user.app.current
        assert found is not None
        return found

    async def does(self, name: str, sees: Callable[[], object], *, types: str = "", told: str = "") -> None:
        """Press a key of this action (in order at 80x24, in reverse order at 120x40) and check its effect.

        `types` is typed afterwards; `told` is the expected text of a toast.
        """
        keys = self._action(name).keys.split(",")
        self.user.app.clear_notifications()
        self.user.screen()
        times = self.times[name]
        self.times[name] += 1
        await self.user.press(keys[times % len(keys) if self.narrow else -1 - times % len(keys)])
        self.user.types(types)
        if told:
            await self.user.told(told)
        await self.user.sees(sees)
        self.tried.add(name)

    async def changes(
        self, name: str, sees: Callable[[], object], *, types: str = "", told: str = "", stays: bool = False
    ) -> None:
        """Press the key of a change, undo and redo it; with `stays`, leave it done."""
        assert not sees()
        await self.does(name, sees, types=types, told=told)
        # Undo and redo work in the same way at every size, and for every change that can be undone.
        if self.narrow and (not self.times["redo"] or is_thorough()):
            await self.does("undo", lambda: not sees(), told="Undone")
            await self.does("redo", sees, told="Redone")
        if not stays:
            await self.does("undo", lambda: not sees(), told="Undone")

    def left_out(self, screen: str, *, with_frame: bool = False) -> set[str]:
        """Return the actions of a screen (its package) that were not tried, optionally with those of the frame and lists."""
        frame = (*actions.ACTIONS, *actions.MOVES) if with_frame else ()
        return {
            action.name for action in (*import_module(f"engram_tui.{screen}.actions").ACTIONS, *frame)
        } - self.tried

    def _action(self, name: str) -> Action:
        return next(
            action
            for action in self.screen.actions()
            if action.name == name and (not action.when or self.screen.enabled(action))
        )
