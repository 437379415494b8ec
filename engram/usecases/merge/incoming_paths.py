"""Refuse files and commits of a remote, all of them before the first one is written."""

from __future__ import annotations

from engram.adapters.git.read.differences import check_countable, commit_sizes, names_in, sizes
from engram.adapters.git.write import merging
from engram.domain.admission import safe_paths
from engram.domain.errors import GitError, SyncBlockedError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.adapters.git.read.objects import Entry
    from engram.adapters.git.run.layout import Repository

NOT_SYNCED = "nothing was changed here"
NOT_CLONED = "nothing was cloned"
NOT_WRITTEN = "nothing was written"
NOT_MOVED = "nothing was moved"
_HINT = "Have it removed from the remote's branch, then try again."


def check_files(
    repo: Repository,
    files: Mapping[str, Entry],
    folder: str,
    so: str,
    whose: str = "The remote's",
    known: Mapping[str, bytes] | None = None,
) -> None:
    """Raise SyncBlockedError if one of these files (or all together) may not be written.

    `folder` is the lore folder; `so` ends the message with the consequence, such as `NOT_SYNCED`; `whose` begins it.
    `known` has contents, by object id, whose size need not be asked for.
    """
    size_of = sizes(repo, (entry.oid for entry in files.values() if entry.mode != "160000"), known)
    total = 0
    for path, entry in sorted(files.items()):
        size = size_of.get(entry.oid, 0)
        why = sync_plan.refusal(path, entry.mode, size, folder)
        if why:
            raise SyncBlockedError(f"{whose} {path[:200]!r} {why}; {so}.", _HINT)
        total += size
    if total > sync_plan.LARGEST_SUM:
        limit = f"{sync_plan.LARGEST_SUM:,}"
        raise SyncBlockedError(
            f"{whose} files have {total:,} bytes together, more than the {limit} allowed; {so}.", _HINT
        )


def check_names(repo: Repository, commit: str, added: Iterable[str], so: str) -> None:
    """Raise SyncBlockedError if a path that `commit` adds equals another path of it on some file systems (case, form)."""
    new: dict[str, set[str]] = {}
    for path in added:
        rest = path
        while rest:
            folder, _, name = rest.rpartition("/")
            if name in new.setdefault(folder, set()):
                break
            new[folder].add(name)
            rest = folder
    for folder, names in sorted(names_in(repo, commit, new).items() if new else ()):
        for same in safe_paths.colliding_names(names).values():
            if new[folder].intersection(same):
                one, other = (f"{folder}/{name}".lstrip("/") for name in sorted(same)[:2])
                raise SyncBlockedError(
                    f"{one!r} and {other!r} are the same path on many file systems; {so}.",
                    "Rename one of them, here or on the remote's branch, then try again.",
                )


def check_commits(repo: Repository, ours: str | None, theirs: str, so: str) -> None:
    """Raise SyncBlockedError if a commit that `theirs` has and `ours` has not is too large.

    Also if `theirs` holds more files or deeper folders than can be listed.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        measuring = pool.submit(commit_sizes, repo, ours, theirs)
        shared = merging.bases(repo, ours, theirs) if ours else ()
        try:
            check_countable(repo, theirs, shared[0] if len(shared) == 1 else None)
        except GitError as error:
            raise SyncBlockedError(
                f"The remote's branch is refused: {error.message} So {so}.", error.hint
            ) from None
    for oid, size in measuring.result().items():
        if size > sync_plan.LARGEST_COMMIT:
            limit = f"{sync_plan.LARGEST_COMMIT:,}"
            raise SyncBlockedError(
                f"The remote's commit {oid[:10]} itself has {size:,} bytes, more than the {limit} allowed; {so}.",
                "Have it removed from the remote's branch, then try again.",
            )
