"""Merge commits: the common ancestors of two heads, and a merge commit that is the same on every machine.

Its parents are sorted, its date is the later of theirs, and its author is Engram, so two clones that merge the same two
commits into the same files make the same commit.
"""

from __future__ import annotations

import os

from engram.adapters.git.read.differences import learn_outgoing
from engram.adapters.git.read.objects import BLOB, COMMIT, Entry
from engram.adapters.git.run import configuration, failures, layout, locks
from engram.adapters.git.run.process import DURABLE
from engram.adapters.git.run.runner import run
from engram.adapters.git.write import lore_branch, staging
from engram.adapters.git.write.pack import NewObjects
from engram.adapters.git.write.tree_edit import Folders, edit_tree
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.git.run.layout import Head, Repository

AUTHOR = f"{configuration.NAME} <{configuration.EMAIL}>"
SECONDS = 60.0
# Caches; these facts about commits never change.
_base_cache: dict[tuple[str, ...], tuple[str, ...]] = {}
_moment_cache: dict[str, int] = {}
_MAX_BASES = 12
_MAX_MOMENTS = 1000


def bases(repo: Repository, one: str, other: str) -> tuple[str, ...]:
    """Return the best common ancestors, sorted: usually one, several after criss-cross merges, none if unrelated."""
    if one == other:
        return (one,)
    key = (repo.common_dir, *sorted((one, other)))
    if key in _base_cache:
        return _base_cache[key]
    result = run(repo, "merge-base", "--all", one, other, check=False, deadline=SECONDS)
    if result.code > 1:
        raise GitError(
            "The history of the repository cannot be read.", "Run `git fsck`.", stderr=result.stderr
        )
    answer = tuple(sorted(result.stdout.decode().split()))
    if not layout.is_shallow(repo):
        if len(_base_cache) >= _MAX_BASES:
            _base_cache.clear()
        _base_cache[key] = answer
    return answer


def moments(repo: Repository, names: Sequence[str]) -> tuple[int, ...]:
    """Return the committer times of commits (distinct, full ids), in Unix seconds."""
    found = {name: _moment_cache[name] for name in names if name in _moment_cache}
    unknown = [name for name in names if name not in found]
    if unknown:
        # `git show` would compute the changes of a merge even if told not to show them.
        words = ("--no-walk=unsorted", "--no-show-signature", "--format=%ct")
        listed = run(repo, "log", *words, *unknown).stdout
        found |= zip(unknown, map(int, listed.split()), strict=True)
        learn_moments(found)
    return tuple([found[name] for name in names])


def learn_moments(found: Mapping[str, int]) -> None:
    """Cache the times of commits (full ids, Unix seconds), for `moments`."""
    if len(_moment_cache) > _MAX_MOMENTS:
        _moment_cache.clear()
    _moment_cache.update(found)


