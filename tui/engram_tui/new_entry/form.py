"""The form for a new entry: during typing it shows similar entries and what recording would do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, Static, TextArea

from engram.domain.entry.lore import MAX_CONTENT, title_of
from engram.domain.exchange.classify import guess_category
from engram.domain.text.safe_text import safe_text
from engram_tui.new_entry.actions import ACTIONS
from engram_tui.shell.action import make_bindings
from engram_tui.shell.sanitize import safe_line, safe_lines
from engram_tui.widgets.format import count, fraction

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.timer import Timer

    from engram.app import Engram
    from engram.usecases.recording.record import RecordPreview
    from engram_tui.shell.store_screen import StoreScreen

TYPING_DELAY = 0.25  # seconds without a key before the store is asked
ROOM_FOR_HINTS = 72  # columns from which all keys fit into their line
_HINT = "What to know; last, in everyday words, what one sees, asks or does"
_FIELDS = {"context": "when it holds, and why", "tags": "queue kafka", "files": "src/queue.py docs/api.md"}


class NewEntry(NamedTuple):
    """The content of the form. `category` is "" if it is to be guessed."""

    text: str = ""
    category: str = ""
    context: str = ""
    tags: str = ""
    files: str = ""

    def fields(self, default: str) -> dict[str, object]:
        """Return the fields as `Engram.record` takes them."""
        return {
            "content": self.text,
            "category": self.category or default or guess_category(title_of(self.text), self.text),
            "context": [self.context] if self.context.strip() else [],
            "tags": [tag.lstrip("#") for tag in _split(self.tags)],
            "files": _split(self.files),
        }


class NewEntryForm(ModalScreen[NewEntry | None]):
    """Returns the entry to record, or None; `draft` always has what was typed so far."""

    DEFAULT_CSS = """
    NewEntryForm { align: center middle; }
    NewEntryForm > Vertical { width: 96; max-width: 98%; height: 96%; border: round $primary; background: $surface; padding: 0 1; }
    NewEntryForm TextArea, NewEntryForm TextArea:focus { height: 1fr; min-height: 4; border: none; padding: 0; margin: 0 0 1 0; }
    NewEntryForm .field { height: 1; }
    NewEntryForm Label { width: 10; color: $text-muted; }
    NewEntryForm Input { background: $boost; padding: 0; width: 1fr; }
    NewEntryForm Button { width: auto; min-width: 20; height: 1; border: none; text-align: left; }
    NewEntryForm Button:focus { text-style: reverse; }
    NewEntryForm #known { height: auto; max-height: 8; margin: 1 0 0 0; color: $text-muted; }
    NewEntryForm.-low TextArea, NewEntryForm.-low TextArea:focus { min-height: 2; margin: 0; }
    NewEntryForm.-low #known { max-height: 2; margin: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(ACTIONS, priority=True)

    def __init__(self, screen: StoreScreen, draft: NewEntry) -> None:
        """`screen` asks the store; `draft` is what was typed before."""
        super().__init__()
        self._screen, self.draft = screen, draft
        self._default = screen.store.store.settings.text("record.category")
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """Yield the text, the other fields, and what recording would do."""
        with Vertical() as box:
            box.border_title = "New entry"
            keys = "ctrl+s records · tab next field · esc closes, the text is kept"
            box.border_subtitle = keys if self._is_wide else "ctrl+s records · esc closes"
            yield TextArea(
                safe_lines(self.draft.text),
                soft_wrap=True,
                tab_behavior="focus",
                placeholder=_HINT,
                id="text",
            )
            with Horizontal(classes="field"):
                yield Label("category")
                yield Button("", id="category", compact=True)
            for name, hint in _FIELDS.items():
                with Horizontal(classes="field"):
                    yield Label(name)
                    value = safe_line(getattr(self.draft, name))
                    yield Input(value, placeholder=hint, compact=True, select_on_focus=False, id=name)
            yield Static(id="known", markup=False)

    @property
    def _is_wide(self) -> bool:
        return self.app.size.width >= ROOM_FOR_HINTS

    def on_mount(self) -> None:
        """Show the category and the hint for what is in the form at first."""
        self._handle_typing()

    def on_text_area_changed(self) -> None:
        """Handle a change of the text."""
        self._handle_typing()

    def on_input_changed(self) -> None:
        """Handle a change of a field."""
        self._handle_typing()

    def on_button_pressed(self) -> None:
        """Pick the category."""
        from engram_tui.shell.picker import Picker, category_choices

        choices = category_choices(self._screen.store.store.categories)
        self.app.push_screen(Picker("Category", choices, hint="which category …"), self._set_category)

    def _set_category(self, name: str | None) -> None:
        if name:
            self.draft = self.draft._replace(category=name)
            self._handle_typing()

    def action_save_new(self) -> None:
        """Record the entry."""
        self._read()
        if self.draft.text.strip():
            self.dismiss(self.draft)
        else:
            self.query_one("#known", Static).update("There is no text yet.")

    def action_close_new(self) -> None:
        """Close the form."""
        self._read()
        self.dismiss(None)

    def _read(self) -> None:
        typed = {name: self.query_one(f"#{name}", Input).value for name in _FIELDS}
        self.draft = self.draft._replace(text=self.query_one(TextArea).text, **typed)

    def _handle_typing(self) -> None:
        """Show the category, and ask the store once the user stops typing."""
        self._read()
        chosen = str(self.draft.fields(self._default)["category"])
        guessed = "  (guessed; enter picks another)" if self._is_wide else "  (guessed)"
        note = "" if self.draft.category or self._default else guessed
        self.query_one(Button).label = safe_line(f"{chosen.replace('_', ' ')}{note}")
        if self._timer:
            self._timer.stop()
        if self.draft.text.strip():
            self._timer = self.set_timer(TYPING_DELAY, self._ask)
        else:
            self._show_lines(
                f"A sentence that others can use, as markdown; at most {count(MAX_CONTENT)} characters."
            )

    def _ask(self) -> None:
        draft, default = self.draft, self._default

        def weigh(store: Engram) -> RecordPreview:
            return store.weigh(**draft.fields(default))  # type: ignore[arg-type]

        self._screen.ask(
            "weigh", weigh, partial(self._show_weighing, draft), failed=partial(self._show_refusal, draft)
        )

    def _show_weighing(self, draft: NewEntry, weighed: RecordPreview) -> None:
        if draft == self.draft:
            self._show_lines(*preview_lines(weighed))

    def _show_refusal(self, draft: NewEntry, line: str) -> None:
        if draft == self.draft:
            self._show_lines(f"✗ {line}")

    def _show_lines(self, *texts: str) -> None:
        if self.is_mounted and self.is_attached:
            for widget in self.query("#known").results(Static):  # none is left if the form is closing
                widget.update("\n".join(safe_text(line) for line in texts))


def preview_lines(weighed: RecordPreview) -> list[str]:
    """Say what recording would do, a line each."""
    found = []
    if weighed.known:
        found.append(f"= is known already: “{weighed.known.title}” would be confirmed")
    if weighed.why:
        found.append(f"… would wait for review: {weighed.why}")
    found += [f"≠ contradicts “{entry.title}”: {entry.why}" for entry in weighed.contradictions]
    found += [f"≈ {fraction(round(entry.similarity * 1000))} “{entry.title}”" for entry in weighed.similar]
    return found or ["✓ no similar entry"]


def _split(text: str) -> list[str]:
    return text.replace(",", " ").split()
