"""Scopes for tests: a project, teams with bare remotes, and queries by the command line."""

from __future__ import annotations

from pathlib import Path

from apikit import ok
from sync_kit import bare

from engram.adapters.files import places

CUDA = "GPU workers need pinned drivers: upgrade the queue hosts at once."
MINE = "I write queue tests with pytest, never with unittest."
TRIAL = "Trying the queue consumer with a deadline of five seconds."


def team(folder: Path, name: str, *texts: str, options: tuple[str, ...] = ()) -> Path:
    """Add a team with a bare remote and some lore as a scope; return the root of its clone."""
    hub = bare(folder / f"{name}.git")
    ok("scope", "add", name, str(hub), *options, "--json", cwd=folder)
    root = Path(places.team_store(name))
    for text in texts:
        ok("record", text, "-c", "fact", cwd=root, ENGRAM_STORE="")
    return root


def record(text: str, cwd: Path, *options: str) -> str:
    found: str = ok("record", text, "-c", "fact", "--json", *options, cwd=cwd).json["lore"]["id"]
    return found


def found(cwd: Path, *words: str) -> list[tuple[str, str, str]]:
    """Return ref, scope and title of each hit."""
    answer = ok("query", *words, "--json", cwd=cwd).json
    return [(hit["ref"], hit["scope"], hit["title"]) for hit in answer["lore"]]