def count_between(repo: Repository, ours: str, theirs: str) -> tuple[int, int]:
    """Return the number of commits that only `ours` has, and of those that only `theirs` has."""
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

    `edits` are the differences of its tree from that of `upon` (a commit or tree; default: the first parent); `folders`
    of it need not be read again. `contents` are the bytes, by path, of files that are new to the repository; their ids
    in `edits` are ignored. `person` (`name <email>`) is author and committer.
    """
    objects, entries = NewObjects(repo), dict(edits)
    for path, content in contents.items():
        entry = entries[path]
        entries[path] = entry and entry._replace(oid=objects.add(BLOB, content))
    tree = edit_tree(repo, upon or parents[0], entries, objects, folders)
    text = message or f"Merge {' and '.join(parent[:10] for parent in parents)}\n"
    header = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    header += [f"{role} {person} {moment} +0000" for role in ("author", "committer")]
    commit = objects.add(COMMIT, "\n".join([*header, "", text]).encode("utf-8", "replace"))
    objects.store()
    return commit


# Move the branch to an existing commit and update the index, unless the branch has moved meanwhile.

REASON = "engram sync"  # in the reflog


def advance(
    repo: Repository,
    head: Head,
    new: str,
    entries: Mapping[str, Entry | None],
    state_folder: str,
) -> bool:
    """Move the branch from `head` to `new`; False if HEAD has changed meanwhile.

    `entries` are those in which `new` differs from `head`; files of the work tree are not read. The index is written
    first, as in `commits` (see `staging`). Raises `GitError` if git is busy.
    """
    staging.sync_index(repo, state_folder)
    lore_branch.check_head(repo, head)
    branch = f"{layout.BRANCHES}{head.branch}"
    ref_locks = (os.path.join(repo.git_dir, "HEAD.lock"), os.path.join(repo.common_dir, f"{branch}.lock"))
    locks.wait_free(ref_locks, staging.PATIENCE)
    with locks.hold(staging.index_lock(repo), staging.PATIENCE):
        if layout.read_head(repo) != head:
            return False
        staging.remember(repo, state_folder, entries)
        if entries:
            staging.replace_entries(repo, entries)
        moved = move(repo, branch, head.oid, new)
        if not moved:
            staging.match_head(repo, entries)
    staging.forget(repo, state_folder)
    if moved:
        lore_branch.note_move(repo, state_folder, head.oid, new)
    return moved


def move(repo: Repository, ref: str, old: str | None, new: str) -> bool:
    """Move a ref (`refs/…`) from `old` (None: it does not exist) to `new`; False if it has moved meanwhile or is locked."""
    words = (*DURABLE, "update-ref", "-m", REASON, ref, new, old or "0" * len(new))
    result = run(repo, *words, check=False, env=configuration.committer_variables(AUTHOR))
    return failures.is_moved(repo.worktree, words, result.code, result.stderr)


# Merge commits that Engram did not make: by a host's merge button, a git without the merge driver, or a person.

REPAIRS = "Engram-Repairs"  # the trailer of a commit that names the merge commits that it repairs
AT_FIRST = 200  # merges to examine if none were examined before


class Foreign(NamedTuple):
    """A merge of two commits that Engram did not make."""

    oid: str
    ours: str
    theirs: str


def foreign_merges(repo: Repository, head: str, known: str) -> list[Foreign]:
    """Return the merges of `head`, but not of `known` ("": only the last ones), oldest first.

    Engram's own merges, and those that a later commit has repaired, are left out. Raises GitError.
    """
    form = f"--format=%H%x00%P%x00%ae%x00%ct%x00%(trailers:key={REPAIRS},valueonly,separator=%x20)"
    words = ("log", "--topo-order", "--no-show-signature", form, "--ignore-missing", head)
    if known:
        lines = _log_fields(repo, (*words, "--not", known))
        learn_outgoing(repo, known, head, [line[0] for line in reversed(lines)])
        repaired = {oid for line in lines for oid in line[4].split()}
    else:
        lines = _log_fields(repo, (*words, "--merges", f"-n{AT_FIRST}"))
        grep = ("--fixed-strings", f"--grep={REPAIRS}: ", f"-n{AT_FIRST}")
        repaired = {oid for line in _log_fields(repo, (*words, *grep)) for oid in line[4].split()}
    learn_moments({line[0]: int(line[3]) for line in lines[:AT_FIRST]})
    merges = [(line[0], line[1].split()) for line in lines if line[2] != configuration.EMAIL]
    found = [Foreign(oid, *parents) for oid, parents in merges if len(parents) == 2 and oid not in repaired]
    return found[::-1]


def _log_fields(repo: Repository, words: tuple[str, ...]) -> list[list[str]]:
    listed = run(repo, *words, deadline=SECONDS).stdout.decode("utf-8", "replace")
    # Split at line feeds only: names and addresses may have other characters at which `splitlines` splits.
    return [line.split("\0") for line in listed.split("\n") if line.count("\0") == 4]
