"""Clone a dedicated store from a remote: Engram writes the files itself, so no filter or hook runs."""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.adapters.git.remote import remotes
from engram.adapters.git.run import failures, layout
from engram.adapters.git.run.runner import run
from engram.adapters.git.write import create, ledger_branch
from engram.domain.admission.safe_paths import unsafe_name
from engram.domain.errors import EngramError, StoreError, UsageError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.merge import checkout, incoming_paths
from engram.usecases.opening.init import FOLDER, init
from engram.usecases.opening.store_layout import state_folder
from engram.usecases.store import accepted_settings
from engram.usecases.store.store import DEDICATED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from engram.adapters.git.read import objects
    from engram.adapters.git.run.layout import Head, Repository


class Cloned(NamedTuple):
    """The new store: its root, the number of its lore files, and whether the remote was empty.

    `left_out` maps files of the remote that may not be written to the reason.
    """

    root: str
    lore: int
    empty: bool
    left_out: Mapping[str, str] = {}


def clone(
    url: str, path: str = "", *, timeout: float = remotes.DEADLINE, step: Callable[[str], None] | None = None
) -> Cloned:
    """Clone the repository at `url` to a store at `path` (default: the last part of the address, here).

    An empty repository becomes a new store that the first sync pushes. `timeout` is in seconds. Raises UsageError,
    RemoteError, SyncBlockedError, StoreError; then nothing is left behind.
    """
    url = absolute(remotes.check_url(url))
    root = os.path.abspath(path or _folder_name(url))
    existed = _check_target(root)
    report = step or (lambda _: None)
    try:
        _make_parent(root)
        title = f"cloning {failures.without_credentials(url)}"
        report(title)
        listener = step and (lambda progress: report(f"{title}: {progress}" if progress else title))
        remotes.clone(url, root, deadline=timeout, report=listener)
        return _check_out(root, report)
    except BaseException as error:
        _remove(root, existed)
        if isinstance(error, EngramError) or not isinstance(error, OSError):
            raise
        raise atomic.write_error(str(error.filename or root), error) from None


def _check_out(root: str, report: Callable[[str], None]) -> Cloned:
    repo = layout.find_repository(root)
    assert repo is not None
    head = _find_lore_head(repo)
    if head.oid is None:
        create.disable_conversion(repo, FOLDER)
        init(root, placement=DEDICATED)
        return Cloned(root, 0, empty=True)
    incoming_paths.check_commits(repo, None, head.oid, incoming_paths.NOT_CLONED)
    entries = checkout.files_of(repo, head.oid)
    folder = _read_lore_folder(repo, entries)
    left_out = checkout.check(repo, entries, folder, incoming_paths.NOT_CLONED)
    report("writing files")
    checkout.write_files(repo, entries, left_out)
    run(repo, "read-tree", head.oid)
    from engram.usecases.merge.install_driver import install_merge_driver

    install_merge_driver(repo, folder, root, attributes=False)
    state = state_folder(root, repo)
    os.makedirs(state, exist_ok=True)
    atomic.write(os.path.join(state, DEDICATED), b"made by engram clone\n", "clone", 0o600)
    checkout.leave_out(repo, state, left_out)
    accepted_settings.in_force(root, state)
    from engram.usecases.opening.first_quarantine import quarantine_new_store

    quarantine_new_store(root)
    lore = sum(sync_plan.is_lore(path, folder) for path in entries if path not in left_out)
    return Cloned(root, lore, empty=False, left_out=left_out)


def _find_lore_head(repo: Repository) -> Head:
    """Return the head of the branch of lore, which need not be the remote's HEAD."""
    head = layout.read_head(repo)
    if head.oid is not None and head.branch != ledger_branch.BRANCH:
        return head
    if not remotes.take_branch(repo, but=ledger_branch.BRANCH) and head.oid is not None:
        run(repo, "symbolic-ref", "HEAD", f"{layout.BRANCHES}main")  # the remote has only judgements
    return layout.read_head(repo)


def _read_lore_folder(repo: Repository, entries: dict[str, objects.Entry]) -> str:
    """Return the remote's lore folder. Raises UsageError if it is not a dedicated store, SyncBlockedError."""
    hint = f"Clone it with git, then run `engram init` in it: {os.path.basename(repo.worktree)} is a repository like any other."
    found = checkout.store_settings(repo, entries, incoming_paths.NOT_CLONED)
    if found is None:
        raise UsageError("That repository is not a dedicated store of Engram.", hint)
    if found.get("store.placement") != DEDICATED:
        raise UsageError("That repository keeps its lore next to other files.", hint)
    return str(found.get("store.folder", FOLDER))


def absolute(url: str) -> str:
    """Return the absolute path if `url` is a folder, which git would resolve from elsewhere; else `url`."""
    local = os.path.expanduser(url)
    return os.path.abspath(local) if os.path.isdir(local) else url


def _folder_name(url: str) -> str:
    name = url.rstrip("/").removesuffix("/.git").replace("\\", "/").rpartition("/")[2].rpartition(":")[2]
    name = name.removesuffix(".git")
    if not name or unsafe_name(name):
        raise UsageError("The address contains no name for the folder.", "Name one: engram clone URL PATH")
    return name


def _check_target(root: str) -> bool:
    """Return whether the folder already exists. Raises UsageError if it is not empty."""
    if not os.path.lexists(root):
        return False
    if not os.path.isdir(root) or os.listdir(root):
        raise UsageError(
            f"{root} already exists and is not an empty folder.", "Name another: engram clone URL PATH"
        )
    return True


def _make_parent(root: str) -> None:
    try:
        os.makedirs(os.path.dirname(root), exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{root} cannot be made: {error.strerror}.", "Check the path and its permissions."
        ) from None


def _remove(root: str, existed: bool) -> None:
    """Remove the files of a failed clone; a folder that existed before stays, empty."""
    import shutil

    shutil.rmtree(root, ignore_errors=True)
    if existed:
        os.makedirs(root, exist_ok=True)
