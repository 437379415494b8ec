"""Merge commits: the common ancestors of two heads, and a commit that is the same on every machine.

Its parents are sorted, its date is the later one of theirs, its author is Engram: two clones that merge the same two
commits into the same files make the same commit.
"""

from __future__ import annotations

import os

from engram.adapters.git.read.objects import BLOB, COMMIT
from engram.adapters.git.run import identity
from engram.adapters.git.run.runner import run
from engram.adapters.git.write.pack import NewObjects
from engram.adapters.git.write.tree_edit import edited
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.git.read.tree import Entry
    from engram.adapters.git.run.layout import Repository
    from engram.adapters.git.write.tree_edit import Folders

AUTHOR = f"{identity.NAME} <{identity.EMAIL}>"
SECONDS = 60.0
# Answers about pairs of commits, which never change.
_bases: dict[tuple[str, ...], tuple[str, ...]] = {}
_moments: dict[str, int] = {}
_REMEMBERED = 12
_MOST_MOMENTS = 1000


def bases(repo: Repository, one: str, other: str) -> tuple[str, ...]:
    """Return the best common ancestors, sorted: mostly one, several after criss-cross merges, none if unrelated."""
    if one == other:
        return (one,)
    asked = (repo.common_dir, *sorted((one, other)))
    if asked in _bases:
        return _bases[asked]
    found = run(repo, "merge-base", "--all", one, other, check=False, deadline=SECONDS)
    if found.code > 1:
        raise GitError(
            "The history of the repository cannot be read.", "Run `git fsck`.", stderr=found.stderr
        )
    answer = tuple(sorted(found.stdout.decode().split()))
    if not os.path.exists(os.path.join(repo.common_dir, "shallow")):  # there it changes when history comes in
        if len(_bases) >= _REMEMBERED:
            _bases.clear()
        _bases[asked] = answer
    return answer


def moments(repo: Repository, names: Sequence[str]) -> tuple[int, ...]:
    """When the commits (each once, by full ids) were made, in unix seconds."""
    found = {name: _moments[name] for name in names if name in _moments}
    unknown = [name for name in names if name not in found]
    if unknown:
        # `git show` would compute the changes of a merge even where it is told not to show them.
        words = ("--no-walk=unsorted", "--no-show-signature", "--format=%ct")
        listed = run(repo, "log", *words, *unknown).stdout
        found |= zip(unknown, map(int, listed.split()), strict=True)
        learn_moments(found)
    return tuple([found[name] for name in names])


def learn_moments(found: Mapping[str, int]) -> None:
    """Cache the times of commits (full ids, unix seconds), for `moments`."""
    if len(_moments) > _MOST_MOMENTS:
        _moments.clear()
    _moments.update(found)


def count_between(repo: Repository, ours: str, theirs: str) -> tuple[int, int]:
    """Return how many commits only `ours` has, and how many only `theirs`."""
    listed = run(repo, "rev-list", "--count", "--left-right", f"{ours}...{theirs}", deadline=SECONDS).stdout
    left, right = listed.split()
    return int(left), int(right)


def write_merge(
    repo: Repository,
    parents: Sequence[str],
    edits: Mapping[str, Entry | None],
    contents: Mapping[str, bytes],
    moment: int,
    message: str = "",
    upon: str = "",
    folders: Folders | None = None,
    person: str = AUTHOR,
) -> str:
    """Write a commit that is on no branch yet, and return its id. `parents` are two, sorted, or one, or none.

    `edits` are the differences of its tree from that of `upon` (a commit or tree; default: the first parent), of which
    `folders` need not be read again; `contents` are the bytes, by path, of files that are new to the repository,
    whatever `edits` has for their ids. `person` (`name <email>`) is its author and committer.
    """
    objects, entries = NewObjects(repo), dict(edits)
    for path, content in contents.items():
        entry = entries[path]
        entries[path] = entry and entry._replace(oid=objects.add(BLOB, content))
    whole = edited(repo, upon or parents[0], entries, objects, folders)
    text = message or f"Merge {' and '.join(parent[:10] for parent in parents)}\n"
    made = [f"tree {whole}", *(f"parent {parent}" for parent in parents)]
    made += [f"{role} {person} {moment} +0000" for role in ("author", "committer")]
    commit = objects.add(COMMIT, "\n".join([*made, "", text]).encode("utf-8", "replace"))
    objects.store()
    return commit


def reflog_identity() -> dict[str, str]:
    """Return the variables without which git may ask the network for this machine's name."""
    return {"GIT_COMMITTER_NAME": identity.NAME, "GIT_COMMITTER_EMAIL": identity.EMAIL}
