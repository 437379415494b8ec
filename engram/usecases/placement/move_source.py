"""The old place of a move: locked during the move, its history copied, and removed at the end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil

from engram.adapters.files import config_file
from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.ledger_folder import LedgerFolder
from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git.read import objects
from engram.adapters.git.remote import history_copy
from engram.adapters.git.run import layout
from engram.adapters.git.write import hidden_tree, lore_branch
from engram.adapters.git.write.create import ATTRIBUTES, read_attributes, with_attributes
from engram.adapters.state.durable import carry
from engram.domain.errors import EngramError, NotFoundError, StoreError
from engram.domain.judgements import erasure, ledger
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.judgements import ledger_merge
from engram.usecases.merge.checkout import files_of
from engram.usecases.store import accepted_settings, judgements
from engram.usecases.store.store import BRANCH, DEDICATED, IN_TREE, Places, Store
from engram.usecases.store.version_paths import git_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.git.run.layout import Repository

_MARK = "moved-from"
# Files of others in the state folder.
_NEIGHBOURS = {"worktree", "branch", "stores", hidden_tree.NAME, "making.lock", "judgements.lock"}


class OldPlace(NamedTuple):
    """The old place of a store, as recorded in the new one until the old one is removed."""

    root: str
    folder: str
    placement: str
    state: str
    common_dir: str


def old_place_of(places: Places) -> OldPlace:
    """Return the record of a place that is needed to remove it."""
    repository = places.repository
    return OldPlace(
        places.root,
        places.folder,
        places.placement,
        places.state,
        repository.common_dir if repository else "",
    )


@contextlib.contextmanager
def commit_and_lock(store: Store) -> Iterator[None]:
    """Commit everything that Engram commits, then keep all processes from changing the store.

    Raises StoreError if something cannot be moved as it is, GitError during a rebase and the like.
    """
    from engram.usecases.store.commit import commit_lock
    from engram.usecases.sync.local_changes import commit_local_changes

    if store.places.owns_branch:
        commit_local_changes(store)
    _ = store.source_id  # an unused store has none yet, and creating it takes the lock
    with contextlib.ExitStack() as locks:
        if store.places.owns_branch and not locks.enter_context(commit_lock(store).tried(30)):
            raise StoreError("Another process is committing.", "Nothing was moved; try again.")
        locks.enter_context(store.files.lock())
        check(store, settled=True)
        yield


def check(store: Store, *, settled: bool = False) -> None:
    """Raise StoreError or GitError if the store cannot be moved as it is; `settled` means that all was committed."""
    from engram.adapters.git.read.snapshot import outside_changes
    from engram.adapters.git.read.unmerged import list_unmerged
    from engram.usecases.store.commit import has_work

    places, repo = store.places, _repository(store)
    layout.check_idle(repo, StoreError, "moved", may_be_detached=places.placement == IN_TREE)
    lore_branch.check_head(repo, layout.read_head(repo))
    if places.placement == IN_TREE:
        unmerged = [*list_unmerged(repo, inside(places, places.folder))]
        if unmerged:
            raise StoreError(f"{unmerged[0]} is not merged; nothing was moved.", "Resolve it with git first.")
        return
    if not settled:
        return
    if has_work(store):
        raise StoreError("Changes were made just now; nothing was moved.", "Try again.")
    uncommitted = [change.path for change in outside_changes(repo, "")]
    if uncommitted:
        raise StoreError(
            f"{uncommitted[0]} in {places.root} is not committed; nothing was moved.",
            "If it is lore, `engram doctor` says why; commit or remove anything else.",
        )


def count_commits(store: Store) -> int:
    """Return the number of commits of history that would be moved."""
    places, repo = store.places, _repository(store)
    head = layout.read_head(repo).oid
    path = inside(places, places.folder) if places.placement == IN_TREE else ""
    return history_copy.count(repo, head, path) if head else 0


def copy_history(store: Store, repo: Repository) -> str | None:
    """Copy the store's history into another repository, at `history_copy.REF`; return its last commit, or None."""
    places, own = store.places, _repository(store)
    head = layout.read_head(own)
    if places.placement != IN_TREE:
        return history_copy.fetch(repo, own.common_dir, f"{layout.BRANCHES}{head.branch}")
    tip = None
    if head.oid:
        tip = history_copy.folder_history(own, head.oid, inside(places, places.folder), places.folder)
    if tip and repo.common_dir != own.common_dir:
        history_copy.fetch(repo, own.common_dir, history_copy.REF)
        history_copy.forget(own)
    return tip


def final_changes(
    store: Store, repo: Repository, commit: str | None, placement: str
) -> dict[str, bytes | None]:
    """Return the changes of the commit that ends the move: settings, attributes, and uncommitted in-tree files."""
    from engram.usecases.merge.install_driver import attribute_lines

    places = store.places
    committed = files_of(repo, commit) if commit else {}
    changes: dict[str, bytes | None] = {CONFIG_NAME: config_for(store, placement)}
    old = b"" if places.placement == IN_TREE else read_attributes(os.path.join(places.root, ATTRIBUTES))
    changes[".gitattributes"] = with_attributes(old, attribute_lines(places.folder))
    if places.placement == IN_TREE:
        algorithm = layout.hash_name(repo)
        present = files(places.root, places.folder)
        for path, content in present.items():
            if path not in committed or committed[path].oid != objects.blob_oid(content, algorithm):
                _refuse_secrets(store, path, content)
                changes[path] = content
        changes |= dict.fromkeys(path for path in committed if path not in present)
    return changes


def config_for(store: Store, placement: str) -> bytes:
    """Return the store's own settings with another placement."""
    path = os.path.join(store.places.root, CONFIG_NAME)
    return config_file.set_values(atomic.read(path), {"store.placement": placement}, path)


