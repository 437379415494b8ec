"""The settings screen: every setting with its value, origin and meaning, to be changed in the user's own file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.widgets import OptionList, Static

from engram.adapters.files.places import user_config_file
from engram.usecases.store.configuration import DEFAULT, OWN, STORE, Setting
from engram_tui.settings.actions import ACTIONS
from engram_tui.shell.command import Command, Outcome
from engram_tui.shell.sanitize import safe_line
from engram_tui.shell.screen import ShellScreen
from engram_tui.shell.store_watch import abbreviate_home
from engram_tui.widgets.option_lines import OptionLines

if TYPE_CHECKING:
    from textual.widget import Widget

    from engram.app import Engram

_ORIGINS = {STORE: "the store's file", OWN: "your own file"}
_MARKS = {DEFAULT: " ", STORE: "◆", OWN: "●"}


class SettingsScreen(ShellScreen):
    """Shows and changes settings."""

    SCREEN = "settings"
    OVERLAY = True
    AUTO_FOCUS = "#settings"
    DEFAULT_CSS = """
    SettingsScreen {
        & #about { height: 1; padding: 0 1; background: $surface; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        & #settings { height: 1fr; padding: 0 1; }
        & ToastRack { margin-bottom: 9; }
        & #doc { height: auto; min-height: 4; max-height: 8; padding: 0 1; border-top: solid $primary 40%; background: $surface; }
        &.-low #doc { min-height: 3; max-height: 3; }
        &.-low ToastRack { margin-bottom: 1; }
    }
    """
    OWN_ACTIONS = ACTIONS

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.settings: Sequence[Setting] = ()

    def compose_body(self) -> Iterator[Widget]:
        """Yield the list, and the meaning of the setting under the cursor."""
        about = f"◆ the store's file · ● your own, {abbreviate_home(user_config_file())}"
        yield Static(safe_line(about), id="about", markup=False)
        yield OptionLines(id="settings")
        yield Static(id="doc", markup=False)

    def on_mount(self) -> None:
        """Read the settings."""
        self.store_changed()

    @property
    def current(self) -> Setting | None:
        """The setting under the cursor."""
        index = self.query_one(OptionLines).highlighted
        return self.settings[index] if index is not None and index < len(self.settings) else None

    def can_change(self) -> bool:
        """Return whether the setting under the cursor can be changed here; tables are edited in the file."""
        return self.current is not None and not isinstance(self.current.key.default, dict)

    def is_own(self) -> bool:
        """Return whether the setting under the cursor is set in the user's own file."""
        return self.current is not None and self.current.origin == OWN

    def store_changed(self) -> None:
        """Read the settings again."""
        self.ask("settings", lambda store: store.configuration(), self._receive)

    def _receive(self, settings: Sequence[Setting]) -> None:
        self.settings = settings
        width = min(max(len(setting.key.name) for setting in settings), self.app.size.width // 2)
        lines = [
            f"{_MARKS[setting.origin]} {setting.key.name:<{width}}  {safe_line(value_text(setting.value), 60)}"
            for setting in settings
        ]
        self.query_one(OptionLines).show(lines, "")
        self._explain()

    @on(OptionList.OptionHighlighted)
    def moved(self) -> None:
        """Explain the setting under the cursor."""
        self._explain()

    def _explain(self) -> None:
        setting = self.current
        if setting is None:
            return
        key = setting.key
        about = [f"{key.doc}{' Applies only in your own file.' if key.user_only else ''}"]
        if setting.origin == DEFAULT:
            about.append("the default")
        else:
            default = value_text(key.default) or "none"
            about.append(f"from {_ORIGINS[setting.origin]}; default: {default}")
        if key.choices:
            about.append(f"one of: {', '.join(key.choices)}")
        elif key.low is not None and key.high is not None:
            about.append(f"from {key.low:g} to {key.high:g}")
        if isinstance(key.default, dict):
            about.append("A table: edit the file (docs/configuration.md).")
        self.query_one("#doc", Static).update("\n".join(safe_line(line) for line in about))
        self.refresh_bindings()

    # Changing

    def on_option_list_option_selected(self) -> None:
        """Change the setting that was clicked."""
        self.action_change()

    def action_change(self) -> None:
        """Pick or type the value."""
        from engram_tui.shell.picker import Choice

        setting = self.current
        if setting is None or not self.can_change():
            return
        key, value = setting.key, value_text(setting.value)
        configure = partial(self._configure, setting)
        names = key.choices or (("true", "false") if isinstance(key.default, bool) else ())
        if names:
            choices = [Choice(name, name, after="set now" if name == value else "") for name in names]
            self.pick(key.name, choices, configure, "which …")
        else:
            self.prompt(key.name, configure, "" if key.secret else value, explain=key.doc)

    def action_unset(self) -> None:
        """Remove the setting from the user's own file: the store's value or the default applies again."""
        if self.current is not None:
            self._configure(self.current, None)

    def _configure(self, setting: Setting, text: str | None) -> None:
        before = value_text(setting.value) if setting.origin == OWN else None
        self.execute(set_command(setting.key.name, text, before), ())

    def command_done(self, command: Command, ids: tuple[str, ...], outcome: Outcome) -> None:
        """Show the new value, and apply a new theme."""
        super().command_done(command, ids, outcome)
        self.shell.follow_settings()
        self.store_changed()

    def action_copy_file(self) -> None:
        """Copy the path of the user's own file."""
        self.app.copy_to_clipboard(user_config_file())
        self.toast("Copied", user_config_file())

    def action_leave_settings(self) -> None:
        """Go back to the previous screen."""
        self.app.pop_screen()


def set_command(name: str, text: str | None, before: str | None) -> Command:
    """Set a setting in the user's own file, or (None) unset it; `before` is its value there."""

    def configure(value: str | None, store: Engram) -> bool:
        store.configure(name, value)
        return True

    def execute(store: Engram, _ids: tuple[str, ...]) -> str:
        change = "is no longer set in your own file" if text is None else "is set in your own file"
        return f"{name} {change}: {value_text(store.configure(name, text)) or 'none'}"

    command_line = f"engram config {name} {'--unset' if text is None else text} --user"
    undo, redo = partial(configure, before), partial(configure, text)
    return Command("Settings", execute, command_line, repeats=False, creates=True, undo=undo, redo=redo)


def value_text(value: object) -> str:
    """Format a value as the user would type it."""
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
