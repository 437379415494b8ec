"""Commit this clone's own ledgers from its private folder to the local branch of judgements.

The folder is complete, so whatever happened to the branch, the next commit restores every line that this clone wrote.
"""

from __future__ import annotations

import contextlib
import json
import os

from engram.adapters.files.durable import atomic
from engram.adapters.git.read import objects
from engram.adapters.git.run import configuration, layout
from engram.adapters.git.write import create, ledger_branch, merge_commit
from engram.domain.errors import EngramError
from engram.domain.judgements import erasure, ledger
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.judgements import ledger_merge
from engram.usecases.store import people, trusted_judges
from engram.usecases.store.judgements import branch_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.adapters.git.read.objects import Entry
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store

COMMIT_SECONDS = 600.0  # to wait for more lines before a commit, unless there is a sync
NAME_KEY = "judgements.name"
ADDED = "Add judgements\n"
_STATE_FILE = "judgements-committed.json"
_MAX_NAME_LENGTH = 200  # characters


class _Committed(NamedTuple):
    """The own files that the commit `tip` contains: by path, the number of bytes committed and the blob id.

    `at` is the time of the check (Unix seconds).
    """

    tip: str = ""
    is_named: bool = True
    files: Mapping[str, tuple[int, str]] = {}
    at: float = 0.0

    def sizes(self) -> dict[str, int]:
        """Return the number of bytes committed of each file."""
        return {path: size for path, (size, _) in self.files.items()}


class _Plan(NamedTuple):
    """The changes to commit on top of `base`, and the own files that the branch then contains."""

    base: str | None
    changes: dict[str, bytes | None]
    files: dict[str, tuple[int, str]]


def commit_own(store: Store) -> bool:
    """Commit all own lines to the local branch, in one commit; return False if it has them already.

    Does nothing outside git, or if this clone has never judged. Raises GitError if the branch is checked out, is used
    for something else or cannot be written, and StoreError.
    """
    repo = store.places.repository
    if repo is None:
        return False
    branch = branch_of(store)
    for _ in range(ledger_branch.ATTEMPTS):
        sizes = _own_sizes(store)
        if not sizes:
            return False
        tip = ledger_branch.tip(repo, branch)
        known = _read_committed(store)
        is_named = store.settings.flag(NAME_KEY)
        if tip and (tip, is_named, sizes) == (known.tip, known.is_named, known.sizes()):
            return False
        plan = _plan(store, repo, tip, known, sizes)
        if plan.changes:
            new = _write(store, repo, plan)
            if not ledger_branch.move(repo, branch, tip, new):
                continue
            tip = new
        _write_committed(store, _Committed(tip or "", is_named, plan.files, store.clock.now().timestamp()))
        return bool(plan.changes)
    raise ledger_branch.move_error()


def seconds_until_due(store: Store) -> float | None:
    """Return the seconds until uncommitted lines are due, which batches them into commits; None if there are none."""
    if store.places.repository is None or not os.path.isdir(store.ledgers.folder):
        return None
    known = _read_committed(store)
    if _own_sizes(store) == known.sizes():
        return None
    age = store.clock.now().timestamp() - known.at
    return max(0.0, COMMIT_SECONDS - age) if age >= 0 else 0.0


def commit_if_due(store: Store, *, at_once: bool = False) -> None:
    """Commit own lines if they are due or `at_once`; on an error they stay in the private folder until the next try."""
    wait = seconds_until_due(store)
    if wait is not None and (at_once or wait == 0):
        with contextlib.suppress(EngramError, OSError):
            commit_own(store)


def _own_sizes(store: Store) -> dict[str, int]:
    """Return the sizes of own files by their paths on the branch."""
    top = store.ledgers.folder
    found: dict[str, int] = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), top).replace(os.sep, "/")
            if ledger.source_of(path) is not None:
                found[path] = os.stat(os.path.join(folder, name)).st_size
    return found


