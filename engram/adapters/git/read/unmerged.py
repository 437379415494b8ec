"""Find merges that need a person: one under way, and those committed with unresolved conflicts."""

from __future__ import annotations

import os

from engram.adapters.git.run.runner import run
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.adapters.git.run.layout import Repository

LOG_SECONDS = 60.0
MOST_MERGES = 50


class Stages(NamedTuple):
    """The blob ids of the versions that git could not merge at a path; None if a version has no file."""

    base: str | None
    ours: str | None
    theirs: str | None


class MergeCommit(NamedTuple):
    """A merge of two commits."""

    oid: str
    ours: str
    theirs: str


def list_unmerged(repo: Repository, folder: str) -> dict[str, Stages]:
    """Return the unmerged paths in git's index under `folder` (relative to the work tree)."""
    output = run(repo, "ls-files", "-u", "-z", "--full-name", "--", folder or ".").stdout
    found: dict[str, list[str | None]] = {}
    for line in os.fsdecode(output).split("\0"):
        facts, tab, path = line.partition("\t")
        if tab:
            _, oid, stage = facts.split(" ")
            found.setdefault(path, [None, None, None])[int(stage) - 1] = oid
    return {path: Stages(*versions) for path, versions in found.items()}


def merges_of(repo: Repository, path: str) -> list[MergeCommit]:
    """Return the last two-parent merges in HEAD's history in which `path` differs from a parent, newest first."""
    words = ("rev-list", "--merges", "--full-history", f"-n{MOST_MERGES}", "HEAD", "--", path)
    oids = run(repo, *words, deadline=LOG_SECONDS).stdout.decode().split()
    return [merge for merge in _read_parents(repo, oids) if merge is not None]


def resolve(repo: Repository, paths: Iterable[str]) -> None:
    """Mark the paths as resolved in the index: the work tree has the result of the merge."""
    batch = os.fsencode("".join(f"{path}\0" for path in paths))
    if batch:
        run(repo, "update-index", "--add", "--remove", "-z", "--stdin", stdin=batch)


def _read_parents(repo: Repository, oids: list[str]) -> Iterable[MergeCommit | None]:
    if not oids:
        return
    output = run(repo, "log", "--no-walk=unsorted", "--no-show-signature", "--format=%H %P", *oids).stdout
    for line in output.decode().splitlines():
        words = line.split()
        yield MergeCommit(*words) if len(words) == 3 else None
