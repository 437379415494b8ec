"""The layout of the store at a known root: its entries, its private state, and its placement in git."""

from __future__ import annotations

import contextlib
import os

from engram.adapters.files import places
from engram.adapters.files.durable.atomic import digest
from engram.adapters.git.run.layout import Repository, common_dir_at, find_repository
from engram.adapters.git.write import lore_branch
from engram.domain.entry.named_files import lore_folder
from engram.domain.errors import StoreError
from engram.domain.scopes import PROJECT, USER, scope_named
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store.accepted_settings import InForce, in_force
from engram.usecases.store.store import BRANCH, DEDICATED, IN_TREE, PLAIN, Caller, Clock, Places, Store
from engram.usecases.store.version_paths import git_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.domain.settings import Settings

_OWN_FILES = {places.CONFIG_NAME, ".git", ".gitattributes", ".gitignore", ".engram"}
# Copies of the private state of a read-only clone.
_COPIED_MARK = "copied"  # its modification time is that of the newest file copied
_LEDGER_FOLDER = "judgements"
_MEMORY_FOLDER = "/dev/shm"  # noqa: S108 - only in a folder that belongs to this user
_NOT_COPIED = ("journal", "live.jsonl", _COPIED_MARK)


class Located(NamedTuple):
    """A store that was found: its places, and its settings in force."""

    places: Places
    settings: InForce


def make_store(found: Located, clock: Clock, caller: Caller) -> Store:
    """Make the object for a store that was found. Nothing is recovered yet."""
    store = Store(found.places, found.settings.settings, clock, caller)
    store.held_back, store.notes = found.settings.held_back, found.settings.trouble
    return store


def enclosing_store(start: str) -> str | None:
    """Return the root of the store to which `start` belongs, which need not be above it.

    It is that of the nearest `.engram.toml` at or above it, or that of the nearest repository with a branch of lore.
    """
    repositories: list[str] = []

    def kept_by_repository(folder: str) -> str | None:
        common_dir = None if repositories else common_dir_at(folder)
        if common_dir is None:
            return None
        repositories.append(folder)  # outer repositories (of a submodule) do not count
        is_kept = lore_branch.is_kept(common_dir, places.CONFIG_NAME)
        return lore_branch.root_in(common_dir) if is_kept else None

    return places.enclosing_store(start, kept_by_repository)


def nearest(folders: Sequence[str]) -> str:
    """Return the first of the folders that is in a store, else the last one."""
    inside = (folder for folder in folders if enclosing_store(folder) is not None)
    return next(inside, folders[-1])


def describe(root: str, scope: str) -> Places:
    """Return the places of the store at `root`, making its private state folder."""
    return locate_root(root, scope).places


def locate_root(root: str, scope: str = "") -> Located:
    """Return the store at `root`, by default with its scope from the settings."""
    repository = find_repository(root)
    if repository is None or not os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
        repository = _restore_hidden_tree(root) or repository
    own = state_folder(root, repository)
    state = writable_folder(own)
    make_state(state, outside_git=repository is None)
    settings = in_force(root, state if repository else None)
    folder = lore_folder(settings.settings.text("store.folder"))
    configured = settings.settings.text("store.placement")
    placement = placement_of(root, folder, state, configured, repository)
    scope = scope or _scope_of(root, settings.settings)
    return Located(Places(root, folder, state, placement, scope, repository), settings)


def make_state(state: str, *, outside_git: bool) -> None:
    """Make a private state folder, which any surrounding repository ignores. Raises StoreError."""
    try:
        os.makedirs(state, exist_ok=True)
        if os.stat(state).st_mode & 0o077:
            with contextlib.suppress(OSError):  # it belongs to another user
                os.chmod(state, 0o700)
    except OSError as error:
        raise StoreError(
            f"The private folder {state} cannot be made: {error.strerror}.", "Check its permissions."
        ) from None
    if outside_git:
        _ignore_state(state)


def state_folder(root: str, repository: Repository | None) -> str:
    """Return a store's folder of private state: in the git folder, so that it is never tracked, else `.engram`."""
    if repository is None:
        return os.path.join(root, ".engram")
    if _is_on_branch(root, repository):
        return lore_branch.state_in(repository.common_dir)
    below = git_prefix(root, repository)
    base = os.path.join(repository.common_dir, "engram")
    if not below and repository.worktree_name == "main":
        return base
    name = below.replace("/", "-").strip(".-") or "top"
    return os.path.join(base, "stores", f"{repository.worktree_name}--{name}")


