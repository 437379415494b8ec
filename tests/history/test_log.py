"""The history of an entry: its log through renames, with its confidence."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import cli, git, lore_files, make_plain_store, ok, open_test_store

from engram.cli.commands.history.log import sparkline
from engram.usecases.history.log import history
from tests.history.history_kit import at_a_terminal


def test_the_log_follows_an_entry_through_renames_with_its_confidence(root: Path) -> None:
    with open_test_store(root) as store:
        events = history(store.store, "L1")[1]
    assert [(event.agent or event.author.split(" ")[0], event.confidence) for event in events] == [
        ("Engram", 0.78),
        ("eve", 0.78),
        ("bob", 0.78),
        ("ada", 0.7),
    ]
    assert [event.delta for event in events] == ["", "", "+0.08", ""]
    assert len(ok("log", "L1", "--limit", "2", cwd=root).out.splitlines()) == 2
    assert "▅" not in ok("log", "L1", cwd=root).out, "a pipe gets one line for each commit"


def test_the_log_at_a_terminal_begins_with_a_sparkline_of_confidence(root: Path) -> None:
    assert at_a_terminal(root, "log", "L1").splitlines()[0] == "▆▇▇▇  0.70 → 0.78"


def test_a_sparkline_covers_its_range_and_keeps_the_last_values() -> None:
    assert sparkline([0.0, 0.12, 0.13, 0.5, 0.99, 1.0], 80) == "▁▁▂▅██"
    assert sparkline([0.0, 1.0, 1.0], 2) == "██"


def test_a_similar_file_with_another_id_does_not_inherit_the_history(root: Path) -> None:
    (file,) = lore_files(root)
    twin = file.read_text("utf-8").replace("id: ", "id: 01M806ZZWH03EWHXWBG1FA47RA #")
    git(root, "rm", "-q", str(file))
    (root / "lore/twin.md").write_text(twin)
    git(root, "add", ".")
    git(root, "commit", "-qm", "another entry of the same words")
    rows = ok("log", "01M806ZZWH03EWHXWBG1FA47RA", "--json", cwd=root).json["history"]
    assert [row["subject"] for row in rows] == ["another entry of the same words"]


@pytest.mark.parametrize(
    "command", [["log", "x"], ["blame", "x"], ["diff"], ["restore", "x", "--at", "HEAD"], ["undo"]]
)
def test_outside_git_there_is_no_history(tmp_path: Path, command: list[str]) -> None:
    done = cli(*command, "--json", cwd=make_plain_store(tmp_path))
    assert (done.code, done.json["error"]["code"]) == (1, "store")
