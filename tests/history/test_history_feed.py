"""The history table always equals git's history, whatever happens to commits, files and updates."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import QUEUE, SetClock, git, lore_files, ok, open_test_store, repository
from storekit import commit
from sync_kit import Clones

from engram.adapters.state import history_table
from engram.adapters.state.history_table import HistoryTable
from engram.usecases.history import history_feed
from engram.usecases.history.history_feed import update, with_history
from engram.usecases.history.log import history, recent
from engram.usecases.recording.edit import Edit
from engram.usecases.upkeep.background import tidy
from tests.history.test_history_table import Rows, path_of, person_commits, rows, stored_rows

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.store.store import Store


def rebuilt_rows(store: Store) -> Rows:
    """Return the rows of a table built from scratch."""
    with closing(HistoryTable(history_table.MEMORY)) as table:
        update(store, table)
        return rows(table)


def kinds(engram: Engram, name: str) -> list[str]:
    """Return the kinds of an entry's changes, oldest first."""
    return [event.kind for event in reversed(history(engram.store, name)[1])]


@pytest.mark.slow
def test_incremental_updates_equal_one_full_update(tmp_path: Path) -> None:
    clones = Clones(tmp_path)
    lore = clones.record("a")
    clones.settle()
    stored_rows(clones["a"].store)
    for name, other in ("ab", "ba"):
        clones[name].feedback(helpful=lore.id)
        clones.record(name, f"Only {name}.")
        clones.edit(other, clones.path(other, lore), "twice", f"twice, says {other}")
        clones.sync(name)
        stored_rows(clones[name].store)
        clones[name].feedback(incorrect=lore.id)
        clones[name].edit(lore.id, Edit(add_tags=(name,)))
        commit(clones[name])
        stored_rows(clones[name].store)
        clones.settle()
    clones.assert_equal()
    assert (
        stored_rows(clones["a"].store)
        == rebuilt_rows(clones["a"].store)
        == rebuilt_rows(clones["b"].store)
        == stored_rows(clones["b"].store)
    )
    found = history(clones["b"].store, lore.id)[1]
    assert "merged" in {event.kind for event in found}
    merges = [event for event in found if event.kind == "merged"]
    assert all(event.author.startswith("Engram") for event in merges)
    assert found[0].confidence == clones["b"].get(lore.id).lore.confidence


def test_commits_removed_from_the_history_are_removed_from_the_table(engram: Engram) -> None:
    root = Path(engram.path)
    before = stored_rows(engram.store)
    (file, *_) = lore_files(root)
    file.write_text(file.read_text("utf-8") + "\nMore.\n", "utf-8")
    person_commits(root)
    assert len(stored_rows(engram.store)) == len(before) + 2
    git(root, "commit", "-q", "--amend", "-m", "otherwise")
    assert stored_rows(engram.store) == rebuilt_rows(engram.store)
    git(root, "switch", "-qc", "side", "HEAD~2")
    assert stored_rows(engram.store) == rebuilt_rows(engram.store)
    git(root, "switch", "-q", "main")
    assert stored_rows(engram.store) == rebuilt_rows(engram.store)
    git(root, "reset", "-q", "--hard", "HEAD~1")
    git(root, "branch", "-qD", "side")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "-q", "--prune=now")
    assert stored_rows(engram.store) == rebuilt_rows(engram.store) == before


def test_the_table_is_rebuilt_when_git_has_lost_its_commits(engram: Engram) -> None:
    root = Path(engram.path)
    stored_rows(engram.store)
    git(root, "commit", "-q", "--amend", "-m", "rewritten")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "-q", "--prune=now")
    assert stored_rows(engram.store) == rebuilt_rows(engram.store)


