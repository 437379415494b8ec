"""Entries noted as shown in a session: whole entries from any source, single passages, and no titles."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from apikit import SetClock, open_test_store
from mcp_kit import QUEUE, connect_inside, ok

from engram.adapters.state.hook_memory import RECALLED, SHOWN, HookMemory
from engram.usecases.agents.auto_recall import NO_ROOM, frame_unseen, recall_for_files, recall_for_text
from engram.usecases.agents.brief import brief

if TYPE_CHECKING:
    import pytest

ASKED = "must queue consumers be idempotent, and why do brokers deliver twice?"
POOL = "PgBouncer in transaction mode loses prepared statements of asyncpg, so statement_cache_size has to be zero."
VACUUM = "Autovacuum of the ledger table has to run with a scale factor of one percent, or bloat doubles in a week."
FILLER = "The palette of the settings page was chosen for contrast. Buttons are at least forty pixels high. "


def make_note(number: int, length: int) -> str:
    return f"Lesson {number} about the queue.\n\n" + ("It says something. " * 100)[:length].strip()


def test_an_entry_needed_again_is_named_by_its_ref_and_not_repeated(root: Path) -> None:
    with open_test_store(root, clock=SetClock()) as engram:
        engram.record(QUEUE, category="fact")
        first = recall_for_text(engram.store, ASKED, above=True)
        again = recall_for_text(engram.store, ASKED + " Please.", above=True)
        tool = recall_for_text(engram.store, ASKED)
    assert "    Brokers deliver twice after a missed ack." in first
    title = "Queue consumers must be idempotent."
    assert again == f"<engram-lore>\n[L1] above answers this:\n    {title}\n</engram-lore>"
    assert tool == "", "a command that comes again is no question"


def test_entries_of_a_brief_count_as_shown(root: Path) -> None:
    with open_test_store(root, clock=SetClock()) as engram:
        engram.record(QUEUE, category="fact")
        assert "Brokers deliver twice" in brief(engram.store, str(root))
        assert "[L1] above answers this:" in recall_for_text(engram.store, ASKED, above=True)
        assert brief(engram.store, str(root)) == ""


async def test_an_entry_shown_whole_by_a_tool_is_not_repeated_by_a_hook(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    async with connect_inside(root) as client:
        await ok(client, "recall_record", content=QUEUE, category="fact")
        for _ in range(2):  # a tool always answers whole
            (found,) = (await ok(client, "recall_query", query=ASKED))["lore"]
            assert found["text"] == QUEUE
    with open_test_store(root, clock=SetClock()) as engram, engram.calling("s1", "claude-code"):
        assert "[L1] above answers this:" in recall_for_text(engram.store, ASKED, above=True)
        assert "Brokers" not in recall_for_text(engram.store, ASKED)


def test_showing_a_passage_of_a_long_entry_does_not_withhold_another(root: Path) -> None:
    long = f"# Databases\n\n{FILLER * 8}\n\n{POOL}\n\n{FILLER * 9}\n\n{VACUUM}\n\n{FILLER * 8}"
    with open_test_store(
        root, clock=SetClock(), settings='[store]\nfolder = "lore"\n[hooks]\nrecall_budget = 120\n'
    ) as engram:
        lore = engram.record(long, category="fact").lore

        def put(question: str) -> str:
            return frame_unseen(engram.store, [lore], 120, question=question, above=True).text

        first = put("prepared statements of asyncpg with PgBouncer")
        assert POOL in first
        assert VACUUM not in first
        assert "excerpt, recall_get has all" in first
        second = put("autovacuum scale factor of the ledger table")
        assert VACUUM in second
        assert "[L1] above answers this:" in put("autovacuum scale factor of the ledger table")


def test_an_entry_without_room_is_named_by_title_and_may_be_shown_later(root: Path) -> None:
    with open_test_store(root, clock=SetClock()) as engram:
        found = [engram.record(make_note(number, 700), category="fact").lore for number in range(2)]
        put = frame_unseen(engram.store, found, 250)
        assert put.shown == (found[0].id,)
        assert [(one.why, one.ids) for one in put.withheld] == [(NO_ROOM, (found[1].id,))]
        assert "recall_get has them:\n    L2 Lesson 1 about the queue." in put.text
        memory = HookMemory(engram.store.state)
        assert memory.marked(SHOWN, engram.store.caller.session) == {found[0].id}
        assert frame_unseen(engram.store, found, 250).shown == (found[1].id,)


def test_only_entries_shown_by_recall_are_asked_about_later(root: Path) -> None:
    with open_test_store(root, clock=SetClock()) as engram:
        found = [
            engram.record(make_note(number, 1100), category="fact", files=["a.py"]).lore
            for number in range(2)
        ]
        said = recall_for_files(engram.store, ["a.py"])
        (shown,) = HookMemory(engram.store.state).marked(RECALLED, engram.store.caller.session)
    assert shown in {lore.id for lore in found}
    assert said.count("It says something.") < 70


def test_the_best_three_entries_about_a_file_are_shown_first_the_others_later(root: Path) -> None:
    with open_test_store(root, clock=SetClock()) as engram:
        for number in range(5):
            engram.record(make_note(number, 60), category="fact", files=["a.py"])
        said = [recall_for_files(engram.store, ["a.py"]) for _ in range(3)]
    assert [text.count("It says something.") > 0 for text in said] == [True, True, False]
    assert [len(re.findall(r"^    Lesson \d", text, re.MULTILINE)) for text in said] == [3, 2, 0]


def test_a_brief_has_at_most_five_entries_all_whole(root: Path) -> None:
    with open_test_store(root, clock=SetClock()) as engram:
        notes = [make_note(number, 200 + 40 * number) for number in range(9)]
        for note in notes:
            engram.record(note, category="fact")
        said = brief(engram.store, str(root))
    bodies = {line.strip() for line in said.splitlines() if line.startswith("    It says")}
    assert 3 <= len(bodies) <= 5
    assert bodies <= {note.split("\n\n")[1] for note in notes}
