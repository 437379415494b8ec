"""The git merge driver: three versions of a lore file, as git hands them over, become one."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from engram.adapters.files import atomic, config_file, places
from engram.adapters.files.merge_file import Merged, merge_files
from engram.adapters.git.layout import find_repository
from engram.domain.categories import Categories
from engram.domain.errors import ConfigError, GitError, StoreError
from engram.domain.merge import reference_time
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.git.layout import Repository
    from engram.usecases.clock import Clock


def merge_driver(
    base: str, ours: str, theirs: str, path: str, environment: Mapping[str, str], clock: Clock
) -> Merged:
    """Merge the files `base`, `ours` and `theirs` into the file `ours`; `path` is where the result belongs.

    Called by git at the top of the work tree. A version that no entry of `conflicts` can hold is written
    beside `path`. Raises StoreError where a file cannot be read or written; then `ours` is as it was.
    """
    top = os.getcwd()
    repository = find_repository(top)
    versions = [atomic.read(os.path.abspath(name)) for name in (base, ours, theirs)]
    now = time_of_merge(repository, heads_of(repository, environment), clock)
    # To a driver, git shows no base as an empty one.
    merged = merge_files(versions[0] or None, versions[1], versions[2], path, categories_at(top, path), now)
    _keep(repository, merged)
    _replace(ours, merged.content or b"")
    return merged


def heads_of(repository: Repository | None, environment: Mapping[str, str]) -> list[str]:
    """The commits that git merges just now, as far as it tells a driver."""
    from engram.adapters.git.merge_driver import merged_heads

    return merged_heads(repository, environment) if repository is not None else []


def time_of_merge(repository: Repository | None, commits: Sequence[str], clock: Clock) -> datetime:
    """The `now` of the merge of these commits; this machine's clock where there are none."""
    from engram.adapters.git.merge_driver import committer_times

    try:
        moments = committer_times(repository, commits) if repository is not None else []
    except GitError:
        moments = []
    heads = [datetime.fromtimestamp(moment, UTC) for moment in moments]
    return reference_time(clock.now(), heads) if heads else clock.now()


def categories_at(top: str, path: str) -> Categories:
    """The categories of the store that `path` (relative to `top`) belongs to."""
    root = places.enclosing_store(os.path.dirname(os.path.join(top, *path.split("/")))) or top
    try:
        own = config_file.load(root).get("store.categories")
    except ConfigError:
        own = None
    return Categories({str(name): str(kind) for name, kind in own.items()} if isinstance(own, dict) else {})


def _keep(repository: Repository | None, merged: Merged) -> None:
    if merged.kept and repository is None:
        raise StoreError(
            "Both versions have to be kept, and there is no work tree here to keep one in.",
            "Merge in a work tree.",
        )
    for kept in merged.kept:
        assert repository is not None
        file = os.path.join(repository.worktree, *kept.path.split("/"))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        atomic.write(file, kept.content, "merge")


def _replace(file: str, content: bytes) -> None:
    """Write into the very file that git made, as gitattributes(5) asks for."""
    try:
        with open(file, "wb") as opened:
            opened.write(content)
    except OSError as error:
        raise atomic.unwritable(file, error) from None
