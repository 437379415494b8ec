"""Edits of configuration files are idempotent, keep foreign data, and are removed again byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.agents.edits import Entry, HookEntries, Items, apply_edit, is_our_hook, remove_edit
from engram.adapters.agents.refusal import CannotEditError
from tests.agents.json_texts import json_texts, plain

SERVER = Entry(("mcpServers", "engram"), {"command": "/x/python", "args": ["mcp"], "env": {"A": "b"}})
COMMAND = "/x/python -P -m engram hook stop --agent claude-code"
HOOKS = HookEntries(
    {"Stop": {"type": "command", "command": COMMAND}, "SessionEnd": {"type": "command", "command": COMMAND}},
    {"Stop": "", "SessionEnd": "x|y"},
)
ALLOW = Items(("permissions", "allow"), ("mcp__engram__recall_get", "mcp__engram__recall_status"))
FLAT = HookEntries({"stop": {"command": COMMAND, "timeout": 5}}, extra={"version": 1})
EDITS = [SERVER, HOOKS, ALLOW, FLAT]
SAMPLES = sorted((Path(__file__).parents[1] / "data/agents/configs").glob("*.json*"))


def without(value: Any, edit: Any) -> Any:
    """Return the data without Engram's and without empty values, which must be the same before and after."""
    if isinstance(value, dict):
        cleaned = {key: without(one, edit) for key, one in value.items() if key != "engram"}
        return {
            key: one for key, one in cleaned.items() if one not in ({}, []) and (key, one) != ("version", 1)
        }
    if isinstance(value, list):
        kept = [without(one, edit) for one in value if not is_our_hook(one) and one not in ALLOW.values]
        return [one for one in kept if one not in ({}, [], {"matcher": "x|y"})]
    return value


@given(json_texts(), st.sampled_from(EDITS))
def test_an_edit_is_idempotent_keeps_other_data_and_can_be_removed(text: str, edit: Any) -> None:
    try:
        after = apply_edit(text, edit)
    except CannotEditError:
        return
    assert apply_edit(after, edit) == after, "a second time changes nothing"
    assert without(plain(after), edit) == without(plain(text), edit), "foreign data stays the same"
    # Every byte of the user's text, with comments, is still there, in order.
    rest = iter(after)
    assert all(character in rest for character in text if not character.isspace())
    removed = remove_edit(after, edit, text)
    assert plain(removed) == plain(text)
    assert [character for character in removed if not character.isspace()] == [
        character for character in text if not character.isspace()
    ]


@given(json_texts(), st.lists(st.sampled_from(EDITS), min_size=2, max_size=4, unique_by=id))
def test_several_edits_can_be_removed_in_any_order(text: str, edits: list[Any]) -> None:
    try:
        after = text
        for edit in edits:
            after = apply_edit(after, edit)
    except CannotEditError:
        return
    for edit in edits:
        after = remove_edit(after, edit, text)
    assert plain(after) == plain(text)


@pytest.mark.parametrize("path", SAMPLES, ids=[path.name for path in SAMPLES])
@pytest.mark.parametrize("edit", EDITS, ids=["server", "hooks", "allow", "flat"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_real_files_are_restored_byte_for_byte(path: Path, edit: Any, ending: str) -> None:
    text = path.read_text("utf-8").replace("\n", ending)
    after = apply_edit(text, edit)
    assert after != text
    assert apply_edit(after, edit) == after
    assert "\r\n" not in text or "\n" not in after.replace("\r\n", "")
    assert remove_edit(after, edit, text) == text


@pytest.mark.parametrize(
    "text", ['{"mcpServers": []}', '{"mcpServers": {"engram": 1}}', '{"mcpServers": null}']
)
def test_an_unexpected_value_for_servers_is_refused(text: str) -> None:
    with pytest.raises(CannotEditError):
        apply_edit(text, SERVER)


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": 3}'])
def test_an_unexpected_value_for_hooks_is_refused(text: str) -> None:
    with pytest.raises(CannotEditError):
        apply_edit(text, HOOKS)


def test_an_entry_of_an_older_version_is_updated_in_place() -> None:
    old = (
        '{\n  "mcpServers": {\n    "engram": {"command": "/old", "mine": 1}, // first\n    "z": {}\n  }\n}\n'
    )
    after = apply_edit(old, SERVER)
    assert plain(after)["mcpServers"]["engram"] == {"mine": 1, **SERVER.value}
    assert list(plain(after)["mcpServers"]) == ["engram", "z"]
    assert "// first" in after


def test_a_hook_of_an_older_version_is_updated_and_a_duplicate_removed() -> None:
    foreign_hook = {"type": "command", "command": "say engram hook stop"}
    ours = {"type": "command", "command": "'/old path/engram' hook stop --agent claude-code"}
    old = json.dumps(
        {"hooks": {"Stop": [{"hooks": [foreign_hook, ours]}, {"hooks": [ours]}], "Gone": [{"hooks": [ours]}]}}
    )
    found = plain(apply_edit(old, HOOKS))["hooks"]
    assert found["Stop"] == [{"hooks": [foreign_hook, HOOKS.events["Stop"]]}]
    assert found["Gone"] == []
    assert plain(remove_edit(old, HOOKS, ""))["hooks"] == {"Stop": [{"hooks": [foreign_hook]}], "Gone": []}


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        (COMMAND, True),
        ("/usr/bin/engram hook prompt --agent codex", True),
        ('"C:\\Program Files\\engram.exe" hook prompt --agent codex', True),
        ("engram hook", False),
        ("notify 'engram hook prompt --agent codex' now", False),
        ("myengram-hook prompt --agent codex", False),
    ],
)
def test_only_engrams_own_command_is_recognized(command: str, ours: bool) -> None:
    assert is_our_hook({"command": command}) is ours
