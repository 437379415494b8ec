"""The repository's own pre-push hook: run for the branch of lore if the person asked for it, and named if it is passed by."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import cli, git, ok
from sync_kit import Clones, executable, make_clones

from engram.domain.errors import NEEDS_HUMAN

NOTES = '#!/bin/sh\n{ echo "$@"; cat; pwd; } > "$(git rev-parse --absolute-git-dir)/seen"\n'


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return make_clones(tmp_path)[0]


def test_a_hook_runs_only_if_the_person_has_enabled_it(clones: Clones) -> None:
    root, seen = clones.root("a"), clones.root("a") / ".git/seen"
    executable(root / ".git/hooks/pre-push", NOTES)
    (root / ".engram.toml").write_text((root / ".engram.toml").read_text() + "\n[sync]\nhooks = true\n")
    before = git(clones.hub, "rev-parse", "main")
    ok("record", "Brokers deliver twice when an ack is late.", "-c", "fact", cwd=root)
    done = ok("sync", "--json", cwd=root).json
    assert not seen.exists()
    assert any("pre-push was not run" in note for note in done["notes"])
    ok("config", "sync.hooks", "true", "--user", cwd=root)
    middle = git(clones.hub, "rev-parse", "main")
    assert middle != before
    ok("record", "Queues are drained before a deploy of the workers.", "-c", "fact", cwd=root)
    assert ok("sync", "--json", cwd=root).json["notes"] == []
    arguments, line, where = seen.read_text().splitlines()
    assert arguments == f"origin {git(root, 'config', 'remote.origin.url')}"
    assert line.split(" ") == ["refs/heads/main", git(root, "rev-parse", "HEAD"), "refs/heads/main", middle]
    assert Path(where) == root


def test_a_hook_that_declines_stops_the_push_and_says_why(clones: Clones) -> None:
    root = clones.root("a")
    executable(clones.folder / "hooks/pre-push", "#!/bin/sh\necho 'No pushes on Friday.' >&2\nexit 1\n")
    git(root, "config", "core.hooksPath", str(clones.folder / "hooks"))
    ok("config", "sync.hooks", "true", "--user", cwd=root)
    ok("record", "Brokers deliver twice when an ack is late.", "-c", "fact", cwd=root)
    before = git(clones.hub, "rev-parse", "main")
    refused = cli("sync", cwd=root)
    assert refused.code == NEEDS_HUMAN
    assert "hook declined the push: No pushes on Friday." in refused.err
    assert git(clones.hub, "rev-parse", "main") == before
    ok("config", "sync.hooks", "false", "--user", cwd=root)
    assert ok("sync", "--json", cwd=root).json["pushed"] == 1
