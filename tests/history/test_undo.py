"""Undo and redo make new commits that keep later changes of others; votes only grow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mcp_kit
import prepared
import pytest
from apikit import (
    COLOUR,
    QUEUE,
    TIDES,
    SetClock,
    cli,
    dedicated,
    git,
    lore_files,
    make_plain_store,
    ok,
    open_test_store,
    repository,
)
from effort import sampled
from hypothesis import given
from hypothesis import strategies as st

import engram
from engram.adapters.git.read.operations import OwnCommit
from engram.domain.errors import NotFoundError
from engram.usecases.history.undo import last_undo, undoable
from engram.usecases.recording.edit import Edit


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A dedicated store with one entry, L1 of the session."""
    prepared.copy("one entry, shown", tmp_path, _make_store)
    git(tmp_path / "store", "update-index", "--refresh")
    return tmp_path / "store"


def _make_store(folder: Path) -> None:
    root = dedicated(folder / "store")
    ok("record", QUEUE, "-c", "fact", cwd=root)
    ok("query", "queue consumer", cwd=root)


def lore(root: Path, name: str = "L1") -> dict[str, Any]:
    found: dict[str, Any] = ok("show", name, "--json", cwd=root).json["lore"]
    return found


def standing(root: Path) -> tuple[float, int, str | None]:
    """Return the confidence of L1, the number of helpful judgements, and the time of the last one."""
    found = lore(root)
    return found["confidence"], found["validation_count"], found["last_validated"]


def test_an_undo_is_a_new_commit_that_names_the_undone_one(root: Path) -> None:
    before = lore_files(root)[0].read_text("utf-8")
    ok("edit", "L1", "--add-tag", "queue", cwd=root)
    head = git(root, "rev-parse", "HEAD")
    done = ok("undo", "--json", cwd=root).json
    assert done["undone"] == [f"edit: add_tags ({lore(root)['id']})"]
    assert done["lore"] == [lore(root)["id"]]
    assert git(root, "rev-parse", "HEAD~1") == head
    message = git(root, "log", "-1", "--format=%B")
    assert message.startswith("undo: edit: add_tags")
    assert f"\nEngram-Undo: {head}" in message
    assert f"\nEngram-Lore: {lore(root)['id']}" in message
    after = lore_files(root)[0].read_text("utf-8")
    dates = ("updated_at",)
    assert [line for line in after.splitlines() if not line.startswith(dates)] == before.splitlines()
    assert git(root, "status", "--porcelain") == ""


def test_repeated_judgements_can_be_undone_and_the_last_one_redone(root: Path) -> None:
    before = lore_files(root)[0].read_bytes()
    for again in ((), ("--again",)):
        ok("feedback", "--helpful", "L1", *again, cwd=root)
        ok("undo", cwd=root)
        assert standing(root) == (0.7, 0, None)
    ok("redo", cwd=root)
    assert standing(root)[:2] == (0.78, 1)
    assert lore(root)["last_validated"] is not None
    ok("feedback", "--incorrect", "L1", cwd=root)
    ok("undo", "2", cwd=root)
    assert standing(root) == (0.7, 0, None)
    assert lore_files(root)[0].read_bytes() == before
    assert git(root, "status", "--porcelain") == ""


@sampled(("way", "is_synced"), [("MCP", True), ("API", False), ("MCP", False), ("API", True)], everyday=2)
async def test_a_person_can_undo_repeated_judgements_of_an_agent(
    root: Path, tmp_path: Path, way: str, *, is_synced: bool
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(root), str(tmp_path / "hub.git"))
    git(root, "remote", "add", "origin", str(tmp_path / "hub.git"))
    lore_id = lore(root)["id"]

    async def then(*words: str) -> tuple[float, int]:
        if is_synced:
            ok("sync", cwd=root)
        if words:
            ok(*words, cwd=root)
        elif way == "MCP":
            async with mcp_kit.connect_inside(root) as client:
                assert not (await client.call_tool("recall_feedback", {"helpful": [lore_id]})).is_error
        else:
            with engram.open(str(root), background=False) as store:
                store.feedback(helpful=lore_id)
        return standing(root)[:2]

    for _ in range(2):
        assert await then() == (0.78, 1)
        assert await then("undo") == (0.7, 0)
    assert await then("redo") == (0.78, 1)


