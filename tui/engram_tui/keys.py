"""Every key of the app, once: the bindings, the footer and the list of keys are all made from here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from textual.binding import Binding, BindingType


class Key(NamedTuple):
    """A key: Textual's names for it, how people write it, the action, what it does, its footer label ("": not there)."""

    names: str
    written: str
    action: str
    meaning: str
    footer: str = ""


BROWSE = (
    Key("enter", "enter", "read", "read this lore; esc goes back", "open"),
    Key("escape", "esc", "back", "back to the list", "back"),
    Key("h", "h", "judge('helpful')", "this was helpful: confidence +0.08", "helpful"),
    Key("x", "x", "judge('incorrect')", "this is incorrect: confidence −0.15", "incorrect"),
    Key("n", "n", "judge('not_relevant')", "not relevant here: confidence stays", "not relevant"),
    Key("slash", "/", "filter", "search as you type, by words and meaning", "search"),
    Key("s", "s", "sort", "sort by the next order"),
    Key("r", "r", "refresh", "read every file again"),
    Key("escape", "esc", "clear", "clear the search"),
    Key("J", "J", "next(1)", "next lore, while reading too"),
    Key("K", "K", "next(-1)", "previous lore, while reading too"),
    Key("question_mark,colon,ctrl+p", "?", "keys", "all keys; type to find one, enter runs it", "keys"),
    Key("q", "q", "quit", "leave", "quit"),
)
MOVES = (
    Key("j,down", "j ↓", "move(1)", "down"),
    Key("k,up", "k ↑", "move(-1)", "up"),
    Key("ctrl+d,pagedown", "ctrl+d", "half_page(1)", "half a page down"),
    Key("ctrl+u,pageup", "ctrl+u", "half_page(-1)", "half a page up"),
    Key("g,home", "g", "edge(False)", "to the top"),
    Key("G,end", "G", "edge(True)", "to the bottom"),
)
FILTER = (
    Key("enter,tab", "enter", "keep_filter", "to the results", "to the results"),
    Key("escape", "esc", "clear_filter", "clear the search", "clear"),
    Key("down,ctrl+n", "↓", "move(1)", "next result", "next"),
    Key("up", "↑", "move(-1)", "previous result", "previous"),
)


def bindings(keys: Iterable[Key], *, priority: Iterable[str] = ()) -> list[BindingType]:
    """Textual's bindings of these keys; those whose action is in `priority` act before any widget sees the key."""
    urgent = set(priority)
    return [
        Binding(
            key.names,
            key.action,
            key.footer or key.meaning,
            bool(key.footer),
            key.written,
            key.action in urgent,
        )
        for key in keys
    ]
