"""One entry to read: its title, its facts, and its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Static

from engram.domain.entry.lore import ACTIVE, Lore
from engram.domain.entry.people import byline
from engram.domain.text.drawing import gauge
from engram.domain.text.safe_text import safe_text
from engram_tui.widgets.format import format_age, format_earned, format_helpful, fraction
from engram_tui.widgets.markdown_pane import MarkdownPane

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from engram.usecases.lookup.listing import Shown

UNDER_CURSOR = "The entry under the cursor is shown here."


class Preview(MarkdownPane):
    """Shows an entry; with the focus, the moving keys scroll it."""

    DEFAULT_CSS = """
    Preview {
        padding: 0 1; background: $surface; scrollbar-size-vertical: 1;
        & > Static { height: auto; }
        & > #title { text-style: bold; color: $text-primary; }
        & > #facts { color: $text-muted; margin: 0 0 1 0; }
        & > #details { color: $text-muted; margin: 1 0 0 0; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.shown_id = ""

    def compose(self) -> ComposeResult:
        """Yield title, facts, text, details."""
        yield Static(id="title", markup=False)
        yield Static(id="facts", markup=False)
        yield Static(id="plain", markup=False)
        yield Static(id="details", markup=False)

    def show(self, shown: Shown, now: float, why: str = "", note: str = "") -> None:
        """Show an entry; `now` in Unix seconds, `why` a search found it, `note` a line above the facts."""
        lore = shown.lore
        is_other = lore.id != self.shown_id
        self.shown_id = lore.id
        body = safe_text(body_of(lore), lines=True)
        above = "\n".join(part for part in (safe_text(note), facts(shown, now)) if part)
        self._show_parts(safe_text(lore.title), above, body, details(shown, now, why))
        if is_other:
            self.scroll_home(animate=False)

    def show_message(self, *lines: str) -> None:
        """Show a message in place of an entry."""
        self.shown_id = ""
        self._show_parts(safe_text(lines[0]) if lines else "", _lines(*lines[1:]), "", "")

    def _show_parts(self, title: str, facts_: str, body: str, details_: str) -> None:
        for name, text in (("title", title), ("facts", facts_), ("details", details_)):
            self.query_one(f"#{name}", Static).update(text)
        self.show_body(body)


def facts(shown: Shown, now: float) -> str:
    """Format the facts that go above the text, a line each."""
    lore = shown.lore
    return _lines(
        f"{lore.category} · {format_earned(shown, now)}{'' if lore.status == ACTIVE else f' · {lore.status}'}",
        f"{gauge(lore.confidence, 8)} {fraction(lore.thousandths)} · {format_helpful(lore, now)}",
        _field("tags", lore.tags),
        _field("files", lore.files),
        _field("when", lore.when),
    )


def details(shown: Shown, now: float, why: str) -> str:
    """Format the details that go below the text, a line each."""
    lore = shown.lore
    by = f" by {byline(lore.agent, lore.author)}" if lore.agent or lore.author else ""
    return _lines(
        f"found by {why}" if why else "",
        _field("context", lore.context),
        f"recorded {format_age(lore.created_at, now)}{by}, {lore.created_at:%Y-%m-%d %H:%M} UTC",
        shown.path,
    )


def body_of(lore: Lore) -> str:
    """Return the text without a first line that only repeats the title."""
    first, _, rest = lore.content.lstrip("\n").partition("\n")
    repeated = first.strip().lstrip("#").strip().rstrip("#").strip() == lore.title
    stands_alone = first.lstrip().startswith("#") or not rest.split("\n", 1)[0].strip()
    return rest.strip("\n") if repeated and stands_alone else lore.content


def _lines(*lines: str) -> str:
    return "\n".join(safe_text(line) for line in lines if line)


def _field(name: str, values: tuple[str, ...]) -> str:
    return f"{name} {', '.join(values)}" if values else ""
