"""The new place of a move: completed while the old one is still valid."""

from __future__ import annotations

import os
import shutil

from engram.adapters.files.durable import atomic
from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git.remote import history_copy
from engram.adapters.git.run import layout
from engram.adapters.git.run.runner import run
from engram.adapters.git.write import hidden_tree, lore_branch
from engram.domain.errors import StoreError, UsageError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.merge import checkout, incoming_paths
from engram.usecases.opening.store_layout import state_folder
from engram.usecases.placement import move_source as source
from engram.usecases.store.store import BRANCH, DEDICATED, IN_TREE, Store

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

_DRAFT = ".engram-moving"
_MAIN = "refs/heads/main"


def check_branch(repo: Repository) -> None:
    """Raise StoreError if the repository cannot get a branch of lore now."""
    from engram.adapters.files import places
    from engram.usecases.opening.branch_placement import at_remotes, check_name_is_free

    name = lore_branch.BRANCH
    if lore_branch.is_kept(repo.common_dir, places.CONFIG_NAME):
        raise StoreError(f"{repo.common_dir} keeps lore on the branch {name} already.", "Nothing was moved.")
    tip = hidden_tree.tip(repo)
    if tip is not None and tip != hidden_tree.tip(repo, history_copy.REF):
        raise StoreError(
            f"There is a branch {name} already; nothing was moved.",
            f"If an earlier move left it, rename it: git branch -m {name} {name}-old",
        )
    names = sorted(at_remotes(repo)[0]) if tip is None else []
    if names:
        raise StoreError(
            f"{names[0]} has a branch {name} already; nothing was moved.",
            "If somebody moved this store, `git pull` brings the removal of its files, and `engram init` takes the branch.",
        )
    check_name_is_free(repo)


def to_branch(store: Store, repo: Repository) -> str:
    """Move the store to the repository's branch of lore; return its new root. Raises StoreError, GitError, SyncBlockedError."""
    from engram.usecases.opening.branch_placement import check_out, placement_lock

    with placement_lock(repo.common_dir):
        check_branch(repo)
        tip = _commit_move(store, repo, BRANCH)
        run(repo, "update-ref", "-m", "engram move", lore_branch.REF, tip)
        source.copy_judgements(store, repo)
        state = lore_branch.state_in(repo.common_dir)
        draft = state + ".new"
        source.carry_state(store, draft, BRANCH)
        os.rename(draft, state)  # from now on the repository has the store
        return check_out(repo).worktree


def check_folder(root: str) -> None:
    """Raise UsageError if no repository can be created at `root`."""
    if os.path.lexists(root) and (not os.path.isdir(root) or os.listdir(root)):
        raise UsageError(
            f"{root} already exists and is not an empty folder.",
            "Name another: engram move --to dedicated PATH",
        )
    around = layout.find_repository(os.path.dirname(root))
    if around is not None:
        raise UsageError(
            f"{root} is inside the repository {around.worktree}.",
            "Name a folder outside it: engram move --to dedicated PATH",
        )


def to_dedicated(store: Store, root: str) -> str:
    """Move the store to a repository of its own at `root`. Raises as `to_branch`."""
    from engram.adapters.git.write.create import init

    check_folder(root)
    draft = root + _DRAFT
    shutil.rmtree(draft, ignore_errors=True)
    repo = init(draft, store.places.folder)
    atomic.discard(os.path.join(draft, ".gitattributes"))  # comes with the commit
    tip = _commit_move(store, repo, DEDICATED)
    files = checkout.files_of(repo, tip)
    left_out = checkout.check(repo, files, store.places.folder, incoming_paths.NOT_MOVED, "The store's")
    run(repo, "update-ref", "-m", "engram move", _MAIN, tip)
    run(repo, "symbolic-ref", "HEAD", _MAIN)
    history_copy.forget(repo)
    checkout.write_files(repo, files, left_out)
    run(repo, "read-tree", tip)
    from engram.usecases.merge.install_driver import install_merge_driver

    install_merge_driver(repo, store.places.folder, draft, attributes=False)
    source.copy_judgements(store, repo)
    state = state_folder(draft, repo)
    source.carry_state(store, state, DEDICATED)
    checkout.leave_out(repo, state, left_out)
    atomic.write(os.path.join(state, DEDICATED), b"made by engram move\n", "move", 0o600)
    if os.path.isdir(root):
        os.rmdir(root)
    os.rename(draft, root)
    return root


def check_tree(store: Store, root: str, repo: Repository) -> None:
    """Raise StoreError if the store's files cannot be written to a work tree."""
    layout.check_idle(repo, StoreError, "moved", may_be_detached=True)
    if os.path.lexists(os.path.join(root, CONFIG_NAME)):
        raise StoreError(f"{root} is a store already; nothing was moved.", "Name another folder.")
    present = source.files(root, store.places.folder)
    moving = source.files(store.places.root, store.places.folder)
    blocking = sorted(path for path, content in present.items() if moving.get(path) != content)
    if blocking:
        raise StoreError(
            f"{os.path.join(root, blocking[0])} is in the way; nothing was moved.",
            f"Lore would go to {store.places.folder}/ there: move its contents elsewhere, or name another folder.",
        )


def to_tree(store: Store, root: str, repo: Repository) -> str:
    """Write the store's files to a work tree, uncommitted. Raises StoreError."""
    check_tree(store, root, repo)
    source.copy_judgements(store, repo)
    source.carry_state(store, state_folder(root, repo), IN_TREE)
    for path, content in source.files(store.places.root, store.places.folder).items():
        file = os.path.join(root, *path.split("/"))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        atomic.write(file, content, "move")
    config = source.config_for(store, IN_TREE)
    atomic.write(os.path.join(root, CONFIG_NAME), config, "move")  # from now on it is a store
    return root


def _commit_move(store: Store, repo: Repository, placement: str) -> str:
    """Copy the store's history, commit the move on top, and return that commit."""
    history = source.copy_history(store, repo)
    changes = source.final_changes(store, repo, history, placement)
    moment = int(store.clock.now().timestamp())
    agent = store.caller.who
    text = f"Move the store from {store.places.placement} to {placement}\n\nEngram-Agent: {agent}\n"
    return history_copy.commit_on(repo, history, changes, text, moment)
