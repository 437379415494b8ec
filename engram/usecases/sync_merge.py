"""Merging two heads into one commit, by Engram's rules; nothing here looks at the work tree."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from engram.adapters.files.merge_file import merge_files
from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git import layout, merging, tree
from engram.adapters.git.differences import Difference, blobs, differences
from engram.adapters.git.tree import Entry
from engram.domain import sync_plan
from engram.domain.errors import SyncBlockedError
from engram.domain.merge import reference_time
from engram.domain.text_merge import merge_text
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases import incoming
from engram.usecases.sync_moves import follow_moves

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.adapters.git.layout import Repository
    from engram.usecases.store import Store

LARGEST_TEXT = 64 * 1024  # bytes of a file that is no lore and is merged by lines all the same


class Merge(NamedTuple):
    """What our head becomes: a commit, and how it differs from our head.

    `merged` are the paths that both sides had changed; `conflicts` counts what is left for a person in them;
    `contents` has the bytes that the repository did not have before, `held` counts lore that wait for a person.
    """

    commit: str
    changes: dict[str, Difference]
    merged: tuple[str, ...] = ()
    conflicts: int = 0
    contents: Mapping[str, bytes] = {}
    held: int = 0


class _Tree(NamedTuple):
    """A tree in the making, as differences from the first parent, and what it took to get there."""

    edits: dict[str, Entry | None]
    contents: dict[str, bytes]
    merged: tuple[str, ...]
    conflicts: int


def merge_heads(store: Store, ours: str | None, theirs: str) -> Merge | None:
    """What our head becomes when it takes in `theirs`; None where it has all of it already.

    Raises SyncBlockedError for what is refused and what cannot be merged, GitError.
    """
    repo = _repository(store)
    shared = merging.bases(repo, ours, theirs) if ours else ()
    if theirs in shared:
        return None
    incoming.check_commits(repo, ours, theirs, incoming.NOT_SYNCED)
    if ours is None or ours in shared:
        changes = differences(repo, ours, theirs)
        check_incoming(store, {path: found.after for path, found in changes.items()})
        return _check_twins(store, Merge(theirs, changes))
    check_related(store, shared, theirs)
    base = _base(store, shared)
    theirs_changed = differences(repo, base, theirs)
    check_incoming(store, {path: found.after for path, found in theirs_changed.items()})
    commit, made = _commit(store, ours, theirs, base)
    changes = differences(repo, ours, commit)
    return _check_twins(store, Merge(commit, changes, made.merged, made.conflicts, made.contents))


def remade(store: Store, one: str, other: str) -> str:
    """The commit that Engram makes of two others, on whichever machine. Raises GitError, SyncBlockedError."""
    repo = _repository(store)
    base = _base(store, merging.bases(repo, one, other))
    try:
        return _commit(store, one, other, base)[0]
    finally:
        merging.drop_side(repo)


def planned(store: Store, ours: str | None, theirs: str | None) -> sync_plan.Plan:
    """What a sync of these heads would do. Raises as `merge_heads`."""
    repo = _repository(store)
    if not theirs:
        return (
            sync_plan.Plan(outgoing=tuple(sorted(differences(repo, None, ours))))
            if ours
            else sync_plan.Plan()
        )
    shared = merging.bases(repo, ours, theirs) if ours else ()
    if ours is not None and theirs not in shared and ours not in shared:
        check_related(store, shared, theirs)
    incoming.check_commits(repo, ours, theirs, incoming.NOT_SYNCED)
    base = _base(store, shared)
    mine = {path: found.after for path, found in differences(repo, base, ours).items()} if ours else {}
    others = {path: found.after for path, found in differences(repo, base, theirs).items()}
    check_incoming(store, others)
    return sync_plan.plan(mine, others)


def check_incoming(store: Store, files: Mapping[str, Entry | None]) -> None:
    """Raise SyncBlockedError if a file of a remote may not be written here, or none would be left to be a store."""
    if CONFIG_NAME in files and files[CONFIG_NAME] is None:
        raise SyncBlockedError(
            f"The remote deleted {CONFIG_NAME}, which makes a folder a store; nothing was changed here.",
            "Have it put back on the remote's branch, then sync again.",
        )
    found = {path: entry for path, entry in files.items() if entry is not None}
    incoming.check_files(_repository(store), found, store.places.folder, incoming.NOT_SYNCED)


def _check_twins(store: Store, merge: Merge) -> Merge:
    added = [path for path, found in merge.changes.items() if found.before is None]
    incoming.check_twins(_repository(store), merge.commit, added, incoming.NOT_SYNCED)
    return merge


def check_related(store: Store, shared: tuple[str, ...], theirs: str) -> None:
    """Raise SyncBlockedError where the remote has nothing in common with this store and is none itself.

    Two stores that were made separately may be joined.
    """
    if not shared and not tree.entries(_repository(store), theirs, [CONFIG_NAME]):
        raise SyncBlockedError(
            "The remote's branch has nothing in common with this store and holds no store of its own.",
            "Check its address (`engram remote list`), or give the store an empty repository.",
        )


def _repository(store: Store) -> Repository:
    assert store.places.repository is not None
    return store.places.repository


def _base(store: Store, shared: tuple[str, ...]) -> str | None:
    """One base: several are merged first, by the same rules, in the order of their ids."""
    if not shared:
        return None
    repo, base = _repository(store), shared[0]
    for other in shared[1:]:
        common = merging.bases(repo, base, other)
        if other not in common:
            base = other if base in common else _commit(store, base, other, _base(store, common))[0]
    return base


def _commit(store: Store, one: str, other: str, base: str | None) -> tuple[str, _Tree]:
    """The merge commit of two heads; the same whichever is named first."""
    repo = _repository(store)
    parents = sorted((one, other))
    times = merging.moments(repo, parents)
    made = _merged_tree(store, parents, times, base)
    clash = sync_plan.clash(path for path, entry in made.edits.items() if entry)
    if clash:
        raise SyncBlockedError(
            f"{clash} is a file here and a folder there, or the other way round; nothing was changed.",
            "Rename one of them, then sync again.",
        )
    return merging.write_merge(repo, parents, made.edits, made.contents, max(times)), made


def _merged_tree(store: Store, parents: list[str], times: tuple[int, ...], base: str | None) -> _Tree:
    repo = _repository(store)
    first, second = (differences(repo, base, parent) for parent in parents)
    gone = follow_moves(repo, store.places.folder, first, second)
    todo = sync_plan.plan(
        {path: found.after for path, found in first.items()},
        {path: found.after for path, found in second.items()},
    )
    taken = {path: second[path].after for path in todo.incoming}
    made = _Tree(taken | dict.fromkeys(gone), {}, todo.to_merge, 0)
    lore = [path for path in todo.to_merge if _is_lore(store, path, first[path], second[path])]
    conflicts = _merge_lore(store, made, lore, (first, second), times)
    # Of other files the newer head's version stays, the same one on every machine.
    is_first_newer = (times[0], parents[0]) > (times[1], parents[1])
    newer, older = (first, second) if is_first_newer else (second, first)
    others = sorted(set(todo.to_merge) - set(lore))
    conflicts += sum(_merge_other(store, made, path, newer[path], older[path]) for path in others)
    return made._replace(conflicts=conflicts)


def _is_lore(store: Store, path: str, one: Difference, other: Difference) -> bool:
    held = (one.before, one.after, other.after)
    is_file = all(entry is None or entry.mode in sync_plan.REGULAR for entry in held)
    return is_file and sync_plan.is_lore(path, store.places.folder)


def _merge_lore(
    store: Store,
    made: _Tree,
    paths: list[str],
    sides: tuple[dict[str, Difference], dict[str, Difference]],
    times: tuple[int, ...],
) -> int:
    """Merge the lore files that both changed into `made`; returns how many conflicts that left."""
    repo, (first, second) = _repository(store), sides
    now = reference_time(store.clock.now(), [datetime.fromtimestamp(moment, UTC) for moment in times])
    held = [entry for path in paths for entry in (*first[path], second[path].after) if entry]
    contents = blobs(repo, (entry.oid for entry in held))
    conflicts = 0
    for path in paths:
        before, one, other = first[path].before, first[path].after, second[path].after
        old, ours, theirs = (contents[entry.oid] if entry else None for entry in (before, one, other))
        done = merge_files(old, ours, theirs, path, store.categories, now)
        mode = _mode(before, one, other)
        _put(repo, made, path, mode, done.content)
        for kept in done.kept:
            _put(repo, made, kept.path, mode, kept.content)
        conflicts += len(done.conflicts) + len(done.kept)
    return conflicts


def _put(repo: Repository, made: _Tree, path: str, mode: str, content: bytes | None) -> None:
    if content is None:
        made.edits[path] = None
        return
    made.edits[path] = Entry(mode, tree.blob_oid(content, layout.hash_name(repo)))
    made.contents[path] = content


def _mode(before: Entry | None, one: Entry | None, other: Entry | None) -> str:
    old, ours, theirs = (entry.mode if entry else tree.PLAIN for entry in (before, one, other))
    return theirs if ours == old else ours


def _merge_other(store: Store, made: _Tree, path: str, winner: Difference, loser: Difference) -> bool:
    """Settle a file that is no lore: by lines, else as a whole; says whether the losing version went beside it."""
    repo = _repository(store)
    by_lines = _by_lines(repo, winner, loser)
    if by_lines is not None:
        _put(repo, made, path, _mode(winner.before, winner.after, loser.after), by_lines)
        return False
    held, lost = sync_plan.three_way(winner.before, winner.after, loser.after)
    made.edits[path] = None if held is None else Entry(*held)
    if not lost:
        return False
    entry = loser.after
    assert entry is not None
    if entry.mode not in sync_plan.REGULAR:
        raise SyncBlockedError(
            f"{path} is {sync_plan.WHAT.get(entry.mode, 'no file')} that both sides changed.",
            "Settle it with git, then sync again.",
        )
    content = blobs(repo, [entry.oid])[entry.oid]
    made.edits[f"{path}.theirs-{hashlib.sha256(content).hexdigest()[:8]}"] = entry
    return True


def _by_lines(repo: Repository, winner: Difference, loser: Difference) -> bytes | None:
    """The text with the changes of both; None where they overlap, or it is no text, or not that of one file."""
    entries = [entry for entry in (winner.before, winner.after, loser.after) if entry]
    if len(entries) < 3 or any(entry.mode not in sync_plan.REGULAR for entry in entries):
        return None
    found = blobs(repo, (entry.oid for entry in entries))
    if max(map(len, found.values())) > LARGEST_TEXT:
        return None
    try:
        merged = merge_text(*(found[entry.oid].decode() for entry in entries))
    except UnicodeDecodeError:
        return None
    return None if merged is None else merged.encode()
