"""The base of all screens: the frame, the actions with their keys, and running commands. A screen adds its body."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.actions import parse
from textual.containers import Container
from textual.widgets import Input, Static

from engram_tui.shell.action import Action, key_label, make_bindings
from engram_tui.shell.actions import ACTIONS, MOVES
from engram_tui.shell.command import Command, Outcome, run_command
from engram_tui.shell.frame import NARROW, HeadingLine, KeyLine, TabLine
from engram_tui.shell.sanitize import safe_line
from engram_tui.shell.store_screen import StoreScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from engram.app import Engram
    from engram_tui.shell.app import ShellApp
    from engram_tui.shell.picker import Choice


class ShellScreen(StoreScreen):
    """A screen of the app. Subclasses set `SCREEN` and `OWN_ACTIONS`, which are bound to their keys, and define `compose_body`."""

    OWN_ACTIONS: ClassVar[tuple[Action, ...]] = ()
    SELECTS: ClassVar[str] = "entry"  # what `selected_ids` identifies
    DEFAULT_CSS = """
    ShellScreen {
        & > #body { height: 1fr; }
        & > #error { display: none; height: auto; max-height: 4; padding: 0 1; background: $error 20%; color: $text-error; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = make_bindings(ACTIONS)

    def __init_subclass__(cls, **options: bool) -> None:
        if "OWN_ACTIONS" in cls.__dict__:
            cls.BINDINGS = make_bindings(cls.OWN_ACTIONS)
        super().__init_subclass__(**options)

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self._last_keys: list[tuple[str, str]] = []
        self._is_covered = False

    # To be overridden

    def compose_body(self) -> Iterable:  # type: ignore[type-arg]
        """Yield the widgets between the lines of the frame."""
        return ()

    def entries_changed(self, ids: Sequence[str]) -> None:  # noqa: ARG002
        """Update these entries after a command of this app, without reordering the list."""
        self.store_changed()

    def selected_ids(self) -> tuple[str, ...]:
        """Return the ids that a command is about: the marked entries, else the one under the cursor."""
        return ()

    # The detail pane: beside the list, or on a narrow terminal in its place

    def is_reading(self) -> bool:
        """Return whether the detail pane has the focus."""
        return self.has_class("-reading")

    def is_listing(self) -> bool:
        """Return whether the list has the focus."""
        return not self.is_reading()

    def go_into(self, pane: Widget) -> None:
        """Go from the list into the detail pane."""
        self.add_class("-reading")
        self.set_focus(pane)
        self.refresh_bindings()

    def action_back(self) -> None:
        """Go from the detail pane back to the list."""
        self.remove_class("-reading")
        self.set_focus(self.query_one(str(self.AUTO_FOCUS)))
        self.refresh_bindings()

    # The frame

    def compose(self) -> ComposeResult:
        """Yield the heading, the tabs, the body, the error, the keys."""
        yield HeadingLine(id="heading", markup=False)
        yield TabLine()
        with Container(id="body"):
            yield from self.compose_body()
        yield Static(id="error", markup=False)
        yield KeyLine()

    @property
    def shell(self) -> ShellApp:
        """The app."""
        return cast("ShellApp", self.app)

    @property
    def is_narrow(self) -> bool:
        """Whether only one pane fits."""
        return self.app.size.width < NARROW

    def show_frame(self) -> None:
        """Redraw the lines around the body."""
        if not self.is_mounted:
            return
        shell = self.shell
        self.query_one(HeadingLine).show(shell.short_path, shell.heading)
        self.query_one(TabLine).show(shell.TABS, shell.current_tab, shell.heading, narrow=self.is_narrow)
        self._last_keys = []
        self.show_keys()

    def show_keys(self, _screen: object = None) -> None:
        """Draw the keys that matter now, if they changed; none under a dialog, which has its own."""
        if not self.is_mounted or not self.is_attached:
            return
        candidates = () if self._is_covered else self._typing_actions() or self.actions()
        found = [
            (action._replace(title=self.title_of(action)), self.keys_of(action))
            for action in candidates
            if action.footer and self.enabled(action)
        ]
        drawn = [(action.title, keys) for action, keys in found]
        if drawn != self._last_keys:
            self._last_keys = drawn
            self.query_one(KeyLine).show(found)

    def _typing_actions(self) -> tuple[Action, ...]:
        """Return the actions of the text field that has the focus, if any."""
        return getattr(self.focused, "ACTIONS", ()) if is_text_field(self.focused) else ()

    def on_mount(self) -> None:
        """Draw the frame; a subclass's own `on_mount` runs, too."""
        self.bindings_updated_signal.subscribe(self, self.show_keys)
        self.show_frame()

    def on_screen_resume(self) -> None:
        """Catch up with what changed while another screen was open."""
        self._is_covered = False
        self.call_after_refresh(self.show_frame)
        if self.stale:
            self.stale = False
            self.store_changed()

    def on_screen_suspend(self) -> None:
        """Hide the keys: another screen gets them from now on."""
        self._is_covered = True
        self.show_keys()

    def on_resize(self) -> None:
        """Draw the frame for the new width."""
        self.call_after_refresh(self.show_frame)

    def show_error(self, line: str) -> None:
        """Show an error in one line; "" hides it."""
        widget = self.query_one("#error", Static)
        widget.update(safe_line(line))
        widget.display = bool(line)

    def hold_keys(self) -> Callable[[bool], None]:
        """Hold keys back until the returned function is called with whether their target opened."""
        return self.shell.hold_keys()

    # Actions

    def actions(self) -> tuple[Action, ...]:
        """Return every action of this screen, its own first."""
        lists = MOVES if self.query("EntryList") else ()
        return (*self.OWN_ACTIONS, *lists, *ACTIONS)

    def keys_of(self, action: Action) -> str:
        """Return the keys of an action, those of the configuration if it has any."""
        return self.shell.own_keys.get(action.name, action.keys)

    def title_of(self, action: Action) -> str:
        """Return the title of an action for the current selection."""
        return action.title

    def help_of(self, action: Action) -> str:
        """Return the sentence about an action."""
        stack = self.shell.undo_stack
        step = {"undo": stack.next_undo, "redo": stack.next_redo}.get(action.name, "")
        return f"{action.help}: {step}" if step else action.help

    def enabled(self, action: Action) -> bool:
        """Return whether an action is possible now."""
        if not action.when:
            return True
        _, name, arguments = parse(action.when)
        condition = getattr(self, name)
        return bool(condition(*arguments) if callable(condition) else condition)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable keys while the user types, and otherwise by the table of actions."""
        matching = [known for known in self.actions() if parse(known.call)[1:] == (action, parameters)]
        if not matching or not self.is_mounted:
            return True
        if is_text_field(self.focused) and action != "palette":
            return False
        return any(self.enabled(known) for known in matching)

    @on(KeyLine.Pressed)
    async def key_pressed(self, event: KeyLine.Pressed) -> None:
        """Run the action that was clicked in the line of keys."""
        await self.run(event.action)

    async def run(self, action: Action) -> None:
        """Run an action as its key would."""
        target = self.query(action.target).first() if action.target else self
        await self.app.run_action(action.call, target)

    def action_show_keys(self) -> None:
        """List every action of this screen; the one that is picked runs."""
        self._pick("Keys of this screen", [action for action in self.actions() if self.enabled(action)])

    def action_palette(self) -> None:
        """List every action of the app; one of another screen opens that screen."""
        here = [action for action in self.actions() if self.enabled(action)]
        names = {action.name for action in self.actions()}
        elsewhere = {action.name: action for tab in self.shell.TABS for action in tab.actions()}
        self._pick("Actions", [*here, *(action for name, action in elsewhere.items() if name not in names)])

    def _pick(self, title: str, actions: Sequence[Action]) -> None:
        from engram_tui.shell.picker import Choice

        own = {key_label(self.keys_of(action)) for action in self.OWN_ACTIONS if self.enabled(action)}
        choices = [
            Choice(action.name, self.title_of(action), label, self.help_of(action))
            for action in actions
            if (label := key_label(self.keys_of(action))) not in own or action not in MOVES
        ]
        self.pick(title, choices, self._handle_pick, "which one …")

    async def _handle_pick(self, name: str) -> None:
        here = {action.name: action for action in self.actions()}
        if name in here:
            await self.run(here[name])
        else:
            tabs = self.shell.TABS
            self.shell.go(next(tab.name for tab in tabs if name in [action.name for action in tab.actions()]))

    # Dialogs

    def confirm(self, title: str, question: str, then: Callable[[], Any]) -> None:
        """Ask a question; call `then` if the answer is yes."""
        from engram_tui.shell.prompts import Confirm

        self.app.push_screen(Confirm(title, question), lambda yes: then() if yes else None)

    def pick(self, title: str, choices: Sequence[Choice], then: Callable[[str], Any], hint: str = "") -> None:
        """Let the user pick one of these; call `then` with its value."""
        from engram_tui.shell.picker import Picker

        self.app.push_screen(
            Picker(title, choices, hint=hint), lambda value: None if value is None else then(value)
        )

    def prompt(
        self, title: str, then: Callable[[str], Any], value: str = "", *, hint: str = "", explain: str = ""
    ) -> None:
        """Let the user type a line; call `then` with it."""
        from engram_tui.shell.prompts import Prompt

        self.app.push_screen(
            Prompt(title, value, hint=hint, explain=explain),
            lambda line: None if line is None else then(line),
        )

    # Commands

    def execute(self, command: Command, ids: tuple[str, ...]) -> None:
        """Run a command on these entries; `.` runs it again on the selection of that time."""
        if not ids and not command.creates:
            self.toast(command.title, "Nothing is selected.")
            return
        if command.repeats:
            self.shell.last_command = command
        self.shell.log_command(command.command_line, ids)
        self.ask(
            "command",
            lambda store: run_command(store, command, ids),
            lambda outcome: self.command_done(command, ids, outcome),
            exclusive=False,
        )

    def command_done(self, command: Command, ids: tuple[str, ...], outcome: Outcome) -> None:
        """Report what a command did, keep how to undo it, and show the entries as they are now."""
        self.show_error(outcome.error)
        if outcome.mark.operations or (command.undo and outcome.message):
            message = f"{command.title}: {outcome.message or 'a part of it'}"
            mark = outcome.mark
            self.shell.note_done(self, message, mark.name, mark.operations, command.undo, command.redo)
        if outcome.message:
            commits = sum(outcome.mark.operations.values()) - len(outcome.mark.judgements)
            undoable = self.shell.can_undo if commits else outcome.mark.judgements or command.undo
            hint = "  ·  u undoes it" if undoable else ""
            self.toast(command.title, f"{outcome.message}{hint}")
        self.shell.note_own_change(self)
        if not command.creates:
            self.entries_changed(ids)
        elif outcome.mark.operations:
            self.store_changed()
        self.refresh_bindings()

    def action_repeat(self) -> None:
        """Run the last command once more."""
        command = self.shell.last_command
        if command is None:
            self.toast("Repeat", "There is nothing to repeat yet.")
        elif command.target != self.SELECTS:
            self.toast("Repeat", f"{command.title} was about another kind of thing.")
        else:
            self.execute(command, self.selected_ids())

    def action_undo(self) -> None:
        """Undo the last command."""
        self.shell.undo(self)

    def action_undo_list(self) -> None:
        """List what can be undone, newest first; the picked step is undone, later ones stay."""
        from engram_tui.shell.picker import Choice

        done = self.shell.undo_stack.done
        if not done:
            self.toast("Undo", "There is nothing to undo here yet.")
            return
        choices = [
            Choice(str(at), step.message, f"{time.strftime('%H:%M', time.localtime(step.at))}  {step.screen}")
            for at, step in reversed([*enumerate(done)])
        ]
        self.pick("Undo which", choices, lambda at: self.shell.undo(self, int(at)), "when, where, what …")

    def action_redo(self) -> None:
        """Redo the command that was undone last."""
        self.shell.redo(self)

    # Actions of the app

    def action_go(self, name: str) -> None:
        """Open another tab."""
        self.shell.go(name)

    def action_new_lore(self) -> None:
        """Open the form for a new entry."""
        self.shell.new_entry()

    def action_log(self) -> None:
        """Show the commands that ran."""
        self.shell.show_log()

    def action_settings(self) -> None:
        """Open the settings."""
        self.shell.open_settings()

    def action_theme(self) -> None:
        """Change to the next theme."""
        self.shell.next_theme()

    def action_refresh(self) -> None:
        """Read every file again."""
        self.ask("refresh", lambda store: store.refresh(), lambda _done: self.store_changed())

    def action_leave(self) -> None:
        """Leave the app."""
        self.shell.leave()


def is_text_field(widget: Widget | None) -> bool:
    """Return whether this widget takes text. `TextArea` goes by name: importing it costs a tenth of the first paint."""
    return isinstance(widget, Input) or any(kind.__name__ == "TextArea" for kind in type(widget).__mro__)
