"""The base of the app: the store, navigation, undo, changes by others, the command log, themes, keys.

`engram_tui.app` adds the screens; this module knows none of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App

from engram.adapters.git.run import process
from engram.adapters.git.run.failures import without_credentials
from engram_tui.shell.actions import move_keys
from engram_tui.shell.command_log import CommandLog
from engram_tui.shell.frame import HIGH, NARROW, ROOMY
from engram_tui.shell.idle_collection import IDLE, IdleCollection
from engram_tui.shell.key_queue import KeyQueue
from engram_tui.shell.sanitize import SanitizeFilter
from engram_tui.shell.saved_state import SavedState
from engram_tui.shell.store_screen import StoreScreen
from engram_tui.shell.store_watch import Heading, abbreviate_home, change_token, poll_changes, read_heading
from engram_tui.shell.terminal_watch import tolerant_driver
from engram_tui.shell.themes import find_theme, next_theme
from engram_tui.shell.undo import Step, UndoStack, redo_step, undo_step

if TYPE_CHECKING:
    from textual.driver import Driver

    from engram.app import Engram
    from engram_tui.shell.command import Command
    from engram_tui.shell.tabs import Tab

FORMER_TABS = {"review": "inbox"}  # names in the saved state of earlier versions
POLL_INTERVAL = 0.5  # seconds between checks for changes by others


class ShellApp(App[None]):
    """An app of tabs on one store."""

    TITLE = "Engram"
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False  # our own palette has the same key
    NOTIFICATION_TIMEOUT = 5
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW, "-wide"), (ROOMY, "-roomy")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (HIGH, "-high")]  # noqa: RUF012
    CSS = "Toast { max-width: 100%; } .-low Toast { padding: 0 1; margin-top: 0; }"
    TABS: ClassVar[tuple[Tab, ...]] = ()  # in the order of their number keys

    def __init__(self, store: Engram, *, plain: bool = False) -> None:
        """`plain` disables all colours; Textual's own support of NO_COLOR still sends greys."""
        super().__init__(ansi_color=True if plain else None)
        self._plain = plain
        self._filters.append(SanitizeFilter())
        self.store = store
        self.heading: Heading | None = None
        self.short_path = abbreviate_home(store.path)
        self.undo_stack = UndoStack()
        self.last_command: Command | None = None
        self.command_log = CommandLog()
        self.saved = SavedState(store)
        self.own_keys: dict[str, str] = store.store.settings.table("app.keys")
        self.can_undo = store.store.places.owns_branch
        self._key_queue = KeyQueue(self, super().on_event, move_keys(self.own_keys).__contains__)
        self._garbage = IdleCollection()
        self._token: object = None
        if not plain:
            self._use_theme(self._stored_theme())  # before the first style sheet is read, or it is read twice

    def on_mount(self) -> None:
        """Open on the screen of the last run."""
        process.listeners.append(self._log_git)
        self.set_keymap(self.own_keys)
        self.saved.set("theme_configured", self.store.store.settings.text("app.theme"))
        self.go(self.saved.get("screen", "browse"))
        self.set_interval(POLL_INTERVAL, self._poll)
        self.set_interval(IDLE, self._garbage.collect)

    def on_unmount(self) -> None:
        """Save the state for the next run."""
        self._garbage.end()
        if self._log_git in process.listeners:
            process.listeners.remove(self._log_git)
        self.saved.save()

    def get_driver_class(self) -> type[Driver]:
        """Return the driver of this platform, made to survive the loss of its terminal."""
        return tolerant_driver(super().get_driver_class())

    def leave(self) -> None:
        """End the app."""
        self.saved.save()
        self.exit()

    def abandon(self, code: int) -> None:
        """End the app, from a thread, because its terminal is gone; `code` is the exit code."""
        self.saved.save()
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(lambda: self.exit(return_code=code))

    # Keys

    async def on_event(self, event: events.Event) -> None:
        """Queue keys, so that they act one after another; handle other events as usual."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._garbage.note_key()
            self._key_queue.put(event)
        else:
            await super().on_event(event)

    def hold_keys(self) -> Callable[[bool], None]:
        """Hold keys back until the returned function is called with whether their target opened."""
        return self._key_queue.hold()

    # Screens

    @property
    def current(self) -> StoreScreen | None:
        """The open screen, even if a dialog lies over it."""
        return next(
            (screen for screen in reversed(self.screen_stack) if isinstance(screen, StoreScreen)), None
        )

    @property
    def current_tab(self) -> str:
        """The name of the open tab, even if an overlay lies over it."""
        screens = [screen for screen in self.screen_stack if isinstance(screen, StoreScreen)]
        return next((screen.SCREEN for screen in reversed(screens) if not screen.OVERLAY), "")

    def tab(self, name: str) -> Tab:
        """Return the tab with this name, else the first."""
        name = FORMER_TABS.get(name, name)
        return next((tab for tab in self.TABS if tab.name == name), self.TABS[0])

    def go(self, name: str) -> None:
        """Open a tab; its screen is kept from then on."""
        tab = self.tab(name)
        self.close_overlays()
        if self.current is not None and tab.name == self.current.SCREEN:
            return
        if tab.name not in self._installed_screens:
            self.install_screen(tab.make_screen(self.store), tab.name)
        self.saved.set("screen", tab.name)
        if self.current is None:
            self.push_screen(tab.name)
        else:
            self.switch_screen(tab.name)

    def close_overlays(self, entry_id: str = "") -> None:
        """Close the screens over the tab; `entry_id` is the entry that was shown last."""
        while self.current is not None and self.current.OVERLAY:
            self.pop_screen()
        if self.current is not None and entry_id:
            self.current.returned_from(entry_id)

    def open_entry(self, entry_id: str, list_ids: Sequence[str] = ()) -> None:
        """Show an entry over the open screen; `list_ids` are the ids of the list it is in, in order."""
        raise NotImplementedError

    def open_settings(self) -> None:
        """Show the settings over the open screen."""
        raise NotImplementedError

    def search(self, text: str) -> None:
        """Search for a text in Browse."""
        raise NotImplementedError

    def new_entry(self) -> None:
        """Open the form for a new entry."""
        raise NotImplementedError

    # Changes by others

    def refresh_heading(self, screen: StoreScreen) -> None:
        """Read the heading; cheap, but not so cheap that the first paint should wait for it."""
        screen.ask("heading", read_heading, self._receive_heading)

    def note_waiting(self, counts: Mapping[str, int]) -> None:
        """Show how many items wait; `counts` has their number by kind."""
        waiting = sum(counts.values())
        if self.heading is not None and self.heading.waiting != waiting:
            self._receive_heading(self.heading._replace(waiting=waiting))

    def _receive_heading(self, heading: Heading) -> None:
        self.heading = heading
        if self.current is not None:
            self.current.show_frame()
            if heading.error:
                self.current.show_error(heading.error)

    def note_own_change(self, screen: StoreScreen) -> None:
        """Note that the app itself changed the store: other screens and the status line are stale."""
        screen.ask("token", change_token, self._receive_token)
        for other in self._installed_screens.values():
            if isinstance(other, StoreScreen) and other is not screen:
                other.stale = True
        self.refresh_heading(screen)

    def note_shown(self, screen: StoreScreen) -> None:
        """Note that a screen shows the current store: from now on, poll for changes."""
        if self._token is None:
            screen.ask("token", change_token, self._receive_token)
            self.refresh_heading(screen)
            screen.ask("vectors", lambda store: store.start_vectors(), lambda _started: None)

    def _receive_token(self, token: object) -> None:
        self._token = token

    def _poll(self) -> None:
        """Check whether somebody else changed the store."""
        if self.current is not None and self._token is not None:
            self.current.ask_if_idle("look", poll_changes, self._handle_poll)

    def _handle_poll(self, token: object) -> None:
        if token is None or token == self._token:
            return
        self._token = token
        for screen in self._installed_screens.values():
            if isinstance(screen, StoreScreen):
                screen.stale = screen is not self.current
        if self.current is not None:
            self.current.store_changed()
            self.refresh_heading(self.current)

    # Undo

    def note_done(
        self, screen: StoreScreen, message: str, mark: str, operations: dict[str, int],
        undo: Callable[[Engram], bool] | None = None, redo: Callable[[Engram], bool] | None = None,
    ) -> None:  # fmt: skip
        """Log a change that was made on a screen, and keep how to undo it."""
        tab = self.tab(self.current_tab).title
        self.undo_stack.add(Step(message, mark, operations, {}, undo, redo, time.time(), tab))
        self.command_log.say(message)
        screen.refresh_bindings()

    def undo(self, screen: StoreScreen, at: int = -1) -> None:
        """Undo the step at this index of the undo stack, by default the last one."""
        if not self.undo_stack.done:
            screen.toast("Undo", "There is nothing to undo here yet.")
            return
        step = self.undo_stack.done.pop(at)
        if step.operations:
            self.log_command("engram undo {}", (str(sum(step.operations.values())),))
        screen.ask("command", lambda store: undo_step(store, step), lambda notes: self._handle_undo(screen, step, notes),
                   exclusive=False, failed=lambda line: screen.show_error(f"Undo: {line}"))  # fmt: skip

    def _handle_undo(self, screen: StoreScreen, step: Step, notes: tuple[str, ...]) -> None:
        self.undo_stack.undone.append(step)
        self._report(screen, "Undone", f"{step.message} {' '.join(notes)}".strip(), "ctrl+r redoes it")

    def redo(self, screen: StoreScreen) -> None:
        """Redo the step that was undone last."""
        if not self.undo_stack.undone:
            screen.toast("Redo", "Nothing was undone.")
            return
        step = self.undo_stack.undone.pop()
        self.log_command("engram redo", ())
        screen.ask("command", lambda store: redo_step(store, step), lambda _done: self._handle_redo(screen, step),
                   exclusive=False, failed=lambda line: screen.show_error(f"Redo: {line}"))  # fmt: skip

    def _handle_redo(self, screen: StoreScreen, step: Step) -> None:
        self.undo_stack.done.append(step)
        self._report(screen, "Redone", step.message, "u undoes it")

    def _report(self, screen: StoreScreen, title: str, text: str, hint: str) -> None:
        self.follow_settings()
        self.command_log.say(f"{title}: {text}")
        screen.toast(title, f"{text}  ·  {hint}")
        self.note_own_change(screen)
        screen.store_changed()
        screen.refresh_bindings()

    # Log and themes

    def log_command(self, command_line: str, names: tuple[str, ...]) -> None:
        """Log the command that is equivalent to an action."""
        if command_line:
            self.command_log.add(command_line.replace("{}", " ".join(names)))

    def show_log(self) -> None:
        """Show the commands that ran."""
        from engram_tui.shell.text_screen import CommandLogScreen

        self.push_screen(CommandLogScreen(self.command_log))

    def _log_git(self, arguments: tuple[str, ...], code: int, seconds: float) -> None:
        self.command_log.add_git(tuple(without_credentials(word) for word in arguments), code, seconds)

    def next_theme(self) -> None:
        """Switch to the next theme and keep it."""
        if self._plain:
            self.notify("NO_COLOR is set: there are no colours to change.", markup=False)
            return
        name = next_theme(self.theme).name
        self.choose_theme(name)
        self.notify(
            f"{name}; `engram config app.theme {name} --user` sets it for every store",
            title="Theme",
            markup=False,
        )

    def choose_theme(self, name: str) -> None:
        """Use a theme in this store from now on."""
        if not self._plain:
            self._use_theme(name)
        self.saved.set("theme", name)
        self.saved.set("theme_configured", self.store.store.settings.text("app.theme"))

    def follow_settings(self) -> None:
        """Apply a theme that was set in the configuration."""
        name = self._stored_theme()
        if not self._plain and name != self.theme:
            self.choose_theme(name)

    def _stored_theme(self) -> str:
        """Return the saved theme, or the configured one if that changed since."""
        configured = self.store.store.settings.text("app.theme")
        changed_since = self.saved.get("theme_configured", configured) != configured
        return configured if changed_since else self.saved.get("theme", configured)

    def _use_theme(self, name: str) -> None:
        theme = find_theme(name)
        self.register_theme(theme)
        self.theme = theme.name
