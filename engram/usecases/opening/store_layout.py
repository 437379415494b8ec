"""Where the store at a known root keeps its entries and its private state, and how it is placed in git."""

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
# The private state of a clone that may only be read.
_COPIED = "copied"  # its time is that of the newest file copied
_LEDGER = "judgements"
_MEMORY = "/dev/shm"  # noqa: S108 - below it only a folder that is this user's alone
_LEFT_OUT = ("journal", "live.jsonl", _COPIED)


class Located(NamedTuple):
    """A store that was found: where it keeps things, and which of its settings are in force."""

    places: Places
    settings: InForce


def make_store(found: Located, clock: Clock, caller: Caller) -> Store:
    """Make the store object of a store that was found; nothing is recovered yet."""
    store = Store(found.places, found.settings.settings, clock, caller)
    store.held_back, store.notes = found.settings.held_back, found.settings.trouble
    return store


def enclosing_store(start: str) -> str | None:
    """Return the root of the store that `start` belongs to, which need not be above it.

    The nearest `.engram.toml` at or above it says so, or the nearest repository, by the branch on which it keeps lore.
    """
    passed: list[str] = []

    def kept_by_repository(folder: str) -> str | None:
        common_dir = None if passed else common_dir_at(folder)
        if common_dir is None:
            return None
        passed.append(folder)  # a repository around this one, of which it may be a submodule, does not count
        is_kept = lore_branch.is_kept(common_dir, places.CONFIG_NAME)
        return lore_branch.root_in(common_dir) if is_kept else None

    return places.enclosing_store(start, kept_by_repository)


def nearest(folders: Sequence[str]) -> str:
    """Return the first of the folders that is in a store, else the last of them."""
    inside = (folder for folder in folders if enclosing_store(folder) is not None)
    return next(inside, folders[-1])


def describe(root: str, scope: str) -> Places:
    """Return where the store at `root` keeps things; makes its private state folder."""
    return locate_root(root, scope).places


def locate_root(root: str, scope: str = "") -> Located:
    """Return the store at `root`; without a scope it is the one that the settings say."""
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
    """Make a private state folder, with a file that keeps it out of any git around it. Raises StoreError."""
    try:
        os.makedirs(state, exist_ok=True)
        if os.stat(state).st_mode & 0o077:
            with contextlib.suppress(OSError):  # it is another's
                os.chmod(state, 0o700)
    except OSError as error:
        raise StoreError(
            f"The private folder {state} cannot be made: {error.strerror}.", "Check its permissions."
        ) from None
    if outside_git:
        _ignore_state(state)


def state_folder(root: str, repository: Repository | None) -> str:
    """Return where a store keeps its private state: in the git folder, so that it is never tracked; else in `.engram`."""
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
    """`plain` outside git; `branch` and `dedicated` where branch or repository are the store's own; else `in-tree`.

    A pulled configuration alone must not make Engram commit to somebody's branch: a dedicated store
    is one that `engram init` marked on this machine, or a repository that holds nothing but lore.
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
    """Return whether the store's root is the hidden work tree, and not a store of its own in one of its folders."""
    return lore_branch.is_hidden(repository) and os.path.realpath(root) == repository.worktree


def _restore_hidden_tree(root: str) -> Repository | None:
    """Restore a hidden work tree that has vanished and return its repository; None for any other store."""
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
    """Return a private state folder, or the one that stands in for it where nothing may be written there.

    That one is in the user's cache, or where that cannot be written either in a folder of the system's temporary one, or else in
    memory, which a container has even where its whole file system is read-only. What the clone's own state says (what is in
    quarantine, whose settings were accepted) is copied first, and again whenever it changes.
    """
    nearest = state
    while not os.path.isdir(nearest) and os.path.dirname(nearest) != nearest:
        nearest = os.path.dirname(nearest)
    if os.access(nearest, os.W_OK | os.X_OK):
        return state
    folder = _stand_in(state)
    if folder is None:
        return state
    with contextlib.suppress(OSError):
        _copy(state, folder)
    return folder


def _stand_in(state: str) -> str | None:
    """Make the folder that stands in for one; None where there is no place for it that is this user's alone."""
    name = digest(os.path.realpath(state).encode())
    for base in _bases():
        folder = os.path.join(base, "read-only", name)
        with contextlib.suppress(OSError):
            os.makedirs(base, mode=0o700, exist_ok=True)
            is_ours = not hasattr(os, "getuid") or os.stat(base).st_uid == os.getuid()
            if is_ours and not os.path.islink(base) and os.access(base, os.W_OK | os.X_OK):
                os.makedirs(folder, mode=0o700, exist_ok=True)
                return folder
    return None


def _bases() -> Iterator[str]:
    """Yield the folders to try; a machine on which nothing may be written has no temporary one."""
    import tempfile

    yield places.cache_folder()
    user = f"engram-{os.getuid()}" if hasattr(os, "getuid") else "engram"
    with contextlib.suppress(OSError):
        yield os.path.join(tempfile.gettempdir(), user)
    if os.path.isdir(_MEMORY):
        yield os.path.join(_MEMORY, user)


def _copy(state: str, folder: str) -> None:
    """Copy what the state says, unless that was done since it changed. Raises OSError."""
    import shutil

    if not os.path.isdir(state):
        return
    ledger = os.path.join(state, _LEDGER)
    found = [*_files(state), *(_files(ledger) if os.path.isdir(ledger) else ())]
    newest = max((os.stat(path).st_mtime_ns for path in found), default=0)
    mark = os.path.join(folder, _COPIED)
    if os.path.exists(mark) and os.stat(mark).st_mtime_ns == newest:
        return
    for path in found:
        target = os.path.join(folder, os.path.relpath(path, state))
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        temporary = f"{target}.{os.getpid()}.tmp"
        shutil.copyfile(path, temporary)
        os.replace(temporary, target)
    with open(mark, "wb"):
        pass
    os.utime(mark, ns=(newest, newest))


def _files(folder: str) -> list[str]:
    """Return the files of a state folder that say something; locks, journals and the activity log do not."""
    return [
        entry.path
        for entry in os.scandir(folder)
        if entry.is_file() and not entry.name.endswith(".lock") and not entry.name.startswith(_LEFT_OUT)
    ]
