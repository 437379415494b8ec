"""A screen with a list whose rows can be marked, so that actions apply to several."""

from __future__ import annotations

from engram_tui.shell.screen import ShellScreen
from engram_tui.widgets.entry_list import AGES_INTERVAL, EntryList
from engram_tui.widgets.rows import ids_of


class MarkScreen(ShellScreen):
    """A list with marks. A subclass shows their number in `show_marks`."""

    @property
    def entry_list(self) -> EntryList:
        """The list."""
        return self.query_one(EntryList)

    def show_marks(self) -> None:
        """Redraw what depends on the marks."""

    def clear_filters(self) -> None:
        """List everything again."""

    def on_mount(self) -> None:
        """Redraw the ages now and then: they change while nothing else does."""
        self.set_interval(AGES_INTERVAL, self._draw_ages)

    def _draw_ages(self) -> None:
        self.entry_list.now = self.now()
        self.entry_list.refresh()

    def selected_ids(self) -> tuple[str, ...]:
        """Return the ids of the marked rows, else of the one under the cursor."""
        current = self.entry_list.current_id
        return tuple(self.entry_list.marked) or ((current,) if current else ())

    def action_move_cursor(self, rows: int) -> None:
        """Move in the list from wherever the focus is."""
        self.entry_list.action_move(rows)

    def action_mark(self) -> None:
        """Mark the row, or remove its mark, and go to the next."""
        current = self.entry_list.current_id
        if current:
            self._mark([current], on=current not in self.entry_list.marked)
            self.entry_list.action_move(1)

    def action_mark_all(self) -> None:
        """Mark all listed rows; if all are marked, remove their marks."""
        ids = ids_of(self.entry_list.rows)
        self._mark(ids, on=any(row_id not in self.entry_list.marked for row_id in ids))

    def action_clear(self) -> None:
        """Clear the marks, else the filters."""
        if self.entry_list.marked:
            self._mark(list(self.entry_list.marked), on=False)
        else:
            self.clear_filters()

    def _mark(self, ids: list[str], *, on: bool) -> None:
        self.entry_list.mark(ids, on=on)
        self.show_marks()
        self.refresh_bindings()
