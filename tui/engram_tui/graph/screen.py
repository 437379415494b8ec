"""The graph screen: the neighbourhood of an entity, drawn as a tree to move along, and the entries about it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.widgets import Static

from engram.domain.graph.graph_walk import DEEPEST
from engram_tui.graph.actions import ACTIONS
from engram_tui.graph.lines import (
    ENTITY_LINE,
    Drawing,
    details_of,
    empty_lines,
    heading_of,
    lines_of,
    read_drawing,
    read_entities,
)
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.entry_list import EntryList
from engram_tui.widgets.line_screen import LineScreen

if TYPE_CHECKING:
    from textual.widget import Widget

    from engram.app import Engram
    from engram.domain.graph.entity import Entity
    from engram.usecases.graph.neighbourhood import Neighbourhood
    from engram_tui.widgets.line_list import Line

POLL_INTERVAL = 1.0  # seconds between checks for changed entities: the app itself only checks entries


class GraphScreen(LineScreen):
    """Walk from entity to entity, and read the entries about them."""

    SCREEN = "graph"
    DEFAULT_CSS = """
    GraphScreen {
        & #about { height: 1; padding: 0 1; background: $surface; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        & #left { width: 5fr; }
        & Preview { width: 3fr; }
    }
    """
    OWN_ACTIONS = ACTIONS

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.drawing: Drawing | None = None
        self.start = ""  # the key of the entity in the centre; "": none
        self.depth = 1
        self._before: list[tuple[str, str]] = []  # earlier drawings: start, and line under the cursor

    def compose_above(self) -> Iterator[Widget]:
        """Yield the line about what is drawn."""
        yield Static("drawing …", id="about", markup=False)

    def on_mount(self) -> None:
        """Draw, and poll for changes while this screen is open."""
        self.store_changed()
        self.set_interval(POLL_INTERVAL, self.poll)

    # Conditions of the actions

    def has_start(self) -> bool:
        """Return whether the drawing has an entity in its centre."""
        return self.is_listing() and bool(self.start)

    def can_go_back(self) -> bool:
        """Return whether there is something to go back to."""
        return self.is_reading() or bool(self._before)

    # Drawing

    def poll(self) -> None:
        """Check whether somebody changed an entity, unless another screen is open."""
        if self.drawing is not None and self.shell.current is self:
            self.ask_if_idle("entities", read_entities, self._handle_poll)

    def _handle_poll(self, entities: tuple[Entity, ...]) -> None:
        if self.drawing is not None and entities != self.drawing.entities:
            self.store_changed()

    def store_changed(self) -> None:
        """Draw again, the cursor where it was."""
        self._draw(self.start, self.line_list.current_id)

    def _draw(self, start: str, keep: str, *, opens: bool = False) -> None:
        self.ask(
            "graph",
            lambda store: read_drawing(store, start, self.depth),
            partial(self._receive, start, keep),
            failed=partial(self._handle_failure, start),
            opens=opens,
        )

    def _receive(self, start: str, keep: str, drawing: Drawing) -> None:
        first = self.drawing is None
        self.drawing, self.start = drawing, start
        self.show_error("")
        self._show(keep)
        if first:
            self.shell.note_shown(self)

    def _handle_failure(self, start: str, line: str) -> None:
        """Draw without a start if the entity no longer exists."""
        if start:
            self._before.clear()
            self._draw("", "")
        else:
            self.show_error(line)

    def _show(self, keep: str) -> None:
        if self.drawing is None:
            return
        found: Neighbourhood = self.drawing.found
        self.line_list.set_placeholder(*empty_lines())
        self.line_list.show_lines(lines_of(found, cells=self.app.size.width), keep=keep)
        self.query_one("#about", Static).update(safe_line(heading_of(found)))
        self.load_entry()
        self.refresh_bindings()

    def redraw(self) -> None:
        """Redraw the columns for the new width."""
        self._show(self.line_list.current_id)

    def placeholder(self, line: Line | None) -> tuple[str, ...]:
        """Return the entity of a line."""
        return (
            details_of(self.drawing, line.id) if self.drawing and line and line.group == ENTITY_LINE else ()
        )

    # Actions

    @on(EntryList.Opened)
    def action_read(self) -> None:
        """Draw the neighbourhood of an entity; read an entry, or the entity in the centre."""
        line = self.line_list.line
        if self.is_listing() and line is not None and line.group == ENTITY_LINE and line.id != self.start:
            self._go_to(line.id)
        else:
            super().action_read()

    def _go_to(self, key: str) -> None:
        self._before.append((self.start, self.line_list.current_id))
        self._draw(key, "", opens=True)  # the keys that follow are about the new drawing

    def action_graph_into(self) -> None:
        """Go into the text beside the drawing."""
        super().action_read()

    def action_back(self) -> None:
        """Go back to the drawing, or to the previous drawing."""
        if self.is_reading():
            super().action_back()
        elif self._before:
            start, chosen = self._before.pop()
            self._draw(start, chosen, opens=True)

    def action_graph_deeper(self) -> None:
        """Draw one step more, or one again."""
        self.depth = self.depth % DEEPEST + 1
        self.store_changed()

    def action_graph_whole(self) -> None:
        """Draw the most important entities."""
        self._go_to("")

    def action_graph_find(self) -> None:
        """Pick an entity by its name."""
        self.ask("names", lambda store: store.search_graph(limit=1000), self._pick_entity, opens=True)

    def _pick_entity(self, found: Neighbourhood) -> None:
        from engram_tui.shell.picker import Choice

        choices = [
            Choice(node.key, node.name, node.type)
            for node in (entity.reached.node for entity in found.entities)
        ]
        self.pick("Which entity", choices, self._handle_entity, "letters of its name …")

    def _handle_entity(self, key: str) -> None:
        if key != self.start:
            self._go_to(key)
