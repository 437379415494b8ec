"""A screen with a list whose rows can be marked, so that actions apply to several."""

from __future__ import annotations

from engram_tui.shell.screen import ShellScreen
from engram_tui.widgets.entry_list import AGES_INTERVAL, EntryList
from engram_tui.widgets.rows import ids_of


class MarkScreen(ShellScreen):
    """A list with marks; a subclass draws what tells of them in `show_marks`."""

    @property
    def entry_list(self) -> EntryList:
        """The list."""
        return self.query_one(EntryList)

    def show_marks(self) -> None:
        """Draw what depends on the marks."""

    def clear_filters(self) -> None:
        """List everything again."""

    def on_mount(self) -> None:
        """Draw the ages anew now and then: they go on while nothing happens."""
        self.set_interval(AGES_INTERVAL, self._draw_ages)

    def _draw_ages(self) -> None:
        self.entry_list.now = self.now()
        self.entry_list.refresh()

    def selected_ids(self) -> tuple[str, ...]:
        """Return the ids of the marked rows, else of the one under the cursor."""
        here = self.entry_list.current_id
        return tuple(self.entry_list.marked) or ((here,) if here else ())

    def action_move_cursor(self, rows: int) -> None:
        """Move in the list from wherever the focus is."""
        self.entry_list.action_move(rows)

    def action_mark(self) -> None:
        """Mark the row, or remove its mark, and go to the next."""
        here = self.entry_list.current_id
        if here:
            self._mark([here], on=here not in self.entry_list.marked)
            self.entry_list.action_move(1)

    def action_mark_all(self) -> None:
        """Mark all that are listed; where all are, none."""
        ids = ids_of(self.entry_list.rows)
        self._mark(ids, on=any(one not in self.entry_list.marked for one in ids))

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
