"""The branch of judgements: a separate history whose commits are written without a work tree or an index.

It is read from the local branch and from the remote-tracking branches, with as few git processes as possible: none
for the tip.
"""

from __future__ import annotations

import os

from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import blobs, differences, empty_tree
from engram.adapters.git.run import failures, layout, locks
from engram.adapters.git.run.runner import run
from engram.adapters.git.write import merge_commit, signing, staging
from engram.adapters.git.write.stream import Draft
from engram.domain.errors import GitError
from engram.domain.sync.sync_plan import REGULAR
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.adapters.git.read.objects import Entry
    from engram.adapters.git.run.layout import Repository

BRANCH = "engram/judgements"
UNION = "* -text merge=union"  # git's own driver: hosts do not have Engram's, so a merge there would conflict
ATTEMPTS = 25  # to move the branch while others move it
_UNFINISHED = (os.path.join("rebase-merge", "head-name"), os.path.join("rebase-apply", "head-name"))


def tip(repo: Repository, branch: str) -> str | None:
    """Return the commit of the local branch, without starting git; None if there is none."""
    return layout.read_ref(repo, layout.BRANCHES + branch)


def known_tips(repo: Repository, branch: str) -> list[str]:
    """Return the commits of the remotes' branches as of the last fetch, that of origin first."""
    words = ("for-each-ref", "--format=%(objectname) %(refname)", f"refs/remotes/*/{branch}")
    lines = os.fsdecode(run(repo, *words).stdout).splitlines()
    return [line.split(" ")[0] for line in sorted(lines, key=lambda line: "refs/remotes/origin/" not in line)]


def files(repo: Repository, commit: str) -> dict[str, Entry]:
    """Return the entries of a commit of the branch, by path. Raises GitError."""
    return {path: found.after for path, found in differences(repo, None, commit).items() if found.after}


def changed_blobs(repo: Repository, before: str | None, after: str) -> dict[str, str | None]:
    """Return the blob id of each path that differs between two commits (without `before`: of all); None if deleted.

    Only regular files count. Raises GitError.
    """
    entries = {path: found.after for path, found in differences(repo, before, after).items()}
    return {path: entry.oid if entry and entry.mode in REGULAR else None for path, entry in entries.items()}


def contents(
    repo: Repository, oids: Iterable[str], known: Mapping[str, bytes] | None = None
) -> dict[str, bytes]:
    """Return the bytes of blobs by id; `known` ones are not read. Raises GitError if one is missing."""
    return blobs(repo, oids, known)


class Arrival(NamedTuple):
    """A commit that changed a file: its committer's time (Unix seconds), and the blob ids after and before it ("": none)."""

    moment: int
    after: str
    before: str


def arrivals(repo: Repository, commit: str, path: str) -> list[Arrival]:
    """Return the commits up to `commit`, without merges, that changed the file at a path. Raises GitError."""
    words = ("log", "--full-history", "--no-merges", "--raw", "--no-abbrev", "--no-renames", "--no-show-signature",
             "--format=%ct", commit, "--", path)  # fmt: skip
    found, moment = list[Arrival](), 0
    for line in os.fsdecode(run(repo, *words).stdout).splitlines():
        if line.startswith(":"):
            before, after = (oid if oid.strip("0") else "" for oid in line.split(" ")[2:4])
            found.append(Arrival(moment, after, before))
        elif line:
            moment = int(line)
    return found


class Written(NamedTuple):
    """A file that a commit changed: the time of the commit's parent (Unix seconds, 0: none), the blob ids after and before."""

    commit: str
    parent_moment: int
    path: str
    after: str
    before: str


def written_since(repo: Repository, known: str, commit: str, passed_over: str) -> list[Written]:
    """Return the changes by commits of `commit`, but not of `known` ("": none), without merges, ancestors first.

    Commits with the subject `passed_over` are left out. Raises GitError.
    """
    words = (
        "log",
        "--topo-order",
        "--reverse",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--no-show-signature",
        "--format=%H %ct %P\t%s",
        commit,
    )
    moments, found = {"": 0}, list[tuple[str, str, str, str, str]]()
    oid, parents, is_skipped = "", list[str](), False
    for line in os.fsdecode(run(repo, *words, *([f"^{known}"] if known else ())).stdout).splitlines():
        head, _, end = line.partition("\t")
        if line.startswith(":"):
            before, after = (oid if oid.strip("0") else "" for oid in head.split(" ")[2:4])
            if len(parents) < 2 and not is_skipped:
                found.append((oid, "".join(parents), end, after, before))
        elif line:
            oid, moment, *parents = head.split(" ")
            parents, is_skipped = [parent for parent in parents if parent], end == passed_over
            moments[oid] = int(moment)
    others = sorted({parent for _, parent, *_ in found} - moments.keys())
    moments |= dict(zip(others, merge_commit.moments(repo, others), strict=True)) if others else {}
    return [Written(oid, moments[parent], *rest) for oid, parent, *rest in found]


