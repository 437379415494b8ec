"""The insight screen: small drawings beside each other, each with the sentence that it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Grid, Vertical, VerticalScroll
from textual.widgets import Static

from engram.domain.explore.insight_charts import charts
from engram_tui.insight.actions import ACTIONS
from engram_tui.shell.action import bindings
from engram_tui.shell.frame import ROOMY
from engram_tui.shell.sanitize import lines, words
from engram_tui.shell.screen import ShellScreen
from engram_tui.widgets.preview import Preview

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from engram.app import Engram
    from engram.domain.explore.insight import Insight
    from engram.domain.explore.insight_charts import Chart
    from engram.usecases.lookup.listing import Shown

AROUND = 3  # cells that a panel takes for itself
NARROWEST = 48


class Panel(Vertical):
    """One finding."""

    DEFAULT_CSS = """
    Panel {
        height: auto; padding: 0 1 1 1;
        border-top: solid $primary 40%; border-title-color: $text-primary; border-title-style: bold;
        & > Static { height: auto; }
        & > .drawing { color: $text-primary; text-wrap: nowrap; }
        & > .-lore { color: $text; text-overflow: ellipsis; }
    }
    """

    def __init__(self, chart: Chart) -> None:
        super().__init__()
        self._chart = chart

    def compose(self) -> ComposeResult:
        """The sentence above the drawing."""
        self.border_title = f" {words(self._chart.title)} "
        yield Static(words(self._chart.sentence), markup=False)
        if self._chart.lines:
            kind = "drawing -lore" if self._chart.ids else "drawing"
            yield Static(lines("\n".join(map(words, self._chart.lines))), classes=kind, markup=False)


class InsightScreen(ShellScreen):
    """How much lore, where, how good and how used."""

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
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.found: Insight | None = None
        self._drawn: Sequence[Chart] = ()

    def compose_body(self) -> Iterator[Widget]:
        """The findings; in their place a lore."""
        with VerticalScroll(id="findings", can_focus=True):
            yield Static("looking …", id="opening", markup=False)
            yield Grid(id="panels")
        yield Preview(id="preview")

    def on_mount(self) -> None:
        """Look."""
        self.store_changed()

    def on_resize(self) -> None:
        """Draw in the width that there is."""
        self.call_after_refresh(self._draw)

    # What actions ask

    def is_reading(self) -> bool:
        """Whether a lore is shown."""
        return self.has_class("-reading")

    def is_looking(self) -> bool:
        """Whether the findings are shown."""
        return not self.is_reading()

    def can_read(self) -> bool:
        """Whether a finding names lore."""
        return self.is_looking() and self.found is not None and bool(self.found.useful or self.found.unused)

    # Showing

    def store_changed(self) -> None:
        """Look again."""
        self.ask("insight", lambda store: store.insight(), self._take)

    def _take(self, found: Insight) -> None:
        self.found = found
        self.trouble("")
        self._draw()
        self.shell.listed(self)

    def _draw(self) -> None:
        if self.found is None:
            return
        room = self.app.size.width - 1  # of the scroll bar
        columns = 1 if self.is_narrow else 2 if self.app.size.width < ROOMY else 3
        width = max(NARROWEST, room // columns - AROUND)
        drawn = charts(self.found, self.now(), width)
        if drawn != self._drawn:
            self._drawn = drawn
            self._put(drawn)
        self.refresh_bindings()

    def _put(self, drawn: Sequence[Chart]) -> None:
        panels = self.query_one("#panels", Grid)
        with self.app.batch_update():
            self.query_one("#opening").display = False
            panels.remove_children()
            panels.mount_all([Panel(chart) for chart in drawn])

    # What one does

    def action_read(self) -> None:
        """Choose one of the lore that are named."""
        from engram_tui.shell.picker import Choice, Picker

        if self.found is None or not self.can_read():
            return
        choices = [Choice(one.id, one.title, f"✓{one.helpful}") for one in self.found.useful]
        choices += [Choice(one.id, one.title, "unused") for one in self.found.unused]
        self.app.push_screen(Picker("Which lore", choices, hint="words of its title …"), self._picked_lore)

    def _picked_lore(self, lore_id: str | None) -> None:
        if lore_id:
            self.ask("lore", lambda store: store.get(lore_id), self._show_lore)

    def _show_lore(self, shown: Shown) -> None:
        self.preview.show(shown, self.now())
        self.add_class("-reading")
        self.set_focus(self.preview)
        self.refresh_bindings()

    @property
    def preview(self) -> Preview:
        """The lore."""
        return self.query_one(Preview)

    @property
    def findings(self) -> VerticalScroll:
        """What scrolls."""
        return self.query_one("#findings", VerticalScroll)

    def chosen(self) -> tuple[str, ...]:
        """The lore that is shown."""
        return (self.preview.shown_id,) if self.is_reading() and self.preview.shown_id else ()

    def action_back(self) -> None:
        """To the findings."""
        self.remove_class("-reading")
        self.set_focus(self.findings)
        self.refresh_bindings()

    def action_scroll_by(self, rows: int) -> None:
        """A line down (negative: up)."""
        self.findings.scroll_relative(y=rows, animate=False)

    def action_scroll_page(self, direction: int) -> None:
        """Half of what is seen."""
        self.action_scroll_by(direction * max(1, self.findings.size.height // 2))

    def action_scroll_edge(self, bottom: bool) -> None:
        """The first or last finding."""
        if bottom:
            self.findings.scroll_end(animate=False)
        else:
            self.findings.scroll_home(animate=False)
