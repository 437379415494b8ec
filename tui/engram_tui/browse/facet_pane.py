"""A pane of filters for Browse, on terminals with room for three panes: each value with its number of entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Static

from engram_tui.browse.facets import NAMES, Facets, label, values_of
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.entry_list import fit

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from engram.app import Engram

CELLS = 30
_MAX_VALUES = {"category": 16, "tag": 12}
_DEFAULT_MAX = 6  # values of any other facet

Values = Mapping[str, Sequence[tuple[str, str]]]


class FacetLines(Static):
    """The values, a line each; a click filters by one, or stops filtering by it."""

    class Picked(Message):
        """A value was clicked."""

        def __init__(self, facet: str, value: str) -> None:
            super().__init__()
            self.facet, self.value = facet, value

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._places: list[tuple[str, str]] = []

    def show(self, values: Values, chosen: Facets) -> None:
        """Draw the values; the chosen ones are marked and bold."""
        text, self._places = Text(no_wrap=True), []
        for name in NAMES:
            if not values.get(name):
                continue
            self._add_line(text, name.upper(), "bold underline", ("", ""))
            for value, note in values[name]:
                is_chosen = getattr(chosen, name) == value
                room = CELLS - len(note) - 5
                line = f"{'●' if is_chosen else ' '} {fit(safe_line(label(name, value)), room)} {note}"
                self._add_line(text, line, "bold" if is_chosen else "", (name, value))
            self._add_line(text, "", "", ("", ""))
        self.update(text)

    def _add_line(self, text: Text, line: str, style: str, place: tuple[str, str]) -> None:
        text.append(f"{line}\n", style)
        self._places.append(place)

    def on_click(self, event: events.Click) -> None:
        """Post which value was clicked."""
        facet, value = self._places[event.y] if event.y < len(self._places) else ("", "")
        if facet:
            self.post_message(self.Picked(facet, value))


class FacetPane(VerticalScroll, can_focus=False):
    """Shows the filters beside the list; by keys, `f` chooses them."""

    DEFAULT_CSS = """
    FacetPane {
        display: none; width: 32; padding: 0 1; border-right: solid $primary 40%; scrollbar-size-vertical: 1;
        & Static { height: auto; }
    }
    """

    def compose(self) -> ComposeResult:
        """Yield the lines."""
        yield FacetLines()

    def show(self, values: Values, chosen: Facets) -> None:
        """Draw the values."""
        self.query_one(FacetLines).show(values, chosen)


def read_values(store: Engram) -> dict[str, list[tuple[str, str]]]:
    """List the most frequent values of each facet; a single scope is left out."""
    found = {name: values_of(store, name)[: _MAX_VALUES.get(name, _DEFAULT_MAX)] for name in NAMES}
    found["scope"] = [(name, "") for name, _ in found["scope"]] if len(found["scope"]) > 1 else []
    return found
