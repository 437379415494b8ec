"""Past states of the repository: from a revision or a date to a commit, and from a commit to its files."""

from __future__ import annotations

import os

from engram.adapters.git.read.differences import blobs
from engram.adapters.git.read.objects import Entry
from engram.adapters.git.read.versions import commit_id
from engram.adapters.git.run.runner import run, run_limited
from engram.domain.admission.safe_paths import unsafe_name
from engram.domain.entry import times
from engram.domain.errors import NotFoundError
from engram.domain.sync.sync_plan import REGULAR
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.git.run.layout import Repository

LIST_SECONDS = 120.0
AT_ONCE = 2000  # files


def resolve(repo: Repository, revision: str) -> str:
    """Return the id of a revision's commit, or of the last commit before a date (`2026-11-01`, RFC 3339).

    Raises NotFoundError if there is none.
    """
    oid = commit_id(repo, revision)
    if oid:
        return oid
    try:
        moment = times.render(times.parse(revision))
    except (ValueError, OverflowError):
        raise NotFoundError(
            f"There is no commit '{revision[:60]}' here.",
            "Use a commit, branch, tag or a date like 2026-11-01.",
        ) from None
    oid = run(repo, "rev-list", "-1", f"--before={moment}", "HEAD", check=False).stdout.decode().strip()
    if not oid:
        raise NotFoundError(
            f"There is no commit before {moment}.",
            "The store is younger than that: give a later date, or a commit.",
        )
    return oid


def changes_of(repo: Repository, folder: str, start: str, end: str) -> list[str]:
    """Return the commits of `end`, but not of `start` ("": none), that changed something under `folder`, oldest first.

    Only along first parents: a merge counts, but not the commits that it brought in.
    """
    exclude = (f"^{start}",) if start else ()
    words = ("rev-list", "--first-parent", "--reverse", end, *exclude, "--", folder)
    return os.fsdecode(run_limited(repo, *words, deadline=LIST_SECONDS)).split()


def files_at(repo: Repository, commit: str, folder: str, ending: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield path and bytes of the regular files under `folder` (relative to the work tree) in a commit.

    Only of those whose names end in `ending`, and not of paths that are unsafe to write. Not with `git archive`, which
    applies attributes and runs filters.
    """
    files = [
        (path, entry.oid)
        for path, entry in entries_at(repo, commit, folder).items()
        if entry.mode in REGULAR and path.endswith(ending) and not unsafe_name(path)
    ]
    for at in range(0, len(files), AT_ONCE):
        batch = files[at : at + AT_ONCE]
        contents = blobs(repo, (oid for _, oid in batch))
        yield from ((path, contents[oid]) for path, oid in batch)


def entries_at(repo: Repository, commit: str, folder: str) -> dict[str, Entry]:
    """Return the files, links and submodules under `folder` (relative to the work tree) in a commit, by path."""
    words = ("ls-tree", "-r", "-z", "--full-tree", commit, *(("--", folder) if folder else ()))
    found: dict[str, Entry] = {}
    for line in os.fsdecode(run_limited(repo, *words, deadline=LIST_SECONDS)).split("\0"):
        facts, _, path = line.partition("\t")
        if path:
            mode, _, oid = facts.split(" ")
            found[path] = Entry(mode, oid)
    return found