def test_a_killed_update_is_continued(engram: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_feed, "AT_ONCE", 1)

    def killed(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with_history(engram.store, rows, killed)
    git(Path(engram.path), "commit", "-q", "--amend", "-m", "and then the history was rewritten")
    steps: list[tuple[int, int]] = []
    found = with_history(engram.store, rows, lambda done, total: steps.append((done, total)))
    assert found == rebuilt_rows(engram.store)
    assert steps[-1][1] == 2, "commits already in the table are not read again"


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be made read-only there")
def test_the_history_is_read_even_if_no_table_can_be_written(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: str) -> Any:
        raise history_table.TableError("unable to open database file")

    whole = stored_rows(engram.store)
    real = HistoryTable
    monkeypatch.setattr(
        history_feed,
        "HistoryTable",
        lambda path: real(path) if path == history_table.MEMORY else refuse(path),
    )
    assert stored_rows(engram.store) == whole


def test_manual_changes_of_a_file_become_events(engram: Engram) -> None:
    root = Path(engram.path)
    name = engram.list(sort="confidence").lore[0].lore.id
    (file,) = [path for path in lore_files(root) if name in path.name]
    whole = file.read_text("utf-8")
    git(root, "mv", str(file), str(root / "lore/moved.md"))
    person_commits(root, "moved")
    moved = root / "lore/moved.md"
    moved.write_text("---\ncategory: WISDOM\n---\nText.\n", "utf-8")
    person_commits(root, "broken")
    moved.write_text("---\ncategory: NONSENSE\n---\nText.\n", "utf-8")
    person_commits(root, "still broken")
    moved.write_text(whole, "utf-8")
    person_commits(root, "mended")
    moved.write_text(whole.replace("idempotent", "repeatable"), "utf-8")
    person_commits(root, "edited")
    moved.unlink()
    person_commits(root, "removed")
    moved.write_text(whole, "utf-8")
    person_commits(root, "back")
    found = [event for event in reversed(history(engram.store, name)[1]) if event.kind != "judged"]
    events = [(event.subject.split(":")[0], event.kind, event.confidence) for event in found]
    assert events == [
        ("record", "added", 0.7), ("moved", "moved", 0.7), ("broken", "changed", None), ("still broken", "changed", None),
        ("mended", "changed", 0.7), ("edited", "changed", 0.7), ("removed", "removed", None), ("back", "added", 0.7),
    ]  # fmt: skip
    assert [event.fields for event in found if event.subject == "edited"] == [("content",)]
    assert {event.path for event in found[1:]} == {"lore/moved.md"}


def test_a_file_keeps_its_history_on_adoption_but_not_under_another_id(engram: Engram) -> None:
    root = Path(engram.path)
    dropped = root / "lore/dropped.md"
    dropped.write_text("The licence server allows 20 seats.\n", "utf-8")
    person_commits(root, "dropped")
    ok("adopt", cwd=root)
    (lore,) = [
        shown for shown in open_test_store(root).list(limit=None).lore if shown.path == "lore/dropped.md"
    ]
    assert kinds(engram, lore.lore.id) == ["added", "changed"]
    dropped.write_text(
        dropped.read_text("utf-8").replace(lore.lore.id, "01M806ZZWH03EWHXWBG1FA47RA", 1), "utf-8"
    )
    person_commits(root, "another entry")
    assert kinds(engram, "01M806ZZWH03EWHXWBG1FA47RA") == ["added"]
    with closing(HistoryTable(str(path_of(engram)))) as table:
        assert table.of_lore(lore.lore.id, "", 1)[0][1].kind == "removed"


def test_in_a_code_repository_only_lore_counts_and_only_on_request(tmp_path: Path) -> None:
    root = repository(tmp_path / "code")
    ok("init", "--placement", "in-tree", cwd=root)
    ok("record", QUEUE, "-c", "fact", cwd=root)
    person_commits(root, "with lore")
    (root / "src/more.md").write_text("# Documentation\n")
    person_commits(root, "code alone")
    engram = open_test_store(root)
    tidy(engram.store)
    assert not path_of(engram).exists()
    assert [row.subject for row in recent(engram.store)] == ["with lore"]
    git(root, "switch", "-qc", "work", "HEAD~1")
    (root / "src/other.py").write_text("pass\n")
    person_commits(root, "on a branch")
    tidy(engram.store)
    assert with_history(engram.store, lambda table: table.meta()["head"]) == git(root, "rev-parse", "HEAD")
    assert stored_rows(engram.store) == rebuilt_rows(engram.store)


def test_background_work_updates_the_table_of_a_dedicated_store(engram: Engram) -> None:
    tidy(engram.store)
    with closing(HistoryTable(str(path_of(engram)))) as table:
        assert table.meta()["head"] == git(Path(engram.path), "rev-parse", "HEAD")


def test_commits_fetched_into_a_shallow_clone_are_added(engram: Engram, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{engram.path}", str(tmp_path / "shallow"))
    shallow = open_test_store(tmp_path / "shallow", clock=SetClock())
    assert len(recent(shallow.store)) == 1
    git(tmp_path / "shallow", "fetch", "-q", "--unshallow")
    assert len(recent(shallow.store)) == 2
    assert stored_rows(shallow.store) == stored_rows(engram.store)


def test_commit_times_that_go_backwards_keep_children_after_parents(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = engram.list(sort="confidence").lore[0].lore.id
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    engram.edit(name, Edit(add_tags=("late",)))
    commit(engram)
    (file,) = [path for path in lore_files(Path(engram.path)) if name in path.name]
    file.write_text(file.read_text("utf-8") + "\nMore.\n", "utf-8")
    person_commits(Path(engram.path), "with a clock that is wrong")
    assert [event.subject.split(":")[0] for event in history(engram.store, name)[1]][:2] == [
        "with a clock that is wrong",
        "edit",
    ]
