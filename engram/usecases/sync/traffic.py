"""What differs between this clone and its remote, entry by entry: what will go out and come in, and what came in.

Each entry comes with its change as a phrase. Nothing here uses the network: the remote is as it was last fetched.
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

MOST = 200  # entries that are read for one list
_FOLD = "fold: "


class LoreChange(NamedTuple):
    """An entry and what happened to it: `kind` is a word of `engram.domain.entry.change_phrase`, `phrase` all of it.

    `at` (Unix seconds, 0: now), `agent`, `source` (a clone's short id), `who` (a name) and `machine` say when and by whom,
    "" where that is not known.
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
    """Entries that will go out, or come in: the first of them, and how many there are in all."""

    lore: tuple[LoreChange, ...] = ()
    total: int = 0


class Exchange(NamedTuple):
    """What will be exchanged between this clone and `branch` of `remote` ("" where there is none).

    `known` says whether the remote branch was ever seen, `uncommitted` how many changes are not in git yet.
    """

    remote: str
    branch: str
    known: bool
    uncommitted: int
    outgoing: Waiting
    incoming: Waiting


def exchange(store: Store, limit: int = MOST) -> Exchange:
    """Return what a sync would send and bring in, as known without the network. Raises UsageError, StoreError, GitError."""
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
    """Return all lore, the newest first: what goes to a remote that has nothing yet."""
    hits, total = list_hits(store, limit=limit)
    return Waiting(tuple(LoreChange(hit.id, hit.title, hit.path, NEW, NEW) for hit in hits), total)


def _uncommitted_paths(store: Store) -> tuple[str, ...]:
    waiting = store.files.journal.waiting()
    return tuple(dict.fromkeys(item.path for operation in waiting for item in operation.changes))


def _waiting(
    store: Store, repo: Repository, base: str | None, end: str | None, also: Sequence[str], limit: int
) -> Waiting:
    """Return the entries that differ between two commits; those at the paths `also` as their files are now."""
    found = differences(repo, base, end) if end and end != base else {}
    paths = [path for path in dict.fromkeys([*also, *found]) if sync_plan.is_lore(path, store.places.folder)]
    chosen = paths[:limit]
    same = [path for path in chosen if path not in found]
    old = objects.entries(repo, base, same) if base and same else {}
    entries = {
        path: (found[path].before, found[path].after) if path in found else (old.get(path), None)
        for path in chosen
    }
    contents = blobs(repo, [entry.oid for pair in entries.values() for entry in pair if entry])
    changes = []
    for path in chosen:
        before, after = (contents[entry.oid] if entry else None for entry in entries[path])
        change = _change(store, path, (before,), _file(store, path) if path in also else after)
        changes += [change] if change else []
    return Waiting(tuple(changes), len(paths) - (len(chosen) - len(changes)))


def _file(store: Store, path: str) -> bytes | None:
    try:
        return store.files.read(path)
    except (NotFoundError, StoreError):
        return None


def _change(
    store: Store, path: str, before: Sequence[bytes | None], after: bytes | None
) -> LoreChange | None:
    """Return what happened to the entry of one file; None where nothing did, or where none can be read."""
    olds = [lore for raw in before if (lore := _lore(store, path, raw))]
    new = _lore(store, path, after)
    lore = new or (olds[0] if olds else None)
    if lore is None or (after is not None and before and after == before[0]):
        return None
    change = phrase(olds, new)
    return LoreChange(lore.id, lore.title, path, change.kind, change.words)


def _lore(store: Store, path: str, raw: bytes | None) -> Lore | None:
    found = read_lore(store, path, raw)
    return found.lore if found else None


def came_in(store: Store, limit: int = 50, since: str = "") -> list[LoreChange]:
    """Return what other clones did to entries that are here, and what was merged of it, newest first.

    `since` a commit's id: only what is in HEAD's history and not in that commit's. Raises StoreError, GitError.
    """
    from engram.adapters.git.read.commit_log import between

    repo = repository_of(store)
    oids = None
    if since:
        head = layout.read_head(repo).oid
        oids = [one.oid for one in between(repo, since, head)[1]] if head and head != since else []
    person = configuration.committer(repo)
    rows = with_history(store, lambda table: table.came_in(store.source, person, limit, oids))
    contents = _versions(repo, rows)
    return list(_arrivals(store, rows, contents))


def _versions(repo: Repository, rows: Sequence[tuple[CommitRow, EventRow]]) -> dict[str, bytes]:
    try:
        return blobs(repo, [oid for _, event in rows for oid in (*event.before, event.after) if oid])
    except EngramError:  # of a clone that has not all of its history
        return {}


def _arrivals(
    store: Store, rows: Sequence[tuple[CommitRow, EventRow]], contents: dict[str, bytes]
) -> Iterator[LoreChange]:
    for commit, event in rows:
        is_fold = commit.source == store.source and commit.subject.startswith(_FOLD)
        before = [contents.get(oid) for oid in event.before]
        found = _change(store, in_store(store, event.path), before, contents.get(event.after))
        if found is None or (is_fold and found.kind == FORGOTTEN):
            continue
        is_merged = event.kind == MERGED
        agent = "" if is_merged else commit.agent or commit.author.partition(" <")[0]
        who = "" if is_merged else committer_line(commit.agent, commit.author)
        yield found._replace(
            kind=FOLDED if is_fold else found.kind,
            at=float(commit.moment), agent=agent, source="" if is_fold else commit.source, commit=commit.oid,
            who=who, machine="" if is_fold or not commit.source else commit.machine or commit.source,
        )  # fmt: skip


__all__ = ["Exchange", "LoreChange", "Waiting", "came_in", "exchange"]
