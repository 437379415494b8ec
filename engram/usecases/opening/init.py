"""Make a store: a dedicated repository, a branch of a code repository, or a folder of lore among its files."""

from __future__ import annotations

import os

from engram.adapters.files import config_file, places
from engram.adapters.files.durable import atomic
from engram.adapters.git.remote import remotes
from engram.adapters.git.run.author import environment_author
from engram.adapters.git.run.layout import Repository, common_dir_at, find_repository, repository_at
from engram.adapters.git.write import lore_branch
from engram.domain.entry.named_files import WHOLE
from engram.domain.errors import StoreError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store.store import BRANCH, DEDICATED, IN_TREE, PLAIN, Clock

if TYPE_CHECKING:
    from collections.abc import Callable


FOLDER = "lore"
_VAULT_FOLDER = ".obsidian"  # in the top folder of an Obsidian vault
_CONFIG = """# Engram keeps this project's lore here; `engram config` lists every setting.
[store]
placement = "{placement}"
folder = "{folder}"
"""


class Initialised(NamedTuple):
    """A store that was made, or already `existed`.

    `why` says in a sentence how lore is kept in it, `otherwise` how to keep it differently.
    """

    root: str
    placement: str
    existed: bool
    why: str
    otherwise: str


def init(
    path: str,
    *,
    placement: str = "",
    timeout: float = remotes.DEADLINE,
    step: Callable[[str], None] | None = None,
) -> Initialised:
    """Make a store at `path`. Without a placement: in place in a vault, on its own branch inside a code repository,
    dedicated elsewhere.

    The branch belongs to the whole repository, so `path` may be any folder in it. The remote is asked for the branch, for
    at most `timeout` seconds; `step` gets the progress. An existing store is not changed.
    Raises UsageError, StoreError, GitError, SyncBlockedError for a remote's branch that is refused.
    """
    root = os.path.abspath(path)
    if os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
        return _describe_existing(root, placement)
    if os.path.exists(root) and not os.path.isdir(root):
        raise UsageError(f"{path} is not a folder.", "Name a folder, or none to use this one.")
    repository = repository_at(_existing_parent(root))
    if not placement and os.path.isdir(os.path.join(root, _VAULT_FOLDER)) and not _has_branch(root):
        return init_here(path)
    chosen = placement or (BRANCH if repository is not None else DEDICATED)
    if chosen != DEDICATED and repository is None:
        raise UsageError(
            f"{root} is not inside a git repository.", "Leave out --placement, or run `git init` first."
        )
    if chosen == BRANCH:
        assert repository is not None
        return _init_branch(root, repository, placement, timeout, step)
    if chosen == IN_TREE:
        _check_no_branch(root)
    _make_folder(os.path.join(root, FOLDER))
    if chosen == DEDICATED:
        _make_repository(root)
    config_file.create(os.path.join(root, places.CONFIG_NAME), config_text(chosen))
    if chosen == DEDICATED:
        _commit_start(root)
    _record_settings(root)
    return Initialised(root, chosen, False, *_explain(chosen))


def init_here(path: str) -> Initialised:
    """Make a store of an existing folder of markdown: every note in it becomes an entry, and none is changed.

    Raises UsageError, StoreError.
    """
    from engram.usecases.opening.store_layout import describe

    root = os.path.abspath(path)
    if not os.path.isdir(root):
        raise UsageError(f"{path} is not a folder.", "Name the folder that has the notes.")
    placement = PLAIN if repository_at(root) is None else IN_TREE
    is_store = os.path.isfile(os.path.join(root, places.CONFIG_NAME))
    if is_store and describe(root, "project").folder:
        raise StoreError(
            f"{root} is a store already, with a folder of lore.",
            "Nothing was changed. `engram config store.folder .` makes all its markdown lore.",
        )
    if not is_store:
        if placement == IN_TREE:
            _check_no_branch(root)
        config_file.create(os.path.join(root, places.CONFIG_NAME), config_text(IN_TREE, WHOLE))
        _record_settings(root)
    if placement == IN_TREE:
        _configure_git(root, attributes=True, folder="")
    why = "In place: every note in this folder is lore; Engram changes a file only when you edit that note through it."
    if placement == IN_TREE:
        return Initialised(
            root, placement, is_store, f"{why} It never commits.", "Commit .engram.toml with your notes."
        )
    return Initialised(
        root, placement, is_store, why, "For history and sync: git init, then commit your notes."
    )


def config_text(placement: str, folder: str = FOLDER) -> str:
    """Return the settings of a new store."""
    return _CONFIG.format(placement=placement, folder=folder)


def _describe_existing(root: str, placement: str) -> Initialised:
    from engram.usecases.opening.store_layout import describe

    found = describe(root, "project").placement
    if placement and placement != found:
        raise StoreError(
            f"{root} is a store already, with the placement {found}.",
            f"Nothing was changed. `engram move --to {placement}` moves it.",
        )
    if found == DEDICATED:
        _configure_git(root, attributes=False)
    return Initialised(root, found, True, *_explain(found))


