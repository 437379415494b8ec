"""Find edits made outside Engram: files whose bytes in the work tree differ from HEAD's."""

from __future__ import annotations

import os
import stat

from engram.adapters.git.read import objects
from engram.adapters.git.run import layout
from engram.adapters.git.run.runner import run
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

SCAN_SECONDS = 120.0


class OutsideChange(NamedTuple):
    """A path relative to the work tree, and whether its file was deleted."""

    path: str
    deleted: bool


def outside_changes(repo: Repository, folder: str) -> tuple[OutsideChange, ...]:
    """Return the regular files under `folder` (relative, "" for all) that are new, changed or deleted since HEAD.

    Ignored files, symbolic links and nested repositories are left out. Bytes are compared, so staged changes and an
    index that is behind HEAD make no difference.
    """
    candidates = _find_candidates(repo, folder)
    committed = objects.entries(repo, layout.read_head(repo).oid, candidates)
    algorithm = layout.hash_name(repo)
    found = []
    for path in candidates:
        entry = committed.get(path)
        try:
            content = _read_regular(os.path.join(repo.worktree, path))
        except PermissionError:  # reading it will raise the error
            found.append(OutsideChange(path, deleted=False))
            continue
        if content is None:
            if entry and not os.path.lexists(os.path.join(repo.worktree, path)):
                found.append(OutsideChange(path, deleted=True))
        elif entry is None or entry.oid != objects.blob_oid(content, algorithm):
            found.append(OutsideChange(path, deleted=False))
    return tuple(found)


def list_files(repo: Repository) -> list[str]:
    """Return the paths of all tracked files and of all untracked ones that are not ignored."""
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listing = run(repo, *words, deadline=SCAN_SECONDS).stdout
    return sorted({path for path in os.fsdecode(listing).split("\0") if path})


def _find_candidates(repo: Repository, folder: str) -> list[str]:
    # With optional locks git saves refreshed file times in the index, so that the next call need not read the files again.
    listing = run(
        repo, "status", "--porcelain=v1", "-z", "-uall", "--no-renames", "--ignore-submodules=all",
        "--", folder or ".", deadline=SCAN_SECONDS, env={"GIT_OPTIONAL_LOCKS": "1"},
    ).stdout  # fmt: skip
    paths = (line[3:] for line in os.fsdecode(listing).split("\0") if line)
    return sorted({path for path in paths if not path.endswith("/")})


def _read_regular(file: str) -> bytes | None:
    """Return the bytes of a regular file; None for anything else (a pipe would block, a link may lead outside)."""
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            return None
        with open(file, "rb") as opened:
            return opened.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