def files(root: str, folder: str) -> dict[str, bytes]:
    """Return the regular files below the lore folder by store path, without hidden files and links."""
    found: dict[str, bytes] = {}
    top = os.path.join(root, *folder.split("/"))
    for at, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = os.path.join(at, name)
            if not name.startswith(".") and os.path.isfile(path) and not os.path.islink(path):
                found[os.path.relpath(path, root).replace(os.sep, "/")] = atomic.read(path)
    return found


def inside(places: Places, path: str) -> str:
    """Return a store path as git sees it: relative to the work tree."""
    assert places.repository is not None
    return git_prefix(places.root, places.repository) + path


def copy_judgements(store: Store, repo: Repository) -> None:
    """Copy the branch of judgements to another repository; this clone's own lines are in its state. Raises GitError."""
    own, ref = _repository(store), judgements.branch_ref(store)
    if not ref or repo.common_dir == own.common_dir:
        return
    tip = history_copy.fetch(repo, own.common_dir, ref, history_copy.JUDGEMENTS)
    ledger_merge.merge_tips(repo, judgements.branch_of(store), [tip])
    history_copy.forget(repo, history_copy.JUDGEMENTS)


def carry_state(store: Store, state: str, placement: str) -> None:
    """Copy the private state of this clone to the new state folder: its id, judgements, refs, activity log and keys.

    That folder then also records the old place, and the accepted settings with the new `placement`. Raises StoreError.
    """
    try:
        os.makedirs(state, exist_ok=True)
    except OSError as error:
        raise atomic.write_error(state, error) from None
    _empty(state)
    atomic.write(os.path.join(state, "source"), f"{store.source_id}\n".encode(), "source", 0o600)
    store.state.copy_to(state)
    store.ledgers.copy_to(LedgerFolder(state))
    if ignored := judgements.ignored_sources(store):
        LedgerFolder(state).change(ledger.IGNORED, lambda _: erasure.render(ignored))
    carry(store.places.state, state)
    accepted_settings.carry(store.places.state, state, placement)
    atomic.write(
        os.path.join(state, _MARK), json.dumps(old_place_of(store.places)._asdict()).encode(), "move", 0o600
    )


def read_old_place(state: str) -> OldPlace | None:
    """Return the old place of the store with this state folder if it is not removed yet, else None."""
    try:
        return OldPlace(**json.loads(atomic.read(os.path.join(state, _MARK))))
    except (EngramError, ValueError, TypeError):
        return None


def remove_left(left: OldPlace, root: str, state: str) -> None:
    """Remove the old place; `root` and `state` are those of the new one, which is complete. Branches stay.

    Calling it again finishes an interrupted removal. Raises StoreError.
    """
    LedgerFolder(left.state).copy_to(LedgerFolder(state))  # there may be judgements since a kill
    try:
        if left.placement == IN_TREE:
            _remove_files(left, root)
            _empty(left.state)
        elif left.placement == DEDICATED:
            _empty(left.state, DEDICATED)  # if it is used again, it is a clone with an id of its own
        elif left.placement == BRANCH:
            remove_hidden(left.common_dir)
    except OSError as error:
        raise atomic.write_error(str(error.filename or left.root), error) from None
    atomic.discard(os.path.join(state, _MARK))


def remove_hidden(common_dir: str) -> None:
    """Remove the hidden work tree and its state; the branch stays. Raises OSError."""
    from engram.usecases.opening.branch_placement import placement_lock

    with placement_lock(common_dir):
        root, old = lore_branch.root_in(common_dir), os.path.join(common_dir, "engram", hidden_tree.NAME)
        if os.path.isdir(root):
            shutil.rmtree(old, ignore_errors=True)
            os.rename(root, old)
        _delete(lore_branch.state_in(common_dir))
        hidden_tree.discard(common_dir)


def _remove_files(left: OldPlace, new_root: str) -> None:
    """Delete the in-tree files that are equal in the new place, and last the settings, which make the folder a store.

    Raises StoreError if there are other files: somebody wrote them after a kill.
    """
    others = []
    for path, content in files(left.root, left.folder).items():
        try:
            is_moved = atomic.read(os.path.join(new_root, *path.split("/"))) == content
        except NotFoundError:
            is_moved = False
        if is_moved:
            _delete(os.path.join(left.root, *path.split("/")))
        else:
            others.append(path)
    if others:
        raise StoreError(
            f"{others[0]} in {left.root} was changed after the store had been moved; it stays there.",
            f"Import it into {new_root} with `engram import`, delete it here, and move again.",
        )
    atomic.discard(os.path.join(left.root, CONFIG_NAME))
    top = os.path.join(left.root, *left.folder.split("/"))
    for at, _, _ in os.walk(top, topdown=False):
        with contextlib.suppress(OSError):  # not empty
            os.rmdir(at)


def _empty(state: str, *kept: str) -> None:
    """Delete a store's private files but those of others in the same folder and those named in `kept`."""
    for name in os.listdir(state) if os.path.isdir(state) else ():
        if name not in _NEIGHBOURS and name not in kept:
            _delete(os.path.join(state, name))


def _delete(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        atomic.discard(path)


def _refuse_secrets(store: Store, path: str, content: bytes) -> None:
    from engram.domain.admission.secrets import find_secrets

    if find_secrets(content.decode("utf-8", "replace"), store.allowed_secrets):
        raise StoreError(
            f"{path} contains what looks like a secret and is not committed; nothing was moved.",
            "Remove the secret, or allow it: engram config secrets.allow",
        )


def _repository(store: Store) -> Repository:
    if store.places.repository is None:
        raise StoreError(
            "This store is a folder outside git, so it cannot be moved.",
            "Create a store with `engram init` at the new place, then `engram import` this folder there.",
        )
    return store.places.repository
