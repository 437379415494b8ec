"""Moments through the Python API: recorded, put, patched, edited, and through an export and an import."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import ok, open_test_store

from engram.domain.errors import ValidationError
from engram.usecases.recording.edit import Edit

ID = "01JD6TQ8XW9YV3N5K7P2M4R6ST"
WHEN = ("command: git push", "file: *.tf")


def test_every_way_of_writing_an_entry_takes_moments(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as engram:
        assert engram.record("One rule.", category="fact", when="Command:  git push").lore.when == WHEN[:1]
        put = engram.put(ID, "Another rule of ours.", category="fact", when=WHEN).shown
        assert put.lore.when == WHEN
        assert engram.patch(ID, {"tags": ["x"]}).lore.when == WHEN
        assert engram.edit(ID, Edit(add_when=("tool: WebFetch",))).lore.when == (*WHEN, "tool: WebFetch")
        assert engram.edit(ID, Edit(remove_when=("Tool: WebFetch",))).lore.when == WHEN
        assert engram.edit(ID, Edit(when=WHEN[1:])).lore.when == WHEN[1:]
        assert engram.patch(ID, {"when": None}).lore.when == ()
        for wrong in ("git push", "weekday: Friday", f"error: {'x' * 200}"):
            with pytest.raises(ValidationError):
                engram.edit(ID, Edit(add_when=(wrong,)))


def test_a_moment_of_a_later_kind_stays_through_an_edit_of_the_others(tmp_path: Path) -> None:
    with open_test_store(tmp_path) as engram:
        made = engram.record("One rule.", category="fact", when=WHEN)
        path = tmp_path / made.path
        path.write_text(path.read_text().replace("[command: git push,", "[weekday: Friday,"))
        assert engram.edit(made.lore.id, Edit(add_when=("tool: X",))).lore.when == (
            "weekday: Friday",
            "file: *.tf",
            "tool: X",
        )


@pytest.mark.parametrize("kind", ["json", "jsonl", "markdown"])
def test_an_export_and_an_import_keep_moments(kind: str, tmp_path: Path) -> None:
    with open_test_store(tmp_path / "a") as engram:
        lore_id = engram.record("One rule of ours.", category="fact", when=WHEN).lore.id
    target = tmp_path / ("out" if kind == "markdown" else f"out.{kind}")
    ok("export", "--format", kind, "-o", str(target), cwd=tmp_path / "a")
    with open_test_store(tmp_path / "b"):
        pass
    ok("import", str(target), cwd=tmp_path / "b")
    with open_test_store(tmp_path / "b") as engram:
        assert engram.get(lore_id).lore.when == WHEN