def placement_of(root: str, folder: str, state: str, configured: str, repository: Repository | None) -> str:
    """Return `plain` outside git, `branch` or `dedicated` if that is the store's own, else `in-tree`.

    A pulled configuration alone must not make Engram commit to somebody's branch: a dedicated store is one that
    `engram init` marked on this machine, or a repository with nothing but lore.
    """
    if repository is None:
        return PLAIN
    if _is_on_branch(root, repository):
        return BRANCH
    if (
        not folder
        or configured != DEDICATED
        or os.path.realpath(repository.worktree) != os.path.realpath(root)
    ):
        return IN_TREE
    if os.path.exists(os.path.join(state, DEDICATED)) or _holds_only_lore(root, folder):
        return DEDICATED
    return IN_TREE


def _holds_only_lore(root: str, folder: str) -> bool:
    top = folder.split("/", maxsplit=1)[0]
    others = [name for name in os.listdir(root) if name not in _OWN_FILES and name != top]
    return all(name.upper().startswith(("README", "LICENSE", "NOTICE")) for name in others)


def _is_on_branch(root: str, repository: Repository) -> bool:
    """Whether the store's root is the hidden work tree itself, rather than a separate store in one of its folders."""
    return lore_branch.is_hidden(repository) and os.path.realpath(root) == repository.worktree


def _restore_hidden_tree(root: str) -> Repository | None:
    """Restore a vanished hidden work tree and return its repository; None for any other store."""
    common_dir = lore_branch.common_dir_of(root)
    if common_dir is None:
        return None
    from engram.usecases.opening.branch_placement import restore

    return restore(common_dir)


def _scope_of(root: str, settings: Settings) -> str:
    real = os.path.realpath(root)
    if real == os.path.realpath(places.user_store()):
        return USER
    for name in settings.teams():
        if real == os.path.realpath(places.team_store(name, scope_named(settings, name).path)):
            return name
    return PROJECT


def _ignore_state(state: str) -> None:
    path = os.path.join(state, ".gitignore")
    if not os.path.exists(path):
        with open(path, "w", encoding="ascii") as file:
            file.write("*\n")


def writable_folder(state: str) -> str:
    """Return a private state folder, or a substitute if it is not writable.

    The substitute is in the user's cache, else in the system's temporary folder, else in memory, which a container has even
    if its whole file system is read-only. The clone's own state (its quarantine, accepted settings) is copied first, and
    again whenever it changes.
    """
    nearest = state
    while not os.path.isdir(nearest) and os.path.dirname(nearest) != nearest:
        nearest = os.path.dirname(nearest)
    if os.access(nearest, os.W_OK | os.X_OK):
        return state
    folder = _make_stand_in(state)
    if folder is None:
        return state
    with contextlib.suppress(OSError):
        _copy_state(state, folder)
    return folder


def _make_stand_in(state: str) -> str | None:
    """Make the substitute for a state folder; None if there is no place that belongs to this user."""
    name = digest(os.path.realpath(state).encode())
    for base in _stand_in_bases():
        folder = os.path.join(base, "read-only", name)
        with contextlib.suppress(OSError):
            os.makedirs(base, mode=0o700, exist_ok=True)
            is_ours = not hasattr(os, "getuid") or os.stat(base).st_uid == os.getuid()
            if is_ours and not os.path.islink(base) and os.access(base, os.W_OK | os.X_OK):
                os.makedirs(folder, mode=0o700, exist_ok=True)
                return folder
    return None


def _stand_in_bases() -> Iterator[str]:
    """Yield the folders to try; a read-only machine has no temporary one."""
    import tempfile

    yield places.cache_folder()
    user = f"engram-{os.getuid()}" if hasattr(os, "getuid") else "engram"
    with contextlib.suppress(OSError):
        yield os.path.join(tempfile.gettempdir(), user)
    if os.path.isdir(_MEMORY_FOLDER):
        yield os.path.join(_MEMORY_FOLDER, user)


def _copy_state(state: str, folder: str) -> None:
    """Copy the state, unless it is unchanged since the last copy. Raises OSError."""
    import shutil

    if not os.path.isdir(state):
        return
    ledger = os.path.join(state, _LEDGER_FOLDER)
    files = [*_files_to_copy(state), *(_files_to_copy(ledger) if os.path.isdir(ledger) else ())]
    newest = max((os.stat(path).st_mtime_ns for path in files), default=0)
    mark = os.path.join(folder, _COPIED_MARK)
    if os.path.exists(mark) and os.stat(mark).st_mtime_ns == newest:
        return
    for path in files:
        target = os.path.join(folder, os.path.relpath(path, state))
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        temporary = f"{target}.{os.getpid()}.tmp"
        shutil.copyfile(path, temporary)
        os.replace(temporary, target)
    with open(mark, "wb"):
        pass
    os.utime(mark, ns=(newest, newest))


def _files_to_copy(folder: str) -> list[str]:
    """Return the files of a state folder to copy: all but locks, journals and the activity log."""
    return [
        entry.path
        for entry in os.scandir(folder)
        if entry.is_file() and not entry.name.endswith(".lock") and not entry.name.startswith(_NOT_COPIED)
    ]
