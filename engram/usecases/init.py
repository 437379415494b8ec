"""Making a store: a repository of its own, or a folder of lore inside a code repository."""

from __future__ import annotations

import os

from engram.adapters.files import atomic, config_file, places
from engram.adapters.git.layout import find_repository
from engram.domain.errors import StoreError, UsageError
from engram.domain.typed import NamedTuple
from engram.usecases.store import DEDICATED, IN_TREE

FOLDER = "lore"
_CONFIG = """# Engram keeps this project's lore here; `engram config` lists every setting.
[store]
placement = "{placement}"
folder = "{folder}"
"""


class Initialised(NamedTuple):
    """A store that was made, or (`existed`) was there already; `why` says in a sentence how lore is kept in it."""

    root: str
    placement: str
    existed: bool
    why: str


def init(path: str, *, placement: str = "") -> Initialised:
    """Make a store at `path`. Without a placement: in-tree inside a code repository, dedicated elsewhere.

    Doing it twice changes nothing. Raises UsageError, StoreError, GitError.
    """
    root = os.path.abspath(path)
    if os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
        return _existing(root, placement)
    if os.path.exists(root) and not os.path.isdir(root):
        raise UsageError(f"{path} is not a folder.", "Name a folder, or none to use this one.")
    repository = find_repository(root) if os.path.isdir(root) else find_repository(_existing_parent(root))
    chosen = placement or (IN_TREE if repository is not None else DEDICATED)
    if chosen == IN_TREE and repository is None:
        raise UsageError(
            f"{root} is not inside a git repository.", "Leave out --placement, or run `git init` first."
        )
    _make_folder(os.path.join(root, FOLDER))
    if chosen == DEDICATED:
        _make_repository(root)
    config_file.create(
        os.path.join(root, places.CONFIG_NAME), _CONFIG.format(placement=chosen, folder=FOLDER)
    )
    if chosen == DEDICATED:
        _commit_start(root)
    _accept_settings(root)
    return Initialised(root, chosen, False, _why(chosen))


def _existing(root: str, placement: str) -> Initialised:
    from engram.usecases.open_store import describe

    found = describe(root, "project").placement
    if placement and placement != found:
        raise StoreError(f"{root} is a store already, with the placement {found}.", "Nothing was changed.")
    if found == DEDICATED:
        _tell_git(root, attributes=False)
    return Initialised(root, found, True, _why(found))


def _make_repository(root: str) -> None:
    from engram.adapters.git.create import init as init_repository
    from engram.usecases.open_store import state_folder

    repository = find_repository(root)
    if repository is not None and os.path.realpath(repository.worktree) == os.path.realpath(root):
        if _has_other_files(root):
            raise UsageError(
                f"{root} is a repository that holds other things than lore.",
                "Use --placement in-tree here, or init another folder.",
            )
    else:
        repository = init_repository(root)
    state = state_folder(root, repository)
    _make_folder(state)
    _tell_git(root, attributes=True)
    atomic.write(os.path.join(state, DEDICATED), b"made by engram init\n", "init")


def _tell_git(root: str, *, attributes: bool) -> None:
    """Have git merge lore by field. A store that is there keeps its .gitattributes, which `doctor --fix` completes."""
    repository = find_repository(root)
    if repository is None:
        return
    from engram.usecases.install_driver import install_merge_driver

    install_merge_driver(repository, FOLDER, root, attributes=attributes)


def _commit_start(root: str) -> None:
    from engram.adapters.git.commits import Commit, FileChange, commit_all
    from engram.usecases.clock import Clock
    from engram.usecases.open_store import state_folder

    repository = find_repository(root)
    assert repository is not None
    names = [places.CONFIG_NAME, ".gitattributes"]
    changes = tuple(
        FileChange(n, atomic.read(os.path.join(root, n)))
        for n in names
        if os.path.exists(os.path.join(root, n))
    )
    moment = int(Clock().now().timestamp())
    commit_all(
        repository,
        [Commit("Start an Engram store", changes, None, moment)],
        Clock().new_id(),
        state_folder(root, repository),
    )


def _accept_settings(root: str) -> None:
    """From now on this clone knows what it accepted, whatever a pull makes of the file."""
    from engram.usecases.open_store import describe

    describe(root, "project")


def _has_other_files(root: str) -> bool:
    return any(name not in {".git", FOLDER, ".gitattributes"} for name in os.listdir(root))


def _existing_parent(path: str) -> str:
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def _make_folder(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be made: {error.strerror}.", "Check the path and its permissions."
        ) from None


def _why(placement: str) -> str:
    if placement == DEDICATED:
        return "Dedicated: lore has this repository to itself, and every change is committed for you."
    if placement == IN_TREE:
        return "In-tree: lore are files of your own repository; Engram never commits, you do that with your work."
    return "Plain: lore are files in a folder without git, so there is no history and no sync."
