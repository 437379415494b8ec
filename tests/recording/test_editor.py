"""Editing at a terminal: the file changes, and typed text is never lost."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from apikit import TIDES, lore_files, make_plain_store, ok
from effort import sampled

from tests.cli.pty_kit import terminal


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_plain_store(tmp_path)
    ok("record", TIDES, "-c", "fact", cwd=tmp_path)
    return tmp_path


def editor(root: Path, body: str) -> str:
    """An editor program that needs nobody at the keyboard."""
    path = root / "editor with blank.py"
    path.write_text(
        f"import sys\npath = sys.argv[-1]\ntext = open(path, newline='').read()\n{body}\n", "utf-8"
    )
    return f"{shlex.quote(sys.executable)} '{path}'"


REPLACE = "open(path, 'w', newline='').write(text.replace({!r}, {!r}))"


def test_the_editor_changes_the_file(root: Path) -> None:
    (file,) = lore_files(root)
    before = file.read_text("utf-8")
    code, shown = terminal(root, "edit", "tide", EDITOR=editor(root, REPLACE.format("local", "solar")))
    assert code == 3, "nothing was surfaced in that session"
    lore_id = ok("list", "--json", cwd=root).json["lore"][0]["id"]
    code, shown = terminal(root, "edit", lore_id, EDITOR=editor(root, REPLACE.format("local", "solar")))
    assert (code, "Changed" in shown) == (0, True), shown
    after = file.read_text("utf-8")
    assert after.endswith(TIDES.replace("local", "solar") + "\n")
    assert f"id: {lore_id}\n" in before
    assert f"id: {lore_id}\n" in after


@sampled(
    ("body", "code", "says"),
    [
        ("pass", 0, "Nothing was changed"),
        (REPLACE.format("category: FACT", "category: NONSENSE"), 2, "not a category"),
        (REPLACE.format(TIDES, "x" * 4001), 2, "4,001"),
        (REPLACE.format("id: 0", "id: 1"), 2, "never changes"),
        (REPLACE.format("---\n\n", "\n"), 2, "no closing"),
        (REPLACE.format("local", "solar") + "\nsys.exit(3)", 2, "ended with 3"),
    ],
    everyday=2,
)
def test_a_refused_edit_keeps_the_text_that_was_typed(root: Path, body: str, code: int, says: str) -> None:
    (file,) = lore_files(root)
    before = file.read_bytes()
    lore_id = ok("list", "--json", cwd=root).json["lore"][0]["id"]
    spare = root / "spare"
    spare.mkdir()
    found, shown = terminal(
        root, "edit", lore_id, EDITOR=editor(root, body), TMPDIR=str(spare), COLUMNS="300"
    )
    assert found == code
    assert "Traceback" not in shown
    assert says in " ".join(shown.split())
    assert file.read_bytes() == before
    kept = list(spare.iterdir())
    assert len(kept) == (0 if code == 0 else 1)
    if kept:
        assert kept[0].name in shown.replace("\r\n", "")


@sampled("chosen", ["no-such-program-at-all", "'unclosed", ""])
def test_an_editor_that_cannot_be_started_is_an_error(root: Path, chosen: str) -> None:
    lore_id = ok("list", "--json", cwd=root).json["lore"][0]["id"]
    spare = root / "spare"
    spare.mkdir()
    code, shown = terminal(
        root, "edit", lore_id, EDITOR=chosen, VISUAL=chosen, PATH="/nowhere", TMPDIR=str(spare)
    )
    assert code == 2, shown
    assert "Traceback" not in shown
    assert list(spare.iterdir()) == [], "nothing was typed, so nothing is kept"


@pytest.mark.slow
def test_visual_comes_before_editor(root: Path) -> None:
    lore_id = ok("list", "--json", cwd=root).json["lore"][0]["id"]
    code, _ = terminal(
        root, "edit", lore_id, VISUAL=editor(root, REPLACE.format("local", "lunar")), EDITOR="no-such-program"
    )
    assert code == 0
    assert "lunar" in lore_files(root)[0].read_text("utf-8")
