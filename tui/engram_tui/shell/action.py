"""An action of the app. Bindings, the footer, the list of keys and `[app.keys]` are all made from actions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from textual.binding import Binding, BindingType

SIGNS = {
    "question_mark": "?", "colon": ":", "slash": "/", "full_stop": ".", "at": "@", "asterisk": "*", "escape": "esc",
    "down": "↓", "up": "↑", "left": "←", "right": "→", "left_square_bracket": "[", "right_square_bracket": "]",
    "number_sign": "#", "plus": "+", "minus": "-", "less_than_sign": "<", "greater_than_sign": ">", "comma": ",",
    "pagedown": "pgdn", "pageup": "pgup",
}  # fmt: skip


class Action(NamedTuple):
    """An action: its name (also in `[app.keys]`), Textual's names of its keys, a title and a sentence.

    It runs the method `action_<name>` of the screen, or `run` if given, on the widget `target` if given.
    `footer` is its place in the footer (0: not shown). `when` names an attribute or method of the screen, with
    arguments if need be, that says whether it is enabled. `command` is the equivalent on the command line.
    """

    name: str
    keys: str
    title: str
    help: str
    footer: int = 0
    when: str = ""
    run: str = ""
    target: str = ""
    command: str = ""

    @property
    def call(self) -> str:
        """The action as Textual calls it."""
        return self.run or self.name


def make_bindings(actions: Iterable[Action], *, priority: bool = False) -> list[BindingType]:
    """Return Textual's bindings of these actions; with `priority` they act before any widget sees the key."""
    return [
        Binding(action.keys, action.call, action.title, priority=priority, id=action.name)
        for action in actions
    ]


def key_label(keys: str) -> str:
    """Format the first of these keys for people: `ctrl+d`, `?`, `↓`."""
    name = next(filter(None, map(str.strip, keys.split(","))), "")
    return name if name.startswith("ctrl+") else SIGNS.get(name, name)