def write(
    repo: Repository,
    base: str | None,
    changes: Mapping[str, bytes | None],
    person: str,
    moment: int,
    message: str,
    *,
    signed_in: str = "",
) -> str:
    """Write a commit with the parent `base` (None: no parent) and these files (None: deleted), and return its id.

    No branch has it yet. `person` is `name <email>`, `moment` is in Unix seconds. With a state folder in `signed_in` the
    commit is signed if the person's git signs commits. Raises GitError.
    """
    algorithm = layout.hash_name(repo)
    new = {path: raw for path, raw in changes.items() if raw is not None}
    edits = {
        path: None if raw is None else objects.Entry(objects.PLAIN, objects.blob_oid(raw, algorithm))
        for path, raw in changes.items()
    }
    parents, upon = ([base], base) if base else ([], empty_tree(repo))
    commit = merge_commit.write_merge(repo, parents, edits, new, moment, message, upon=upon, person=person)
    if signed_in and signing.is_wanted(repo):
        draft = Draft(message, person, moment, ())
        commit = signing.sign_commits(repo, [draft], base, commit, person, signed_in)
    return commit


def move(repo: Repository, branch: str, old: str | None, new: str) -> bool:
    """Move the local branch from `old` (None: there is none) to `new`; False if it has moved meanwhile.

    Raises GitError if the branch is checked out or cannot be created.
    """
    _check_movable(repo, branch, is_new=old is None)
    ref = layout.BRANCHES + branch
    locks.wait_free((os.path.join(repo.common_dir, f"{ref}.lock"),), staging.PATIENCE)
    return merge_commit.move(repo, ref, old, new)


def move_error() -> GitError:
    """Return the error for a branch that others keep moving."""
    return GitError(*failures.ADVICE[failures.MOVED])


def _check_movable(repo: Repository, branch: str, *, is_new: bool) -> None:
    folder = _find_checkout(repo, branch)
    if folder:
        raise GitError(
            f"The branch {branch} is checked out in {folder}, so judgements cannot be committed to it now.",
            f"Finish your work there, then switch to another branch: git -C '{folder}' switch -",
        )
    parts = branch.split("/")
    for parent in ("/".join(parts[:count]) for count in range(1, len(parts))):
        if is_new and layout.read_ref(repo, layout.BRANCHES + parent):
            raise GitError(
                f"There is a branch {parent}, so git cannot make the branch {branch}.",
                "Rename that branch, or keep judgements on another: engram config judgements.branch NAME",
            )


def _find_checkout(repo: Repository, branch: str) -> str:
    """Return the work tree in which the branch is checked out or being rebased; "" for none."""
    linked = os.path.join(repo.common_dir, "worktrees")
    ref = os.fsencode(layout.BRANCHES + branch)
    try:
        names = os.listdir(linked)
    except OSError:
        names = []
    for git_dir in (repo.common_dir, *(os.path.join(linked, name) for name in names)):
        is_checked_out = _read(os.path.join(git_dir, "HEAD")) == b"ref: " + ref
        if is_checked_out or any(_read(os.path.join(git_dir, name)) == ref for name in _UNFINISHED):
            folder = _work_tree_of(repo, git_dir)
            if os.path.isdir(folder):  # else git has not pruned it yet
                return folder
    return ""


def _work_tree_of(repo: Repository, git_dir: str) -> str:
    if git_dir == repo.common_dir:
        return os.path.dirname(git_dir) if os.path.basename(git_dir) == ".git" else git_dir
    return os.path.dirname(os.fsdecode(_read(os.path.join(git_dir, "gitdir")))) or git_dir


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read().strip()
    except OSError:
        return b""
