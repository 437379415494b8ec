"""What a sync and a clone refuse to write, and what a pulled file cannot make Engram do."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from apikit import cli, git
from sync_kit import Clones, files, make_clones

from engram.domain.errors import NEEDS_HUMAN, REMOTE_FAILED, RemoteError, SyncBlockedError


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return make_clones(tmp_path)[0]


FORGED = (
    ("lore/.GIT/config", "100644"),
    ("lore/git~1/x.md", "100644"),
    ("lore/.g\u200cit/x.md", "100644"),
    ("lore", "120000"),
)


def test_files_that_may_not_be_written_are_refused(clones: Clones) -> None:
    head = git(clones.hub, "rev-parse", "main")
    clones.record("a", "Mine.")
    before = files(clones.root("a"))
    for path, mode in FORGED:
        forge(clones.hub, path, mode, b"../../outside")
        with pytest.raises((SyncBlockedError, RemoteError)) as found:
            clones.sync("a")
        assert "nothing was changed" in found.value.message + found.value.hint, path
        assert files(clones.root("a")) == before, path
        result = cli("clone", str(clones.hub), str(clones.folder / "again"), "--json")
        assert result.code in (NEEDS_HUMAN, REMOTE_FAILED), path
        assert not (clones.folder / "again").exists(), path
        git(clones.hub, "update-ref", "refs/heads/main", head)
    assert clones.sync("a")[0].pushed == 1


def test_a_giant_file_is_not_checked_out(clones: Clones) -> None:
    forge(clones.hub, "lore/giant.md", "100644", b"x" * 300_000)
    [done] = clones.sync("a")
    assert "lore/giant.md came in, and is not written here: it has 300,000 bytes" in done.notes[0]
    assert not (clones.root("a") / "lore/giant.md").exists()


def test_filters_of_a_remote_are_not_run(clones: Clones, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    git(clones.root("a"), "config", "filter.evil.smudge", f"touch {mark}")
    git(clones.root("a"), "config", "filter.evil.clean", f"touch {mark}")
    forge(clones.hub, ".gitattributes", "100644", b"lore/** filter=evil\n")
    clones.sync("a")
    assert (clones.root("a") / ".gitattributes").read_bytes() == b"lore/** filter=evil\n"
    assert not mark.exists()


def forge(hub: Path, path: str, mode: str, content: bytes) -> None:
    """Put any file upon the branch of a bare repository, as no git command would."""
    target = git(hub, "rev-parse", "main") if mode == "160000" else ""
    quoted = "".join(f"\\{byte:03o}" for byte in path.encode())
    what = f'M {mode} {target} "{quoted}"\n'.encode() if target else f'M {mode} inline "{quoted}"\n'.encode()
    data = b"" if target else b"data %d\n%s\n" % (len(content), content)
    person = b"committer x <x@x> 1772600000 +0000\ndata 1\nx\n"
    stream = b"commit refs/heads/main\n" + person + b"from refs/heads/main^0\n" + what + data
    subprocess.run(
        ["git", "-c", "core.protectNTFS=false", "fast-import", "--quiet", "--force"],
        cwd=hub,
        input=stream,
        check=True,
    )


def test_stores_without_a_repository_of_their_own_are_not_synced(tmp_path: Path) -> None:
    from apikit import make_plain_store, repository

    for root, words in (
        (make_plain_store(tmp_path / "plain"), "outside git"),
        (repository(tmp_path / "code"), "your own commits"),
    ):
        if words != "outside git":
            cli("init", "--placement", "in-tree", cwd=root)
        cli("status", cwd=root)
        before = files(root)
        result = cli("sync", cwd=root)
        assert (result.code, words in result.err) == (2, True)
        assert cli("remote", "add", "origin", "x", cwd=root).code == 2
        assert files(root) == before
