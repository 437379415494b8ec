"""`git pull` with the driver and `engram sync` give the same bytes, whatever both sides did to their files."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from apikit import dedicated, git
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from merge_kit import triples
from storekit import commit
from sync_kit import files, open_test_store

from engram.usecases.store.store import Clock
from engram.usecases.sync.incoming import merge_incoming
from engram.usecases.sync.local_changes import commit_local_changes

Triple = tuple[bytes, bytes, bytes]


@settings(
    max_examples=examples(2, 25),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(triples(), min_size=4, max_size=4))
def test_a_pull_with_the_driver_equals_a_sync(found: list[Triple]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="two-ways-"))
    try:
        root = dedicated(folder / "pull")
        branch(root, found, 0)
        git(root, "switch", "-q", "-c", "side")
        branch(root, found, 2)
        git(root, "switch", "-q", "main")
        branch(root, found, 1)
        shutil.copytree(root, folder / "sync")
        pulled, synced = by_pull(root), by_sync(folder / "sync")
        assert pulled == synced
        assert not any(b"<<<<<<< " in raw for raw in synced.values())
    finally:
        shutil.rmtree(folder)


def branch(root: Path, found: list[Triple], version: int) -> None:
    """Commit one version of each file."""
    for number, triple in enumerate(found):
        file = root / f"lore/2026/11/{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(triple[version])
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", f"version {version}")


def by_pull(root: Path) -> dict[str, bytes]:
    git(root, "pull", "-q", "--no-rebase", "--no-edit", str(root), "side")
    return {path: raw for path, raw in files(root).items() if path.startswith("lore/")}


def by_sync(root: Path) -> dict[str, bytes]:
    theirs = git(root, "rev-parse", "side")
    with open_test_store(root, Clock()) as store:
        commit_local_changes(store.store)
        merge_incoming(store.store, theirs)
        commit(store)
    return {path: raw for path, raw in files(root).items() if path.startswith("lore/")}
