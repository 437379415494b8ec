"""The versions of one lore, any two of them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from engram_tui.entry import queries
from engram_tui.entry.format import compared, who
from engram_tui.entry.parts import PARTS, Lines
from engram_tui.entry_actions.screen import BrowseDeeds
from engram_tui.widgets.compare import NEWER, OLDER, Compare, Side
from engram_tui.widgets.rows import fraction

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram.usecases.history.log import Event


class LoreVersions(BrowseDeeds):
    """A screen of one lore that can compare its versions."""

    def __init__(self, store: Engram, lore_id: str) -> None:
        super().__init__(store)
        self.lore_id = lore_id
        self.versions: Sequence[Event] = ()
        self.marked_version = ""

    def compare(self, at: int) -> None:
        """The version there beside the marked one, else beside the one before it."""
        chosen = self.versions[at]
        marked = next((one for one in self.versions if one.commit == self.marked_version), None)
        before = self.versions[at + 1] if at + 1 < len(self.versions) else None
        other = marked if marked is not None and marked.commit != chosen.commit else before
        pair = [chosen] if other is None else sorted((other, chosen), key=self.versions.index, reverse=True)
        lore_id = self.lore_id
        self.ask(
            "compare",
            lambda store: queries.texts(store, lore_id, [one.commit for one in pair]),
            partial(self._show_pair, at if other is before else None, pair),
            opens=True,
        )

    def _show_pair(self, at: int | None, pair: Sequence[Event], found: Sequence[Lore | None]) -> None:
        sides = [
            Side(self._said_of(one), compared(lore) if lore else "")
            for one, lore in zip(pair, found, strict=True)
        ]
        if len(sides) == 1:
            sides.insert(0, Side("before: not there", ""))
        hint = "" if at is None else "← older · → newer · "
        self.app.push_screen(Compare(PARTS["versions"], *sides, hint=hint), partial(self._other_pair, at))

    def _said_of(self, event: Event) -> str:
        confidence = "" if event.confidence is None else f" · {fraction(round(event.confidence * 1000))}"
        return f"{event.commit} · {event.at:%Y-%m-%d %H:%M} · {who(event)}{confidence}"

    def _other_pair(self, at: int | None, which: str | None) -> None:
        if at is None or which not in (OLDER, NEWER):
            return
        wanted = min(max(at + (1 if which == OLDER else -1), 0), len(self.versions) - 1)
        self.query_one("#versions", Lines).highlighted = wanted
        self.compare(wanted)
