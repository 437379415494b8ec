"""The Engram app: its tabs, and the screens that open over them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from engram_tui.shell.app import ShellApp
from engram_tui.shell.screen import ShellScreen
from engram_tui.shell.tabs import Tab

if TYPE_CHECKING:
    from engram.app import Engram
    from engram_tui.new_entry.form import NewEntry, NewEntryForm

TABS = (
    Tab("browse", "Browse", "engram_tui.browse", "BrowseScreen"),
    Tab("inbox", "Inbox", "engram_tui.inbox", "InboxScreen"),
    Tab("consolidate", "Consolidate", "engram_tui.consolidate", "ConsolidateScreen"),
    Tab("sync", "Sync", "engram_tui.sync", "SyncScreen"),
    Tab("insight", "Insight", "engram_tui.insight", "InsightScreen"),
    Tab("live", "Live", "engram_tui.live", "LiveScreen"),
    Tab("graph", "Graph", "engram_tui.graph", "GraphScreen"),
)


class EngramApp(ShellApp):
    """Engram in a terminal."""

    TABS: ClassVar[tuple[Tab, ...]] = TABS

    def __init__(self, store: Engram, *, plain: bool = False) -> None:
        """`plain` disables all colours."""
        super().__init__(store, plain=plain)
        self.unsaved: NewEntry | None = None  # the draft in the form for a new entry

    def open_entry(self, entry_id: str, list_ids: Sequence[str] = ()) -> None:
        """Show an entry over the open screen; `list_ids` are the ids of the list it is in, in order."""
        from engram_tui.entry.screen import EntryScreen

        self.push_screen(EntryScreen(self.store, entry_id, list_ids))

    def open_settings(self) -> None:
        """Show the settings over the open screen."""
        from engram_tui.settings.screen import SettingsScreen

        if not isinstance(self.current, SettingsScreen):
            self.push_screen(SettingsScreen(self.store))

    def search(self, text: str) -> None:
        """Search for a text in Browse."""
        from engram_tui.browse.screen import BrowseScreen

        self.go("browse")
        if isinstance(self.current, BrowseScreen):
            self.current.search_for(text)

    def new_entry(self) -> None:
        """Open the form for a new entry, with the unsaved draft if there is one."""
        from engram_tui.new_entry.form import NewEntry, NewEntryForm

        screen = self.current
        assert isinstance(screen, ShellScreen)
        form = NewEntryForm(screen, self.unsaved or NewEntry())
        self.push_screen(form, partial(self._record, screen, form))

    def _record(self, screen: ShellScreen, form: NewEntryForm, entry: NewEntry | None) -> None:
        """Record an entry; the draft is kept until it is written."""
        from engram_tui.entry_actions import commands

        self.unsaved = form.draft
        if entry is not None:
            default = self.store.store.settings.text("record.category")
            screen.execute(commands.record(entry.fields(default), self._forget_unsaved), ())

    def _forget_unsaved(self) -> None:
        self.unsaved = None
