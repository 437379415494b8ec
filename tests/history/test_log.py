"""The history of an entry: its log with confidence, differences, the origin of every line; and bringing it back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import prepared
import pytest
from apikit import QUEUE, TIDES, SetClock, cli, dedicated, git, lore_files, ok, opened, plain, variables

from engram.cli.commands.history.log import sparkline
from engram.usecases.history.log import history
from engram.usecases.recording.edit import Edit
from engram.usecases.store.commit import commit_pending


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A dedicated store with one entry: recorded by ada, judged by bob, edited by eve, moved by hand."""
    prepared.copy("an entry with a history", tmp_path, _make_history)
    git(tmp_path / "store", "update-index", "--refresh")
    return tmp_path / "store"


def _make_history(folder: Path) -> None:
    root = dedicated(folder / "store")
    clock = SetClock()
    with opened(root, agent="ada", clock=clock) as store:
        text = f"{QUEUE}\n\nMeasure it.\n\nThen decide."
        name = store.record(text, category="fact", tags="queue").lore.id
        commit_pending(store.store)
    with opened(root, agent="bob", clock=clock) as store:
        store.feedback(helpful=name)
        commit_pending(store.store)
    clock.advance(minutes=5)
    with opened(root, agent="eve", clock=clock) as store:
        store.edit(name, Edit(content=text.replace("it.", "it twice.")))
        commit_pending(store.store)
    git(root, "mv", str(lore_files(root)[0]), str(root / "lore/moved.md"))
    git(root, "commit", "-qm", "moved by hand")
    ok("query", "queue consumer", cwd=root)


def at_a_terminal(root: Path, *arguments: str, **more: str) -> str:
    """What a command prints at a terminal of its own."""
    pty = pytest.importorskip("pty")
    screen, inner = pty.openpty()
    environment = {**variables(), "ENGRAM_SESSION": "s1", "TERM": "xterm", **more}
    command = (sys.executable, "-m", "engram", *arguments)
    process = subprocess.Popen(command, cwd=root, stdin=inner, stdout=inner, stderr=inner, env=environment)
    os.close(inner)
    said = b""
    while True:
        try:
            said += (part := os.read(screen, 65536))
        except OSError:  # what Linux says at the end
            break
        if not part:
            break
    os.close(screen)
    assert process.wait(60) == 0, said
    return said.decode().replace("\r\n", "\n")


def test_the_log_follows_an_entry_through_renames_with_its_confidence(root: Path) -> None:
    with opened(root) as store:
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


def test_at_a_terminal_the_log_begins_with_how_confidence_went(root: Path) -> None:
    assert at_a_terminal(root, "log", "L1").splitlines()[0] == "▆▇▇▇  0.70 → 0.78"


def test_a_sparkline_shows_low_and_high_and_the_last_of_many() -> None:
    assert sparkline([0.0, 0.12, 0.13, 0.5, 0.99, 1.0], 80) == "▁▁▂▅██"
    assert sparkline([0.0, 1.0, 1.0], 2) == "██"


def test_the_likeness_of_files_does_not_decide_whose_history_it_is(root: Path) -> None:
    (file,) = lore_files(root)
    twin = file.read_text("utf-8").replace("id: ", "id: 01M806ZZWH03EWHXWBG1FA47RA #")
    git(root, "rm", "-q", str(file))
    (root / "lore/twin.md").write_text(twin)
    git(root, "add", ".")
    git(root, "commit", "-qm", "another entry of the same words")
    rows = ok("log", "01M806ZZWH03EWHXWBG1FA47RA", "--json", cwd=root).json["history"]
    assert [row["subject"] for row in rows] == ["another entry of the same words"]


def blamed(root: Path) -> dict[str, str]:
    rows: list[dict[str, Any]] = ok("blame", "L1", "--json", cwd=root).json["lines"]
    return {row["field"] or row["text"]: row["agent"] or row["subject"] for row in rows}


def test_blame_says_who_gave_each_field_and_line(root: Path) -> None:
    said = blamed(root)
    found = {key: said[key] for key in ("id", "category", "tags", "updated_at")}
    assert found == {"id": "ada", "category": "ada", "tags": "ada", "updated_at": "eve"}
    assert (said[QUEUE], said["Measure it twice."], said["Then decide."]) == ("ada", "eve", "ada")
    lines = ok("blame", "L1", cwd=root).out.splitlines()
    assert len(lines) == len(lore_files(root)[0].read_text("utf-8").strip().splitlines()) - 3
    assert any(line.endswith("Measure it twice.") and " eve " in line for line in lines)


def test_blame_goes_through_merges_and_deletions(root: Path) -> None:
    git(root, "switch", "-qc", "side", "HEAD~1")
    (file,) = lore_files(root)
    file.write_text(file.read_text("utf-8").replace("Then decide.", "Then decide alone."), "utf-8")
    git(root, "commit", "-qam", "on the side")
    git(root, "switch", "-q", "main")
    (file,) = lore_files(root)
    file.write_text(file.read_text("utf-8").replace("tags: [queue]", "tags: [queue, broker]"), "utf-8")
    git(root, "commit", "-qam", "on main")
    git(root, "merge", "-q", "--no-edit", "side")
    said = blamed(root)
    assert (said["Then decide alone."], said["tags"], said[QUEUE]) == ("on the side", "on main", "ada")
    ok("forget", "L1", cwd=root)
    ok("undo", cwd=root)
    assert blamed(root) == said


