"""Merge two commits by Engram's rules in two steps: plan the changes, then write the merge commit.

Nothing here reads or writes the work tree.
"""

from __future__ import annotations

from engram.adapters.files.places import CONFIG_NAME
from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import (
    Difference,
    between,
    blobs,
    differences,
    learn,
    learn_outgoing,
    outgoing,
)
from engram.adapters.git.run import layout
from engram.adapters.git.write import merge_commit
from engram.domain.errors import SyncBlockedError
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.merge import incoming_paths
from engram.usecases.merge.tree_merge import Rules, Side, Tree, merge_trees
from engram.usecases.store import excluded_files, judgements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.git.read.objects import Entry
    from engram.adapters.git.run.layout import Repository
    from engram.adapters.git.write.tree_edit import Folders
    from engram.domain.merge.merge import Edit
    from engram.usecases.store.store import Store

_MAX_CACHE_BYTES = 32 * 1024 * 1024


class ReadAhead:
    """A cache of data read before a merge: contents of files by object id, and folders of our head."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.folders: Folders | None = None
        self._size = 0

    def keep(self, contents: Mapping[str, bytes]) -> None:
        """Cache contents that are needed again soon, unless the cache gets too large."""
        new = {oid: raw for oid, raw in contents.items() if oid not in self.contents}
        size = self._size + sum(map(len, new.values()))
        if size <= _MAX_CACHE_BYTES:
            self.contents.update(new)
            self._size = size


class Plan(NamedTuple):
    """The plan of merging the commit `theirs` (None: there is none) into our head, as differences from their base.

    `left_out` are files of theirs that must not be checked out, each with why.
    """

    ours: str | None
    theirs: str | None
    bases: tuple[str, ...]
    base: str | None
    ours_changed: dict[str, Difference]
    theirs_changed: dict[str, Difference]
    left_out: Mapping[str, str] = {}

    @property
    def paths(self) -> sync_plan.Plan:
        """The paths that come in, go out, and are merged."""
        return sync_plan.plan(
            {path: found.after for path, found in self.ours_changed.items()},
            {path: found.after for path, found in self.theirs_changed.items()},
        )


class Merge(NamedTuple):
    """The result of a merge: a commit, and its differences from our head.

    `merged` are the paths that both sides changed, `conflicts` the number of versions left for a person. `contents` has
    the new contents by path, `known` all contents read so far by object id. `held` is the number of entries quarantined;
    `notes` say what happened to uncommitted local changes. `left_out` are all files of the commit that must not be
    checked out, each with why.
    """

    commit: str
    changes: dict[str, Difference]
    merged: tuple[str, ...] = ()
    conflicts: int = 0
    contents: Mapping[str, bytes] = {}
    known: Mapping[str, bytes] = {}
    held: int = 0
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = {}


def plan_merge(
    store: Store, ours: str | None, theirs: str | None, read_ahead: ReadAhead | None = None
) -> Plan:
    """Plan the merge of `theirs` into `ours`. Raises SyncBlockedError if `theirs` must not come in, GitError."""
    repo = store.repository
    if theirs is None:
        return Plan(ours, None, (), None, differences(repo, None, ours) if ours else {}, {})
    check_incoming_commits(store, ours, theirs)
    bases = merge_commit.bases(repo, ours, theirs) if ours else ()
    base = _single_base(store, bases)
    ours_changed = differences(repo, base, ours) if ours else {}
    theirs_changed = differences(repo, base, theirs)
    known = read_ahead.contents if read_ahead is not None else {}
    files = {path: found.after for path, found in theirs_changed.items()}
    left_out = _check_incoming_files(store, files, known)
    return Plan(ours, theirs, bases, base, ours_changed, theirs_changed, left_out)


def merge_commits(store: Store, plan: Plan, read_ahead: ReadAhead | None = None) -> Merge | None:
    """Write the commit of a plan, which is on no branch yet; return None if our head contains `theirs` already.

    Raises SyncBlockedError for files that cannot be merged, GitError.
    """
    repo, ours, theirs = store.repository, plan.ours, plan.theirs
    read_ahead = read_ahead or ReadAhead()
    if theirs is None or theirs in plan.bases:
        return None
    if ours is None or ours in plan.bases:
        return _with_left_out(store, plan, Merge(theirs, plan.theirs_changed, known=read_ahead.contents))
    changed = {theirs: dict(plan.theirs_changed)}
    commit, tree = _commit(store, ours, theirs, plan.base, changed, read_ahead)
    _learn(repo, (ours, theirs), plan.base, commit, tree)
    if plan.bases == (plan.base,):  # the base contains all that theirs has of our history
        learn_outgoing(repo, theirs, commit, [*outgoing(repo, plan.base, ours), commit])
    changes = differences(repo, ours, commit)
    new = {
        entry.oid: tree.contents[path]
        for path, entry in tree.edits.items()
        if entry and path in tree.contents
    }
    known = read_ahead.contents | new
    merge = Merge(commit, changes, tree.merged, tree.conflicts, tree.contents, known)
    return _with_left_out(store, plan, merge)


def _learn(repo: Repository, heads: tuple[str, str], base: str | None, commit: str, tree: Tree) -> None:
    """Cache the differences of `commit` from its parents and base, for which git would have to compare all folders."""
    first, second = sorted(heads)
    changed = {head: differences(repo, base, head) for head in heads}
    whole = dict(changed[first])
    for path, entry in tree.edits.items():
        known = changed[first].get(path) or changed[second].get(path)
        if known is None:
            return  # a version kept in a file of its own, whose previous content is unknown
        whole[path] = Difference(known.before, entry)
    whole = {path: found for path, found in whole.items() if found.before != found.after}
    learn(repo, base, commit, whole)
    for head in heads:
        learn(repo, head, commit, between(changed[head], whole))


def merge_again(store: Store, one: str, other: str) -> str:
    """Return the merge commit that Engram makes of two commits on every machine. Raises GitError, SyncBlockedError."""
    repo = store.repository
    base = _single_base(store, merge_commit.bases(repo, one, other))
    return _commit(store, one, other, base)[0]


def merge_by_rules(store: Store, parents: list[str]) -> Tree:
    """Return the merge of two commits (sorted by id) by Engram's rules, as differences from the first."""
    repo = store.repository
    base = _single_base(store, merge_commit.bases(repo, *parents))
    return _merged_tree(store, parents, merge_commit.moments(repo, parents), base, {})


