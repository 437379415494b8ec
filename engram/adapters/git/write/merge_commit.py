"""Merge commits: the common ancestors of two heads, and a commit that is the same on every machine.

Its parents are sorted, its date is the later one of theirs, its author is Engram: two clones that merge the same two
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
    if not layout.is_shallow(repo):
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
    whole = edit_tree(repo, upon or parents[0], entries, objects, folders)
    text = message or f"Merge {' and '.join(parent[:10] for parent in parents)}\n"
    made = [f"tree {whole}", *(f"parent {parent}" for parent in parents)]
    made += [f"{role} {person} {moment} +0000" for role in ("author", "committer")]
    commit = objects.add(COMMIT, "\n".join([*made, "", text]).encode("utf-8", "replace"))
    objects.store()
    return commit


def reflog_identity() -> dict[str, str]:
    """Return the variables without which git may ask the network for this machine's name."""
    return {"GIT_COMMITTER_NAME": configuration.NAME, "GIT_COMMITTER_EMAIL": configuration.EMAIL}


# Move the branch to a commit that exists already, with the index in step, unless somebody moved it before.

REASON = "engram sync"  # in the reflog


def advance(
    repo: Repository,
    head: Head,
    new: str,
    entries: Mapping[str, Entry | None],
    state_folder: str,
) -> bool:
    """Move the branch from `head` to `new`; False when HEAD is elsewhere by now.

    `entries` is what `new` holds otherwise than `head`; the work tree's files are not looked at. The order,
    index first, is that of `commits` (see `staging`). Raises `GitError` when git is busy.
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
    """Move `refs/…` from `old` (None: it does not exist) to `new`; False when it is elsewhere by now, or locked."""
    words = (*DURABLE, "update-ref", "-m", REASON, ref, new, old or "0" * len(new))
    done = run(repo, *words, check=False, env=reflog_identity())
    return failures.is_moved(repo.worktree, words, done.code, done.stderr)


# Merge commits that somebody else made: a host's merge button, a git without the merge driver, a person.

REPAIRS = "Engram-Repairs"  # the trailer that names the merge commits which a commit repairs
AT_FIRST = 200  # merges, where it is not known which were examined before


class Foreign(NamedTuple):
    """A merge of two commits that Engram did not make."""

    oid: str
    ours: str
    theirs: str


def foreign_merges(repo: Repository, head: str, known: str) -> list[Foreign]:
    """Return the merges in the history of `head` that are not in that of `known` ("": the last ones), oldest first.

    Engram's own are left out, and so are those that a later commit has repaired. Raises GitError.
    """
    shown = f"--format=%H%x00%P%x00%ae%x00%ct%x00%(trailers:key={REPAIRS},valueonly,separator=%x20)"
    words = ("log", "--topo-order", "--no-show-signature", shown, "--ignore-missing", head)
    if known:
        lines = _lines(repo, (*words, "--not", known))
        learn_outgoing(repo, known, head, [line[0] for line in reversed(lines)])
        done = {oid for line in lines for oid in line[4].split()}
    else:
        lines = _lines(repo, (*words, "--merges", f"-n{AT_FIRST}"))
        grep = ("--fixed-strings", f"--grep={REPAIRS}: ", f"-n{AT_FIRST}")
        done = {oid for line in _lines(repo, (*words, *grep)) for oid in line[4].split()}
    learn_moments({line[0]: int(line[3]) for line in lines[:AT_FIRST]})
    merges = [(line[0], line[1].split()) for line in lines if line[2] != configuration.EMAIL]
    found = [Foreign(oid, *parents) for oid, parents in merges if len(parents) == 2 and oid not in done]
    return found[::-1]


def _lines(repo: Repository, words: tuple[str, ...]) -> list[list[str]]:
    listed = run(repo, *words, deadline=SECONDS).stdout.decode("utf-8", "replace")
    # At line feeds alone: a name or an address may hold anything else that Python would split at.
    return [line.split("\0") for line in listed.split("\n") if line.count("\0") == 4]
