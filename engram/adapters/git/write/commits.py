"""Write any number of commits with one `git fast-import`, which never loads the index.

Measured at 100,000 files: `git add` and `git commit` take over a second for one file, fast-import a tenth of that.
"""

from __future__ import annotations

import os

from engram.adapters.git.read import objects
from engram.adapters.git.read.history import OPERATION, with_trailer
from engram.adapters.git.run import configuration, failures, layout, locks
from engram.adapters.git.run.process import DURABLE
from engram.adapters.git.run.runner import run
from engram.adapters.git.write import lore_branch, signing, staging, stream
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.git.read.objects import Entry
    from engram.adapters.git.run.layout import Head, Repository
    from engram.adapters.git.write.stream import Draft

ATTEMPTS = 25  # another program may commit repeatedly
# Points at new commits until the branch moves to them; refs/worktree/ is private to each work tree.
INCOMING = "refs/worktree/engram-incoming"
IMPORT_SECONDS = 120.0


class FileChange(NamedTuple):
    """A file's new content, or None to delete it. `path` is relative to the work tree.

    An executable file stays executable, unless `plain`.
    """

    path: str
    content: bytes | None
    plain: bool = False


class Commit(NamedTuple):
    """One commit to write. `author` is `name <email>` (None: the committer), `moment` is in Unix seconds."""

    message: str
    changes: tuple[FileChange, ...]
    author: str | None
    moment: int


def commit_all(
    repo: Repository,
    commits: Sequence[Commit],
    ops_marker: str,
    state_folder: str,
    *,
    patience: float = staging.PATIENCE,
) -> str:
    """Put the commits on the current branch, all or none, update the index for their paths, and return HEAD's commit id.

    Each gets the trailer `Engram-Op: <ops_marker>`; those that change nothing are left out. Files of the work tree are
    neither read nor written. The id is "" if HEAD still has no commit. The caller holds the store's commit lock.
    Raises `GitError` during a merge, rebase and the like, on a detached HEAD, and when another git process holds its
    locks for longer than `patience` seconds.
    """
    staging.sync_index(repo, state_folder, patience=patience)
    marked = [_add_marker(commit, ops_marker) for commit in commits]
    committer = configuration.committer(repo)
    for _ in range(ATTEMPTS):
        head = _committable_head(repo)
        drafts, entries = _plan(repo, head, marked, committer)
        if not drafts:
            return head.oid or ""
        oid = _land(repo, head, drafts, entries, committer, state_folder, patience)
        if oid:
            return oid
    raise GitError(*failures.ADVICE[failures.MOVED])


def has_landed(repo: Repository, marker: str, depth: int = 200) -> bool:
    """Return whether one of the last `depth` commits of HEAD carries the trailer `Engram-Op: <marker>`."""
    if layout.read_head(repo).oid is None:
        return False
    listing = run(repo, "log", f"-n{depth}", "--format=%B", "--no-show-signature", "--encoding=UTF-8", "HEAD")
    return f"{OPERATION}: {marker}".encode() in listing.stdout.splitlines()


def _add_marker(commit: Commit, marker: str) -> Commit:
    for change in commit.changes:
        objects.check_path(change.path)
    return commit._replace(message=with_trailer(commit.message, OPERATION, marker))


def _committable_head(repo: Repository) -> Head:
    layout.check_idle(repo, GitError, "committed")
    head = layout.read_head(repo)
    lore_branch.check_head(repo, head)
    return head


def _plan(
    repo: Repository, head: Head, commits: Sequence[Commit], committer: str
) -> tuple[list[Draft], dict[str, Entry | None]]:
    """Return the commits that change something, and the entries of the index at their paths afterwards."""
    paths = {change.path for commit in commits for change in commit.changes}
    state = objects.entries(repo, head.oid, paths)
    algorithm = layout.hash_name(repo)
    drafts: list[Draft] = []
    touched: dict[str, Entry | None] = {}
    for commit in commits:
        edits = tuple(edit for change in commit.changes if (edit := _apply(state, change, algorithm)))
        if not edits:
            continue
        author = configuration.author_or(commit.author, committer)
        drafts.append(stream.Draft(commit.message, author, commit.moment, edits))
        touched.update((edit.path, edit.entry) for edit in edits)
    return drafts, touched


