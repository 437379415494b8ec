"""One lore: its text, every field, what it is linked with, its history, and the queries that it answered.

It lies over the screen it was opened from. Wide terminals show all parts, narrow ones the part that has the focus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.containers import Horizontal, Vertical
from textual.widgets import OptionList

from engram_tui.entry import queries
from engram_tui.entry.actions import ACTIONS
from engram_tui.entry.format import (
    Provenance,
    event_line,
    facts,
    link_line,
    query_line,
    sparkline,
    trust_line,
)
from engram_tui.entry.parts import PARTS, Facts, Lines, LoreText, Said
from engram_tui.entry.versions import LoreVersions
from engram_tui.shell.action import bindings
from engram_tui.shell.sanitize import words
from engram_tui.widgets.preview import body_of
from engram_tui.widgets.rows import Row, row_of_shown

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.widget import Widget

    from engram.app import Engram
    from engram.usecases.graph.links import Link
    from engram.usecases.history.log import Event
    from engram.usecases.lookup.listing import Shown
    from engram.usecases.recall.recall_log import Surfaced

NOTHING = {
    "links": "names no other lore, and none names it",
    "versions": "no version in git yet",
    "queries": "no query was answered with it lately",
}


class LoreScreen(LoreVersions):
    """Read one lore, follow its links, look at its past."""

    SCREEN = "lore"
    OVER = True
    AUTO_FOCUS = "#text"
    DEFAULT_CSS = """
    LoreScreen {
        & #title { height: auto; max-height: 3; padding: 0 1; text-style: bold; color: $text-primary; background: $surface; }
        & #trust { height: auto; max-height: 2; padding: 0 1; color: $text-muted; background: $surface; }
        & #parts { display: none; height: 1; padding: 0 1; background: $surface; text-wrap: nowrap; }
        & .part { border: round $primary 40%; border-title-color: $text-muted; padding: 0 1; scrollbar-size-vertical: 1; }
        & .part:focus, & .part:focus-within { border: round $primary; }
        & #columns { height: 1fr; }
        & #text { width: 3fr; height: 1fr; }
        & #right { width: 2fr; }
        & #facts { height: auto; max-height: 55%; }
        & #links-part { height: auto; min-height: 3; max-height: 25%; }
        & #links { height: auto; }
        & #versions-part { height: 1fr; min-height: 4; }
        & #spark { height: 1; text-wrap: nowrap; }
        & #queries-part { height: auto; min-height: 3; max-height: 25%; }
        & #queries { height: auto; }
        &.-narrow #parts { display: block; }
        &.-narrow .part { display: none; border: none; }
        &.-narrow .part.-open { display: block; height: 1fr; max-height: 100%; width: 1fr; }
        &.-narrow #right { display: none; width: 1fr; }
        &.-narrow.-aside #right { display: block; }
        &.-narrow #links, &.-narrow #queries { height: 1fr; }
        &.-narrow #facts, &.-narrow #links-part, &.-narrow #queries-part { height: 1fr; max-height: 100%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)

    def __init__(self, store: Engram, lore_id: str, around: Sequence[str] = ()) -> None:
        """`around` are the ids of the list it was opened from, in order."""
        super().__init__(store, lore_id)
        self.around = around
        self.came_from: list[str] = []  # through links
        self.shown: Shown | None = None
        self.links: Sequence[Link] = ()
        self.queries: Sequence[Surfaced] = ()
        self._where: Provenance | None = None
        self._part = "text"
        self._nothing: dict[str, str] = {}  # what an empty list says, by part, once its question was answered

    def compose_body(self) -> Iterator[Widget]:
        """Title and trust above; the text, and beside it the other parts."""
        yield Said(id="title")
        yield Said("opening …", id="trust")
        yield Said(id="parts")
        with Horizontal(id="columns"):
            yield LoreText(id="text", classes="part")
            with Vertical(id="right"):
                yield Facts(id="facts", classes="part")
                with Vertical(id="links-part", classes="part"):
                    yield Lines(id="links")
                with Vertical(id="versions-part", classes="part"):
                    yield Said(id="spark")
                    yield Lines(id="versions")
                with Vertical(id="queries-part", classes="part"):
                    yield Lines(id="queries")

    def on_mount(self) -> None:
        """Ask for everything, the text first."""
        for name, title in PARTS.items():
            self._box(name).border_title = title
        self._open_part("text")
        self.read()

    # What actions ask

    @property
    def row(self) -> Row | None:
        """The lore as a line of a list."""
        return row_of_shown(self.shown) if self.shown else None

    def chosen(self) -> tuple[str, ...]:
        """This lore."""
        return (self.lore_id,) if self.shown else ()

    def has_lore(self) -> bool:
        """Whether it is there."""
        return self.shown is not None

    def has_around(self) -> bool:
        """Whether there is a list to go through."""
        return len(self.around) > 1

    def in_history(self) -> bool:
        """Whether the versions have the focus."""
        return self._part == "versions" and bool(self.versions)

    def in_lines(self) -> bool:
        """Whether a line that can be opened has the focus."""
        return bool({"links": self.links, "versions": self.versions, "queries": self.queries}.get(self._part))

    # Questions to the store

    def read(self) -> None:
        """Read everything about this lore anew."""
        lore_id = self.lore_id
        self.ask("lore", lambda store: store.get(lore_id), partial(self._take, lore_id), failed=self._gone)

    def _take(self, lore_id: str, shown: Shown) -> None:
        if lore_id != self.lore_id:
            return
        another = self.shown is None or self.shown.lore.id != shown.lore.id
        self.lore_id, self.shown = shown.lore.id, shown
        self.trouble("")
        if another:
            self._where, self.marked_version = None, ""
            self._nothing.clear()
            self._show_lists((), (), ())
        self.query_one("#title", Said).say(words(shown.lore.title))
        self.query_one("#trust", Said).say(trust_line(shown, self.now()))
        self.query_one(LoreText).show(body_of(shown.lore) or shown.lore.content, another=another)
        self._show_facts()
        self.refresh_bindings()
        self._ask_more(self.lore_id)

    def _ask_more(self, lore_id: str) -> None:
        """What is found less quickly."""
        for group, question, answer, apart in (
            ("provenance", queries.provenance, self._take_provenance, False),
            ("versions", queries.versions, self._take_versions, False),
            ("queries", queries.queries, self._take_queries, False),
            ("links", queries.links, self._take_links, True),
        ):
            asked, answered = partial(question, lore_id), partial(answer, lore_id)
            self.ask(group, asked, answered, failed=partial(self._part_failed, group), apart=apart)

    def _part_failed(self, group: str, line: str) -> None:
        if group in PARTS:
            self._nothing[group] = words(line)
            self._show_lists(self.links, self.versions, self.queries)
        else:
            self.trouble(line)

    def _gone(self, line: str) -> None:
        """It was forgotten, or its file cannot be read."""
        if self.shown is None or self.shown.lore.id != self.lore_id:
            self.query_one("#title", Said).say(words(self.lore_id))
        self.shown = None
        self.query_one("#trust", Said).say(
            "not here any more; u brings back what was done here last, esc goes back"
        )
        self.trouble(line)
        self.refresh_bindings()

    def _take_provenance(self, lore_id: str, where: Provenance) -> None:
        if lore_id == self.lore_id:
            self._where = where
            self._show_facts()

    def _take_versions(self, lore_id: str, versions: Sequence[Event]) -> None:
        if lore_id == self.lore_id:
            self._nothing["versions"] = NOTHING["versions"]
            self._show_lists(self.links, versions, self.queries)
            self._show_facts()

    def _take_links(self, lore_id: str, links: Sequence[Link]) -> None:
        if lore_id == self.lore_id:
            self._nothing["links"] = NOTHING["links"]
            self._show_lists(links, self.versions, self.queries)

    def _take_queries(self, lore_id: str, queries: Sequence[Surfaced]) -> None:
        if lore_id == self.lore_id:
            self._nothing["queries"] = NOTHING["queries"]
            self._show_lists(self.links, self.versions, queries)

    def store_changed(self) -> None:
        """Somebody else changed the store."""
        self.read()

    # What the user does

    def action_leave_lore(self) -> None:
        """Back the way one came."""
        if self.came_from:
            self._go_to(self.came_from.pop())
        else:
            self.shell.close_over(self.lore_id)

    def action_next_part(self) -> None:
        """The next part gets the focus."""
        self._step(1)

    def action_previous_part(self) -> None:
        """The part before gets the focus."""
        self._step(-1)

    def _step(self, by: int) -> None:
        names = list(PARTS)
        self._open_part(names[(names.index(self._part) + by) % len(names)])

    def action_links(self) -> None:
        """To the links."""
        self._open_part("links")

    def action_history(self) -> None:
        """To the versions."""
        self._open_part("versions")

    def action_next_lore(self) -> None:
        """The next lore of the list."""
        self._walk(1)

    def action_previous_lore(self) -> None:
        """The lore before in the list."""
        self._walk(-1)

    def _walk(self, by: int) -> None:
        if self.lore_id in self.around:
            at = self.around.index(self.lore_id) + by
            if 0 <= at < len(self.around):
                self.came_from.clear()
                self._go_to(self.around[at])

    def action_mark_version(self) -> None:
        """Mark the version under the cursor, or no version."""
        at = self.query_one("#versions", Lines).highlighted
        if at is not None and at < len(self.versions):
            commit = self.versions[at].commit
            self.marked_version = "" if commit == self.marked_version else commit
            self._show_lists(self.links, self.versions, self.queries)

    def action_open_line(self) -> None:
        """What the line under the cursor stands for."""
        if isinstance(self.focused, Lines):
            self.focused.action_select()

    @on(OptionList.OptionSelected)
    def opened(self, event: OptionList.OptionSelected) -> None:
        """Open what the line stands for."""
        name, at = event.option_list.id, event.option_index
        if name == "links" and at < len(self.links):
            self.came_from.append(self.lore_id)
            self._go_to(self.links[at].id)
        elif name == "versions" and at < len(self.versions):
            self.compare(at)
        elif name == "queries" and at < len(self.queries):
            self.shell.search(self.queries[at].query)

    def _go_to(self, lore_id: str) -> None:
        self.lore_id = lore_id
        self._open_part("text")
        self.read()

    # Showing

    def _box(self, name: str) -> Widget:
        return self.query_one(f"#{name}" if name in ("text", "facts") else f"#{name}-part")

    def _open_part(self, name: str) -> None:
        self._part = name
        self.set_class(name != "text", "-aside")
        for other in PARTS:
            self._box(other).set_class(other == name, "-open")
        self.set_focus(self.query_one(f"#{name}"))
        self._show_parts()
        self.refresh_bindings()

    def on_descendant_focus(self) -> None:
        """A click opens a part, too."""
        name = self.focused.id if self.focused else None
        if name in PARTS and name != self._part:
            self._part = str(name)
            self._show_parts()
            self.refresh_bindings()

    def _show_facts(self) -> None:
        if self.shown is not None:
            last = self.versions[0] if self.versions else None
            self.query_one(Facts).show(facts(self.shown, self.now(), self._where, last))

    def _show_lists(
        self, links: Sequence[Link], versions: Sequence[Event], queries: Sequence[Surfaced]
    ) -> None:
        self.links, self.versions, self.queries = links, versions, queries
        now = self.now()
        drawn = {
            "links": [link_line(link) for link in links],
            "versions": [event_line(one, now, marked=one.commit == self.marked_version) for one in versions],
            "queries": [query_line(one, now) for one in queries],
        }
        for name, found in drawn.items():
            self.query_one(f"#{name}", Lines).show(found, self._nothing.get(name, "reading …"))
            self._box(name).border_title = f"{PARTS[name]} {len(found)}" if found else PARTS[name]
        spark = self.query_one("#spark", Said)
        spark.say(sparkline(versions, 24))
        spark.display = len(versions) > 1
        self._show_parts()
        self.refresh_bindings()

    def _show_parts(self) -> None:
        """The line of parts on a narrow terminal."""
        counts = {"links": len(self.links), "versions": len(self.versions), "queries": len(self.queries)}
        text = Text(no_wrap=True)
        for name, title in PARTS.items():
            label = f"{title} {counts[name]}" if counts.get(name) else title
            text.append(label, "bold underline" if name == self._part else "dim")
            text.append("   ")
        self.query_one("#parts", Said).say(text)
