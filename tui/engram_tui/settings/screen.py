"""Every setting: its value, where it comes from, what it means; and changing one in the person's own file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widgets import OptionList, Static

from engram.adapters.files.places import user_config_file
from engram.usecases.store.configuration import DEFAULT, OWN, STORE
from engram_tui.browse.queries import short_path
from engram_tui.entry.parts import Lines
from engram_tui.settings.actions import ACTIONS
from engram_tui.shell.action import bindings
from engram_tui.shell.sanitize import words
from engram_tui.shell.screen import ShellScreen
from engram_tui.shell.store_screen import Deed

if TYPE_CHECKING:
    from textual.binding import BindingType
    from textual.widget import Widget

    from engram.app import Engram
    from engram.usecases.store.configuration import Setting
    from engram_tui.shell.store_screen import Written

_FROM = {STORE: "the store's file", OWN: "your own file"}
_MARKS = {DEFAULT: " ", STORE: "◆", OWN: "●"}


class SettingsScreen(ShellScreen):
    """See and change settings."""

    SCREEN = "settings"
    OVER = True
    AUTO_FOCUS = "#settings"
    DEFAULT_CSS = """
    SettingsScreen {
        & #about { height: 1; padding: 0 1; background: $surface; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
        & #settings { height: 1fr; padding: 0 1; }
        & ToastRack { margin-bottom: 9; }
        & #doc { height: auto; min-height: 4; max-height: 8; padding: 0 1; border-top: solid $primary 40%; background: $surface; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.settings: Sequence[Setting] = ()

    def compose_body(self) -> Iterator[Widget]:
        """The list, and what the one under the cursor means."""
        about = f"● your own file, {short_path(user_config_file())} · ◆ the store's .engram.toml"
        yield Static(words(about), id="about", markup=False)
        yield Lines(id="settings")
        yield Static(id="doc", markup=False)

    def on_mount(self) -> None:
        """Read them."""
        self.store_changed()

    @property
    def current(self) -> Setting | None:
        """The setting under the cursor."""
        at = self.query_one(Lines).highlighted
        return self.settings[at] if at is not None and at < len(self.settings) else None

    def can_change(self) -> bool:
        """Whether the one under the cursor can be typed: tables are edited in the file."""
        return self.current is not None and not isinstance(self.current.key.default, dict)

    def is_own(self) -> bool:
        """Whether the one under the cursor is set in the person's own file."""
        return self.current is not None and self.current.origin == OWN

    def store_changed(self) -> None:
        """Read them again."""
        self.ask("settings", lambda store: store.configuration(), self._take)

    def _take(self, settings: Sequence[Setting]) -> None:
        self.settings = settings
        width = max(len(one.key.name) for one in settings)
        listed = [
            f"{_MARKS[one.origin]} {one.key.name:<{width}}  {words(written(one.value), 60)}"
            for one in settings
        ]
        self.query_one(Lines).show(listed, "")
        self._explain()

    @on(OptionList.OptionHighlighted)
    def moved(self) -> None:
        """Explain the one under the cursor."""
        self._explain()

    def _explain(self) -> None:
        one = self.current
        if one is None:
            return
        about = [f"{one.key.doc}{' Counts only in your own file.' if one.key.user_only else ''}"]
        default = "" if one.origin == DEFAULT else f"; default: {written(one.key.default) or 'none'}"
        about.append(f"from {_FROM[one.origin]}{default}" if default else "the default")
        if one.key.choices:
            about.append(f"one of: {', '.join(one.key.choices)}")
        elif one.key.low is not None and one.key.high is not None:
            about.append(f"from {one.key.low:g} to {one.key.high:g}")
        if isinstance(one.key.default, dict):
            about.append("A table: edit the file (docs/configuration.md).")
        self.query_one("#doc", Static).update("\n".join(words(line) for line in about))
        self.refresh_bindings()

    # Changing

    def on_option_list_option_selected(self) -> None:
        """A click or enter."""
        self.action_change()

    def action_change(self) -> None:
        """Pick or type the value."""
        from engram_tui.shell.picker import Choice, Picker
        from engram_tui.shell.prompts import Prompt

        one = self.current
        if one is None or not self.can_change():
            return
        changed = partial(self._change, one)
        choices = one.key.choices or (("true", "false") if isinstance(one.key.default, bool) else ())
        if choices:
            picked = [
                Choice(name, name, after="now" if name == written(one.value) else " ") for name in choices
            ]
            self.app.push_screen(Picker(one.key.name, picked, hint="which …"), changed)
        else:
            before = "" if one.key.secret else written(one.value)
            prompt = Prompt(one.key.name, before, explain=one.key.doc)
            self.app.push_screen(prompt, changed)

    def action_unset(self) -> None:
        """What the store or the default says counts again."""
        if self.current is not None:
            self._configure(self.current, None)

    def _change(self, one: Setting, text: str | None) -> None:
        if text is not None:
            self._configure(one, text)

    def _configure(self, one: Setting, text: str | None) -> None:
        self.do(_set(one.key.name, text, written(one.value) if one.origin == OWN else None), ())

    def _deed_done(self, deed: Deed, ids: tuple[str, ...], done: Written) -> None:
        super()._deed_done(deed, ids, done)
        self.shell.follow_settings()
        self.store_changed()

    def action_copy_file(self) -> None:
        """The path of the person's own file."""
        self.app.copy_to_clipboard(user_config_file())
        self.tell("Copied", user_config_file())

    def action_leave_settings(self) -> None:
        """Back."""
        self.app.pop_screen()


def _set(name: str, text: str | None, before: str | None) -> Deed:
    """Set this in the person's own file, or (None) take it out; `before` is what stood there."""

    def have(value: str | None, store: Engram) -> bool:
        store.configure(name, value)
        return True

    def work(store: Engram, _ids: tuple[str, ...]) -> str:
        said = "is not set in your own file any more" if text is None else "is set in your own file"
        return f"{name} {said}: {written(store.configure(name, text)) or 'none'}"

    command = f"engram config {name} {'--unset' if text is None else text} --user"
    back, again = partial(have, before), partial(have, text)
    return Deed("Settings", work, command, repeats=False, creates=True, back=back, again=again)


def written(value: object) -> str:
    """A value as people type it."""
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