def _plan(store: Store, repo: Repository, tip: str | None, known: _Committed, sizes: dict[str, int]) -> _Plan:
    base = tip
    if base is None:  # this is the first judgement, or the branch was deleted
        base = next(iter(ledger_branch.known_tips(repo, branch_of(store))), None)
    if base and not known.tip:
        ledger_merge.check_is_ledger(repo, base)
    who = [ledger.name_path(source) for source in {ledger.source_of(path) for path in sizes} if source]
    entries = objects.entries(repo, base, [*sizes, *who, create.ATTRIBUTES, ledger.ERASED])
    raws, files = _own_contents(store, sizes, entries, known)
    wanted = [entries[path].oid for path in (*raws, create.ATTRIBUTES, ledger.ERASED) if path in entries]
    algorithm = layout.hash_name(repo)
    contents = ledger_branch.contents(repo, wanted, _expected_blobs(raws, known, algorithm))
    erased = erasure.parse(contents[entries[ledger.ERASED].oid]) if ledger.ERASED in entries else frozenset()
    changes: dict[str, bytes | None] = {}
    for path, raw in raws.items():
        before = contents[entries[path].oid] if path in entries else b""
        united = erasure.without(path, ledger.unite(raw, before), erased)
        if united != before:
            changes[path] = united or None
        files[path] = (len(raw), objects.blob_oid(united, algorithm))
    changes |= _name_changes(store, repo, entries, who, erased, is_new=bool(changes))
    before = contents[entries[create.ATTRIBUTES].oid] if create.ATTRIBUTES in entries else b""
    attributes = create.with_attributes(before, [ledger_branch.UNION])
    if attributes != before:
        changes[create.ATTRIBUTES] = attributes
    return _Plan(base, changes, files)


def _own_contents(
    store: Store, sizes: dict[str, int], entries: dict[str, Entry], known: _Committed
) -> tuple[dict[str, bytes], dict[str, tuple[int, str]]]:
    """Return the complete lines of own files that the branch may lack, and the sizes and blob ids of the others."""
    raws, files = dict[str, bytes](), dict[str, tuple[int, str]]()
    for path, size in sizes.items():
        if path in entries and known.files.get(path) == (size, entries[path].oid):
            files[path] = known.files[path]
            continue
        raw = atomic.read(os.path.join(store.ledgers.folder, *path.split("/")))
        raws[path] = raw[: raw.rfind(b"\n") + 1]  # another process may be in the middle of a line
    return raws, files


def _expected_blobs(raws: dict[str, bytes], known: _Committed, algorithm: str) -> dict[str, bytes]:
    """Return the likely contents of files of the branch by blob id, which saves reading them."""
    usual = create.with_attributes(b"", [ledger_branch.UNION])
    parts = (raw[: known.files[path][0]] for path, raw in raws.items() if path in known.files)
    return {objects.blob_oid(raw, algorithm): raw for raw in (usual, *parts)}


def _name_changes(
    store: Store,
    repo: Repository,
    entries: dict[str, Entry],
    who: list[str],
    erased: frozenset[str],
    *,
    is_new: bool,
) -> dict[str, bytes | None]:
    """Return the changes that add the name of this clone's user to the branch, or remove it.

    A name is only added together with lines, since otherwise two copies of a clone with different names would keep
    changing it.
    """
    if not store.settings.flag(NAME_KEY):
        return {path: None for path in who if path in entries}
    shown = " ".join(people.own_name(store).split())[:_MAX_NAME_LENGTH]
    with store.lock:  # another thread may be reading ledgers
        store.judgements.set_meta(
            trusted_judges.OWN_NAME, ledger.person_name(shown.encode("utf-8", "replace"))
        )
    if not shown or not is_new:
        return {}
    raw = f"{shown}\n".encode("utf-8", "replace")
    oid = objects.blob_oid(raw, layout.hash_name(repo))
    outdated = (path for path in who if path not in entries or entries[path].oid != oid)
    return {path: raw for path in outdated if erasure.source_of(path) not in erased}


def _write(store: Store, repo: Repository, plan: _Plan) -> str:
    """Write the commit, in the user's name if that may be published."""
    is_named = store.settings.flag(NAME_KEY)
    person = configuration.committer(repo) if is_named else merge_commit.AUTHOR
    moment = int(store.clock.now().timestamp())
    signed_in = store.places.state if is_named else ""
    return ledger_branch.write(repo, plan.base, plan.changes, person, moment, ADDED, signed_in=signed_in)


def _read_committed(store: Store) -> _Committed:
    try:
        found = json.loads(atomic.read(os.path.join(store.places.state, _STATE_FILE)))
        files = {str(path): (int(size), str(oid)) for path, (size, oid) in found["files"].items()}
        return _Committed(str(found["tip"]), bool(found["named"]), files, float(found.get("at", 0)))
    except (EngramError, ValueError, KeyError, TypeError, AttributeError):
        return _Committed()


def _write_committed(store: Store, committed: _Committed) -> None:
    facts = {"tip": committed.tip, "named": committed.is_named, "files": committed.files, "at": committed.at}
    atomic.write(
        os.path.join(store.places.state, _STATE_FILE), json.dumps(facts).encode(), "judgements", 0o600
    )
