"""The place that a move leaves: locked during the move, its history copied, and removed at the end."""

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
# In the same folder, not of this store.
_NEIGHBOURS = {"worktree", "branch", "stores", hidden_tree.NAME, "making.lock", "judgements.lock"}


class Left(NamedTuple):
    """A place that a store has left, as recorded in the new place until the old one is removed."""

    root: str
    folder: str
    placement: str
    state: str
    common_dir: str


def left_by(places: Places) -> Left:
    """Return what is needed to remove a place."""
    repository = places.repository
    return Left(
        places.root,
        places.folder,
        places.placement,
        places.state,
        repository.common_dir if repository else "",
    )


@contextlib.contextmanager
def at_rest(store: Store) -> Iterator[None]:
    """Keep all processes from changing the store; everything is committed where Engram commits.

    Raises StoreError where something here cannot be moved as it is, GitError in the middle of a rebase and
    the like.
    """
    from engram.usecases.store.commit import commit_lock
    from engram.usecases.sync.local_changes import commit_local_changes

    if store.places.owns_branch:
        commit_local_changes(store)
    _ = store.source_id  # a store that nothing was recorded in has none yet, and making it takes the lock
    with contextlib.ExitStack() as locks:
        if store.places.owns_branch and not locks.enter_context(commit_lock(store).tried(30)):
            raise StoreError("Another process is committing.", "Nothing was moved; try again.")
        locks.enter_context(store.files.lock())
        check(store, settled=True)
        yield


def check(store: Store, *, settled: bool = False) -> None:
    """Raise StoreError or GitError where the store cannot be moved as it is; `settled` says that all was committed."""
    from engram.adapters.git.read.snapshot import outside_changes
    from engram.adapters.git.read.unmerged import list_unmerged
    from engram.usecases.store.commit import has_work

    places, repo = store.places, _repository(store)
    layout.check_idle(repo, StoreError, "moved", may_be_detached=places.placement == IN_TREE)
    lore_branch.check_head(repo, layout.read_head(repo))
    if places.placement == IN_TREE:
        left = [*list_unmerged(repo, inside(places, places.folder))]
        if left:
            raise StoreError(f"{left[0]} is not merged; nothing was moved.", "Resolve it with git first.")
        return
    if not settled:
        return
    if has_work(store):
        raise StoreError("Changes were made just now; nothing was moved.", "Try again.")
    left = [found.path for found in outside_changes(repo, "")]
    if left:
        raise StoreError(
            f"{left[0]} in {places.root} is not committed; nothing was moved.",
            "If it is lore, `engram doctor` says why; commit or remove anything else.",
        )


def commits(store: Store) -> int:
    """Return how many commits of history would be moved."""
    places, repo = store.places, _repository(store)
    head = layout.read_head(repo).oid
    path = inside(places, places.folder) if places.placement == IN_TREE else ""
    return history_copy.count(repo, head, path) if head else 0


def copy_history(store: Store, repo: Repository) -> str | None:
    """Copy the store's history into another repository, at `copying.REF`; return its last commit, None without any."""
    places, own = store.places, _repository(store)
    head = layout.read_head(own)
    if places.placement != IN_TREE:
        return history_copy.fetch(repo, own.common_dir, f"{layout.BRANCHES}{head.branch}")
    found = None
    if head.oid:
        found = history_copy.folder_history(own, head.oid, inside(places, places.folder), places.folder)
    if found and repo.common_dir != own.common_dir:
        history_copy.fetch(repo, own.common_dir, history_copy.REF)
        history_copy.forget(own)
    return found


def last_changes(
    store: Store, repo: Repository, commit: str | None, placement: str
) -> dict[str, bytes | None]:
    """Return what the commit that ends the move changes: settings, attributes, and in-tree what nobody has committed."""
    from engram.usecases.merge.install_driver import attribute_lines

    places = store.places
    held = files_of(repo, commit) if commit else {}
    changes: dict[str, bytes | None] = {CONFIG_NAME: config_for(store, placement)}
    old = b"" if places.placement == IN_TREE else read_attributes(os.path.join(places.root, ATTRIBUTES))
    changes[".gitattributes"] = with_attributes(old, attribute_lines(places.folder))
    if places.placement == IN_TREE:
        algorithm = layout.hash_name(repo)
        there = files(places.root, places.folder)
        for path, content in there.items():
            if path not in held or held[path].oid != objects.blob_oid(content, algorithm):
                changes[path] = _without_secrets(store, path, content)
        changes |= dict.fromkeys(path for path in held if path not in there)
    return changes


def config_for(store: Store, placement: str) -> bytes:
    """Return the store's own settings, but for the placement."""
    path = os.path.join(store.places.root, CONFIG_NAME)
    return config_file.set_values(atomic.read(path), {"store.placement": placement}, path)


