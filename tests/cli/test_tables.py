"""Tables on the command line: aligned for wide characters, and readable in narrow terminals."""

from __future__ import annotations

from pathlib import Path

from apikit import TIDES, ok

from engram.cli.output import display_width, pad, shorten


def test_columns_are_aligned_for_characters_of_any_width(root: Path) -> None:
    ok("record", "キューの消費者は冪等でなければならない。" * 4, "-c", "fact", cwd=root)
    rows = [line for line in ok("list", cwd=root).out.splitlines() if "now" in line]
    assert len(rows) == 2
    assert {display_width(line[: line.index(" now")]) for line in rows} == {
        display_width(rows[0][: rows[0].index(" now")])
    }
    assert max(map(display_width, rows)) <= 120
    assert pad("日本語", 4) == "日… "
    assert shorten("日本語", 6) == "日本語"


def test_a_table_too_wide_for_the_terminal_gets_a_line_for_each_cell(root: Path) -> None:
    lore = ok("list", "--json", cwd=root).json["lore"][0]
    shown = dict(
        line.split(maxsplit=1)
        for line in ok("sql", "SELECT * FROM lore", cwd=root).out.splitlines()
        if " " in line
    )
    assert shown["id"] == lore["id"]
    assert shown["path"] == lore["path"]
    assert shown["created_at"] == lore["created_at"]


def test_times_in_a_wide_table_become_dates_before_cells_are_cut(root: Path) -> None:
    lore = ok("list", "--json", cwd=root).json["lore"][0]
    names, row = ok("sql", "SELECT id, title, created_at, updated_at FROM lore", cwd=root).out.splitlines()
    assert names.split() == ["id", "title", "created_at", "updated_at"]
    day = lore["created_at"][:10]
    assert row.split(maxsplit=1) == [lore["id"], f"{TIDES}  {day}  {day}"]
