"""Blobs come one by one in the order asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import git
from gitkit import open_repository

from engram.adapters.git.read import blob_stream
from engram.domain.errors import GitError


def test_blobs_are_streamed_in_order_and_a_missing_one_is_an_error(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "store")
    repo = open_repository(tmp_path / "store")
    contents = [b"", b"a\0b\n", b"x" * 300_000, b"no end of line", b"a\0b\n"]
    oids = []
    for number, content in enumerate(contents):
        (tmp_path / str(number)).write_bytes(content)
        oids.append(
            git(Path(repo.worktree), "hash-object", "-w", "--no-filters", str(tmp_path / str(number)))
        )
    assert list(blob_stream.stream(repo, oids * 40)) == contents * 40
    assert list(blob_stream.stream(repo, [])) == []
    assert next(blob_stream.stream(repo, oids * 500)) == b"", "whoever has enough may stop"
    found = blob_stream.stream(repo, [oids[1], "0" * 40, oids[2]])
    assert next(found) == contents[1]
    with pytest.raises(GitError, match="damaged: it lacks the file contents 0000000000"):
        next(found)
    with pytest.raises(GitError, match="time limit"):
        list(blob_stream.stream(repo, oids * 500, deadline=0.0))
