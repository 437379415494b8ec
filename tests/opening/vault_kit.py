"""A vault: a folder of notes in a git repository, opened in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitkit import git

import engram
from benchmarks.vaults.notes import make_vault
from engram.usecases.index.index_query import query_index
from engram.usecases.index.refresh import refresh
from engram.usecases.opening.init import init_here

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram


def vault(folder: Path, notes: dict[str, str] | int) -> Engram:
    """A vault in a git repository, all committed, opened in place."""
    folder.mkdir()
    git(folder, "-c", "init.defaultBranch=main", "init", "-q")
    if isinstance(notes, int):
        make_vault(folder, notes)
    else:
        write(folder, notes)
    init_here(str(folder))
    commit(folder)
    return engram.open(str(folder), background=False)


def write(folder: Path, notes: dict[str, str]) -> None:
    for path, text in notes.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "notes", "--allow-empty")


def ids(lore: Engram) -> dict[str, str]:
    refresh(lore.store)
    return {
        hit.path: hit.id for hit in query_index(lore.store, lambda generation: generation.catalog.select("1"))
    }
