"""The git merge driver, which merges three versions of an entry's file as git passes them."""

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
    A note in place that is a person's on either side is merged as text. Raises ConflictError for one whose same lines
    both changed, StoreError where a file cannot be read or written; then `ours` is as it was.
    """
    top = os.getcwd()
    repository = find_repository(top)
    versions = [atomic.read(os.path.abspath(name)) for name in (base, ours, theirs)]
    now = time_of_merge(repository, heads_of(repository, environment), clock)
    # To a driver, git shows no base as an empty one.
    place, folder = place_at(top, path)
    categories = categories_at(top, path)
    if categories.in_place and not _are_entries(versions[1:], place, categories, now):
        return _merge_as_text(top, base, ours, theirs, path)
    edits = UNKNOWN, UNKNOWN
    merged = merge_one(versions[0] or None, versions[1], versions[2], place, folder, categories, now)
    if merged.contested and repository is not None:
        in_git = path.removesuffix(place) + folder
        edits = _edits(repository, environment, path, in_git, versions[1:], categories)
        merged = merge_one(
            versions[0] or None, versions[1], versions[2], place, folder, categories, now, edits=edits
        )
    merged = _below(merged, path.removesuffix(place))
    _keep(repository, merged)
    _replace(ours, merged.content or b"")
    return merged


def _are_entries(versions: Sequence[bytes], place: str, categories: Categories, now: datetime) -> bool:
    """Return whether all versions of a note have its fields, as each has that was edited through Engram."""
    from engram.adapters.files.frontmatter import codec

    try:
        return all(codec.read(raw, place, categories, now).adopted for raw in versions)
    except LoreFileError:
        return False


def _merge_as_text(top: str, base: str, ours: str, theirs: str, path: str) -> Merged:
    """Merge as git does without a driver; raises ConflictError, with git's markers in `ours`, where both changed a line."""
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
    """Return who wrote our version and theirs, where these are the versions of two commits that git merges.

    Of a rebase, a cherry-pick or a stash, and of common ancestors that git merges first, no commits are at hand.
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


def heads_of(repository: Repository | None, environment: Mapping[str, str]) -> list[str]:
    """Return the commits that git is merging, as far as it tells a driver."""
    from engram.adapters.git.write.merge_driver import merged_heads

    return merged_heads(repository, environment) if repository is not None else []


def time_of_merge(repository: Repository | None, commits: Sequence[str], clock: Clock) -> datetime:
    """Return the time of the merge of these commits; this machine's clock where there are none."""
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
    own, in_place = _setting(root, "store.categories"), _setting(root, "store.folder") == WHOLE
    added = {str(name): str(kind) for name, kind in own.items()} if isinstance(own, dict) else {}
    return Categories(added, in_place=in_place)


def place_at(top: str, path: str) -> tuple[str, str]:
    """Return where `path` (relative to `top`) is in the store that it belongs to, and that store's lore folder."""
    root = _root_at(top, path)
    full = os.path.join(top, *path.split("/"))
    folder = _setting(root, "store.folder")
    return os.path.relpath(full, root).replace(os.sep, "/"), lore_folder(
        folder if isinstance(folder, str) else HOME
    )


def _root_at(top: str, path: str) -> str:
    return places.enclosing_store(os.path.dirname(os.path.join(top, *path.split("/")))) or top


def _setting(root: str, name: str) -> object:
    try:
        return config_file.load(root).get(name)
    except ConfigError:
        return None


def _below(merged: Merged, prefix: str) -> Merged:
    """Return the result with the paths of its other files relative to the top of the work tree."""
    return merged._replace(kept=tuple([kept._replace(path=prefix + kept.path) for kept in merged.kept]))


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
