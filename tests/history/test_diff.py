"""Differences of entries: by line, by word, by field, and in the last change."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import TIDES, cli, dedicated, git, ok

from tests.history.history_kit import at_a_terminal


def test_a_difference_is_unified_in_a_pipe(root: Path) -> None:
    lines = ok("diff", "L1", "HEAD~2", cwd=root).out.splitlines()
    assert lines[0].startswith("rename from lore/2026/")
    assert lines[1] == "rename to lore/moved.md"
    assert lines[2].startswith("--- a/lore/2026/")
    assert lines[3] == "+++ b/lore/moved.md"
    assert "-Measure it." in lines
    assert "+Measure it twice." in lines
    assert " Then decide." in lines


def test_a_difference_at_a_terminal_is_by_word_and_in_colour(root: Path) -> None:
    output = at_a_terminal(root, "diff", "L1", "HEAD~2", "HEAD~1")
    assert "Measure it\x1b[32m twice\x1b[0m." in output
    plain_text = at_a_terminal(root, "diff", "L1", "HEAD~2", "HEAD~1", NO_COLOR="1")
    assert "Measure it{+ twice+}." in plain_text
    assert "\x1b" not in plain_text


def test_a_difference_as_json_names_the_fields(root: Path) -> None:
    found = ok("diff", "HEAD~2", "HEAD", "--json", cwd=root).json
    assert (found["from"], found["to"]) == (git(root, "rev-parse", "HEAD~2"), git(root, "rev-parse", "HEAD"))
    (lore,) = found["lore"]
    assert (lore["change"], lore["path"]) == ("moved", "lore/moved.md")
    assert set(lore["fields"]) == {"content", "updated_at"}
    assert "category" not in lore["fields"]
    assert "+Measure it twice." in lore["diff"].splitlines()


def test_without_a_revision_the_last_or_uncommitted_change_is_shown(root: Path) -> None:
    ok("edit", "L1", "--add-tag", "new", cwd=root)
    for words in ([], ["L1"]):
        (lore,) = ok("diff", *words, "--json", cwd=root).json["lore"]
        assert set(lore["fields"]) == {"tags", "updated_at"}
    (root / ".git/MERGE_HEAD").write_text(git(root, "rev-parse", "HEAD"))  # nothing is committed now
    ok("edit", "L1", "--confidence", "0.9", cwd=root)
    (lore,) = ok("diff", "L1", "--json", cwd=root).json["lore"]
    assert lore["fields"]["confidence"] == {"from": 0.7, "to": 0.9}


def test_added_and_removed_entries_are_shown(root: Path) -> None:
    ok("record", TIDES, "-c", "fact", cwd=root)
    ok("forget", "L1", cwd=root)
    found = ok("diff", "HEAD~2", "--json", cwd=root).json["lore"]
    assert [(lore["change"], lore["fields"]["content"]["to"]) for lore in found] == [
        ("added", TIDES),
        ("removed", None),
    ]
    text = ok("diff", "HEAD~2", cwd=root).out
    assert text.count("/dev/null") == 2


def test_the_first_commit_is_compared_with_an_empty_state(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    assert ok("diff", cwd=root).out == ""
    ok("record", TIDES, "-c", "fact", cwd=root)
    assert ok("diff", cwd=root).out.startswith("--- /dev/null\n+++ b/lore/")


@pytest.mark.parametrize(
    ("words", "code"),
    [(["nonsense"], 3), (["L1", "nonsense"], 3), (["HEAD", "HEAD", "HEAD"], 2), (["L9"], 3)],
)
def test_unknown_entries_and_revisions_are_refused(root: Path, words: list[str], code: int) -> None:
    done = cli("diff", *words, "--json", cwd=root)
    assert (done.code, "error" in done.json) == (code, True)
