"""Merging two heads into one commit, by Engram's rules; nothing here looks at the work tree."""

from __future__ import annotations

from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git.read import tree
from engram.adapters.git.read.differences import Difference, between, blobs, differences, learn
from engram.adapters.git.run import layout
from engram.adapters.git.write import merging
from engram.domain.errors import SyncBlockedError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.merge import incoming_paths
from engram.usecases.merge.tree_merge import Rules, Side, Tree, merge_trees

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.adapters.git.read.tree import Entry
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store


class Merge(NamedTuple):
    """What our head becomes: a commit, and how it differs from our head.

    `merged` are the paths that both sides had changed; `conflicts` counts what is left for a person in them;
    `contents` has the bytes that the repository did not have before, `held` counts lore that wait for a person, `notes`
    say what became of files that were changed here and are not committed.
    """

    commit: str
    changes: dict[str, Difference]
    merged: tuple[str, ...] = ()
    conflicts: int = 0
    contents: Mapping[str, bytes] = {}
    held: int = 0
    notes: tuple[str, ...] = ()


def merge_heads(store: Store, ours: str | None, theirs: str) -> Merge | None:
    """What our head becomes when it takes in `theirs`; None where it has all of it already.

    Call it after `incoming.check_commits`. Raises SyncBlockedError for what is refused and what cannot be merged, GitError.
    """
    repo = store.repository
    shared = merging.bases(repo, ours, theirs) if ours else ()
    if theirs in shared:
        return None
    if ours is None or ours in shared:
        changes = differences(repo, ours, theirs)
        check_incoming(store, {path: found.after for path, found in changes.items()})
        return _check_twins(store, Merge(theirs, changes))
    check_related(store, shared, theirs)
    base = _base(store, shared)
    theirs_changed = differences(repo, base, theirs)
    check_incoming(store, {path: found.after for path, found in theirs_changed.items()})
    commit, made = _commit(store, ours, theirs, base, {theirs: theirs_changed})
    _learn(repo, (ours, theirs), base, commit, made)
    changes = differences(repo, ours, commit)
    return _check_twins(store, Merge(commit, changes, made.merged, made.conflicts, made.contents))


def _learn(repo: Repository, heads: tuple[str, str], base: str | None, commit: str, made: Tree) -> None:
    """Tell what `commit` holds otherwise than the three it was made of: git would look for it in all folders again."""
    first, second = sorted(heads)
    changed = {head: differences(repo, base, head) for head in heads}
    whole = dict(changed[first])
    for path, entry in made.edits.items():
        known = changed[first].get(path) or changed[second].get(path)
        if known is None:
            return  # a file that was put beside another one; what was there before is not known
        whole[path] = Difference(known.before, entry)
    whole = {path: found for path, found in whole.items() if found.before != found.after}
    learn(repo, base, commit, whole)
    for head in heads:
        learn(repo, head, commit, between(changed[head], whole))


def remade(store: Store, one: str, other: str) -> str:
    """The commit that Engram makes of two others, on whichever machine. Raises GitError, SyncBlockedError."""
    repo = store.repository
    base = _base(store, merging.bases(repo, one, other))
    return _commit(store, one, other, base)[0]


def planned(store: Store, ours: str | None, theirs: str | None) -> sync_plan.Plan:
    """What a sync of these heads would do. Raises as `merge_heads`."""
    repo = store.repository
    if not theirs:
        return (
            sync_plan.Plan(outgoing=tuple(sorted(differences(repo, None, ours))))
            if ours
            else sync_plan.Plan()
        )
    shared = merging.bases(repo, ours, theirs) if ours else ()
    if ours is not None and theirs not in shared and ours not in shared:
        check_related(store, shared, theirs)
    incoming_paths.check_commits(repo, ours, theirs, incoming_paths.NOT_SYNCED)
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
    incoming_paths.check_files(store.repository, found, store.places.folder, incoming_paths.NOT_SYNCED)


def _check_twins(store: Store, merge: Merge) -> Merge:
    added = [path for path, found in merge.changes.items() if found.before is None]
    incoming_paths.check_twins(store.repository, merge.commit, added, incoming_paths.NOT_SYNCED)
    return merge


def check_related(store: Store, shared: tuple[str, ...], theirs: str) -> None:
    """Raise SyncBlockedError where the remote has nothing in common with this store and is none itself.

    Two stores that were made separately may be joined.
    """
    if not shared and not tree.entries(store.repository, theirs, [CONFIG_NAME]):
        raise SyncBlockedError(
            "The remote's branch has nothing in common with this store and holds no store of its own.",
            "Check its address (`engram remote list`), or give the store an empty repository.",
        )


def by_rules(store: Store, parents: list[str]) -> Tree:
    """What the merge of two commits (sorted) is by Engram's rules, as differences from the first."""
    repo = store.repository
    base = _base(store, merging.bases(repo, *parents))
    return _merged_tree(store, parents, merging.moments(repo, parents), base, {})


def _base(store: Store, shared: tuple[str, ...]) -> str | None:
    """One base: several are merged first, by the same rules, in the order of their ids."""
    if not shared:
        return None
    repo, base = store.repository, shared[0]
    for other in shared[1:]:
        common = merging.bases(repo, base, other)
        if other not in common:
            base = other if base in common else _commit(store, base, other, _base(store, common))[0]
    return base


def _commit(
    store: Store,
    one: str,
    other: str,
    base: str | None,
    changed: Mapping[str, dict[str, Difference]] | None = None,
) -> tuple[str, Tree]:
    """The merge commit of two heads; the same whichever is named first, but quicker if that is ours.

    `changed` is what a head is known to have changed since the base.
    """
    repo = store.repository
    parents = sorted((one, other))
    times = merging.moments(repo, parents)
    made = _merged_tree(store, parents, times, base, changed or {})
    clash = sync_plan.clash(path for path, entry in made.edits.items() if entry)
    if clash:
        raise SyncBlockedError(
            f"{clash} is a file here and a folder there, or the other way round; nothing was changed.",
            "Rename one of them, then sync again.",
        )
    edits = made.edits
    if parents[1] == one:  # which is our head: its folders have been read by now
        ours, theirs = ((changed or {}).get(side) or differences(repo, base, side) for side in (one, other))
        edits = {path: found.before for path, found in ours.items()}
        edits |= {path: found.after for path, found in theirs.items()} | made.edits
    return merging.write_merge(repo, parents, edits, made.contents, max(times), upon=one), made


def _merged_tree(
    store: Store,
    parents: list[str],
    times: tuple[int, ...],
    base: str | None,
    changed: Mapping[str, dict[str, Difference]],
) -> Tree:
    repo = store.repository
    rules = Rules(store.places.folder, store.categories, layout.hash_name(repo), store.clock.now())
    sides = [
        Side(parent, moment, changed[parent] if parent in changed else differences(repo, base, parent))
        for parent, moment in zip(parents, times, strict=True)
    ]
    return merge_trees(rules, sides[0], sides[1], lambda oids: blobs(repo, oids))
