"""The git merge driver: merges the three versions of a lore file that git passes."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from engram.adapters.files import config_file, places
from engram.adapters.files.durable import atomic
from engram.adapters.git.run.layout import find_repository
from engram.domain.entry.categories import Categories
from engram.domain.entry.named_files import HOME, WHOLE, lore_folder
from engram.domain.errors import ConfigError, ConflictError, GitError, LoreFileError, StoreError
from engram.domain.merge.merge import UNKNOWN, Edit, reference_time
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.merge.file_merge import merge_one

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.files.merge.merge_readable import Merged
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Clock


def merge_driver(
    base: str, ours: str, theirs: str, path: str, environment: Mapping[str, str], clock: Clock
) -> Merged:
    """Merge the files `base`, `ours` and `theirs` into the file `ours`; `path` is where the result belongs.

    Called by git at the top of the work tree. A version that does not fit into `conflicts` is written next to `path`.
    A note in place without Engram's fields on either side is merged as text. Raises ConflictError if both sides changed
    the same lines of it, and StoreError if a file cannot be read or written, which leaves `ours` unchanged.
    """
    top = os.getcwd()
    repository = find_repository(top)
    versions = [atomic.read(os.path.abspath(name)) for name in (base, ours, theirs)]
    now = time_of_merge(repository, _merging_commits(repository, environment), clock)
    # Git passes a missing base as an empty file.
    place, folder = place_at(top, path)
    categories = categories_at(top, path)
    if categories.in_place and not _are_entries(versions[1:], place, categories, now):
        return _merge_as_text(top, base, ours, theirs, path)
    merged = merge_one(versions[0] or None, versions[1], versions[2], place, folder, categories, now)
    if merged.contested and repository is not None:
        in_git = path.removesuffix(place) + folder
        edits = _edits(repository, environment, path, in_git, versions[1:], categories)
        merged = merge_one(
            versions[0] or None, versions[1], versions[2], place, folder, categories, now, edits=edits
        )
    merged = _with_prefix(merged, path.removesuffix(place))
    _write_kept(repository, merged)
    _overwrite(ours, merged.content or b"")
    return merged


def _are_entries(versions: Sequence[bytes], place: str, categories: Categories, now: datetime) -> bool:
    """Return whether all versions of a note have Engram's fields, as every note edited by Engram does."""
    from engram.adapters.files.frontmatter import codec

    try:
        return all(codec.read(raw, place, categories, now).adopted for raw in versions)
    except LoreFileError:
        return False


def _merge_as_text(top: str, base: str, ours: str, theirs: str, path: str) -> Merged:
    """Merge as git does without a driver. Raises ConflictError, with git's markers in `ours`, if both changed a line."""
    from engram.adapters.files.merge.merge_readable import Merged
    from engram.adapters.git.write.merge_driver import merge_text

    if merge_text(top, ours, base, theirs):
        return Merged(atomic.read(os.path.abspath(ours)))
    raise ConflictError(
        f"{path}: both changed the same lines.", "Keep the right ones of each part, and `git add` it."
    )


def _edits(
    repository: Repository,
    environment: Mapping[str, str],
    path: str,
    folder: str,
    versions: Sequence[bytes],
    categories: Categories,
) -> tuple[Edit, Edit]:
    """Return who wrote the two versions, if they are those of two commits that git merges.

    No commits are known in a rebase, a cherry-pick or a stash, or for common ancestors that git merges first.
    """
    from engram.adapters.git.read.versions import read_objects
    from engram.adapters.git.run.layout import read_head
    from engram.adapters.git.write.merge_driver import merged_commit
    from engram.usecases.merge.last_edits import edits_of_merge

    head, other = read_head(repository).oid, merged_commit(environment)
    if not head or not other:
        return UNKNOWN, UNKNOWN
    try:
        committed = read_objects(repository, [f"{oid}:{path}" for oid in (head, other)])
    except GitError:
        return UNKNOWN, UNKNOWN
    if list(committed) != list(versions):
        return UNKNOWN, UNKNOWN
    return edits_of_merge(repository, (head, other), path, folder, categories)


def _merging_commits(repository: Repository | None, environment: Mapping[str, str]) -> list[str]:
    """Return the commits that git is merging, if it tells the driver."""
    from engram.adapters.git.write.merge_driver import merged_heads

    return merged_heads(repository, environment) if repository is not None else []


def time_of_merge(repository: Repository | None, commits: Sequence[str], clock: Clock) -> datetime:
    """Return the time of a merge of these commits; if there are none, that of this machine's clock."""
    from engram.adapters.git.write.merge_driver import committer_times

    try:
        moments = committer_times(repository, commits) if repository is not None else []
    except GitError:
        moments = []
    heads = [datetime.fromtimestamp(moment, UTC) for moment in moments]
    return reference_time(clock.now(), heads) if heads else clock.now()


def categories_at(top: str, path: str) -> Categories:
    """Return the categories of the store that `path` (relative to `top`) belongs to."""
    root = _root_at(top, path)
    added, in_place = _setting(root, "store.categories"), _setting(root, "store.folder") == WHOLE
    categories = {str(name): str(kind) for name, kind in added.items()} if isinstance(added, dict) else {}
    return Categories(categories, in_place=in_place)


def place_at(top: str, path: str) -> tuple[str, str]:
    """Return the path in its store of `path` (relative to `top`), and the lore folder of that store."""
    root = _root_at(top, path)
    full = os.path.join(top, *path.split("/"))
    folder = _setting(root, "store.folder")
    place = os.path.relpath(full, root).replace(os.sep, "/")
    return place, lore_folder(folder if isinstance(folder, str) else HOME)


def _root_at(top: str, path: str) -> str:
    return places.enclosing_store(os.path.dirname(os.path.join(top, *path.split("/")))) or top


def _setting(root: str, name: str) -> object:
    try:
        return config_file.load(root).get(name)
    except ConfigError:
        return None


def _with_prefix(merged: Merged, prefix: str) -> Merged:
    """Return the result with `prefix` before the paths of its other files."""
    return merged._replace(kept=tuple([kept._replace(path=prefix + kept.path) for kept in merged.kept]))


def _write_kept(repository: Repository | None, merged: Merged) -> None:
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


def _overwrite(file: str, content: bytes) -> None:
    """Write into the file that git created, as gitattributes(5) requires."""
    try:
        with open(file, "wb") as opened:
            opened.write(content)
    except OSError as error:
        raise atomic.write_error(file, error) from None
