"""Filters of a list of lore: which facet, then which value of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engram_tui.browse.facets import NAMES, Facets, values_of
from engram_tui.entry_actions.screen import BrowseDeeds
from engram_tui.shell.sanitize import words

if TYPE_CHECKING:
    from engram.app import Engram


class BrowseFacets(BrowseDeeds):
    """A screen whose list of lore can be filtered."""

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.facets = Facets()

    def narrow_to(self, facets: Facets) -> None:
        """Show only what these filters let through."""
        self.facets = facets

    def action_facet(self) -> None:
        """Choose what to filter by, then the value."""
        from engram_tui.shell.picker import Choice, Picker

        choices = [
            Choice(name, name, after=value or "all") for name, value in zip(NAMES, self.facets, strict=True)
        ]
        self.app.push_screen(Picker("Filter by", choices, hint="scope, category, tag …"), self._facet_named)

    def _facet_named(self, name: str | None) -> None:
        if name:
            self.ask(
                "facet", lambda store: values_of(store, name), partial(self._facet_values, name), opens=True
            )

    def _facet_values(self, name: str, values: list[tuple[str, str]]) -> None:
        from engram_tui.shell.picker import Choice, Picker

        choices = [
            Choice("", "all", after="no filter"),
            *(Choice(value, words(value), after=note) for value, note in values),
        ]
        picker = Picker(f"Filter by {name}", choices, hint=f"which {name} …")
        self.app.push_screen(picker, partial(self._facet_chosen, name))

    def _facet_chosen(self, name: str, value: str | None) -> None:
        if value is not None:
            self.narrow_to(self.facets._replace(**{name: value}))

    def action_no_facets(self) -> None:
        """All lore again."""
        self.narrow_to(Facets())
