"""Lore at a terminal: no control characters, the parts of a score, marks of inactive entries."""

from __future__ import annotations

from pathlib import Path

from apikit import ok


def test_control_characters_of_lore_never_reach_the_screen(root: Path) -> None:
    ok("record", "Evil \x1b[31mred\x1b[0m \u202etxt \x07 bell", "-c", "fact", "-t", "a\x1bb", cwd=root)
    ok("query", "evil red bell", cwd=root)
    for line in (
        ["list"],
        ["query", "evil red"],
        ["show", "L1"],
        ["session"],
        ["list", "--json"],
        ["show", "L1", "--json"],
    ):
        shown = ok(*line, cwd=root).out
        assert not set(shown) & set("\x1b\x07\u202e"), line
    assert (
        ok("show", "L1", "--json", cwd=root).json["lore"]["content"]
        == "Evil \x1b[31mred\x1b[0m \u202etxt \x07 bell"
    )


def test_explain_shows_the_parts_of_a_score(root: Path) -> None:
    shown = ok("query", "tide tables", "--explain", cwd=root).out
    assert "score 0." in shown
    for part in ("words", "meaning", "standing"):
        assert f"{part} " in shown
    assert "score" not in ok("query", "tide tables", cwd=root).out


def test_a_list_marks_what_is_not_active(root: Path) -> None:
    ok("record", "Waits for review", "-c", "fact", "--status", "pending", cwd=root)
    lines = ok("list", cwd=root).out.splitlines()
    assert ["pending" in line for line in lines[:2]] == [True, False]
