"""What a screen of the app is made of: its frame, its actions and the ways they run. A screen adds its body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.containers import Container
from textual.widgets import Input, Static

from engram_tui.shell import actions
from engram_tui.shell.action import Action, bindings, written
from engram_tui.shell.frame import NARROW, ROOMY, HeadingLine, KeyLine, TabLine
from engram_tui.shell.sanitize import words
from engram_tui.shell.store_screen import Deed, StoreWork, Written, carry_out
from engram_tui.shell.table import ENTRIES, actions_of, entry_named, every_action
from engram_tui.shell.undo import Step

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from engram.app import Engram
    from engram_tui.app import EngramApp
    from engram_tui.new_entry.form import NewLore


class ShellScreen(StoreWork):
    """A screen of the app. Subclasses set `name` and `BINDINGS`, and write `compose_body`."""

    SCREEN: ClassVar[str] = ""  # the name in the table of screens
    OVER: ClassVar[bool] = False  # it lies over a screen of the table and has no number key
    CHOOSES: ClassVar[str] = "lore"  # what `chosen` gives the ids of
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW, "-wide"), (ROOMY, "-roomy")]  # noqa: RUF012
    DEFAULT_CSS = """
    ShellScreen {
        & > #body { height: 1fr; }
        & > #trouble { display: none; height: auto; max-height: 4; padding: 0 1; background: $error 20%; color: $text-error; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(actions.ACTIONS)

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.stale = False  # the store changed while another screen was open
        self._last_keys: list[tuple[str, str]] = []

    # What a screen says

    def compose_body(self) -> Iterable:  # type: ignore[type-arg]
        """The widgets between the frame's lines."""
        return ()

    def store_changed(self) -> None:
        """Somebody else (or undo) changed the store: show what is there now, the cursor where it was."""

    def lore_changed(self, ids: Sequence[str]) -> None:  # noqa: ARG002
        """A deed of this app changed these lore: show it in place, in the order that there is."""
        self.store_changed()

    def came_back(self, lore_id: str) -> None:
        """A lore that was opened from here was left: the cursor goes to it."""

    def chosen(self) -> tuple[str, ...]:
        """The ids of the lore that a deed is about: the marked ones, else the one under the cursor."""
        return ()

    # The frame

    def compose(self) -> ComposeResult:
        """The store, the screens, the body, trouble, keys."""
        yield HeadingLine(id="heading", markup=False)
        yield TabLine()
        with Container(id="body"):
            yield from self.compose_body()
        yield Static(id="trouble", markup=False)
        yield KeyLine()

    @property
    def shell(self) -> EngramApp:
        """The app, as what it is."""
        return cast("EngramApp", self.app)

    @property
    def is_narrow(self) -> bool:
        """Whether one pane is all that fits."""
        return self.app.size.width < NARROW

    def show_frame(self) -> None:
        """Draw the lines of the frame anew."""
        if not self.is_mounted:
            return
        self.query_one(HeadingLine).show(self.shell.short_path, self.shell.heading)
        self.query_one(TabLine).show(self.shell.under, self.shell.heading, narrow=self.is_narrow)
        self._last_keys = []
        self.show_keys()

    def show_keys(self, _screen: object = None) -> None:
        """Draw the keys that matter now, if they are others than before."""
        if not self.is_mounted or not self.is_attached:
            return
        found = [
            (action, self.keys_of(action))
            for action in self.actions()
            if action.footer and self.enabled(action)
        ]
        drawn = [(action.name, keys) for action, keys in found]
        if drawn != self._last_keys:
            self._last_keys = drawn
            self.query_one(KeyLine).show(found)

    def on_mount(self) -> None:
        """Draw the frame; a subclass's own `on_mount` runs, too."""
        self.bindings_updated_signal.subscribe(self, self.show_keys)
        self.show_frame()

    def on_screen_resume(self) -> None:
        """Catch up with what happened while another screen was open."""
        self.call_after_refresh(self.show_frame)
        if self.stale:
            self.stale = False
            self.store_changed()

    def on_resize(self) -> None:
        """Another width has room for other things."""
        self.call_after_refresh(self.show_frame)

    def trouble(self, line: str) -> None:
        """One line about what went wrong; "" takes it away."""
        widget = self.query_one("#trouble", Static)
        widget.update(words(line))
        widget.display = bool(line)

    def keys_wait(self) -> Callable[[bool], None]:
        """Hold keys back until what is returned is called, with whether what they are for is there."""
        return self.shell.hold_keys()

    def tell(self, title: str, said: str) -> None:
        """A toast; it takes the place of the one before."""
        self.app.clear_notifications()
        self.notify(words(said), title=words(title), markup=False)

    # Actions

    def actions(self) -> tuple[Action, ...]:
        """Every action of this screen, its own first."""
        lists = actions.MOVES if self.query("LoreList") else ()
        return (*actions_of(self.SCREEN), *lists, *actions.ACTIONS)

    def keys_of(self, action: Action) -> str:
        """The keys of an action, those of the configuration if it says any."""
        return self.shell.own_keys.get(action.name, action.keys)

    def help_of(self, action: Action) -> str:
        """The sentence about an action."""
        steps = self.shell.steps
        said = {"undo": steps.next_undo, "redo": steps.next_redo}.get(action.name, "")
        return f"{action.help}: {said}" if said else action.help

    def enabled(self, action: Action) -> bool:
        """Whether an action makes sense now."""
        kind, colon, name = action.when.partition(":")
        if colon:
            assert kind == "screen"
            return entry_named(name).name == name
        wanted = getattr(self, action.when) if action.when else True
        return bool(wanted() if callable(wanted) else wanted)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """While one types, letters are letters; otherwise as the table says."""
        own = [known for known in self.actions() if known.called.partition("(")[0] == action]
        if not own or not self.is_mounted:
            return True
        if takes_letters(self.focused) and action != "palette":
            return False
        return True if action == "go" else any(self.enabled(known) for known in own)

    async def run(self, action: Action) -> None:
        """Run an action as its key would."""
        where = self.query(action.target).first() if action.target else self
        await self.app.run_action(action.called, where)

    def action_show_keys(self) -> None:
        """Every action of this screen; the one that is picked runs."""
        self._pick("Keys of this screen", [known for known in self.actions() if self.enabled(known)])

    def action_palette(self) -> None:
        """Every action of the app; what is of another screen goes there."""
        here = [known for known in self.actions() if self.enabled(known)]
        names = {action.name for action in self.actions()}
        self._pick(
            "Actions", [*here, *(known for known in every_action().values() if known.name not in names)]
        )

    def _pick(self, title: str, actions: Sequence[Action]) -> None:
        from engram_tui.shell.picker import Choice, Picker

        choices = [
            Choice(known.name, known.title, written(self.keys_of(known)), self.help_of(known))
            for known in actions
        ]
        self.app.push_screen(Picker(title, choices, hint="which one …"), self._picked)

    async def _picked(self, name: str | None) -> None:
        here = {action.name: action for action in self.actions()}
        if name in here:
            await self.run(here[name])
        elif name:
            elsewhere = next(e.name for e in ENTRIES if any(a.name == name for a in actions_of(e.name)))
            self.shell.go(elsewhere)

    # Deeds

    def do(self, deed: Deed, ids: tuple[str, ...]) -> None:
        """Carry out a deed on these lore; `.` does it again on what is chosen then."""
        if not ids and not deed.creates:
            self.tell(deed.title, "Nothing is chosen.")
            return
        if deed.repeats:
            self.shell.last_deed = deed
        self.shell.log_command(deed.command, ids)
        self.ask(
            "deed",
            lambda store: carry_out(store, deed, ids),
            lambda done: self._deed_done(deed, ids, done),
            exclusive=False,
        )

    def _deed_done(self, deed: Deed, ids: tuple[str, ...], done: Written) -> None:
        self.trouble(done.trouble)
        if done.mark.operations or (deed.back and done.said):
            said = f"{deed.title}: {done.said or 'a part of it'}"
            step = Step(said, done.mark.name, done.mark.operations, deed.back, deed.again)
            self.shell.steps.add(step)
        if done.said:
            undoable = self.shell.can_undo if done.mark.operations else deed.back
            how = "  ·  u undoes it" if undoable else ""
            self.tell(deed.title, f"{done.said}{how}")
        self.shell.written_here(self)
        if not deed.creates:
            self.lore_changed(ids)
        elif done.mark.operations:
            self.store_changed()
        self.refresh_bindings()

    def action_repeat(self) -> None:
        """The last deed once more."""
        if self.shell.last_deed is None:
            self.tell("Repeat", "Nothing was changed yet that could be repeated.")
        elif self.shell.last_deed.about != self.CHOOSES:
            self.tell("Repeat", f"{self.shell.last_deed.title} was about another kind of thing.")
        else:
            self.do(self.shell.last_deed, self.chosen())

    def action_undo(self) -> None:
        """Take back the last deed."""
        self.shell.take_back(self)

    def action_redo(self) -> None:
        """Bring it back."""
        self.shell.bring_back(self)

    # What the app does

    def action_go(self, name: str) -> None:
        """Another screen."""
        self.shell.go(name)

    def action_new_lore(self) -> None:
        """The form for a new lore; what was typed into it before is still there."""
        from engram_tui.new_entry.form import NewLore, NewLoreForm

        form = NewLoreForm(self, self.shell.unsaved or NewLore())
        self.app.push_screen(form, lambda wanted: self._record(form.kept, wanted))

    def _record(self, kept: NewLore, wanted: NewLore | None) -> None:
        """Record what was wanted; the form keeps it until it is written."""
        from engram_tui.entry_actions import commands

        self.shell.unsaved = kept
        if wanted is not None:
            default = self.store.store.settings.text("record.category")
            self.do(commands.record(wanted.fields(default), self.shell.forget_unsaved), ())

    def action_log(self) -> None:
        """The commands that ran."""
        self.shell.show_log()

    def action_settings(self) -> None:
        """What is set, and where that comes from."""
        self.shell.open_settings()

    def action_theme(self) -> None:
        """The next theme."""
        self.shell.next_theme()

    def action_refresh(self) -> None:
        """Read every file again."""
        self.ask("refresh", lambda store: store.refresh(), lambda _done: self.store_changed())

    def action_leave(self) -> None:
        """Leave."""
        self.shell.leave()


def takes_letters(widget: Widget | None) -> bool:
    """Whether one types into this widget; by name, as importing the editor costs a tenth of the first paint."""
    return isinstance(widget, Input) or any(kind.__name__ == "TextArea" for kind in type(widget).__mro__)
