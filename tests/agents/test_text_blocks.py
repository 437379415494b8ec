"""Tables in TOML, entries in YAML and blocks in markdown: added as text, checked by a parser, removed again."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.agents.edits import Block, TomlTable, YamlEntry, apply_edit, remove_edit
from engram.adapters.agents.refusal import CannotEditError

CONFIGS = Path(__file__).parents[1] / "data/agents/configs"
TABLE = TomlTable("mcp_servers.engram", {"command": 'C:\\x "y"', "args": ["-m", "ünï"], "env": {"A": "b"}})
ENTRY = YamlEntry(
    "extensions", "engram", {"enabled": True, "cmd": "/x: y", "args": ["-P", "#"], "envs": {"A": "b"}}
)
BLOCK = Block("## Memory\n\nAsk it.\n")
FILES = [("codex-config.toml", TABLE), ("goose-config.yaml", ENTRY), ("AGENTS.md", BLOCK)]

toml_lines = st.sampled_from(
    ["", "# note", "[a]", "[a.b]", "[[list]]", "x = 1", 'y = "[mcp_servers.engram]"', "[mcp_servers]",
     "[mcp_servers.other]", 'command = "z"', "t = '''", "'''", "[mcp_servers.engrams]", "  [c] # d", "mcp_servers.e = {}"]
)  # fmt: skip
yaml_lines = st.sampled_from(
    ["", "# note", "a: 1", "extensions:", "  b:", "    c: 2", "  d: {}", "    # e", "f:", "- g", "  - h", "extensions: {}",
     "    engram: 1", "i: |", "   text: x", "---"]
)  # fmt: skip


@pytest.mark.parametrize(("name", "edit"), FILES, ids=[name for name, _ in FILES])
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_real_files_are_restored_byte_for_byte(name: str, edit: TomlTable, ending: str) -> None:
    text = (CONFIGS / name).read_text("utf-8").replace("\n", ending)
    after = apply_edit(text, edit)
    assert apply_edit(after, edit) == after
    assert ("\n" in after.replace("\r\n", "")) == (ending == "\n")
    assert remove_edit(after, edit) == text


@given(st.lists(toml_lines, max_size=8).map("\n".join))
def test_any_toml_keeps_its_data_or_is_refused(text: str) -> None:
    try:
        after = apply_edit(text, TABLE)
    except CannotEditError:
        return
    assert apply_edit(after, TABLE) == after
    before, now = tomllib.loads(text), tomllib.loads(after)
    assert now["mcp_servers"].pop("engram") == TABLE.values
    if "mcp_servers" not in before:
        del now["mcp_servers"]
    assert now == before
    removed = remove_edit(after, TABLE)
    assert tomllib.loads(removed) == before
    assert removed.rstrip("\n") == text.rstrip("\n")


@given(st.lists(yaml_lines, max_size=8).map("\n".join))
def test_any_yaml_keeps_its_data_or_is_refused(text: str) -> None:
    try:
        after = apply_edit(text, ENTRY)
    except CannotEditError:
        return
    assert apply_edit(after, ENTRY) == after
    before, now = yaml.safe_load(text) or {}, yaml.safe_load(after)
    assert now["extensions"]["engram"] == ENTRY.values
    try:
        removed = remove_edit(after, ENTRY)
    except CannotEditError:
        return
    left = yaml.safe_load(removed) or {}
    assert {key: value for key, value in left.items() if value} == {
        key: value for key, value in before.items() if value
    }
    rest = iter(removed.split("\n"))
    assert all(line in rest for line in text.split("\n") if line.strip() and "engram" not in line)


@given(
    st.lists(
        st.sampled_from(["", "# A", "text", "<!-- engram:begin -->", "<!-- engram:end -->", "- x"]),
        max_size=6,
    ).map("\n".join)
)
def test_any_text_keeps_its_lines_or_is_refused(text: str) -> None:
    try:
        after = apply_edit(text, BLOCK)
    except CannotEditError:
        return
    assert apply_edit(after, BLOCK) == after
    if "engram:begin" not in text:
        assert remove_edit(after, BLOCK).rstrip("\n") == text.rstrip("\n")


def test_values_that_a_user_added_to_our_table_stay() -> None:
    old = '[mcp_servers.engram]\ncommand = "/old"\ntool_timeout_sec = 90 # mine\n\n[z]\na = 1\n'
    after = apply_edit(old, TABLE)
    assert tomllib.loads(after)["mcp_servers"]["engram"] == {"tool_timeout_sec": 90, **TABLE.values}
    assert "# mine" in after
    assert remove_edit(after, TABLE).lstrip("\n") == "[z]\na = 1\n"


def test_subtables_of_ours_are_removed_and_others_stay() -> None:
    text = '[a]\nx = 1\n\n[mcp_servers.engram]\ncommand = "x"\n[mcp_servers.engram.env]\nA = "b"\n\n# about b\n[b]\n'
    assert remove_edit(text, TABLE) == "[a]\nx = 1\n\n# about b\n[b]\n"


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("= broken", TABLE),
        ("mcp_servers = 1", TABLE),
        ("mcp_servers = {}", TABLE),
        ("mcp_servers.engram = 3", TABLE),
        ("a: [", ENTRY),
        ("- a", ENTRY),
        ("extensions: 3", ENTRY),
        ("extensions: {a: {b: c}}", ENTRY),
        ("extensions:", ENTRY),
        ("<!-- engram:begin -->", BLOCK),
        ("<!-- engram:begin -->\n<!-- engram:end -->\n" * 2, BLOCK),
    ],
)
def test_text_that_cannot_be_edited_safely_is_refused(text: str, edit: TomlTable) -> None:
    with pytest.raises(CannotEditError):
        apply_edit(text, edit)


def test_removing_our_inline_table_is_refused() -> None:
    with pytest.raises(CannotEditError):
        remove_edit('mcp_servers = { engram = { command = "x" }, b = { command = "y" } }\n', TABLE)