def check_incoming_commits(store: Store, ours: str | None, theirs: str) -> None:
    """Raise SyncBlockedError if the remote shares no history and contains no store, or if a commit is too large.

    Two stores that were created separately may be joined.
    """
    repo = store.repository
    if (
        ours is not None
        and not merge_commit.bases(repo, ours, theirs)
        and not objects.entries(repo, theirs, [CONFIG_NAME])
    ):
        raise SyncBlockedError(
            "The remote's branch shares no history with this store and does not contain a store.",
            "Check its address (`engram remote list`), or give the store an empty repository.",
        )
    incoming_paths.check_commits(repo, ours, theirs, incoming_paths.NOT_SYNCED)


def _check_incoming_files(
    store: Store, files: Mapping[str, Entry | None], known: Mapping[str, bytes]
) -> dict[str, str]:
    """Return which files of a remote must not be checked out, each with why.

    Raises SyncBlockedError if none of them may be written, or the result would not be a store.
    """
    if CONFIG_NAME in files and files[CONFIG_NAME] is None:
        raise SyncBlockedError(
            f"The remote deleted {CONFIG_NAME}, which makes a folder a store; nothing was changed here.",
            "Have it restored on the remote's branch, then sync again.",
        )
    found = {path: entry for path, entry in files.items() if entry is not None}
    return incoming_paths.check_files(
        store.repository, found, store.places.folder, incoming_paths.NOT_SYNCED, known=known
    )


