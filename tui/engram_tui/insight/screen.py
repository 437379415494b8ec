"""The insight screen: small charts, each with a sentence about what it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from textual.containers import Grid, Vertical, VerticalScroll
from textual.widgets import Static

from engram.domain.explore.insight_charts import Chart, charts
from engram_tui.insight.actions import ACTIONS
from engram_tui.shell.frame import ROOMY
from engram_tui.shell.sanitize import safe_line, safe_lines
from engram_tui.shell.screen import ShellScreen
from engram_tui.widgets.preview import Preview

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.widget import Widget

    from engram.app import Engram
    from engram.domain.explore.insight import Insight
    from engram.usecases.lookup.listing import Shown

PADDING = 3  # cells of a panel beside its chart
MIN_WIDTH = 36  # cells of a chart


class Panel(Vertical):
    """A chart with its title and sentence."""

    DEFAULT_CSS = """
    Panel {
        height: auto; padding: 0 1 1 1;
        border-top: solid $primary 40%; border-title-color: $text-primary; border-title-style: bold;
        & > Static { height: auto; }
        & > .chart { color: $text-primary; text-wrap: nowrap; text-overflow: clip; }
        & > .-entries { color: $text; text-overflow: ellipsis; }
    }
    """

    def __init__(self, chart: Chart) -> None:
        super().__init__()
        self._chart = chart

    def compose(self) -> ComposeResult:
        """Yield the sentence and the chart."""
        self.border_title = f" {safe_line(self._chart.title)} "
        yield Static(safe_line(self._chart.sentence), markup=False)
        if self._chart.lines:
            kind = "chart -entries" if self._chart.ids else "chart"
            yield Static(safe_lines("\n".join(map(safe_line, self._chart.lines))), classes=kind, markup=False)


class InsightScreen(ShellScreen):
    """How many entries there are, where, how good they are and how they are used."""

    SCREEN = "insight"
    AUTO_FOCUS = "#findings"
    DEFAULT_CSS = """
    InsightScreen {
        & #findings { height: 1fr; scrollbar-size-vertical: 1; }
        & #panels { height: auto; grid-size: 1; grid-rows: auto; grid-gutter: 0; }
        &.-wide #panels { grid-size: 2; }
        &.-roomy #panels { grid-size: 3; }
        & #opening { padding: 1 2; }
        & Preview { display: none; height: 1fr; padding: 0 2; }
        &.-reading Preview { display: block; }
        &.-reading #findings { display: none; }
    }
    """
    OWN_ACTIONS = ACTIONS

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.found: Insight | None = None
        self._charts: Sequence[Chart] = ()

    def compose_body(self) -> Iterator[Widget]:
        """Yield the charts; in their place an entry."""
        with VerticalScroll(id="findings", can_focus=True):
            yield Static("reading …", id="opening", markup=False)
            yield Grid(id="panels")
        yield Preview(id="preview")

    def on_mount(self) -> None:
        """Read the numbers."""
        self.store_changed()

    def on_resize(self) -> None:
        """Redraw the charts for the new width."""
        self.call_after_refresh(self._draw)

    # Conditions of the actions

    def can_read(self) -> bool:
        """Return whether a chart names entries."""
        return self.is_listing() and self.found is not None and bool(self.found.useful or self.found.unused)

    # Showing

    def store_changed(self) -> None:
        """Read the numbers again."""
        self.ask("insight", lambda store: store.insight(), self._receive)

    def _receive(self, found: Insight) -> None:
        self.found = found
        self.show_error("")
        self._draw()
        self.shell.note_shown(self)

    def _draw(self) -> None:
        if self.found is None:
            return
        room = self.app.size.width - 1  # of the scroll bar
        columns = 1 if self.is_narrow else 2 if self.app.size.width < ROOMY else 3
        width = max(MIN_WIDTH, room // columns - PADDING)
        found = charts(self.found, self.now(), width)
        if found != self._charts:
            self._charts = found
            self._show_charts(found)
        self.refresh_bindings()

    def _show_charts(self, found: Sequence[Chart]) -> None:
        panels = self.query_one("#panels", Grid)
        with self.app.batch_update():
            self.query_one("#opening").display = False
            panels.remove_children()
            panels.mount_all([Panel(chart) for chart in found])

    # Actions

    def action_read(self) -> None:
        """Pick one of the entries that a chart names."""
        from engram_tui.shell.picker import Choice

        if self.found is None or not self.can_read():
            return
        choices = [Choice(entry.id, entry.title, f"✓{entry.helpful}") for entry in self.found.useful]
        choices += [Choice(entry.id, entry.title, "unused") for entry in self.found.unused]
        self.pick("Which entry", choices, self._read_entry, "words of its title …")

    def _read_entry(self, entry_id: str) -> None:
        self.ask("entry", lambda store: store.get(entry_id), self._show_entry)

    def _show_entry(self, shown: Shown) -> None:
        self.preview.show(shown, self.now())
        self.go_into(self.preview)

    @property
    def preview(self) -> Preview:
        """The entry."""
        return self.query_one(Preview)

    @property
    def findings(self) -> VerticalScroll:
        """The charts, which scroll."""
        return self.query_one("#findings", VerticalScroll)

    def selected_ids(self) -> tuple[str, ...]:
        """Return the id of the entry that is shown."""
        return (self.preview.shown_id,) if self.is_reading() and self.preview.shown_id else ()

    def action_scroll_by(self, rows: int) -> None:
        """Scroll down by this many lines (negative: up)."""
        self.findings.scroll_relative(y=rows, animate=False)

    def action_scroll_page(self, direction: int) -> None:
        """Scroll by half of what is visible."""
        self.action_scroll_by(direction * max(1, self.findings.size.height // 2))

    def action_scroll_edge(self, bottom: bool) -> None:
        """Scroll to the first or last chart."""
        if bottom:
            self.findings.scroll_end(animate=False)
        else:
            self.findings.scroll_home(animate=False)
