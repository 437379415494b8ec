"""The commit that each field and line of an entry comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from apikit import QUEUE, TIDES, git, lore_files, ok


def blamed(root: Path) -> dict[str, str]:
    rows: list[dict[str, Any]] = ok("blame", "L1", "--json", cwd=root).json["lines"]
    return {row["field"] or row["text"]: row["agent"] or row["subject"] for row in rows}


def test_blame_shows_the_agent_of_each_field_and_line(root: Path) -> None:
    origins = blamed(root)
    found = {key: origins[key] for key in ("id", "category", "tags", "updated_at")}
    assert found == {"id": "ada", "category": "ada", "tags": "ada", "updated_at": "eve"}
    assert (origins[QUEUE], origins["Measure it twice."], origins["Then decide."]) == ("ada", "eve", "ada")
    lines = ok("blame", "L1", cwd=root).out.splitlines()
    assert len(lines) == len(lore_files(root)[0].read_text("utf-8").strip().splitlines()) - 3
    assert any(line.endswith("Measure it twice.") and " eve " in line for line in lines)


def test_blame_follows_merges_and_restored_deletions(root: Path) -> None:
    git(root, "switch", "-qc", "side", "HEAD~1")
    (file,) = lore_files(root)
    file.write_text(file.read_text("utf-8").replace("Then decide.", "Then decide alone."), "utf-8")
    git(root, "commit", "-qam", "on the side")
    git(root, "switch", "-q", "main")
    (file,) = lore_files(root)
    file.write_text(file.read_text("utf-8").replace("tags: [queue]", "tags: [queue, broker]"), "utf-8")
    git(root, "commit", "-qam", "on main")
    git(root, "merge", "-q", "--no-edit", "side")
    origins = blamed(root)
    assert (origins["Then decide alone."], origins["tags"], origins[QUEUE]) == (
        "on the side",
        "on main",
        "ada",
    )
    ok("forget", "L1", cwd=root)
    ok("undo", cwd=root)
    assert blamed(root) == origins


def test_blame_marks_uncommitted_lines(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    ok("init", "--placement", "in-tree", cwd=tmp_path)
    ok("record", TIDES, "-c", "fact", cwd=tmp_path)
    ok("query", "tide tables", cwd=tmp_path)
    assert set(blamed(tmp_path).values()) == {""}
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    with (lore_files(tmp_path)[0]).open("a") as file:
        file.write("\nNew.\n")
    origins = blamed(tmp_path)
    assert (origins[TIDES], origins["New."]) == ("all", "")
    assert "not committed" in ok("blame", "L1", cwd=tmp_path).out