def _with_left_out(store: Store, plan: Plan, merge: Merge) -> Merge:
    """Add to the merge the files that must not be checked out, and those that now may be."""
    repo, known = store.repository, excluded_files.read_left_out(store.places.state)
    files = {path: found.after for path, found in merge.changes.items() if found.after is not None}
    left_out = {path: why for path, why in plan.left_out.items() if path in files}
    before = objects.entries(repo, merge.commit, [path for path in known if path not in merge.changes])
    left_out |= incoming_paths.check_files(repo, before, store.places.folder, incoming_paths.NOT_SYNCED)
    # A file left out before is not in the work tree, so it is checked like a new one.
    new = {path for path in files if merge.changes[path].before is None} | (known.keys() & files.keys())
    gone = {path for path, found in merge.changes.items() if found.after is None} | known.keys()
    left_out |= excluded_files.find_twins(repo, plan.ours, {*new, *before} - left_out.keys(), gone)
    again = {path: Difference(None, entry) for path, entry in before.items() if path not in left_out}
    as_new = {path: Difference(None, found.after) for path, found in merge.changes.items() if path in known}
    return merge._replace(changes={**merge.changes, **as_new, **again}, left_out=left_out)


def _single_base(store: Store, bases: tuple[str, ...]) -> str | None:
    """Return a single base: several are merged by the same rules, in the order of their ids."""
    if not bases:
        return None
    repo, base = store.repository, bases[0]
    for other in bases[1:]:
        common = merge_commit.bases(repo, base, other)
        if other not in common:
            base = other if base in common else _commit(store, base, other, _single_base(store, common))[0]
    return base


def _commit(
    store: Store,
    one: str,
    other: str,
    base: str | None,
    changed: Mapping[str, dict[str, Difference]] | None = None,
    read_ahead: ReadAhead | None = None,
) -> tuple[str, Tree]:
    """Write the merge commit of two heads: the same in either order, but faster if our head comes first.

    `changed` has known differences of heads from the base.
    """
    repo = store.repository
    parents = sorted((one, other))
    times = merge_commit.moments(repo, parents)
    tree = _merged_tree(store, parents, times, base, changed or {}, read_ahead)
    judgements.keep_accounts(store, tree.accounts)
    clash = sync_plan.find_clash(path for path, entry in tree.edits.items() if entry)
    if clash:
        raise SyncBlockedError(
            f"{clash} is a file here and a folder there, or the other way round; nothing was changed.",
            "Rename one of them, then sync again.",
        )
    edits = tree.edits
    if parents[1] == one:  # our head, whose folders have been read by now
        ours, theirs = ((changed or {}).get(side) or differences(repo, base, side) for side in (one, other))
        edits = {path: found.before for path, found in ours.items()}
        edits |= {path: found.after for path, found in theirs.items()} | tree.edits
    folders = read_ahead.folders if read_ahead is not None else None
    commit = merge_commit.write_merge(
        repo, parents, edits, tree.contents, max(times), upon=one, folders=folders
    )
    return commit, tree


def _merged_tree(
    store: Store,
    parents: list[str],
    times: tuple[int, ...],
    base: str | None,
    changed: Mapping[str, dict[str, Difference]],
    read_ahead: ReadAhead | None = None,
) -> Tree:
    repo = store.repository
    hash_name, now = layout.hash_name(repo), store.clock.now()
    rules = Rules(store.places.folder, store.categories, hash_name, now, store.parsed)
    contents = read_ahead.contents if read_ahead is not None else None
    sides = [
        Side(parent, moment, changed[parent] if parent in changed else differences(repo, base, parent))
        for parent, moment in zip(parents, times, strict=True)
    ]

    def find_edits(commit: str, paths: Sequence[str]) -> Mapping[str, Edit]:
        from engram.usecases.merge.last_edits import last_edits

        known = [base] if base else []
        return last_edits(repo, commit, known, paths, store.places.folder, store.categories)

    return merge_trees(rules, sides[0], sides[1], lambda oids: blobs(repo, oids, contents), find_edits)
