"""A pack is written once, readable as its folder is, or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from apikit import git

from engram.adapters.git.run.layout import find_repository
from engram.adapters.git.write.pack import BLOB, FEW, NewObjects
from engram.domain.errors import GitError


def test_a_pack_has_the_read_permissions_of_its_folder_and_is_written_once(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    repo = find_repository(str(tmp_path))
    assert repo is not None
    folder = tmp_path / ".git" / "objects" / "pack"
    folder.chmod(0o750)
    made = NewObjects(repo)
    oids = [made.add(BLOB, b"text %d\n" % number) for number in range(FEW)]
    made.store()
    files = sorted(folder.iterdir())
    assert [file.suffix for file in files] == [".idx", ".pack"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o440}
    assert [git(tmp_path, "cat-file", "blob", oid) for oid in oids[::30]] == [
        "text 0",
        "text 30",
        "text 60",
        "text 90",
    ]
    git(tmp_path, "verify-pack", str(files[0]))
    inodes = [file.stat().st_ino for file in files]
    made.store()
    assert [file.stat().st_ino for file in sorted(folder.iterdir())] == inodes


def test_a_pack_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q")
    repo = find_repository(str(tmp_path))
    assert repo is not None
    made = NewObjects(repo)
    for number in range(FEW):
        made.add(BLOB, b"text %d\n" % number)

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GitError, match="No space left on device"):
        made.store()
    assert list((tmp_path / ".git" / "objects" / "pack").iterdir()) == []
