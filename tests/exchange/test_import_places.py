"""Finding memories, and detecting the kind of those at a path."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import import_path, open_test_store

from engram.domain.errors import UsageError
from engram.usecases.exchange.import_lore import Options, import_lore
from engram.usecases.exchange.import_places import detect_kind, find_memories
from tests.exchange.import_kit import AUTO, MEMORIES

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path / "store")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("AGENTS.md", "rules"),
        (".cursorrules", "rules"),
        (".github/copilot-instructions.md", "rules"),
        (".cursor/rules/api.mdc", "rules"),
        (".windsurf/rules/style.md", "rules"),
        ("projects/-w/memory/MEMORY.md", "claude-memory"),
        ("MEMORY.md", "memory-folder"),
        ("notes.md", "markdown"),
        ("rows.jsonl", "json"),
        ("picture.png", ""),
    ],
)
def test_the_kind_of_a_file_is_detected_by_name_and_place(tmp_path: Path, path: str, kind: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("x")
    assert detect_kind(str(tmp_path / path)) == kind


def test_a_mismatched_kind_is_one_error(store: Engram, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a format"):
        import_path(store, MEMORIES / "CLAUDE.md", kind="wisdom")
    with pytest.raises(UsageError, match="is a folder"):
        import_path(store, MEMORIES, kind="mem0")


def test_memories_of_a_project_are_found(tmp_path: Path) -> None:
    project, home = tmp_path / "shop", tmp_path / "claude"
    shutil.copytree(MEMORIES / "cursor", project)
    shutil.copy(MEMORIES / "CLAUDE.md", project)
    (project / "AGENTS.md").symlink_to("CLAUDE.md")
    (project / "memory").mkdir()  # any project may have a folder of that name
    slug = "".join(letter if letter.isalnum() else "-" for letter in str(project))
    shutil.copytree(AUTO, home / "projects" / slug / "memory")
    (home / "CLAUDE.md").write_text("I like short answers.")
    environment = {"CLAUDE_CONFIG_DIR": str(home)}
    found = find_memories(str(project), environment=environment)
    assert [(one.kind, Path(one.path).name) for one in found] == [
        ("rules", "CLAUDE.md"), ("rules", "rules"), ("claude-memory", "memory")
    ]  # fmt: skip
    assert [one.label for one in found] == ["CLAUDE.md", ".cursor/rules", "memory"]
    with open_test_store(tmp_path / "store") as store:
        done = import_lore(store.store, found, Options())
    assert [one.where for one in done.seen] == [
        "CLAUDE.md", ".cursor/rules/api.mdc", "memory/MEMORY.md", "memory/debugging.md", "memory/oncall.md"
    ]  # fmt: skip
    own = find_memories(str(project), own=True, environment=environment)
    assert [Path(one.path).name for one in own][:1] == ["CLAUDE.md"]