def test_judgements_given_together_are_undone_and_redone_together(root: Path) -> None:
    """Each command runs alone and knows the others only from the ledger."""
    other = ok("record", TIDES, "-c", "fact", "--json", cwd=root).json["lore"]["id"]
    counts = lambda: [lore(root, name)["confidence"] for name in ("L1", other)]  # noqa: E731
    ok("feedback", "--helpful", other, cwd=root)
    ok("feedback", "--helpful", "L1", "--incorrect", other, "--again", cwd=root)
    assert counts() == [0.78, 0.63]
    for _ in range(2):
        assert len(ok("undo", "--json", cwd=root).json["undone"]) == 2
        assert counts() == [0.7, 0.78]
        assert len(ok("redo", "--json", cwd=root).json["redone"]) == 2
        assert counts() == [0.78, 0.63]
    ok("undo", "2", cwd=root)
    assert counts() == [0.7, 0.7]
    ok("redo", cwd=root)
    assert counts() == [0.78, 0.63]


def test_judgements_after_the_clock_was_set_back_are_undone_one_by_one(tmp_path: Path) -> None:
    clock = SetClock()
    with open_test_store(dedicated(tmp_path / "store"), clock=clock) as store:
        lore_id = store.record(QUEUE, category="fact").lore.id
        store.feedback(helpful=lore_id)
        clock.advance(days=-40)
        for _ in range(2):
            store.feedback(helpful=lore_id, again=True)
        assert store.get(lore_id).lore.validation_count == 3
        for left in (2, 1, 0):
            store.undo()
            assert store.get(lore_id).lore.validation_count == left


def test_judgements_and_edits_are_undone_in_the_order_in_which_they_were_made(root: Path) -> None:
    ok("feedback", "--helpful", "L1", cwd=root)
    ok("edit", "L1", "--add-tag", "queue", cwd=root)
    ok("feedback", "--incorrect", "L1", cwd=root)
    done = [ok("undo", "--json", cwd=root).json["undone"][0].split(" (")[0] for _ in range(3)]
    assert done == ["feedback: incorrect", "edit: add_tags", "feedback: helpful"]
    back = [ok("redo", "--json", cwd=root).json["redone"][0].split(" (")[0] for _ in range(3)]
    assert back == done[::-1]
    assert (standing(root)[:2], lore(root)["tags"]) == ((0.63, 1), ["queue"])


def test_undoing_a_vote_removes_only_what_it_added_below_the_maximum(root: Path) -> None:
    ok("edit", "L1", "--confidence", "0.95", cwd=root)
    ok("feedback", "--helpful", "L1", cwd=root)
    assert lore(root)["confidence"] == 1.0
    ok("undo", cwd=root)
    assert lore(root)["confidence"] == 0.95


def test_an_undone_judgement_stays_undone_after_sync(root: Path, tmp_path: Path) -> None:
    hub = tmp_path / "hub.git"
    git(tmp_path, "clone", "-q", "--bare", str(root), str(hub))
    git(root, "remote", "add", "origin", str(hub))
    ok("feedback", "--helpful", "L1", cwd=root)
    ok("sync", cwd=root)
    other = tmp_path / "other"
    ok("clone", str(hub), str(other))
    ok("query", "queue consumer", cwd=other)
    ok("feedback", "--incorrect", "L1", cwd=other)
    ok("undo", cwd=root)
    for clone in (root, other, root):
        ok("sync", cwd=clone)
    assert [standing(clone)[:2] for clone in (root, other)] == [(0.55, 0), (0.55, 0)]
    ok("feedback", "--helpful", "L1", "--again", cwd=root)
    assert standing(root)[:2] == (0.63, 1)


