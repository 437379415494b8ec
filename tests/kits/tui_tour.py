"""A tour: one run of the app in which every key of a screen is pressed, and what it did is looked for.

`Tour.left_out` names the actions of a screen's table that a tour did not come to, so that a new action without a
scenario fails the tour. A change is undone and redone where it was done.
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
    """Somebody who tries every key, and remembers which."""

    def __init__(self, user: User, store: engram.Engram) -> None:
        self.user, self.store = user, store
        self.narrow = user.app.size == NARROW
        self.tried: set[str] = set()
        self.times: Counter[str] = Counter()

    @property
    def screen(self) -> ShellScreen:
        """The screen that is open, be it under a question."""
        found = self.user.app.current
        assert found is not None
        return found

    async def does(self, name: str, sees: Callable[[], object], *, types: str = "", told: str = "") -> None:
        """Press a key of this action (from the first one on at 80x24, from the last one at 120x40); look what it did.

        `types` is typed afterwards, `told` what a toast has to say.
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
        """Press the key of a change, take it back and bring it back; with `stays` it is what stands afterwards."""
        assert not sees()
        await self.does(name, sees, types=types, told=told)
        # Taking back and bringing back is the same at every size, and for every change that can be taken back.
        if self.narrow and (not self.times["redo"] or is_thorough()):
            await self.does("undo", lambda: not sees(), told="Undone")
            await self.does("redo", sees, told="Redone")
        if not stays:
            await self.does("undo", lambda: not sees(), told="Undone")

    def left_out(self, screen: str, *, with_frame: bool = False) -> set[str]:
        """The actions of a screen (its package) that were not tried; with those of the frame and of lists."""
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