def test_blame_marks_what_is_not_committed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    ok("init", "--placement", "in-tree", cwd=tmp_path)
    ok("record", TIDES, "-c", "fact", cwd=tmp_path)
    ok("query", "tide tables", cwd=tmp_path)
    assert set(blamed(tmp_path).values()) == {""}
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    with (lore_files(tmp_path)[0]).open("a") as file:
        file.write("\nNew.\n")
    said = blamed(tmp_path)
    assert (said[TIDES], said["New."]) == ("all", "")
    assert "not committed" in ok("blame", "L1", cwd=tmp_path).out


def test_a_difference_is_unified_in_a_pipe(root: Path) -> None:
    lines = ok("diff", "L1", "HEAD~2", cwd=root).out.splitlines()
    assert lines[0].startswith("rename from lore/2026/")
    assert lines[1] == "rename to lore/moved.md"
    assert lines[2].startswith("--- a/lore/2026/")
    assert lines[3] == "+++ b/lore/moved.md"
    assert "-Measure it." in lines
    assert "+Measure it twice." in lines
    assert " Then decide." in lines


def test_a_difference_is_by_word_and_in_colour_at_a_terminal(root: Path) -> None:
    said = at_a_terminal(root, "diff", "L1", "HEAD~2", "HEAD~1")
    assert "Measure it\x1b[32m twice\x1b[0m." in said
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


def test_the_first_commit_differs_from_nothing(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    assert ok("diff", cwd=root).out == ""
    ok("record", TIDES, "-c", "fact", cwd=root)
    assert ok("diff", cwd=root).out.startswith("--- /dev/null\n+++ b/lore/")


@pytest.mark.parametrize(
    ("words", "code"),
    [(["nonsense"], 3), (["L1", "nonsense"], 3), (["HEAD", "HEAD", "HEAD"], 2), (["L9"], 3)],
)
def test_a_difference_of_what_is_not_there_is_refused(root: Path, words: list[str], code: int) -> None:
    done = cli("diff", *words, "--json", cwd=root)
    assert (done.code, "error" in done.json) == (code, True)


def test_an_entry_is_restored_with_the_votes_since(root: Path) -> None:
    ok("feedback", "--incorrect", "L1", cwd=root)
    done = ok("restore", "L1", "--at", "HEAD~2", "--json", cwd=root).json
    assert done["changed"] is True
    assert done["lore"]["content"].endswith("Measure it.\n\nThen decide.")
    assert (done["lore"]["validation_count"], done["lore"]["path"]) == (1, "lore/moved.md")
    assert sum(vote["down"] for name, vote in done["lore"]["votes"].items() if name != "decay") == 150
    assert done["commit"] in git(root, "log", "-1", "--format=%B")
    again = ok("restore", "L1", "--at", "HEAD~3", "--json", cwd=root).json
    assert again["changed"] is False
    ok("undo", cwd=root)
    assert ok("show", "L1", "--json", cwd=root).json["lore"]["content"].endswith("twice.\n\nThen decide.")


def test_a_forgotten_entry_is_restored_whole(root: Path) -> None:
    (file,) = lore_files(root)
    raw, lore_id = file.read_bytes(), ok("show", "L1", "--json", cwd=root).json["lore"]["id"]
    for name in (lore_id, "L1", lore_id[:14]):
        at = "HEAD~1" if len(name) != 14 else "HEAD~2"
        ok("forget", lore_id, cwd=root)
        if len(name) == 14:
            at = git(root, "log", "--format=%H", "--grep=^edit").splitlines()[0]  # under its first name
        ok("restore", name, "--at", at, cwd=root)
        assert ok("show", lore_id, "--json", cwd=root).json["lore"]["content"].endswith("Then decide.")
        if len(name) != 14:
            assert file.read_bytes() == raw


def test_a_vote_on_a_forgotten_entry_is_kept_when_it_is_restored(root: Path) -> None:
    lore_id = ok("show", "L1", "--json", cwd=root).json["lore"]["id"]
    ok("feedback", "--incorrect", "L1", cwd=root)
    ok("forget", "L1", cwd=root)
    ok("restore", lore_id, "--at", "HEAD~1", cwd=root)
    votes = ok("show", lore_id, "--json", cwd=root).json["lore"]["votes"]
    assert [(vote["up"], vote["down"]) for name, vote in votes.items() if name != "decay"] == [(80, 150)]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["L1"], 2),
        (["L1", "--at", "nonsense"], 3),
        (["L9", "--at", "HEAD"], 3),
        (["L1", "--at", "main~4"], 3),
        (["01M806ZZWH03EWHXWBG1FA47RA", "--at", "HEAD"], 3),
    ],
)
def test_impossible_restores_are_refused(root: Path, arguments: list[str], code: int) -> None:
    done = cli("restore", *arguments, "--json", cwd=root)
    assert (done.code, "error" in done.json) == (code, True)


def test_a_secret_does_not_come_back(root: Path) -> None:
    from apikit import SECRET

    (file,) = lore_files(root)
    file.write_text(file.read_text("utf-8") + f"\n{SECRET}\n", "utf-8")
    git(root, "commit", "-qam", "by hand")
    file.write_text(file.read_text("utf-8").replace(SECRET, "gone"), "utf-8")
    git(root, "commit", "-qam", "by hand")
    done = cli("restore", "L1", "--at", "HEAD~1", "--json", cwd=root)
    assert (done.code, done.json["error"]["code"]) == (2, "secret")
    assert SECRET not in file.read_text("utf-8")


@pytest.mark.parametrize(
    "command", [["log", "x"], ["blame", "x"], ["diff"], ["restore", "x", "--at", "HEAD"], ["undo"]]
)
def test_outside_git_there_is_no_history(tmp_path: Path, command: list[str]) -> None:
    done = cli(*command, "--json", cwd=plain(tmp_path))
    assert (done.code, done.json["error"]["code"]) == (1, "store")