def files(root: str, folder: str) -> dict[str, bytes]:
    """Return every regular file below the lore folder, by its store path; hidden ones and links are left out."""
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
    """Give another repository what the branch of judgements holds; this clone's own lines come with its state.

    Raises GitError.
    """
    own, ref = _repository(store), judgements.branch_ref(store)
    if not ref or repo.common_dir == own.common_dir:
        return
    tip = history_copy.fetch(repo, own.common_dir, ref, history_copy.JUDGEMENTS)
    ledger_merge.merge_tips(repo, judgements.branch_of(store), [tip])
    history_copy.forget(repo, history_copy.JUDGEMENTS)


def carry_state(store: Store, state: str, placement: str) -> None:
    """Copy what is private to this clone into the new place's state folder: its id, judgements, refs, the activity log, keys.

    That folder then also says which place was left, and which settings were accepted, with the new `placement`. Raises StoreError.
    """
    try:
        os.makedirs(state, exist_ok=True)
    except OSError as error:
        raise atomic.unwritable(state, error) from None
    _empty(state)
    atomic.write(os.path.join(state, "source"), f"{store.source_id}\n".encode(), "source", 0o600)
    store.state.copy_to(state)
    store.ledgers.copy_to(LedgerFolder(state))
    if aside := judgements.ignored_sources(store):
        LedgerFolder(state).change(ledger.IGNORED, lambda _: erasure.render(aside))
    carry(store.places.state, state)
    accepted_settings.carry(store.places.state, state, placement)
    atomic.write(
        os.path.join(state, _MARK), json.dumps(left_by(store.places)._asdict()).encode(), "move", 0o600
    )


def read_left(state: str) -> Left | None:
    """Return the place that was left for the store with this state folder and is not removed yet."""
    try:
        return Left(**json.loads(atomic.read(os.path.join(state, _MARK))))
    except (EngramError, ValueError, TypeError):
        return None


def remove_left(left: Left, root: str, state: str) -> None:
    """Remove the place that was left; `root` and `state` are those of the new one, which is complete. Branches stay.

    Doing it again finishes what a kill cut short. Raises StoreError.
    """
    LedgerFolder(left.state).copy_to(LedgerFolder(state))  # more may have been said since a kill
    try:
        if left.placement == IN_TREE:
            _remove_files(left, root)
            _empty(left.state)
        elif left.placement == DEDICATED:
            _empty(left.state, DEDICATED)  # used again, it is a clone of its own, with an id of its own
        elif left.placement == BRANCH:
            remove_hidden(left.common_dir)
    except OSError as error:
        raise atomic.unwritable(str(error.filename or left.root), error) from None
    atomic.discard(os.path.join(state, _MARK))


def remove_hidden(common_dir: str) -> None:
    """Remove the hidden work tree and its state; the branch stays. Raises OSError."""
    from engram.usecases.opening.branch_placement import making

    with making(common_dir):
        root, old = lore_branch.root_in(common_dir), os.path.join(common_dir, "engram", hidden_tree.NAME)
        if os.path.isdir(root):
            shutil.rmtree(old, ignore_errors=True)
            os.rename(root, old)
        _delete(lore_branch.state_in(common_dir))
        hidden_tree.discard(common_dir)


def _remove_files(left: Left, new_root: str) -> None:
    """Delete the in-tree files that are in the new place byte for byte, and at last what makes them a store.

    Raises StoreError where there are others, of somebody who went on after a kill.
    """
    others = []
    for path, content in files(left.root, left.folder).items():
        try:
            moved = atomic.read(os.path.join(new_root, *path.split("/"))) == content
        except NotFoundError:
            moved = False
        if moved:
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
        with contextlib.suppress(OSError):  # something is left in it
            os.rmdir(at)


def _empty(state: str, *kept: str) -> None:
    """Delete a store's private files; other stores may have their places in the same folder."""
    for name in os.listdir(state) if os.path.isdir(state) else ():
        path = os.path.join(state, name)
        if name in _NEIGHBOURS or name in kept:
            continue
        _delete(path)


def _delete(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        atomic.discard(path)


def _without_secrets(store: Store, path: str, content: bytes) -> bytes:
    from engram.domain.admission.secrets import find_secrets

    if find_secrets(content.decode("utf-8", "replace"), store.allowed_secrets):
        raise StoreError(
            f"{path} contains what looks like a secret and is not committed; nothing was moved.",
            "Remove the secret, or allow it: engram config secrets.allow",
        )
    return content


def _repository(store: Store) -> Repository:
    if store.places.repository is None:
        raise StoreError(
            "This store is a folder outside git, so it cannot be moved.",
            "Create a store with `engram init` at the new place, then `engram import` this folder there.",
        )
    return store.places.repository
