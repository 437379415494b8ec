"""Where renamed notes were first seen: kept in a file for each, forgotten with the note, and nothing for any other."""

from __future__ import annotations

from pathlib import Path

from engram.adapters.files.note_ids import FOLDER, NoteIds


def test_the_first_path_of_a_renamed_note_is_recorded_until_it_is_forgotten(tmp_path: Path) -> None:
    ids = NoteIds(str(tmp_path))
    ids.record("new/Ä b.md", "old.md", "t")
    ids.record("other.md", "first.md", "t")
    assert ids.first_seen("new/Ä b.md") == "old.md"
    assert NoteIds(str(tmp_path)).all() == {"new/Ä b.md": "old.md", "other.md": "first.md"}
    ids.forget("other.md")
    ids.forget("never.md")
    assert ids.all() == {"new/Ä b.md": "old.md"}


def test_a_note_that_was_never_renamed_has_no_record_and_one_renamed_back_has_its_own_path(
    tmp_path: Path,
) -> None:
    ids = NoteIds(str(tmp_path))
    ids.record("a.md", "a.md", "t")
    assert not (tmp_path / FOLDER).exists()
    ids.record("a.md", "b.md", "t")
    ids.record("a.md", "a.md", "t")
    assert ids.first_seen("a.md") == "a.md"


def test_damaged_records_and_those_of_another_path_are_ignored(tmp_path: Path) -> None:
    ids = NoteIds(str(tmp_path))
    ids.record("a.md", "b.md", "t")
    (file,) = [one for one in (tmp_path / FOLDER).rglob("*") if one.is_file()]
    for damaged in (
        b"\xff\xfe",
        b"first seen as: b.md\n",
        b"first seen as: b.md\nnow: c.md\n",
        b"b.md\nnow: a.md\n",
    ):
        file.write_bytes(damaged)
        assert ids.first_seen("a.md") == "", damaged
        assert ids.all() == {}, damaged
