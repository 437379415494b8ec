"""Files that Engram does not commit, changed here and by a merge: the local text stays, and the merge goes on.

Engram commits lore. Other files, such as a README, are a person's: what they wrote and did not commit must not leave this
machine by a sync, nor be overwritten by one. So the branch moves and the file stays in the work tree, as an uncommitted
change. What the merge changed in it is merged into it by lines, as `git stash` would, or else written next to it.
"""

from __future__ import annotations

import os
import stat

from engram.adapters.files.durable import atomic
from engram.adapters.files.places import CONFIG_NAME
from engram.domain.merge.text_merge import merge_text
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.merge.tree_merge import LARGEST_TEXT
from engram.usecases.store import sync_state

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.usecases.store.store import Store


class Uncommitted(NamedTuple):
    """A file of the work tree that differs from our head; `raw` are its bytes, None where they cannot be read.

    `before` is the content in our head and `after` that in the merge, None for no file.
    """

    path: str
    raw: bytes | None
    before: bytes | None
    after: bytes | None


def is_left_to_git(path: str, folder: str) -> bool:
    """Return whether a file outside the lore folder is one that Engram never commits by itself."""
    return not path.startswith(f"{folder}/") and path != CONFIG_NAME


def may_be_kept(paths: Iterable[str], folder: str) -> set[str]:
    """Return those of the files that may stay uncommitted: no lore, entity, agent or settings."""
    return {path for path in paths if not sync_plan.is_by_fields(path, folder) and path != CONFIG_NAME}


def is_obstructed(store: Store, path: str) -> bool:
    """Return whether the path of the file is obstructed: a link or a file is in the place of a folder."""
    folder = os.path.dirname(path)
    while folder:
        absolute = store.files.absolute(folder)
        if os.path.islink(absolute) or os.path.isfile(absolute):
            return True
        folder = os.path.dirname(folder)
    return False


def keep(store: Store, found: Uncommitted) -> str:
    """Keep the file as it was written here, with what the merge changed in it; return a sentence on what was done.

    Calling it twice has the effect of one call. Raises ConflictError where the file is changed meanwhile, StoreError.
    """
    path = found.path
    if found.raw is None:
        return (
            f"{path} was not written: something else stands in its place here. It is in the branch: "
            f"`git show HEAD:{path}`."
        )
    if found.after is None:
        return f"{path} was deleted by the remote; it stays here, because it was changed and not committed."
    merged = _merged(found)
    if merged is None:
        other = _write_other_version(store, path, found.after)
        return f"{path} was changed here and not committed: it stays as it is, and the remote's version is {other}."
    if merged != found.raw:
        _replace(store, path, found.raw, merged)
    return f"{path} was changed here and not committed: the remote's changes were merged into it."


def _merged(found: Uncommitted) -> bytes | None:
    """Return the text with the changes of both sides; None where they overlap or it is no text."""
    versions = (found.before, found.raw, found.after)
    if any(raw is None or len(raw) > LARGEST_TEXT for raw in versions):
        return None
    try:
        base, ours, theirs = ((raw or b"").decode() for raw in versions)
    except UnicodeDecodeError:
        return None
    merged = merge_text(base, ours, theirs)
    return None if merged is None else merged.encode()


def _replace(store: Store, path: str, before: bytes, after: bytes) -> None:
    file = store.files.absolute(path)
    mode = stat.S_IMODE(os.lstat(file).st_mode)
    sync_state.discard_draft(file)
    temporary = atomic.prepare(file, after, sync_state.DRAFT, mode)
    try:
        with store.files.lock():
            atomic.check_unchanged(file, atomic.digest(before))
            atomic.put(temporary, file)
    finally:
        atomic.discard(temporary)


def _write_other_version(store: Store, path: str, content: bytes) -> str:
    """Write the other version next to the file, as a merge of commits does, and return its name."""
    name = sync_plan.other_version_path(path, content)
    file = store.files.absolute(name)
    if not os.path.lexists(file):
        sync_state.replace(file, content)
    return os.path.basename(name)
