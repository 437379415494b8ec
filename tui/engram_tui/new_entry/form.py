"""The form for a new lore: while one types, it says what is known already and what recording would answer."""

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
from engram_tui.shell.action import bindings
from engram_tui.shell.sanitize import lines, words
from engram_tui.widgets.rows import count, fraction

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.timer import Timer

    from engram.app import Engram
    from engram.usecases.recording.record import Weighed
    from engram_tui.shell.screen import ShellScreen

REST = 0.25  # seconds without a key before the store is asked
_FIELDS = {
    "context": "when it holds, or how it came up",
    "tags": "queue kafka",
    "files": "src/consumer.py docs/queue.md",
}


class NewLore(NamedTuple):
    """What the form holds. `category` is "" where it is to be guessed."""

    text: str = ""
    category: str = ""
    context: str = ""
    tags: str = ""
    files: str = ""

    def fields(self, default: str) -> dict[str, object]:
        """As `Engram.record` takes it."""
        return {
            "content": self.text,
            "category": self.category or default or guess_category(title_of(self.text), self.text)[0],
            "context": [self.context] if self.context.strip() else [],
            "tags": [tag.lstrip("#") for tag in _several(self.tags)],
            "files": _several(self.files),
        }


class NewLoreForm(ModalScreen[NewLore | None]):
    """Returns what is to be recorded, or None; `kept` always has what was typed last."""

    DEFAULT_CSS = """
    NewLoreForm { align: center middle; }
    NewLoreForm > Vertical { width: 96; max-width: 98%; height: 96%; border: round $primary; background: $surface; padding: 0 1; }
    NewLoreForm TextArea, NewLoreForm TextArea:focus { height: 1fr; min-height: 4; border: none; padding: 0; margin: 0 0 1 0; }
    NewLoreForm .field { height: 1; }
    NewLoreForm Label { width: 10; color: $text-muted; }
    NewLoreForm Input { background: $boost; padding: 0; width: 1fr; }
    NewLoreForm Button { width: auto; min-width: 20; height: 1; border: none; text-align: left; }
    NewLoreForm Button:focus { text-style: reverse; }
    NewLoreForm #known { height: auto; max-height: 8; margin: 1 0 0 0; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS, priority=True)

    def __init__(self, home: ShellScreen, kept: NewLore) -> None:
        """`home` asks the store; `kept` is what was typed before."""
        super().__init__()
        self._home, self.kept = home, kept
        self._default = home.store.store.settings.text("record.category")
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The text, the other fields, and what is known about such a text."""
        with Vertical() as box:
            box.border_title = "New lore"
            box.border_subtitle = "ctrl+s records · tab next field · esc closes, the text is kept"
            yield TextArea(lines(self.kept.text), soft_wrap=True, tab_behavior="focus", id="text")
            with Horizontal(classes="field"):
                yield Label("category")
                yield Button("", id="category", compact=True)
            for name, hint in _FIELDS.items():
                with Horizontal(classes="field"):
                    yield Label(name)
                    value = words(getattr(self.kept, name))
                    yield Input(value, placeholder=hint, compact=True, select_on_focus=False, id=name)
            yield Static(id="known", markup=False)

    def on_mount(self) -> None:
        """Begin with the text."""
        self._typed()

    def on_text_area_changed(self) -> None:
        """The text is another."""
        self._typed()

    def on_input_changed(self) -> None:
        """A field is another."""
        self._typed()

    def on_button_pressed(self) -> None:
        """Pick the category."""
        from engram_tui.shell.picker import Choice, Picker

        categories = self._home.store.store.categories
        choices = [
            Choice(name, name.replace("_", " "), after=categories.type_of(name)) for name in categories.names
        ]
        self.app.push_screen(Picker("Category", choices, hint="which category …"), self._categorised)

    def _categorised(self, name: str | None) -> None:
        if name:
            self.kept = self.kept._replace(category=name)
            self._typed()

    def action_save_new(self) -> None:
        """Record it."""
        self._read()
        if self.kept.text.strip():
            self.dismiss(self.kept)
        else:
            self.query_one("#known", Static).update("There is no text yet.")

    def action_close_new(self) -> None:
        """Close the form."""
        self._read()
        self.dismiss(None)

    def _read(self) -> None:
        typed = {name: self.query_one(f"#{name}", Input).value for name in _FIELDS}
        self.kept = self.kept._replace(text=self.query_one(TextArea).text, **typed)

    def _typed(self) -> None:
        """Once the keys rest, ask what is known."""
        self._read()
        chosen = str(self.kept.fields(self._default)["category"])
        note = "" if self.kept.category or self._default else "  (guessed; enter picks another)"
        self.query_one(Button).label = words(f"{chosen.replace('_', ' ')}{note}")
        if self._timer:
            self._timer.stop()
        if self.kept.text.strip():
            self._timer = self.set_timer(REST, self._ask)
        else:
            self._say(
                f"A sentence that others can use, as markdown; at most {count(MAX_CONTENT)} characters."
            )

    def _ask(self) -> None:
        kept, default = self.kept, self._default

        def weigh(store: Engram) -> Weighed:
            return store.weigh(**kept.fields(default))  # type: ignore[arg-type]

        self._home.ask("weigh", weigh, partial(self._weighed, kept), failed=partial(self._refused, kept))

    def _weighed(self, kept: NewLore, weighed: Weighed) -> None:
        if kept == self.kept:
            self._say(*answered(weighed))

    def _refused(self, kept: NewLore, line: str) -> None:
        if kept == self.kept:
            self._say(f"✗ {line}")

    def _say(self, *said: str) -> None:
        if self.is_mounted and self.is_attached:
            for known in self.query("#known").results(Static):  # none is left in a form that is being closed
                known.update("\n".join(safe_text(line) for line in said))


def answered(weighed: Weighed) -> list[str]:
    """What recording would answer, a line each."""
    said = []
    if weighed.merged_into:
        said.append(f"= says the same as “{weighed.merged_into.title}”: that one would take it in")
    if weighed.why:
        said.append(f"… would wait for review: {weighed.why}")
    said += [f"≠ says otherwise than “{one.title}”: {one.why}" for one in weighed.contradictions]
    said += [f"≈ {fraction(round(twin.similarity * 1000))} “{twin.title}”" for twin in weighed.similar]
    return said or ["✓ nothing like it is known here"]


def _several(text: str) -> list[str]:
    return text.replace(",", " ").split()