def _init_branch(
    root: str, repository: Repository, placement: str, timeout: float, step: Callable[[str], None] | None
) -> Initialised:
    """Return the branch store of the repository, making it if needed, or a nearer store that would hide it."""
    from engram.usecases.opening.branch_placement import begin
    from engram.usecases.opening.store_layout import enclosing_store

    hidden = lore_branch.root_in(repository.common_dir)
    nearest = enclosing_store(_existing_parent(root))
    top = os.path.realpath(repository.worktree)
    if nearest is not None and os.path.commonpath((os.path.realpath(nearest), top)) == top:
        return _describe_existing(nearest, placement)
    if nearest == hidden:
        return _describe_existing(hidden, placement)
    config, moment = config_text(BRANCH).encode(), int(Clock().now().timestamp())
    start = begin(repository, FOLDER, config, moment, timeout, step)
    _record_settings(hidden)
    if start.remote:
        from engram.usecases.opening.first_quarantine import quarantine_new_store

        quarantine_new_store(hidden)
    why, otherwise = _explain(BRANCH)
    origin = f" Taken from {start.remote}." if start.remote else ""
    if start.fetch_error:
        origin = (
            f" The remote could not be asked for lore of this repository: {start.fetch_error}"
            " If it has some, `engram sync` merges both."
        )
    return Initialised(hidden, BRANCH, False, why + origin, otherwise)


def _check_no_branch(root: str) -> None:
    """Refuse a store in the work tree if it would hide one on the repository's branch."""
    if _has_branch(root):
        raise StoreError(
            f"This repository keeps its lore on the branch {lore_branch.BRANCH}.",
            "Nothing was changed. `engram move --to in-tree` moves it.",
        )


def _has_branch(root: str) -> bool:
    common_dir = common_dir_at(root)
    return common_dir is not None and lore_branch.is_kept(common_dir, places.CONFIG_NAME)


def _make_repository(root: str) -> None:
    from engram.adapters.git.write.create import init as init_repository
    from engram.usecases.opening.store_layout import state_folder

    repository = find_repository(root)
    if repository is not None and os.path.realpath(repository.worktree) == os.path.realpath(root):
        if _has_other_files(root):
            raise UsageError(
                f"{root} is a repository that holds other things than lore.",
                "Leave out --placement to keep lore on a branch of it, or init another folder.",
            )
    else:
        repository = init_repository(root)
    state = state_folder(root, repository)
    _make_folder(state)
    _configure_git(root, attributes=True)
    atomic.write(os.path.join(state, DEDICATED), b"made by engram init\n", "init", 0o600)


def _configure_git(root: str, *, attributes: bool, folder: str = FOLDER) -> None:
    """Make git merge lore by field. An existing store keeps its .gitattributes, which `doctor --fix` completes."""
    repository = find_repository(root)
    if repository is None:
        return
    from engram.usecases.merge.install_driver import install_merge_driver

    install_merge_driver(repository, folder, root, attributes=attributes)


def _commit_start(root: str) -> None:
    from engram.adapters.git.write.commits import Commit, FileChange, commit_all
    from engram.usecases.opening.store_layout import state_folder

    repository = find_repository(root)
    assert repository is not None
    names = [places.CONFIG_NAME, ".gitattributes"]
    changes = tuple(
        FileChange(name, atomic.read(os.path.join(root, name)))
        for name in names
        if os.path.exists(os.path.join(root, name))
    )
    moment = int(Clock().now().timestamp())
    commit_all(
        repository,
        [Commit("Start an Engram store", changes, environment_author() or None, moment)],
        Clock().new_id(),
        state_folder(root, repository),
    )


def _record_settings(root: str) -> None:
    """Record the accepted settings in this clone, in case a pull changes the file."""
    from engram.usecases.opening.store_layout import describe

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


def _explain(placement: str) -> tuple[str, str]:
    """Explain how lore is kept in a placement, and how to keep it elsewhere."""
    if placement == DEDICATED:
        return (
            "Dedicated: lore has this repository to itself, and every change is committed for you.",
            "To keep it in a code repository instead: engram move --to branch PATH (or --to in-tree PATH).",
        )
    if placement == BRANCH:
        return (
            "Branch: lore is on the branch engram/lore of this repository, apart from your own branches, for all worktrees.",
            "To keep it elsewhere: engram move --to in-tree (files that you commit) or --to dedicated (its own repository).",
        )
    if placement == IN_TREE:
        return (
            "In-tree: lore is kept in files of your own repository, which you commit with your work; Engram never does.",
            "To have them committed for you: engram move --to branch (apart from your code) or --to dedicated.",
        )
    return (
        "Plain: lore is kept in files of a folder without git, so there is no history and no sync.",
        "To have both: engram init --placement dedicated in another folder, and engram import this one there.",
    )
