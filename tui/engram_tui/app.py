"""The app itself: the store, the screens, what was done and undone, the theme, and who is told when the store changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App

from engram.adapters.git.run import process
from engram.adapters.git.run.failures import without_credentials
from engram_tui.browse import queries
from engram_tui.shell import actions
from engram_tui.shell.command_log import CommandLog
from engram_tui.shell.key_queue import Typist
from engram_tui.shell.sanitize import Gate
from engram_tui.shell.saved_state import Remembered
from engram_tui.shell.screen import ShellScreen
from engram_tui.shell.table import entry_named
from engram_tui.shell.terminal_watch import lasting
from engram_tui.shell.themes import theme_after, theme_named
from engram_tui.shell.undo import Step, Steps

if TYPE_CHECKING:
    from textual.driver import Driver

    from engram.app import Engram
    from engram_tui.new_entry.form import NewLore
    from engram_tui.shell.frame import Heading
    from engram_tui.shell.store_screen import Deed

LOOK = 0.5  # seconds between looks for changes of others


class EngramApp(App[None]):
    """Engram in a terminal."""

    TITLE = "Engram"
    ENABLE_COMMAND_PALETTE: ClassVar[bool] = False  # ours is under the same key
    NOTIFICATION_TIMEOUT = 5
    CSS = "Toast { max-width: 64; }"

    def __init__(self, store: Engram, *, plain: bool = False) -> None:
        """`plain` sends no colours at all; Textual's own answer to NO_COLOR still sends greys."""
        super().__init__(ansi_color=True if plain else None)
        self._plain = plain
        self._filters.append(Gate())
        self.store = store
        self.heading: Heading | None = None
        self.short_path = queries.short_path(store.path)
        self.steps = Steps()
        self.last_deed: Deed | None = None
        self.unsaved: NewLore | None = None  # what the form for a new lore holds
        self.commands = CommandLog()
        self.remembered = Remembered(store)
        keys = store.store.settings.get("app.keys")
        self.own_keys: dict[str, str] = dict(keys) if isinstance(keys, dict) else {}
        self.can_undo = store.store.places.owns_branch
        self._moves = actions.keys_of_moves(self.own_keys)
        self._typist = Typist(self, super().on_event, self._moves.__contains__)
        self._token: object = None
        self._looking = False
        if not plain:
            self._use_theme(self._first_theme())  # before the first style sheet is read, or it is read twice

    def on_mount(self) -> None:
        """Open on the screen of the last run."""
        process.listeners.append(self._git_ran)
        self.set_keymap(self.own_keys)
        self.remembered.set("theme_configured", self.store.store.settings.text("app.theme"))
        self.go(self.remembered.get("screen", "browse"))
        self.set_interval(LOOK, self._look)

    def on_unmount(self) -> None:
        """Keep what is to be remembered."""
        if self._git_ran in process.listeners:
            process.listeners.remove(self._git_ran)
        self.remembered.keep()

    async def on_event(self, event: events.Event) -> None:
        """Keys go one after another; everything else as usual."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._typist.type(event)
        else:
            await super().on_event(event)

    def hold_keys(self) -> Callable[[bool], None]:
        """Have keys wait until what is returned is called, with whether what they are for is there."""
        return self._typist.hold()

    @property
    def current(self) -> ShellScreen | None:
        """The screen of the table that is open, be it under a question."""
        return next(
            (screen for screen in reversed(self.screen_stack) if isinstance(screen, ShellScreen)), None
        )

    @property
    def under(self) -> str:
        """The screen of the table that is open, be it under a lore."""
        screens = [one.SCREEN for one in self.screen_stack if isinstance(one, ShellScreen) and not one.OVER]
        return screens[-1] if screens else ""

    def open_lore(self, lore_id: str, around: Sequence[str] = ()) -> None:
        """Show one lore over the open screen; `around` are the ids of the list it is of, in order."""
        from engram_tui.entry.screen import LoreScreen

        self.push_screen(LoreScreen(self.store, lore_id, around))

    def open_settings(self) -> None:
        """Show the settings over the open screen."""
        from engram_tui.settings.screen import SettingsScreen

        if not isinstance(self.current, SettingsScreen):
            self.push_screen(SettingsScreen(self.store))

    def close_over(self, lore_id: str = "") -> None:
        """Take away what lies over a screen of the table; `lore_id` is the lore that was looked at last."""
        while self.current is not None and self.current.OVER:
            self.pop_screen()
        if self.current is not None and lore_id:
            self.current.came_back(lore_id)

    def search(self, text: str) -> None:
        """Search in Browse."""
        from engram_tui.browse.screen import BrowseScreen

        self.go("browse")
        if isinstance(self.current, BrowseScreen):
            self.current.search_for(text)

    def go(self, name: str) -> None:
        """Open a screen; it is kept from then on."""
        entry = entry_named(name)
        self.close_over()
        if self.current is not None and entry.name == self.current.SCREEN:
            return
        if entry.name not in self._installed_screens:
            self.install_screen(entry.make(self.store), entry.name)
        self.remembered.set("screen", entry.name)
        if self.current is None:
            self.push_screen(entry.name)
        else:
            self.switch_screen(entry.name)

    def leave(self) -> None:
        """End the app."""
        self.remembered.keep()
        self.exit()

    def forget_unsaved(self) -> None:
        """What the form for a new lore held is written."""
        self.unsaved = None

    def abandon(self, code: int) -> None:
        """End the app from a thread, for nobody sees it any more; `code` is what the process returns."""
        self.remembered.keep()
        if self._loop is not None and self._loop.is_running():
            self._loop.call_soon_threadsafe(lambda: self.exit(return_code=code))

    def get_driver_class(self) -> type[Driver]:
        """The driver of this platform, one that a terminal may leave behind."""
        return lasting(super().get_driver_class())

    # Changes

    def look_at_store(self, screen: ShellScreen) -> None:
        """Find out what the first line says; cheap, but not so cheap that the first paint should wait."""
        screen.ask("heading", queries.read_heading, self._described)

    def written_here(self, screen: ShellScreen) -> None:
        """The app changed the store itself: no news, but the first line may say something else."""
        screen.ask("token", queries.token, self._know)
        for other in self._installed_screens.values():
            if isinstance(other, ShellScreen) and other is not screen:
                other.stale = True
        self.look_at_store(screen)

    def _described(self, heading: Heading) -> None:
        self.heading = heading
        if self.current is not None:
            self.current.show_frame()
            if heading.trouble:
                self.current.trouble(heading.trouble)

    def _know(self, token: object) -> None:
        self._token = token

    def _look(self) -> None:
        """Every half second: did somebody else change the store?"""
        if self._looking or self.current is None or self._token is None:
            return
        self._looking = True
        self.current.ask("look", queries.look, self._looked, failed=self._not_looked, exclusive=False)

    def _looked(self, token: object) -> None:
        self._looking = False
        if token is None or token == self._token:
            return
        self._token = token
        for screen in self._installed_screens.values():
            if isinstance(screen, ShellScreen):
                screen.stale = screen is not self.current
        if self.current is not None:
            self.current.store_changed()
            self.look_at_store(self.current)

    def _not_looked(self, line: str) -> None:
        self._looking = False
        if self.current is not None:
            self.current.trouble(line)

    def listed(self, screen: ShellScreen) -> None:
        """A screen shows the store as it is now: from here on changes are news."""
        if self._token is None:
            screen.ask("token", queries.token, self._know)
            self.look_at_store(screen)
            screen.ask("vectors", lambda store: store.start_vectors(), lambda _started: None)

    # Undo

    def take_back(self, screen: ShellScreen) -> None:
        """Take back what this app did last."""
        if not self.steps.done:
            screen.tell("Undo", "Nothing was done here yet that could be taken back.")
            return
        step = self.steps.done.pop()
        if step.operations:
            self.log_command("engram undo {}", (str(sum(step.operations.values())),))

        def undo(store: Engram) -> tuple[str, ...]:
            kept: tuple[str, ...] = ()
            for scope, written in step.operations.items():
                kept += store.undo(written, deed=step.deed, scope=scope).kept
            if step.back:
                step.back(store)
            return kept

        screen.ask("deed", undo, lambda kept: self._taken_back(screen, step, kept), exclusive=False,
                   failed=lambda line: self._failed(screen, "Undo", line))  # fmt: skip

    def _taken_back(self, screen: ShellScreen, step: Step, kept: tuple[str, ...]) -> None:
        self.steps.undone.append(step)
        self._tell(screen, "Taken back", f"{step.said} {' '.join(kept)}".strip(), "U brings it back")

    def bring_back(self, screen: ShellScreen) -> None:
        """Bring back what was taken back last."""
        if not self.steps.undone:
            screen.tell("Redo", "Nothing was taken back.")
            return
        step = self.steps.undone.pop()
        self.log_command("engram redo", ())

        def redo(store: Engram) -> None:
            for scope in step.operations:
                store.redo(scope=scope)
            if step.again:
                step.again(store)

        screen.ask("deed", redo, lambda _done: self._brought_back(screen, step), exclusive=False,
                   failed=lambda line: self._failed(screen, "Redo", line))  # fmt: skip

    def _brought_back(self, screen: ShellScreen, step: Step) -> None:
        self.steps.done.append(step)
        self._tell(screen, "Brought back", step.said, "u undoes it")

    def _tell(self, screen: ShellScreen, title: str, said: str, how: str) -> None:
        self.follow_settings()
        screen.tell(title, f"{said}  ·  {how}")
        self.written_here(screen)
        screen.store_changed()
        screen.refresh_bindings()

    def _failed(self, screen: ShellScreen, title: str, line: str) -> None:
        screen.trouble(f"{title}: {line}")

    # Log and themes

    def log_command(self, command: str, names: tuple[str, ...]) -> None:
        """Note what an action is on the command line."""
        if command:
            self.commands.engram(command.replace("{}", " ".join(names)))

    def show_log(self) -> None:
        """Show the commands that ran."""
        from engram_tui.shell.command_log_screen import CommandLogScreen

        self.push_screen(CommandLogScreen(self.commands))

    def _git_ran(self, arguments: tuple[str, ...], code: int, seconds: float) -> None:
        self.commands.git(tuple(without_credentials(word) for word in arguments), code, seconds)

    def next_theme(self) -> None:
        """Change to the next theme and keep it."""
        if self._plain:
            self.notify("NO_COLOR is set: there are no colours to change.", markup=False)
            return
        name = theme_after(self.theme).name
        self.choose_theme(name)
        self.notify(
            f"{name}; `engram config app.theme {name} --user` sets it for every store",
            title="Theme",
            markup=False,
        )

    def choose_theme(self, name: str) -> None:
        """Use a theme, and in this store from now on."""
        if not self._plain:
            self._use_theme(name)
        self.remembered.set("theme", name)
        self.remembered.set("theme_configured", self.store.store.settings.text("app.theme"))

    def follow_settings(self) -> None:
        """A theme that was set in the configuration counts at once."""
        name = self._first_theme()
        if not self._plain and name != self.theme:
            self.choose_theme(name)

    def _first_theme(self) -> str:
        configured = self.store.store.settings.text("app.theme")
        changed_since = self.remembered.get("theme_configured", configured) != configured
        return configured if changed_since else self.remembered.get("theme", configured)

    def _use_theme(self, name: str) -> None:
        theme = theme_named(name)
        self.register_theme(theme)
        self.theme = theme.name
