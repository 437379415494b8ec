"""The graph screen: what is around an entity, drawn as a tree to move along, and the entries about it."""

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
    Around,
    details_of,
    empty_graph,
    heading_of,
    lines_of,
    read_around,
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

POLL_INTERVAL = 1.0  # seconds between looks at the entities: the app itself only looks at entries


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
        self.around: Around | None = None
        self.start = ""  # the key of the entity in the centre; "": none
        self.depth = 1
        # Where one came from: the start, and the line under the cursor there.
        self._before: list[tuple[str, str]] = []

    def compose_above(self) -> Iterator[Widget]:
        """Yield the line about what is drawn."""
        yield Static("drawing …", id="about", markup=False)

    def on_mount(self) -> None:
        """Draw, and look for changes while this screen is open."""
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
        """Ask whether somebody changed an entity, unless another screen is open."""
        if self.around is not None and self.shell.current is self:
            self.ask_if_idle("entities", read_entities, self._handle_poll)

    def _handle_poll(self, every: tuple[Entity, ...]) -> None:
        if self.around is not None and every != self.around.every:
            self.store_changed()

    def store_changed(self) -> None:
        """Draw anew, the cursor where it was."""
        self._draw(self.start, self.line_list.current_id)

    def _draw(self, start: str, keep: str, *, opens: bool = False) -> None:
        self.ask(
            "graph",
            lambda store: read_around(store, start, self.depth),
            partial(self._take, start, keep),
            failed=partial(self._draw_failed, start),
            opens=opens,
        )

    def _take(self, start: str, keep: str, around: Around) -> None:
        first = self.around is None
        self.around, self.start = around, start
        self.show_error("")
        self._show(keep)
        if first:
            self.shell.note_shown(self)

    def _draw_failed(self, start: str, line: str) -> None:
        """Draw without a start where the entity is gone."""
        if start:
            self._before.clear()
            self._draw("", "")
        else:
            self.show_error(line)

    def _show(self, keep: str) -> None:
        if self.around is None:
            return
        found: Neighbourhood = self.around.found
        self.line_list.set_placeholder(*empty_graph())
        self.line_list.show_lines(lines_of(found, cells=self.app.size.width), keep=keep)
        self.query_one("#about", Static).update(safe_line(heading_of(found)))
        self.load_entry()
        self.refresh_bindings()

    def redraw(self) -> None:
        """Draw the columns for the new width."""
        self._show(self.line_list.current_id)

    def placeholder(self, line: Line | None) -> tuple[str, ...]:
        """Return the entity of a line."""
        return details_of(self.around, line.id) if self.around and line and line.group == ENTITY_LINE else ()

    # Actions

    @on(EntryList.Opened)
    def action_read(self) -> None:
        """Draw what is around an entity; read an entry, or the entity in the centre."""
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
        """Go back to the drawing, or to the drawing before."""
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
            Choice(one.reached.node.key, one.reached.node.name, one.reached.node.type)
            for one in found.entities
        ]
        self.pick("Which entity", choices, self._entity_picked, "letters of its name …")

    def _entity_picked(self, key: str) -> None:
        if key != self.start:
            self._go_to(key)
