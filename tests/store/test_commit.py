"""From the journal to the commits: order, hand edits, killed helpers, lines and moves gone wrong."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from storekit import SteadyClock, assert_settled, assert_sound, commit, engram_command, git, open_test_store

from engram.domain.errors import GitError, StoreError
from engram.usecases.recording.edit import Edit
from engram.usecases.store import commit as committing
from engram.usecases.store.commit import has_work
from engram.usecases.store.outside_changes import record_outside_changes


def test_a_journaled_change_is_not_taken_for_an_edit_by_hand(tmp_path: Path) -> None:
    """As when another process records between the taking of a batch and the look at the work tree."""
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        engram.record("retry the broker", category="FACT")
        record_outside_changes(engram.store, ["lore/whatever.md"])
        committing._commit_outside(engram.store)
        commit(engram)
    assert git(root, "log", "--format=%s").split("\n")[0] == "record: retry the broker"


def test_an_entry_edited_by_hand_before_its_commit_gets_both_commits(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        shown = engram.record("retry the broker", category="FACT")
        path = root / shown.path
        path.write_bytes(path.read_bytes().replace(b"broker", b"parser"))
        record_outside_changes(engram.store, [shown.path])
        committing._commit_outside(engram.store)
        commit(engram)
    subjects = git(root, "log", "--format=%s").split("\n")
    assert subjects[:2] == [f"edit by hand: {shown.path}", "record: retry the broker"]
    assert_sound(root)


def test_hand_edits_that_a_killed_committer_had_taken_are_committed(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        (root / "lore" / "dropped.md").write_text("# The parser is flaky\n")
        engram.refresh()
        os.rename(engram.store.outside_path, engram.store.outside_path + ".taken")
        assert has_work(engram.store)
        commit(engram)
        assert not has_work(engram.store)
    assert_sound(root)


def test_batches_are_committed_in_order_though_the_clock_went_back(tmp_path: Path) -> None:
    root, clock = tmp_path / "store", SteadyClock()
    with open_test_store(root, clock) as engram:
        lore_id = engram.record("retry the broker", category="FACT").lore.id
        commit(engram)
        git(root, "checkout", "-q", "--detach")
        for hours in (2, 1, 0):  # nothing can be committed, and each try happens an hour earlier
            clock.ahead = hours * 3600 * 1_000_000_000
            engram.edit(lore_id, Edit(add_tags=(str(hours),)))
            with pytest.raises(GitError):
                commit(engram)
        git(root, "checkout", "-q", "main")
        commit(engram)
    assert_sound(root)


def test_a_move_announced_by_a_killed_process_is_finished_by_one_that_stayed_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "store"
    with open_test_store(root) as engram, open_test_store(root) as killed:
        killed.record("cache the parser", category="FACT")
        engram.refresh()
        monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            killed.record("retry the broker", category="FACT")
        monkeypatch.undo()
        engram.refresh()
        assert [hit.lore.content for hit in engram.query("broker").lore] == ["retry the broker"]
        commit(engram)
    assert_sound(root)
    assert_settled(root)


def test_a_journal_line_that_is_no_operation_is_skipped(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        engram.record("retry the broker", category="FACT")
        with open(engram.store.files.journal.path, "ab") as journal:
            journal.write(b'{"op":"X","changes":[{"path":1}]}\n{"changes":[]}\n[]\nnull\n{"op":"torn')
    with open_test_store(root) as engram:
        engram.record("cache the parser", category="FACT")
        commit(engram)
        assert not has_work(engram.store)
    assert_sound(root)


def test_a_refused_move_reverts_the_operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, where a file that somebody reads cannot be replaced."""
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        lore = engram.record("retry the broker", category="FACT").lore
        commit(engram)
        engram.refresh()
        for name in ("replace", "unlink"):
            refused = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            monkeypatch.setattr(os, name, lambda *_, refused=refused: (_ for _ in ()).throw(refused))
            act = (
                (lambda: engram.edit(lore.id, Edit(pinned=True)))
                if name == "replace"
                else lambda: engram.forget(lore.id)
            )
            with pytest.raises(StoreError, match="No permission"):
                act()
            monkeypatch.undo()
        assert engram.get(lore.id).lore == lore
        assert not has_work(engram.store)
        assert engram.edit(lore.id, Edit(pinned=True)).lore.pinned
        engram.refresh()  # a look at the folder clears away what could not be deleted
        commit(engram)
    assert_sound(root)
    assert_settled(root)


def test_recording_succeeds_while_git_cannot_commit(tmp_path: Path) -> None:
    root = tmp_path / "store"
    open_test_store(root).close()
    git(root, "checkout", "-q", "--detach")
    arguments = ("record", "retry the broker", "--category", "FACT", "--json")
    done = engram_command(root, *arguments, ENGRAM_BACKGROUND="inline")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "recorded"
    status = json.loads(engram_command(root, "status", "--json", ENGRAM_BACKGROUND="inline").stdout)
    assert status["git"]["pending"] == 1
    git(root, "checkout", "-q", "main")
    with open_test_store(root) as engram:
        commit(engram)
    assert_sound(root)
