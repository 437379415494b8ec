"""The graph screen: what is around an entity, drawn as a tree to move along, and the lore about it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widgets import Static

from engram.domain.graph.graph_walk import DEEPEST
from engram_tui.graph.actions import ACTIONS
from engram_tui.graph.lines import (
    ENTITY_LINE,
    Around,
    details_of,
    heading_of,
    lines_of,
    nothing,
    read_around,
    read_entities,
)
from engram_tui.shell.action import bindings
from engram_tui.shell.sanitize import words
from engram_tui.widgets.entry_list import LoreList
from engram_tui.widgets.line_screen import LineScreen

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.widget import Widget

    from engram.app import Engram
    from engram.domain.graph.entity import Entity
    from engram.usecases.graph.neighbourhood import Neighbourhood
    from engram_tui.widgets.line_list import Line

LOOK = 1.0  # seconds between looks at the entities: the app itself looks at lore alone


class GraphScreen(LineScreen):
    """Walk from entity to entity, and read what lore say of them."""

    SCREEN = "graph"
    DEFAULT_CSS = """
    GraphScreen {
        & #about { height: 1; padding: 0 1; background: $surface; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        & #left { width: 5fr; }
        & Preview { width: 3fr; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.around: Around | None = None
        self.start = ""  # the key of the entity that is drawn; "": all
        self.depth = 1
        self._looking = False
        self._before: list[
            tuple[str, str]
        ] = []  # where one came from: start, and the line that was chosen there

    def compose_above(self) -> Iterator[Widget]:
        """What is drawn."""
        yield Static("drawing …", id="about", markup=False)

    def on_mount(self) -> None:
        """Draw, and look for changes while this screen is open."""
        self.store_changed()
        self.set_interval(LOOK, self.look)

    # What actions ask

    def is_drawing(self) -> bool:
        """Whether the drawing has the focus."""
        return not self.is_reading()

    def has_start(self) -> bool:
        """Whether the drawing begins at an entity."""
        return self.is_drawing() and bool(self.start)

    def can_go_back(self) -> bool:
        """Whether one came from somewhere."""
        return self.is_reading() or bool(self._before)

    # Drawing

    def look(self) -> None:
        """Ask whether somebody changed an entity, unless that is being asked, or another screen is open."""
        if self._looking or self.around is None or self.shell.current is not self:
            return
        self._looking = True
        self.ask("entities", read_entities, self._looked, failed=self._not_looked, exclusive=False)

    def _looked(self, every: tuple[Entity, ...]) -> None:
        self._looking = False
        if self.around is not None and every != self.around.every:
            self.store_changed()

    def _not_looked(self, line: str) -> None:
        self._looking = False
        self.trouble(line)

    def store_changed(self) -> None:
        """Draw what is there now, the cursor where it was."""
        line = self.line_list.line
        self._draw(self.start, line.id if line is not None else "")

    def _draw(self, start: str, keep: str, *, opens: bool = False) -> None:
        self.ask(
            "graph",
            lambda store: read_around(store, start, self.depth),
            partial(self._take, start, keep),
            failed=partial(self._not_drawn, start),
            opens=opens,
        )

    def _take(self, start: str, keep: str, around: Around) -> None:
        first = self.around is None
        self.around, self.start = around, start
        self.trouble("")
        self._show(keep)
        if first:
            self.shell.listed(self)

    def _not_drawn(self, start: str, line: str) -> None:
        """Where the entity is gone, all is drawn."""
        if start:
            self._before.clear()
            self._draw("", "")
        else:
            self.trouble(line)

    def _show(self, keep: str) -> None:
        if self.around is None:
            return
        found: Neighbourhood = self.around.found
        self.line_list.say(*nothing())
        self.line_list.show_lines(lines_of(found, narrow=self.is_narrow), keep=keep)
        self.query_one("#about", Static).update(words(heading_of(found)))
        self.ask_lore()
        self.refresh_bindings()

    def on_resize(self) -> None:
        """Columns have other widths."""
        super().on_resize()
        self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        line = self.line_list.line
        self._show(line.id if line is not None else "")

    def instead_of_lore(self, line: Line | None) -> tuple[str, ...]:
        """The entity of a line."""
        return details_of(self.around, line.id) if self.around and line and line.group == ENTITY_LINE else ()

    # What one does

    @on(LoreList.Opened)
    def action_read(self) -> None:
        """An entity: what is around it; a lore, or the entity that is drawn: its text."""
        line = self.line_list.line
        if self.is_drawing() and line is not None and line.group == ENTITY_LINE and line.id != self.start:
            self._go(line.id)
        else:
            super().action_read()

    def _go(self, key: str) -> None:
        line = self.line_list.line
        self._before.append((self.start, line.id if line is not None else ""))
        self._draw(key, "", opens=True)  # keys that follow are about what is drawn then

    def action_graph_into(self) -> None:
        """The text beside the drawing."""
        super().action_read()

    def action_back(self) -> None:
        """To the drawing, or to the drawing before."""
        if self.is_reading():
            super().action_back()
        elif self._before:
            start, chosen = self._before.pop()
            self._draw(start, chosen, opens=True)

    def action_graph_deeper(self) -> None:
        """One step more, or one again."""
        self.depth = self.depth % DEEPEST + 1
        self.store_changed()

    def action_graph_whole(self) -> None:
        """What matters most of all."""
        self._go("")

    def action_graph_find(self) -> None:
        """Choose an entity by its name."""
        self.ask("names", lambda store: store.search_graph(limit=1000), self._choose, opens=True)

    def _choose(self, found: Neighbourhood) -> None:
        from engram_tui.shell.picker import Choice, Picker

        choices = [
            Choice(one.reached.node.key, one.reached.node.name, f"{one.reached.node.type:<9}")
            for one in found.entities
        ]
        self.app.push_screen(Picker("Which entity", choices, hint="letters of its name …"), self._chosen_name)

    def _chosen_name(self, key: str | None) -> None:
        if key and key != self.start:
            self._go(key)
