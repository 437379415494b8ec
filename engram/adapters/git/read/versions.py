"""Read the changes of commits and the bytes of files in them, many with one git process."""

from __future__ import annotations

import os

from engram.adapters.git.read import objects
from engram.adapters.git.run.runner import run
from engram.domain.sync.sync_plan import REGULAR
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.git.run.layout import Repository


class PathChange(NamedTuple):
    """A file that a commit changed: its blob ids before and after (None: no regular file)."""

    path: str
    before: str | None
    after: str | None


def changes_of(repo: Repository, commit: str) -> tuple[PathChange, ...]:
    """Return the files that a commit changed against its only parent; all files of a root commit."""
    output = run(repo, "diff-tree", "-r", "-z", "--no-renames", "--no-commit-id", "--root", commit).stdout
    return _parse_changes(output)


def accepted_changes(repo: Repository, base: str, review: str) -> tuple[PathChange, ...]:
    """Return the changes that the review of a proposal accepted: differences from its base that the proposal has, too."""
    output = run(repo, "diff-tree", "-r", "-z", "--no-renames", base, review).stdout
    rejected = {change.path for change in changes_of(repo, review)}
    return tuple(change for change in _parse_changes(output) if change.path not in rejected)


def _parse_changes(output: bytes) -> tuple[PathChange, ...]:
    words = os.fsdecode(output).split("\0")
    return tuple(_parse_change(facts, path) for facts, path in zip(words[::2], words[1::2], strict=False))


def changed_paths(repo: Repository, start: str, end: str) -> list[str]:
    """Return the paths in which two commits differ; "" as `start` has no files."""
    if not start or not end:
        return names_at(repo, end, "") if end else []
    output = run(repo, "diff-tree", "-r", "-z", "--no-renames", "--name-only", start, end).stdout
    return [path for path in os.fsdecode(output).split("\0") if path]


def commit_id(repo: Repository, revision: str) -> str:
    """Return the id of the commit that a revision names; "" if there is none."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return run(repo, *words, check=False).stdout.decode().strip()


def is_shared(repo: Repository, commit: str) -> bool:
    """Return whether a remote is known to have a commit."""
    words = ("for-each-ref", "--count=1", f"--contains={commit}", "--format=%(refname)", "refs/remotes")
    return bool(run(repo, *words).stdout.strip())


def merges_among(repo: Repository, commits: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the merges among the commits, with their parents."""
    if not commits:
        return {}
    names = "".join(f"{oid}\n" for oid in commits).encode()
    output = run(
        repo, "rev-list", "--no-walk=unsorted", "--parents", "--merges", "--stdin", stdin=names
    ).stdout
    lines = (line.split() for line in output.decode().splitlines())
    return {line[0]: tuple(line[1:]) for line in lines}


def read_objects(repo: Repository, names: Sequence[str]) -> list[bytes | None]:
    """Return the bytes of files with names like `<id>` or `<commit>:<path>`, in order; None if there is no file."""
    wanted = [os.fsencode(name) for name in names if "\n" not in name]
    found = iter(objects.read(repo, wanted))
    read = [None if "\n" in name else next(found) for name in names]
    return [one.content if one and one.kind == objects.BLOB else None for one in read]


def names_at(repo: Repository, commit: str, folder: str) -> list[str]:
    """Return the paths of all files under `folder` (relative to the work tree, "" for all) in a commit."""
    paths = ("--", folder) if folder else ()
    output = run(repo, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, *paths).stdout
    return [path for path in os.fsdecode(output).split("\0") if path]


def _parse_change(facts: str, path: str) -> PathChange:
    mode_before, mode_after, before, after, _ = facts.lstrip(":").split(" ")
    return PathChange(
        path, before if mode_before in REGULAR else None, after if mode_after in REGULAR else None
    )
