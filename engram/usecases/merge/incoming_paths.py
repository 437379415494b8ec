"""Check all files and commits of a remote before the first one is written."""

from __future__ import annotations

from engram.adapters.git.read.differences import check_countable, commit_sizes, sizes
from engram.adapters.git.write import merge_commit
from engram.domain.errors import GitError, SyncBlockedError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    outcome: str,
    whose: str = "The remote's",
    known: Mapping[str, bytes] | None = None,
) -> dict[str, str]:
    """Return which of these files must not be checked out, each with why: by name, kind or size.

    `folder` is the lore folder; `whose` begins the message of an error, `outcome` (such as `NOT_SYNCED`) ends it.
    `known` has contents already read, by object id. Raises SyncBlockedError for a file that is clearly an attack, and if
    the files are too large together.
    """
    size_of = _sizes(repo, files, known)
    left_out: dict[str, str] = {}
    for path, found in _find_refusals(files, size_of, folder):
        if found.stops:
            raise SyncBlockedError(f"{whose} {path[:200]!r} {found.why}; {outcome}.", _HINT)
        left_out[path] = found.why
    total = sum(size_of.get(entry.oid, 0) for path, entry in files.items() if path not in left_out)
    if total > sync_plan.LARGEST_SUM:
        limit = f"{sync_plan.LARGEST_SUM:,}"
        raise SyncBlockedError(
            f"{whose} files have {total:,} bytes together, more than the {limit} allowed; {outcome}.", _HINT
        )
    return left_out


def judge_files(
    repo: Repository, files: Mapping[str, Entry], folder: str, known: Mapping[str, bytes]
) -> dict[str, sync_plan.Refusal]:
    """Return which of these files other clones would refuse, each with why; `known` has contents already read, by object id."""
    return dict(_find_refusals(files, _sizes(repo, files, known), folder))


def _sizes(repo: Repository, files: Mapping[str, Entry], known: Mapping[str, bytes] | None) -> dict[str, int]:
    return sizes(repo, (entry.oid for entry in files.values() if entry.mode != "160000"), known)


def _find_refusals(
    files: Mapping[str, Entry], size_of: Mapping[str, int], folder: str
) -> Iterator[tuple[str, sync_plan.Refusal]]:
    for path, entry in sorted(files.items()):
        found = sync_plan.judge_file(path, entry.mode, size_of.get(entry.oid, 0), folder)
        if found is not None:
            yield path, found


def check_commits(repo: Repository, ours: str | None, theirs: str, outcome: str) -> None:
    """Raise SyncBlockedError if `theirs` adds a commit that is too large, or has too many files or too deep folders."""
    shared = merge_commit.bases(repo, ours, theirs) if ours else ()
    try:
        check_countable(repo, theirs, shared[0] if len(shared) == 1 else None)
    except GitError as error:
        raise SyncBlockedError(
            f"The remote's branch is refused: {error.message} So {outcome}.", error.hint
        ) from None
    for oid, size in commit_sizes(repo, ours, theirs).items():
        if size > sync_plan.LARGEST_COMMIT:
            limit = f"{sync_plan.LARGEST_COMMIT:,}"
            raise SyncBlockedError(
                f"The remote's commit {oid[:10]} itself has {size:,} bytes, more than the {limit} allowed; {outcome}.",
                _HINT,
            )
