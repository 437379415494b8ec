"""A key means one thing in the whole app: the table in docs/app.md names every action of each key, and no other key has it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from engram_tui.app import TABS
from engram_tui.shell.action import Action, key_label
from engram_tui.shell.actions import ACTIONS, MOVES
from engram_tui.widgets.filter_input import TYPING

DOCS = Path(__file__).parents[2] / "docs" / "app.md"
OVERLAYS = ("entry", "settings", "new_entry", "proposal")
# Keys of the terminal and of forms: they say what they do by their name.
NAMED = {
    "↓", "↑", "pgdn", "pgup", "home", "end", "f5", "delete", "backspace", "shift+tab", "ctrl+c", "ctrl+s", "ctrl+n", "ctrl+z",
    "ctrl+y", "ctrl+p", "ctrl+q",
}  # fmt: skip


def grammar() -> dict[str, set[str]]:
    """The actions that the table allows for each key."""
    section = DOCS.read_text("utf-8").partition("\n## Keys\n")[2].partition("\n## ")[0]
    found: dict[str, set[str]] = {}
    for line in section.splitlines():
        cells = line.split(" | ")
        if line.startswith("| `") and len(cells) == 3:
            keys = re.findall(r"`([^`]+)`", cells[0])
            keys = [str(number) for number in range(1, 8)] if keys == ["1", "7"] else keys
            for key in keys:
                assert key not in found or key == "P", f"{key} has two rows"
                found[key] = set(re.findall(r"`([^`]+)`", cells[2]))
    return found


def every_action() -> list[Action]:
    tables = [tab.actions() for tab in TABS]
    tables += [import_module(f"engram_tui.{name}.actions").ACTIONS for name in OVERLAYS]
    return [action for table in (*tables, ACTIONS, MOVES, TYPING) for action in table]


def test_every_key_of_every_screen_means_what_the_table_says() -> None:
    table = grammar()
    for action in every_action():
        for key in action.keys.split(","):
            label = key_label(key)
            if label not in NAMED:
                assert action.name in table.get(label, set()), f"{label} is {action.name} somewhere"


def test_the_table_names_no_key_or_action_that_no_screen_has() -> None:
    has = {(key_label(key), action.name) for action in every_action() for key in action.keys.split(",")}
    names = {name for _, name in has}
    for key, actions in grammar().items():
        assert actions <= names, actions - names
        assert any(known == key for known, _ in has), key


def test_a_letter_does_not_judge_here_and_delete_there() -> None:
    """Of two actions on one key, at most one writes to the store, but for those that do the same to another kind of thing."""
    same = [
        {"archive", "put_away"}, {"forget", "reject"}, {"edit", "edit_first"}, {"merge", "merge_step"},
        {"propose", "apply_plan", "accept_entry"},
        {"refresh", "plan_again"}, {"rehearsal", "sync_look", "difference"}, {"incorrect", "reject_entry"},
        {"accept", "bring_in"}, {"decide_all", "accept_rest"},
    ]  # fmt: skip
    writes: dict[str, set[str]] = {}
    for action in every_action():
        if action.command and not action.command.startswith(("engram graph", "engram index")):
            for key in action.keys.split(","):
                writes.setdefault(key, set()).add(action.name)
    for key, names in writes.items():
        assert len(names) == 1 or any(names <= one for one in same), (key, names)
