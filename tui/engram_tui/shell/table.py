"""The screens of the app, in the order of their number keys."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from engram_tui.shell import actions

if TYPE_CHECKING:
    from engram.app import Engram
    from engram_tui.shell.action import Action
    from engram_tui.shell.screen import ShellScreen


class Entry(NamedTuple):
    """A screen: its name (also of its module of actions), its title and the class that draws it."""

    name: str
    title: str
    module: str
    shown_by: str

    @property
    def number(self) -> int:
        """Its number key."""
        return ENTRIES.index(self) + 1

    def make(self, store: Engram) -> ShellScreen:
        """A new screen of this kind."""
        return cast("ShellScreen", getattr(import_module(self.module), self.shown_by)(store))


ENTRIES = (
    Entry("browse", "Browse", "engram_tui.browse.screen", "BrowseScreen"),
    Entry("review", "Review", "engram_tui.review.screen", "ReviewScreen"),
    Entry("consolidate", "Consolidate", "engram_tui.consolidate.screen", "ConsolidateScreen"),
    Entry("sync", "Sync", "engram_tui.sync.screen", "SyncScreen"),
    Entry("insight", "Insight", "engram_tui.insight.screen", "InsightScreen"),
    Entry("live", "Live", "engram_tui.live.screen", "LiveScreen"),
    Entry("graph", "Graph", "engram_tui.graph.screen", "GraphScreen"),
)


def entry_named(name: str) -> Entry:
    """The entry of that screen, else the first."""
    return next((entry for entry in ENTRIES if entry.name == name), ENTRIES[0])


def actions_of(name: str) -> tuple[Action, ...]:
    """The actions of one screen, those of every screen not among them."""
    package = "entry" if name == "lore" else name
    return tuple(import_module(f"engram_tui.{package}.actions").ACTIONS)


def every_action() -> dict[str, Action]:
    """All actions of the app by name."""
    found = [*actions.ACTIONS, *actions.MOVES]
    for entry in ENTRIES:
        found += actions_of(entry.name)
    return {action.name: action for action in found}
