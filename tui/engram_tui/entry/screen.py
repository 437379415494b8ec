"""The screen of one entry: its text, all fields, its links, its history, and the queries that it answered.

It lies over the screen it was opened from. Wide terminals show all parts, narrow ones the part with the focus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on
from textual.containers import Horizontal, Vertical
from textual.widgets import OptionList

from engram.usecases.history.log import JUDGED, Event
from engram_tui.entry import queries
from engram_tui.entry.actions import ACTIONS
from engram_tui.entry.format import (
    Provenance,
    compared_text,
    event_line,
    facts,
    link_line,
    query_line,
    sparkline,
    trust_line,
    version_heading,
)
from engram_tui.entry.parts import PARTS, EntryText, Facts
from engram_tui.entry_actions.screen import EntryActionsScreen
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.compare import NEWER, OLDER, Compare, Side
from engram_tui.widgets.option_lines import OptionLines, StatusText
from engram_tui.widgets.preview import body_of
from engram_tui.widgets.rows import Row, row_of_shown

if TYPE_CHECKING:
    from textual.widget import Widget

    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram.usecases.graph.links import Link
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recall.recall_log import Surfaced

EMPTY = {
    "links": "no links to or from other entries",
    "versions": "no version in git yet",
    "queries": "no recent query returned it",
}


class EntryScreen(EntryActionsScreen):
    """Read an entry, follow its links, look at its history."""

    SCREEN = "entry"
    OVERLAY = True
    AUTO_FOCUS = "#text"
    DEFAULT_CSS = """
    EntryScreen {
        & #title { height: auto; max-height: 3; padding: 0 1; text-style: bold; color: $text-primary; background: $surface; }
        & #trust { height: auto; max-height: 2; padding: 0 1; color: $text-muted; background: $surface; }
        & #parts { display: none; height: 1; padding: 0 1; background: $surface; text-wrap: nowrap; }
        & .part { border: round $primary 40%; border-title-color: $text-muted; padding: 0 1; scrollbar-size-vertical: 1; }
        & .part:focus, & .part:focus-within { border: round $primary; }
        & #columns { height: 1fr; }
        & #text, & #right { width: 1fr; height: 1fr; }
        & #facts { height: auto; max-height: 55%; }
        & #links-part { height: auto; min-height: 3; max-height: 25%; }
        & #links { height: auto; }
        & #versions-part { height: 1fr; min-height: 4; }
        & #spark { height: 1; text-wrap: nowrap; }
        & #queries-part { height: auto; min-height: 3; max-height: 25%; }
        & #queries { height: auto; }
        &.-low #title, &.-low #trust { max-height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        &.-narrow #parts { display: block; }
        &.-narrow .part { display: none; border: none; }
        &.-narrow .part.-open { display: block; height: 1fr; max-height: 100%; width: 1fr; }
        &.-narrow #right { display: none; width: 1fr; }
        &.-narrow.-aside #right { display: block; }
        &.-narrow #links, &.-narrow #queries { height: 1fr; }
        &.-narrow #facts, &.-narrow #links-part, &.-narrow #queries-part { height: 1fr; max-height: 100%; }
    }
    """
    OWN_ACTIONS = ACTIONS

    def __init__(self, store: Engram, entry_id: str, list_ids: Sequence[str] = ()) -> None:
        """`list_ids` are the ids of the list it was opened from, in order."""
        super().__init__(store)
        self.entry_id = entry_id
        self.list_ids = list_ids
        self.came_from: list[str] = []  # ids of the entries from which links were followed
        self.shown: Shown | None = None
        self.links: Sequence[Link] = ()
        self.versions: Sequence[Event] = ()
        self.queries: Sequence[Surfaced] = ()
        self.marked_version = ""
        self._provenance: Provenance | None = None
        self._part = "text"
        self._placeholders: dict[str, str] = {}  # of empty lists, by part, once they were read

    def compose_body(self) -> Iterator[Widget]:
        """Yield title and trust; the text, and beside it the other parts."""
        yield StatusText(id="title")
        yield StatusText("opening …", id="trust")
        yield StatusText(id="parts")
        with Horizontal(id="columns"):
            yield EntryText(id="text", classes="part")
            with Vertical(id="right"):
                yield Facts(id="facts", classes="part")
                with Vertical(id="links-part", classes="part"):
                    yield OptionLines(id="links")
                with Vertical(id="versions-part", classes="part"):
                    yield StatusText(id="spark")
                    yield OptionLines(id="versions")
                with Vertical(id="queries-part", classes="part"):
                    yield OptionLines(id="queries")

    def on_mount(self) -> None:
        """Read everything, the text first."""
        for name, title in PARTS.items():
            self._box(name).border_title = title
        self.action_open_part("text")
        self.read()

    # Conditions of the actions

    @property
    def row(self) -> Row | None:
        """The entry as a row of a list."""
        return row_of_shown(self.shown) if self.shown else None

    def selected_ids(self) -> tuple[str, ...]:
        """Return the id of this entry."""
        return (self.entry_id,) if self.shown else ()

    def has_list(self) -> bool:
        """Return whether there is a list to go through."""
        return len(self.list_ids) > 1

    def in_history(self) -> bool:
        """Return whether the versions have the focus."""
        return self._part == "versions" and bool(self.versions)

    def in_lines(self) -> bool:
        """Return whether a line that can be opened has the focus."""
        return bool({"links": self.links, "versions": self.versions, "queries": self.queries}.get(self._part))

    # Reading

    def read(self) -> None:
        """Read everything about this entry again."""
        entry_id = self.entry_id
        self.ask(
            "entry",
            lambda store: store.get(entry_id),
            partial(self._receive, entry_id),
            failed=self._show_missing,
        )

    def store_changed(self) -> None:
        """Read the entry again: somebody else, or undo, changed the store."""
        self.read()

    def _receive(self, entry_id: str, shown: Shown) -> None:
        if entry_id != self.entry_id:
            return
        is_other = self.shown is None or self.shown.lore.id != shown.lore.id
        self.entry_id, self.shown = shown.lore.id, shown
        self.show_error("")
        if is_other:
            self._provenance, self.marked_version = None, ""
            self._placeholders.clear()
            self.links, self.versions, self.queries = (), (), ()
            self._show_lists()
        self.query_one("#title", StatusText).show(safe_line(shown.lore.title))
        self.query_one("#trust", StatusText).show(trust_line(shown, self.now()))
        self.query_one(EntryText).show(body_of(shown.lore) or shown.lore.content, from_top=is_other)
        self._show_facts()
        self.refresh_bindings()
        self._read_more(self.entry_id)

    def _show_missing(self, line: str) -> None:
        """Say that the entry was forgotten, or that its file cannot be read."""
        if self.shown is None or self.shown.lore.id != self.entry_id:
            self.query_one("#title", StatusText).show(safe_line(self.entry_id))
        self.shown = None
        self.query_one("#trust", StatusText).show(
            "no longer exists; u undoes what was done here last, esc goes back"
        )
        self.show_error(line)
        self.refresh_bindings()

    def _read_more(self, entry_id: str) -> None:
        """Read the parts that take longer."""
        for group, question, answer, unlocked in (
            ("provenance", queries.provenance, self._receive_provenance, False),
            ("versions", queries.versions, self._receive_versions, False),
            ("queries", queries.queries, self._receive_queries, False),
            ("links", queries.links, self._receive_links, True),
        ):
            self.ask(
                group,
                partial(question, entry_id),
                partial(answer, entry_id),
                failed=partial(self._show_failure, group),
                unlocked=unlocked,
            )

    def _show_failure(self, group: str, line: str) -> None:
        if group in PARTS:
            self._placeholders[group] = safe_line(line)
            self._show_lists()
        else:
            self.show_error(line)

    def _receive_provenance(self, entry_id: str, provenance: Provenance) -> None:
        if entry_id == self.entry_id:
            self._provenance = provenance
            self._show_facts()

    def _receive_versions(self, entry_id: str, versions: Sequence[Event]) -> None:
        if entry_id == self.entry_id:
            self.versions, self._placeholders["versions"] = versions, EMPTY["versions"]
            self._show_lists()
            self._show_facts()

    def _receive_links(self, entry_id: str, links: Sequence[Link]) -> None:
        if entry_id == self.entry_id:
            self.links, self._placeholders["links"] = links, EMPTY["links"]
            self._show_lists()

    def _receive_queries(self, entry_id: str, found: Sequence[Surfaced]) -> None:
        if entry_id == self.entry_id:
            self.queries, self._placeholders["queries"] = found, EMPTY["queries"]
            self._show_lists()

    # Moving

    def action_leave_lore(self) -> None:
        """Go back to the previous entry, else to the previous screen."""
        if self.came_from:
            self._go_to(self.came_from.pop())
        else:
            self.shell.close_overlays(self.entry_id)

    def action_step(self, by: int) -> None:
        """Focus the next part, or (-1) the previous one."""
        names = list(PARTS)
        self.action_open_part(names[(names.index(self._part) + by) % len(names)])

    def action_walk(self, by: int) -> None:
        """Open the next entry of the list, or (-1) the previous one."""
        if self.entry_id in self.list_ids:
            index = self.list_ids.index(self.entry_id) + by
            if 0 <= index < len(self.list_ids):
                self.came_from.clear()
                self._go_to(self.list_ids[index])

    def _go_to(self, entry_id: str) -> None:
        self.entry_id = entry_id
        self.action_open_part("text")
        self.read()

    def action_open_line(self) -> None:
        """Open the line under the cursor."""
        if isinstance(self.focused, OptionLines):
            self.focused.action_select()

    @on(OptionList.OptionSelected)
    def opened(self, event: OptionList.OptionSelected) -> None:
        """Open the entry of a link, the changes of a version, or the results of a query."""
        name, index = event.option_list.id, event.option_index
        if name == "links" and index < len(self.links):
            self.came_from.append(self.entry_id)
            self._go_to(self.links[index].id)
        elif name == "versions" and index < len(self.versions):
            self.compare(index)
        elif name == "queries" and index < len(self.queries):
            self.shell.search(self.queries[index].query)

    # Comparing versions

    def action_mark_version(self) -> None:
        """Mark the version under the cursor, or remove its mark."""
        index = self.query_one("#versions", OptionLines).highlighted
        if index is not None and index < len(self.versions):
            commit = self.versions[index].commit
            self.marked_version = "" if commit == self.marked_version else commit
            self._show_lists()

    def compare(self, index: int) -> None:
        """Show this version beside the marked one, else beside the previous one."""
        chosen = self.versions[index]
        marked = next((version for version in self.versions if version.commit == self.marked_version), None)
        before = self.versions[index + 1] if index + 1 < len(self.versions) else None
        other = marked if marked is not None and marked.commit != chosen.commit else before
        pair = [chosen] if other is None else sorted((other, chosen), key=self.versions.index, reverse=True)
        entry_id = self.entry_id
        self.ask(
            "compare",
            lambda store: queries.texts(store, entry_id, [self._commit_of(version) for version in pair]),
            partial(self._show_pair, index if other is before else None, pair),
            opens=True,
        )

    def _commit_of(self, version: Event) -> str:
        """Return the commit with the text of a version; a judgement has no commit and changes no text."""
        rest = self.versions[self.versions.index(version) :]
        return next((event.commit for event in rest if event.kind != JUDGED), version.commit)

    def _show_pair(self, index: int | None, pair: Sequence[Event], found: Sequence[Lore | None]) -> None:
        """Show two versions; with the `index` of the newer one, other pairs can be reached from here."""
        sides = [
            Side(version_heading(event), compared_text(lore, event) if lore else "")
            for event, lore in zip(pair, found, strict=True)
        ]
        if len(sides) == 1:
            sides.insert(0, Side("before: did not exist", ""))
        hint = "" if index is None else " · ← older · → newer"
        self.app.push_screen(
            Compare(PARTS["versions"], *sides, hint=hint), partial(self._compare_next, index)
        )

    def _compare_next(self, index: int | None, which: str | None) -> None:
        if index is None or which not in (OLDER, NEWER):
            return
        following = min(max(index + (1 if which == OLDER else -1), 0), len(self.versions) - 1)
        self.query_one("#versions", OptionLines).highlighted = following
        self.compare(following)

    # Showing

    def _box(self, name: str) -> Widget:
        return self.query_one(f"#{name}" if name in ("text", "facts") else f"#{name}-part")

    def action_open_part(self, name: str) -> None:
        """Go to a part: `links`, `versions`, …"""
        self._part = name
        self.set_class(name != "text", "-aside")
        for other in PARTS:
            self._box(other).set_class(other == name, "-open")
        self.set_focus(self.query_one(f"#{name}"))
        self._show_parts()
        self.refresh_bindings()

    def on_descendant_focus(self) -> None:
        """Open the part that was clicked."""
        name = self.focused.id if self.focused else None
        if name in PARTS and name != self._part:
            self._part = str(name)
            self._show_parts()
            self.refresh_bindings()

    def _show_facts(self) -> None:
        if self.shown is not None:
            last = next((version for version in self.versions if version.kind != JUDGED), None)
            self.query_one(Facts).show(facts(self.shown, self.now(), self._provenance, last))

    def _show_lists(self) -> None:
        now = self.now()
        lists = {
            "links": [link_line(link) for link in self.links],
            "versions": [
                event_line(event, now, marked=event.commit == self.marked_version) for event in self.versions
            ],
            "queries": [query_line(query, now) for query in self.queries],
        }
        for name, shown in lists.items():
            self.query_one(f"#{name}", OptionLines).show(shown, self._placeholders.get(name, "reading …"))
            self._box(name).border_title = f"{PARTS[name]} {len(shown)}" if shown else PARTS[name]
        spark = self.query_one("#spark", StatusText)
        spark.show(sparkline(self.versions, 24))
        spark.display = len(self.versions) > 1
        self._show_parts()
        self.refresh_bindings()

    def _show_parts(self) -> None:
        """Draw the line of parts for a narrow terminal; without numbers if they do not fit."""
        counts = {"links": len(self.links), "versions": len(self.versions), "queries": len(self.queries)}
        counted = {name: f"{title} {counts.get(name) or ''}".rstrip() for name, title in PARTS.items()}
        room = self.app.size.width - 2
        variants = [(gap, labels) for labels in (counted, PARTS) for gap in ("   ", "  ")]
        fitting = (pair for pair in variants if len(pair[0].join(pair[1].values())) <= room)
        gap, labels = next(fitting, variants[-1])
        text = Text(gap, no_wrap=True).join(
            Text(label, "bold underline" if name == self._part else "dim") for name, label in labels.items()
        )
        self.query_one("#parts", StatusText).show(text)

    def on_resize(self) -> None:
        """Redraw the line of parts for the new width."""
        self.call_after_refresh(self._show_parts)