def test_record_and_forget_are_undone_and_redone(root: Path) -> None:
    (file,) = lore_files(root)
    raw = file.read_bytes()
    ok("undo", cwd=root)
    assert lore_files(root) == []
    ok("redo", cwd=root)
    assert file.read_bytes() == raw
    ok("forget", "L1", cwd=root)
    ok("undo", cwd=root)
    assert file.read_bytes() == raw


def test_undo_and_redo_step_back_and_forth(tmp_path: Path) -> None:
    with open_test_store(dedicated(tmp_path / "store")) as store:
        name = store.record(QUEUE, category="fact").lore.id
        for tag in ("a", "b", "c"):
            store.edit(name, Edit(add_tags=(tag,)))
        tags = []
        for step in (
            store.undo,
            store.undo,
            store.redo,
            store.undo,
            store.undo,
            store.redo,
            store.redo,
            store.redo,
        ):
            step()
            tags.append("".join(store.get(name).lore.tags))
        assert tags == ["ab", "a", "ab", "a", "", "a", "ab", "abc"]
        with pytest.raises(NotFoundError, match="nothing to redo"):
            store.redo()
        assert len(store.undo(3).operations) == 3
        assert store.get(name).lore.tags == ()
        store.redo()
        assert store.get(name).lore.tags == ("a", "b", "c")
    assert "undo: 3 operations" in git(tmp_path / "store", "log", "--format=%s").splitlines()


def test_later_changes_of_others_stay(root: Path) -> None:
    ok("edit", "L1", "--add-tag", "mine", cwd=root)
    (file,) = lore_files(root)
    text = file.read_text("utf-8")
    file.write_text(
        text.replace("category: FACT", "category: SKILL").replace("deliver twice", "repeat"), "utf-8"
    )
    git(root, "-c", "user.name=Somebody", "commit", "-qam", "theirs")
    ok("undo", cwd=root)
    assert (lore(root)["tags"], lore(root)["category"]) == ([], "SKILL")
    assert lore(root)["content"].endswith("repeat.")


def test_later_changes_stay_and_the_old_value_is_kept_as_a_conflict(root: Path) -> None:
    ok("edit", "L1", "--content", "Mine.", cwd=root)
    (file,) = lore_files(root)
    file.write_text(file.read_text("utf-8").replace("Mine.", "Theirs."), "utf-8")
    git(root, "commit", "-qam", "theirs")
    done = ok("undo", cwd=root)
    assert "content changed since and stays" in done.err
    assert lore(root)["content"] == "Theirs."
    assert lore(root)["conflicts"][0]["value"] == QUEUE


def test_undoing_a_record_does_not_delete_an_entry_edited_since(root: Path) -> None:
    (file,) = lore_files(root)
    file.write_text(file.read_text("utf-8") + "\nMore.\n", "utf-8")
    git(root, "commit", "-qam", "theirs")
    assert "is not deleted" in ok("undo", cwd=root).err
    assert lore(root)["content"].endswith("More.")


def test_an_undo_does_not_bring_back_an_entry_that_others_deleted(root: Path) -> None:
    ok("edit", "L1", "--add-tag", "x", cwd=root)
    git(root, "rm", "-q", str(lore_files(root)[0]))
    git(root, "commit", "-qm", "theirs")
    done = cli("undo", cwd=root)
    assert done.code == 3
    assert "was deleted since" in done.err
    assert lore_files(root) == []


def test_a_renamed_file_is_found_by_its_id(root: Path) -> None:
    ok("edit", "L1", "--add-tag", "x", cwd=root)
    (file,) = lore_files(root)
    git(root, "mv", str(file), str(root / "lore/elsewhere.md"))
    git(root, "commit", "-qm", "moved")
    ok("undo", cwd=root)
    assert lore(root)["tags"] == []
    assert lore(root)["path"] == "lore/elsewhere.md"


