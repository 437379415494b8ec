"""The frame around each screen: the line about the store, the line of tabs, the line of keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text
from textual.message import Message
from textual.widgets import Static

from engram_tui.shell.action import Action, key_label
from engram_tui.shell.sanitize import safe_line

if TYPE_CHECKING:
    from textual import events

    from engram_tui.shell.store_watch import Heading
    from engram_tui.shell.tabs import Tab

NARROW = 110  # columns from which two panes fit
ROOMY = 160  # columns from which three do
HIGH = 18  # lines below which texts take the room of their surroundings
MIN_PATH = 10  # characters of the store's path that are always shown
LISTING = 98  # the footer's place of `?`; quit is after it
FIRST = 3  # actions that come before quit if not all fit


class HeadingLine(Static):
    """The first line."""

    DEFAULT_CSS = "HeadingLine { height: 1; padding: 0 1; background: $primary 25%; text-wrap: nowrap; text-overflow: ellipsis; }"

    def show(self, path: str, heading: Heading | None) -> None:
        """Draw the state of the store in the available width."""
        self.update(Text(heading_line(path, heading, self.app.size.width - 2)))


def heading_line(path: str, heading: Heading | None, cells: int) -> str:
    """Format the first line in this many cells: a long path loses its beginning, then the least important parts go."""
    path = safe_line(path)
    parts = _parts(heading) if heading else {}
    for dropped in ("", "strategy", "branch", "total", "synced"):
        parts.pop(dropped, None)
        rest = "".join(f" · {safe_line(part)}" for part in parts.values() if part)
        room = cells - len("engram  ") - cell_len(rest)
        if room >= min(MIN_PATH, len(path)):
            break
    room = max(MIN_PATH, room)
    return f"engram  {path if len(path) <= room else '…' + path[-room + 1 :]}{rest}"


def _parts(heading: Heading) -> dict[str, str]:
    distance = f" ↑{heading.ahead} ↓{heading.behind}" if heading.ahead or heading.behind else ""
    return {
        "branch": f"{heading.branch or 'not in git'}{distance}",
        "total": "1 entry" if heading.total == 1 else f"{heading.total:,} entries",
        "strategy": heading.strategy,
        "waiting": f"{heading.waiting:,} wait" if heading.waiting else "",
        "synced": heading.synced,
    }


class TabLine(Static):
    """The tabs with their number keys; a click opens one. If they do not fit: the open one and the number of all."""

    DEFAULT_CSS = "TabLine { height: 1; padding: 0 1; background: $primary 10%; text-wrap: nowrap; }"

    def __init__(self) -> None:
        super().__init__(markup=False, id="tabs")
        self._places: list[tuple[int, int, str]] = []

    def show(self, tabs: Sequence[Tab], current: str, heading: Heading | None, *, narrow: bool) -> None:
        """Draw the line; the open tab is underlined and bold."""
        text, self._places = Text(no_wrap=True), []
        labels = [f"{number} {tab.title}{_badge(tab.name, heading)}" for number, tab in enumerate(tabs, 1)]
        gap = "  " if narrow else "   "
        narrow = narrow and len(gap.join(labels)) > self.app.size.width - 2
        for number, tab in enumerate(tabs, 1):
            if narrow and tab.name != current:
                continue
            key = f"{number}/{len(tabs)}" if narrow else f"{number}"
            start = text.cell_len
            text.append(
                f"{key} {tab.title}{_badge(tab.name, heading)}",
                "bold underline" if tab.name == current else "dim",
            )
            self._places.append((start, text.cell_len, tab.name))
            text.append(gap)
        if narrow:
            text.append(f"1…{len(tabs)} other screens", "dim")
        self.update(text)

    async def on_click(self, event: events.Click) -> None:
        """Open the tab under the mouse."""
        for start, end, name in self._places:
            if start <= event.x - 1 < end:
                await self.screen.run_action(f"go('{name}')")


def _badge(name: str, heading: Heading | None) -> str:
    if heading is None:
        return ""
    if name == "inbox" and heading.waiting:
        return f" ({heading.waiting:,})"
    if name == "sync" and (heading.ahead or heading.behind):
        return f" ↑{heading.ahead} ↓{heading.behind}"
    return ""


class KeyLine(Static):
    """The keys that matter here, as many as fit; a click runs the action of one."""

    DEFAULT_CSS = "KeyLine { dock: bottom; height: 1; padding: 0 1; background: $panel; text-wrap: nowrap; }"

    class Pressed(Message):
        """A key was clicked."""

        def __init__(self, action: Action) -> None:
            super().__init__()
            self.action = action

    def __init__(self) -> None:
        super().__init__(markup=False, id="keys")
        self._places: list[tuple[int, int, Action]] = []

    def show(self, actions: Sequence[tuple[Action, str]]) -> None:
        """Draw these actions with their keys."""
        room = self.app.size.width - 2
        text, self._places = Text(no_wrap=True), []
        for action, keys in choose_fitting(actions, room):
            start = text.cell_len
            text.append(key_label(keys), "bold")
            text.append(f" {action.title}", "dim" if not self.app.ansi_color else "")
            self._places.append((start, text.cell_len, action))
            text.append("  ")
        self.update(text)

    def on_click(self, event: events.Click) -> None:
        """Press the key under the mouse."""
        for start, end, action in self._places:
            if start <= event.x - 1 < end:
                self.post_message(self.Pressed(action))


def choose_fitting(actions: Sequence[tuple[Action, str]], room: int) -> list[tuple[Action, str]]:
    """Return as many of the actions as fit into `room` cells, in their order.

    `?` is chosen first, as it leads to all others; quit after the first few.
    """
    in_order = sorted(actions, key=lambda pair: pair[0].footer)
    last = [pair for pair in in_order if pair[0].footer >= LISTING]
    middle = in_order[: len(in_order) - len(last)]
    chosen = []
    for pair in (*last[:1], *middle[:FIRST], *last[1:], *middle[FIRST:]):
        cells = cell_len(key_label(pair[1])) + cell_len(pair[0].title) + 3
        if cells <= room + 2:
            chosen.append(pair)
            room -= cells
    return [pair for pair in in_order if pair in chosen]
