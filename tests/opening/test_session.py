"""Sessions: refs count from L1 in each, stay the same between processes, and belong to one session alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import COLOUR, QUEUE, TIDES, SetClock, cli, make_plain_store, ok, open_test_store, run_process
from forked_kit import forked

from engram.adapters.agents.session import agent_name, session_name
from engram.domain.errors import NotFoundError

VARIABLES = (
    *(
        "ENGRAM_SESSION",
        "CLAUDE_CODE_SESSION_ID",
        "CODEX_THREAD_ID",
        "GEMINI_SESSION_ID",
        "OPENCODE_SESSION_ID",
    ),
    "COPILOT_SESSION_ID",
)


def test_refs_count_up_in_the_order_of_surfacing_and_stay(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        ids = {
            name: store.record(text, category="FACT").lore.id
            for name, text in (("q", QUEUE), ("c", COLOUR), ("t", TIDES))
        }
        assert store.query("tide tables").session_refs == {"L1": ids["t"]}
        assert store.query("queue consumer patterns").session_refs == {"L2": ids["q"]}
        assert store.query("tide tables").session_refs == {"L1": ids["t"]}
        assert store.query("palette of the settings page").session_refs == {"L3": ids["c"]}
        assert store.session_refs() == {"L1": ids["t"], "L2": ids["q"], "L3": ids["c"]}
    with open_test_store(tmp_path) as store:
        assert store.session_refs() == {"L1": ids["t"], "L2": ids["q"], "L3": ids["c"]}
        assert store.get("L2").ref == "L2"
    with open_test_store(tmp_path, session="other") as store:
        assert store.session_refs() == {}
        assert store.query("queue consumer patterns").session_refs == {"L1": ids["q"]}


def test_looking_without_keeping_gives_no_refs(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        store.record(QUEUE, category="FACT")
        assert store.query("queue consumer", keep=False).lore[0].ref == ""
        assert store.session_refs() == {}


def test_a_forgotten_entry_leaves_its_number_unused(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as store:
        first = store.record(QUEUE, category="FACT").lore.id
        store.query("queue consumer")
        store.forget("L1")
        second = store.record(TIDES, category="FACT").lore.id
        assert store.query("tide tables").session_refs == {"L2": second}
        assert store.session_refs() == {"L1": first, "L2": second}


def test_a_session_that_slept_for_a_day_begins_anew(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(tmp_path, clock=clock) as store:
        lore_id = store.record(QUEUE, category="FACT").lore.id
        store.record(TIDES, category="FACT")
        store.query("tide tables")
        clock.advance(hours=11)
        assert store.query("queue consumer").session_refs == {"L2": lore_id}
        clock.advance(hours=13)
        assert store.query("queue consumer").session_refs == {"L1": lore_id}


def test_refs_are_the_same_in_separate_processes_of_one_session(tmp_path: Path) -> None:
    make_plain_store(tmp_path)
    mine = {"CLAUDE_CODE_SESSION_ID": "first"}
    other = {**mine, "ENGRAM_SESSION": "second"}  # which comes before an agent's own
    for text in (QUEUE, TIDES):
        assert forked("record", text, "-c", "fact", cwd=tmp_path, **mine).code == 0
    asked = forked("query", "tide tables", "--json", cwd=tmp_path, **mine).json
    assert list(asked["session_refs"]) == ["L1"]
    assert forked("query", "queue consumer", "--json", cwd=tmp_path, **mine).json["lore"][0]["ref"] == "L2"
    judged = forked("feedback", "--helpful", "L2", "--json", cwd=tmp_path, **mine).json["updated"][0]
    assert (judged["ref"], judged["current"]) == ("L2", 0.78)
    shown = forked("session", "--json", cwd=tmp_path, **mine).json
    assert (shown["session"], list(shown["session_refs"])) == ("first", ["L1", "L2"])
    assert forked("feedback", "--helpful", "L1", cwd=tmp_path, **other).code == 3
    assert forked("session", "--json", cwd=tmp_path, **other).json["session_refs"] == {}


@pytest.mark.slow
def test_commands_of_one_terminal_or_group_of_processes_share_a_session(tmp_path: Path) -> None:
    make_plain_store(tmp_path)
    run_process("record", QUEUE, "-c", "fact", cwd=tmp_path)
    run_process("query", "queue consumer", cwd=tmp_path)
    assert run_process("show", "L1", cwd=tmp_path).code == 0


def test_the_sessions_own_variable_wins_and_its_name_is_bounded() -> None:
    for variable in VARIABLES:
        assert session_name({variable: " abc "}) == "abc"
    assert session_name({"CODEX_THREAD_ID": "b", "ENGRAM_SESSION": "a"}) == "a"
    assert session_name({"ENGRAM_SESSION": "  ", "CODEX_THREAD_ID": "b"}) == "b"
    assert len(session_name({"ENGRAM_SESSION": "x" * 500})) == 120
    assert session_name({}) == session_name({})
    assert session_name({})


@pytest.mark.parametrize(
    ("environment", "agent"),
    [
        ({}, ""),
        ({"CLAUDECODE": "1"}, "claude-code"),
        ({"CODEX_THREAD_ID": "t"}, "codex"),
        ({"GEMINI_CLI": "1"}, "gemini-cli"),
        ({"CURSOR_AGENT": "1"}, "cursor"),
        ({"CLAUDECODE": "1", "ENGRAM_AGENT": "mine"}, "mine"),
    ],
)
def test_the_agent_is_known_by_its_variables(environment: dict[str, str], agent: str) -> None:
    assert agent_name(environment) == agent


def test_who_records_is_the_calling_agent_else_a_human(tmp_path: Path) -> None:
    make_plain_store(tmp_path)
    assert ok("record", "one", "-c", "fact", "--json", cwd=tmp_path).json["lore"]["agent"] == "human"
    agent = ok("record", "two", "-c", "fact", "--json", cwd=tmp_path, CLAUDECODE="1").json["lore"]["agent"]
    assert agent == "claude-code"
    named = cli("record", "three", "-c", "fact", "--agent", "x", "--json", cwd=tmp_path, CLAUDECODE="1")
    assert named.json["lore"]["agent"] == "x"


def test_a_session_lists_its_refs_and_titles(tmp_path: Path) -> None:
    make_plain_store(tmp_path)
    ok("record", TIDES, "-c", "fact", cwd=tmp_path)
    assert ok("session", cwd=tmp_path).out == "session s1 · 0 entries shown\n"
    ok("query", "tide tables", cwd=tmp_path)
    shown = ok("session", "--json", cwd=tmp_path).json
    assert set(shown) >= {"session", "agent", "session_refs", "lore"}
    assert shown["lore"] == [
        {"ref": "L1", "id": shown["session_refs"]["L1"], "title": TIDES, "scope": "project"}
    ]


def test_a_ref_finds_its_entry_where_it_was_moved_and_not_what_took_its_place(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store") as engram:
        engram.record(QUEUE, category="fact")
        other = engram.record(COLOUR, category="fact")
        (found,) = engram.query("queue consumer patterns", k=1).lore
        before, moved = tmp_path / "store" / found.path, tmp_path / "store" / "lore" / "moved.md"
        before.rename(moved)
        assert engram.get("L1").path == "lore/moved.md"
        (tmp_path / "store" / other.path).rename(moved)  # another entry at the place that the index knows
        with pytest.raises(NotFoundError):
            engram.get("L1")
