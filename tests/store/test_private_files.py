"""Private files of a clone are readable only by their owner, and contain no secrets of queries."""

from __future__ import annotations

import os
from pathlib import Path

from apikit import ok
from sync_kit import make_clones

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def test_private_state_is_readable_only_by_its_owner_and_masks_secrets_in_queries(tmp_path: Path) -> None:
    root = make_clones(tmp_path)[0].root("a")
    state = root / ".git/engram"
    os.chmod(state, 0o755)
    if (state / "state.db").exists():
        os.chmod(state / "state.db", 0o644)
    ok("query", f"why does {KEY} fail", cwd=root)
    ok("record", "Brokers deliver twice when an ack is late.", "-c", "fact", cwd=root)
    ok("log", cwd=root)
    said = ok("live", "--json", cwd=root).out
    assert "why does" in said
    assert KEY not in said
    assert os.stat(state).st_mode & 0o077 == 0
    for path in state.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    for name in ("state.db", "history.db"):
        assert os.stat(state / name).st_mode & 0o077 == 0, name
    entry = next((root / "lore").rglob("*.md"))
    assert os.stat(entry).st_mode & 0o444 == 0o444


def test_a_fresh_clone_writes_nothing_private_that_others_may_read(tmp_path: Path) -> None:
    clones = make_clones(tmp_path)[0]
    ok("clone", str(clones.hub), str(tmp_path / "new"))
    for name in ("dedicated", "settings.json"):
        assert os.stat(tmp_path / "new/.git/engram" / name).st_mode & 0o077 == 0, name