def test_pending_journal_operations_are_committed_first(tmp_path: Path) -> None:
    root = dedicated(tmp_path / "store")
    with open_test_store(root, clock=SetClock()) as store:
        kept = store.record(TIDES, category="fact")
        store.record(COLOUR, category="fact")
        assert git(root, "log", "--format=%s") == "Start an Engram store"
        done = store.undo()
        assert done.operations == (f"record: {COLOUR}",)
        assert [path.name[-29:-3] for path in lore_files(root)] == [kept.lore.id]
        assert store.redo().operations == (f"record: {COLOUR}",)
        assert len(lore_files(root)) == 2
        with pytest.raises(NotFoundError, match="Only 2 operations can be undone"):
            store.undo(5)


def test_an_import_of_several_commits_is_undone_and_redone_as_one(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram.usecases.exchange.import_lore._BATCH", 2)
    notes = [
        TIDES,
        COLOUR,
        "Glue holds where nails do not.",
        "A fifth wheel is of no use.",
        "Bolts are tightened crosswise.",
    ]
    source = tmp_path / "notes.jsonl"
    source.write_text("".join(f"{json.dumps({'content': note, 'category': 'FACT'})}\n" for note in notes))
    ok("record", "Nobody reads this one.", "-c", "fact", cwd=root)
    ok("import", str(source), cwd=root)
    ok("status", cwd=root)
    assert git(root, "log", "--format=%s").count("import: ") == 3
    ok("undo", cwd=root)
    assert len(lore_files(root)) == 2
    ok("redo", cwd=root)
    assert len(lore_files(root)) == 7
    ok("undo", "2", cwd=root)
    assert len(lore_files(root)) == 1


def test_changes_of_another_person_are_not_ours_to_undo(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(root), str(other))
    git(other, "config", "user.name", "Somebody Else")
    ok("init", cwd=other)
    ok("record", TIDES, "-c", "fact", cwd=other)
    git(root, "pull", "-q", str(other), "main")
    ok("undo", cwd=root)
    assert [path.read_text("utf-8").splitlines()[-1] for path in lore_files(root)] == [TIDES]


def test_the_python_api_undoes_an_edit(tmp_path: Path) -> None:
    with open_test_store(dedicated(tmp_path / "store")) as store:
        made = store.record(QUEUE, category="fact")
        store.edit(made.lore.id, Edit(content="Otherwise."))
        done = store.undo()
        assert (done.lore, done.paths, done.kept) == ((made.lore.id,), (made.path,), ())
        assert store.get(made.lore.id).lore.content == QUEUE


def test_operations_on_deleted_entries_do_not_block_older_undos(root: Path) -> None:
    ok("record", TIDES, "-c", "fact", cwd=root)
    ok("query", "tide tables", cwd=root)
    for tag in ("x", "y"):
        ok("edit", "L2", "--add-tag", tag, cwd=root)
    git(root, "rm", "-q", str(lore_files(root)[1]))
    git(root, "commit", "-qm", "theirs")
    done = ok("undo", "--json", cwd=root).json
    # Undoing both edits and the record of the deleted entry changes nothing, so the operation before them is undone.
    assert done["undone"] == [f"record: {QUEUE}"]
    assert [note.count("was deleted since") for note in done["notes"]] == [1, 1]
    assert lore_files(root) == []
    assert git(root, "log", "-1", "--format=%B").count("Engram-Undo: ") == 4
    assert cli("undo", cwd=root).code == 3
    assert ok("redo", "--json", cwd=root).json["redone"] == [f"record: {QUEUE}"]
    assert [path.read_text("utf-8").splitlines()[-1] for path in lore_files(root)] == [QUEUE]


def test_a_judgement_that_was_undone_can_be_given_again(root: Path) -> None:
    ok("feedback", "--helpful", "L1", cwd=root)
    ok("undo", cwd=root, ENGRAM_SESSION="another")  # whichever session undoes it, this one may give it again
    (again,) = ok("feedback", "--helpful", "L1", "--json", cwd=root).json["updated"]
    assert (again["repeated"], again["current"]) == (False, 0.78)
    assert lore(root)["confidence"] == 0.78


def test_a_judgement_that_was_redone_counts_as_given(root: Path) -> None:
    ok("feedback", "--helpful", "L1", cwd=root)
    ok("undo", cwd=root)
    ok("redo", cwd=root)
    (again,) = ok("feedback", "--helpful", "L1", "--json", cwd=root).json["updated"]
    assert (again["repeated"], again["current"]) == (True, 0.78)


def test_operations_of_another_clone_by_the_same_person_are_not_ours_to_undo(
    root: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(root), str(other))
    ok("init", cwd=other)
    ok("record", TIDES, "-c", "fact", cwd=other)
    git(root, "pull", "-q", str(other), "main")
    assert ok("undo", "--json", cwd=root).json["undone"] == [f"record: {QUEUE}"]


@pytest.mark.parametrize("arguments", [("undo", "0"), ("undo", "-1"), ("undo", "x")])
def test_an_invalid_count_is_refused(root: Path, arguments: tuple[str, ...]) -> None:
    assert cli(*arguments, cwd=root).code == 2


def test_where_engram_does_not_commit_there_is_nothing_to_undo(tmp_path: Path) -> None:
    for root in (make_plain_store(tmp_path / "plain"), repository(tmp_path / "code")):
        cli("init", "--placement", "in-tree", cwd=root)
        for command in ("undo", "redo"):
            done = cli(command, "--json", cwd=root)
            assert (done.code, done.json["error"]["code"]) == (1, "store")
    empty = dedicated(tmp_path / "empty")
    assert cli("undo", cwd=empty).code == 3


def test_nothing_is_undone_during_a_merge(root: Path) -> None:
    ok("edit", "L1", "--add-tag", "x", cwd=root)
    (root / ".git/MERGE_HEAD").write_text(git(root, "rev-parse", "HEAD") + "\n")
    before = lore_files(root)[0].read_bytes()
    with open_test_store(root) as store:
        store.record(TIDES, category="fact")
    done = cli("undo", cwd=root)
    assert done.code == 1
    assert "merge is under way" in done.err
    assert before in [path.read_bytes() for path in lore_files(root)]


class Model:
    """A model of an editor's undo and redo, over numbered operations."""

    def __init__(self) -> None:
        self.commits: list[OwnCommit] = []
        self.done: list[str] = []
        self.undos: list[tuple[str, tuple[str, ...]]] = []

    def step(self, kind: str) -> None:
        oid = str(len(self.commits))
        if kind == "do":
            self.commits.insert(0, OwnCommit(oid, "", (), (), ()))
            self.done.append(oid)
        elif kind == "redo":
            found = last_undo(self.commits)
            assert [one.oid for one in found] == [one[0] for one in self.undos[-1:]]
            if found:
                undo, operations = self.undos.pop()
                self.done = sorted([*self.done, *operations], key=int)
                self.commits.insert(0, OwnCommit(oid, "", (), (), (undo,)))
        else:
            count = len(kind) - len("undo") + 1
            names = [commit.oid for commit in undoable(self.commits)][:count]
            assert names == self.done[::-1][:count]
            if len(names) == count:
                self.done = self.done[:-count]
                self.undos.append((oid, tuple(names)))
                self.commits.insert(0, OwnCommit(oid, "", (), tuple(names), ()))


@given(st.lists(st.sampled_from(["do", "undo", "undo+", "undo++", "redo"]), max_size=30))
def test_any_chain_of_undo_and_redo_is_consistent(steps: list[str]) -> None:
    model = Model()
    for step in steps:
        model.step(step)