def _apply(state: dict[str, Entry], change: FileChange, algorithm: str) -> stream.Edit | None:
    """Apply one change to the state of the tree; None if it changes nothing."""
    old = state.get(change.path)
    if change.content is None:
        return stream.Edit(change.path, None, b"") if state.pop(change.path, None) else None
    is_executable = old is not None and old.mode == objects.EXECUTABLE and not change.plain
    mode = objects.EXECUTABLE if is_executable else objects.PLAIN
    new = objects.Entry(mode, objects.blob_oid(change.content, algorithm))
    state[change.path] = new
    return stream.Edit(change.path, new, change.content) if new != old else None


def _land(
    repo: Repository,
    head: Head,
    drafts: Sequence[Draft],
    entries: Mapping[str, Entry | None],
    committer: str,
    state_folder: str,
    patience: float,
) -> str | None:
    """Write the commits on top of `head`, then the index, then move the branch; None if HEAD has changed meanwhile."""
    branch = f"{layout.BRANCHES}{head.branch}"
    locks.wait_free(_locks(repo, branch), patience)
    oid = _import(repo, drafts, head.oid, committer)
    if signing.is_wanted(repo):
        oid = _sign_commits(repo, drafts, head.oid, oid, committer, state_folder)
    with locks.hold(staging.index_lock(repo), patience):
        if layout.read_head(repo) != head:
            return None
        staging.remember(repo, state_folder, entries)
        staging.replace_entries(repo, entries)
        moved = _move(repo, branch, head.oid, oid, committer)
        if not moved:
            staging.match_head(repo, entries)
    staging.forget(repo, state_folder)
    if moved:
        lore_branch.note_move(repo, state_folder, head.oid, oid)
    return oid if moved else None


def _locks(repo: Repository, branch: str) -> tuple[str, ...]:
    own = (os.path.join(repo.git_dir, name) for name in ("HEAD.lock", f"{INCOMING}.lock"))
    return (*own, os.path.join(repo.common_dir, f"{branch}.lock"))


def _import(repo: Repository, drafts: Sequence[Draft], parent: str | None, committer: str) -> str:
    """Write the commits to `INCOMING`, not to a branch, and return the last one's id."""
    data = stream.encode(drafts, INCOMING, parent, committer)
    words = (*DURABLE, "fast-import", "--quiet", "--force", "--date-format=raw")
    result = run(
        repo, *words, stdin=data, deadline=IMPORT_SECONDS, env=configuration.committer_variables(committer)
    )
    return result.stdout.decode("ascii").strip()


def _sign_commits(
    repo: Repository,
    drafts: Sequence[Draft],
    parent: str | None,
    tip: str,
    committer: str,
    state_folder: str,
) -> str:
    """Write the commits again, signed by the person, before a branch has them; return the last one's id."""
    signed = signing.sign_commits(repo, drafts, parent, tip, committer, state_folder)
    if signed != tip:
        run(
            repo,
            *DURABLE,
            "update-ref",
            INCOMING,
            signed,
            tip,
            env=configuration.committer_variables(committer),
        )
    return signed


def _move(repo: Repository, branch: str, old: str | None, new: str, committer: str) -> bool:
    """Move the branch from `old` to `new`; False if it is no longer at `old`, or is locked."""
    expected = old or "0" * len(new)
    transaction = f"update {branch}\0{new}\0{expected}\0delete {INCOMING}\0{new}\0".encode(
        "utf-8", "surrogateescape"
    )
    words = (*DURABLE, "update-ref", "-m", "engram", "-z", "--stdin")
    result = run(
        repo, *words, stdin=transaction, check=False, env=configuration.committer_variables(committer)
    )
    return failures.is_moved(repo.worktree, words, result.code, result.stderr)
