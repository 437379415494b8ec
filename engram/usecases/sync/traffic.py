"""The differences between this clone and its remote, entry by entry: outgoing, incoming, and those that came in.

Each entry comes with its change as a phrase. Nothing here uses the network: the remote is as last fetched.
"""

from __future__ import annotations

from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import blobs, differences
from engram.adapters.git.remote import remotes
from engram.adapters.git.run import configuration, layout
from engram.adapters.git.write import merge_commit
from engram.domain.entry.change_phrase import FOLDED, FORGOTTEN, NEW, phrase
from engram.domain.entry.people import committer_line
from engram.domain.errors import EngramError, NotFoundError, RemoteError, StoreError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.history.history_feed import MERGED, with_history
from engram.usecases.lookup.listing import list_hits
from engram.usecases.store.version_paths import in_store, read_lore, repository_of
from engram.usecases.sync.sync import own_repository

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.adapters.git.run.layout import Repository
    from engram.adapters.state.history_table import CommitRow, EventRow
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

_MAX_ENTRIES = 200  # read for one list
_FOLD = "fold: "


class LoreChange(NamedTuple):
    """A change of an entry: `kind` is a word of `engram.domain.entry.change_phrase`, `phrase` the whole phrase.

    `at` (Unix seconds, 0: now), `agent`, `source` (a clone's short id), `who` (a name) and `machine` say when and by whom,
    "" if unknown.
    """

    id: str
    title: str
    path: str
    kind: str
    phrase: str
    at: float = 0.0
    agent: str = ""
    source: str = ""
    commit: str = ""
    who: str = ""
    machine: str = ""


class Waiting(NamedTuple):
    """Outgoing or incoming entries: the first of them, and the total."""

    lore: tuple[LoreChange, ...] = ()
    total: int = 0


class Exchange(NamedTuple):
    """What a sync would exchange between this clone and `branch` of `remote` ("" without a remote).

    `known` says whether the remote branch was ever seen, `uncommitted` counts changes that are not in git yet.
    """

    remote: str
    branch: str
    known: bool
    uncommitted: int
    outgoing: Waiting
    incoming: Waiting


def preview_exchange(store: Store, limit: int = _MAX_ENTRIES) -> Exchange:
    """Return what a sync would exchange, without using the network. Raises UsageError, StoreError, GitError."""
    repo = own_repository(store)
    ours = layout.read_head(repo)
    uncommitted = _uncommitted_paths(store)
    try:
        other = remotes.counterpart(repo, ours.branch or "")
    except RemoteError:
        return Exchange("", ours.branch or "", False, len(uncommitted), Waiting(), Waiting())
    theirs = remotes.tracked_commit(repo, other)
    if theirs is None:
        return Exchange(
            other.remote, other.branch, False, len(uncommitted), _everything(store, limit), Waiting()
        )
    shared = merge_commit.bases(repo, ours.oid, theirs) if ours.oid else ()
    base = shared[0] if shared else None
    outgoing = _waiting(store, repo, base, ours.oid, uncommitted, limit)
    incoming = _waiting(store, repo, base, theirs, (), limit)
    return Exchange(other.remote, other.branch, True, len(uncommitted), outgoing, incoming)


def _everything(store: Store, limit: int) -> Waiting:
    """Return all lore, newest first, for a remote that has nothing yet."""
    hits, total = list_hits(store, limit=limit)
    return Waiting(tuple(LoreChange(hit.id, hit.title, hit.path, NEW, NEW) for hit in hits), total)


def _uncommitted_paths(store: Store) -> tuple[str, ...]:
    waiting = store.files.journal.waiting()
    return tuple(dict.fromkeys(item.path for operation in waiting for item in operation.changes))


def _waiting(
    store: Store, repo: Repository, base: str | None, end: str | None, also: Sequence[str], limit: int
) -> Waiting:
    """Return the entries that differ between two commits; those at the paths `also` are read from their files."""
    found = differences(repo, base, end) if end and end != base else {}
    paths = [path for path in dict.fromkeys([*also, *found]) if sync_plan.is_lore(path, store.places.folder)]
    chosen = paths[:limit]
    unchanged = [path for path in chosen if path not in found]
    entries_before = objects.entries(repo, base, unchanged) if base and unchanged else {}
    entries = {
        path: (found[path].before, found[path].after) if path in found else (entries_before.get(path), None)
        for path in chosen
    }
    contents = blobs(repo, [entry.oid for pair in entries.values() for entry in pair if entry])
    changes = []
    for path in chosen:
        before, after = (contents[entry.oid] if entry else None for entry in entries[path])
        change = _change(store, path, (before,), _read_file(store, path) if path in also else after)
        if change:
            changes.append(change)
    return Waiting(tuple(changes), len(paths) - (len(chosen) - len(changes)))


def _read_file(store: Store, path: str) -> bytes | None:
    try:
        return store.files.read(path)
    except (NotFoundError, StoreError):
        return None


def _change(
    store: Store, path: str, before: Sequence[bytes | None], after: bytes | None
) -> LoreChange | None:
    """Return the change of one file's entry; None if there is none, or if no version can be read."""
    old = [lore for raw in before if (lore := _parse(store, path, raw))]
    new = _parse(store, path, after)
    lore = new or (old[0] if old else None)
    if lore is None or (after is not None and before and after == before[0]):
        return None
    change = phrase(old, new)
    return LoreChange(lore.id, lore.title, path, change.kind, change.words)


def _parse(store: Store, path: str, raw: bytes | None) -> Lore | None:
    found = read_lore(store, path, raw)
    return found.lore if found else None


def list_incoming_changes(store: Store, limit: int = 50, since: str = "") -> list[LoreChange]:
    """Return the changes that other clones made to entries of this one, and merges of them, newest first.

    With `since`, a commit's id, only those that are not in its history. Raises StoreError, GitError.
    """
    from engram.adapters.git.read.commit_log import between

    repo = repository_of(store)
    oids = None
    if since:
        head = layout.read_head(repo).oid
        oids = [commit.oid for commit in between(repo, since, head)[1]] if head and head != since else []
    person = configuration.committer(repo)
    rows = with_history(store, lambda table: table.came_in(store.source, person, limit, oids))
    return list(_arrivals(store, rows, _read_versions(repo, rows)))


def _read_versions(repo: Repository, rows: Sequence[tuple[CommitRow, EventRow]]) -> dict[str, bytes]:
    try:
        return blobs(repo, [oid for _, event in rows for oid in (*event.before, event.after) if oid])
    except EngramError:  # a shallow clone lacks some
        return {}


def _arrivals(
    store: Store, rows: Sequence[tuple[CommitRow, EventRow]], contents: dict[str, bytes]
) -> Iterator[LoreChange]:
    for commit, event in rows:
        is_fold = commit.source == store.source and commit.subject.startswith(_FOLD)
        before = [contents.get(oid) for oid in event.before]
        change = _change(store, in_store(store, event.path), before, contents.get(event.after))
        if change is None or (is_fold and change.kind == FORGOTTEN):
            continue
        is_merged = event.kind == MERGED
        agent = "" if is_merged else commit.agent or commit.author.partition(" <")[0]
        who = "" if is_merged else committer_line(commit.agent, commit.author)
        yield change._replace(
            kind=FOLDED if is_fold else change.kind,
            at=float(commit.moment), agent=agent, source="" if is_fold else commit.source, commit=commit.oid,
            who=who, machine="" if is_fold or not commit.source else commit.machine or commit.source,
        )  # fmt: skip


__all__ = ["Exchange", "LoreChange", "Waiting", "list_incoming_changes", "preview_exchange"]
