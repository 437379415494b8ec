"""Merge two trees of files by Engram's rules: a pure function of the changes of each side since the base.

In order: moved entries get the same path on both sides (`moved_entries`); files that one side changed are taken; files
that both changed are merged by fields or by lines; and if one side folded an entry that the other side changed, that
change is applied to the entry that it was folded into.

Contents of files are read through a function of the caller, wherever they are stored.
"""

from __future__ import annotations

from datetime import UTC, datetime

from engram.adapters.files.frontmatter import codec
from engram.adapters.files.merge.merge_file import may_follow
from engram.adapters.git.read import objects
from engram.adapters.git.read.objects import Entry
from engram.domain.errors import LoreFileError, SyncBlockedError
from engram.domain.judgements.tally import accounts_of
from engram.domain.merge.merge import UNKNOWN, reference_time
from engram.domain.merge.text_merge import merge_text
from engram.domain.similarity.deduplicate import fold
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.merge.file_merge import merge_one
from engram.usecases.merge.moved_entries import follow_moves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from engram.adapters.files.frontmatter.codec import LoreFile, ParsedFiles
    from engram.adapters.files.merge.merge_readable import Merged
    from engram.adapters.git.read.differences import Difference
    from engram.domain.entry.categories import Categories
    from engram.domain.judgements.ledger import LegacyAccount
    from engram.domain.merge.merge import Edit

    Changed = Mapping[str, Difference]
    Reader = Callable[[Iterable[str]], dict[str, bytes]]
    # Returns who last changed the texts of files, by path; called with the commit of a side and paths in it.
    EditFinder = Callable[[str, Sequence[str]], Mapping[str, Edit]]

LARGEST_TEXT = 64 * 1024  # bytes; other text files are merged by lines up to this size


class Rules(NamedTuple):
    """The parameters of a merge: the lore folder, the categories, git's hash, this machine's clock.

    `parsed` is a cache of parsed entries, to which the merge adds.
    """

    folder: str
    categories: Categories
    hash_name: str
    now: datetime
    parsed: ParsedFiles | None = None


class Side(NamedTuple):
    """One side: its commit, the commit's time (Unix seconds), and its changes since the base."""

    commit: str
    moment: int
    changed: dict[str, Difference]


class Tree(NamedTuple):
    """A merged tree, as differences from the first side.

    `contents` has the new contents, `merged` the paths that both sides changed; `conflicts` is the number of versions
    left for a person. `followed` has the entries that were deleted because they had been folded, with the contents that
    would otherwise have been left for a person.
    """

    edits: dict[str, Entry | None]
    contents: dict[str, bytes]
    merged: tuple[str, ...]
    conflicts: int
    followed: dict[str, bytes]
    accounts: tuple[LegacyAccount, ...] = ()  # of format 1, of folded entries


def merge_trees(
    rules: Rules, first: Side, second: Side, read: Reader, find_edits: EditFinder | None = None
) -> Tree:
    """Merge two sides, given in the order of their commits' ids. Raises SyncBlockedError for files that cannot be merged.

    `find_edits` is called for files of which the later version counts; without it their `updated_at` decides.
    """
    return _Merge(rules, first, second, read, find_edits).run()


class _Merge:
    """One merge of two trees."""

    def __init__(
        self, rules: Rules, first: Side, second: Side, read: Reader, find_edits: EditFinder | None
    ) -> None:
        self._rules, self._first, self._second, self._read = rules, first, second, read
        self._find_edits = find_edits
        self._before_moves = [dict(side.changed) for side in (first, second)]
        self._accounts: list[LegacyAccount] = []

    def run(self) -> Tree:
        """Return the merged tree."""
        one, other = self._first.changed, self._second.changed
        moved = follow_moves(self._read, self._rules.folder, one, other)
        plan = sync_plan.plan(
            {path: found.after for path, found in one.items()},
            {path: found.after for path, found in other.items()},
        )
        incoming = {path: other[path].after for path in plan.incoming}
        tree = Tree(incoming | moved, {}, plan.to_merge, 0, {})
        lore = [path for path in plan.to_merge if self._is_by_fields(path)]
        conflicts = self._merge_lore(tree, lore)
        conflicts += sum(self._merge_other(tree, path) for path in sorted(set(plan.to_merge) - set(lore)))
        return tree._replace(conflicts=conflicts, accounts=tuple(self._accounts))

    def _is_by_fields(self, path: str) -> bool:
        """Return whether the versions of a file are merged by field."""
        one, other = self._first.changed[path], self._second.changed[path]
        versions = (one.before, one.after, other.after)
        is_file = all(entry is None or entry.mode in sync_plan.REGULAR for entry in versions)
        return is_file and sync_plan.is_merged_by_field(path, self._rules.folder)

    def _merge_lore(self, tree: Tree, paths: list[str]) -> int:
        """Merge files of entries, entities and agents that both sides changed into `tree`; return the number of conflicts."""
        first, second = self._first, self._second
        heads = [datetime.fromtimestamp(side.moment, UTC) for side in (first, second)]
        now = reference_time(self._rules.now, heads)
        versions = [
            entry for path in paths for entry in (*first.changed[path], second.changed[path].after) if entry
        ]
        contents = self._read(entry.oid for entry in versions)
        conflicts = 0
        deleted: list[_Deleted] = []

        def merge_file(path: str, edits: tuple[Edit, Edit] = (UNKNOWN, UNKNOWN)) -> Merged:
            three = (*first.changed[path], second.changed[path].after)
            old, ours, theirs = (contents[entry.oid] if entry else None for entry in three)
            rules = self._rules
            return merge_one(
                old, ours, theirs, path, rules.folder, rules.categories, now, rules.parsed, edits
            )

        merged = {path: merge_file(path) for path in paths}
        edits = self._edits([path for path in paths if merged[path].contested])
        merged |= {path: merge_file(path, both) for path, both in edits.items()}
        for path, result in merged.items():
            before, one, other = *first.changed[path], second.changed[path].after
            old, ours, theirs = (contents[entry.oid] if entry else None for entry in (before, one, other))
            mode = _mode(before, one, other)
            self._put(tree, path, mode, result.content)
            for kept in result.kept:
                self._put(tree, kept.path, mode, kept.content)
            left = theirs if ours is None else ours
            if left is not None and (
                result.content is None or self._may_follow(path, old, left, theirs, ours)
            ):
                deleted_by = (first if ours is None else second).changed
                deleted.append(_Deleted(path, left, deleted_by, result.content is not None))
            conflicts += len(result.conflicts) + len(result.kept)
        folded = self._follow_folds(deleted, tree)
        tree.followed.update({path: tree.contents[path] for path, (_, raw) in folded.items() if raw is None})
        for path, (entry, content) in folded.items():
            self._put(tree, path, entry.mode, content)
        return conflicts - len(tree.followed)

    def _follow_folds(self, deleted: Sequence[_Deleted], tree: Tree) -> dict[str, tuple[Entry, bytes | None]]:
        """Return the files that change because a deleted entry was folded: by path, the entry so far and the new content.

        An entry that one side folded stays deleted although the other side changed it unaware of that. But the change is
        applied to the entry that it was folded into, along the folds of both sides, and its votes of format 1 become
        accounts of the tree. The content None deletes a file.
        """
        if not deleted:
            return {}
        follower = _FoldFollower(self._rules, self._read, deleted, self._first.changed, tree)
        found = follower.run()
        self._accounts += follower.accounts
        return found

    def _edits(self, paths: Sequence[str]) -> dict[str, tuple[Edit, Edit]]:
        """Return who wrote both versions of these files, by the histories of the sides."""
        if not paths or self._find_edits is None:
            return {}
        found = []
        for side, known in zip((self._first, self._second), self._before_moves, strict=True):
            places = {path: _place(path, side.changed[path], known) for path in paths}
            edits = self._find_edits(side.commit, sorted(set(places.values())))
            found.append({path: edits.get(place, UNKNOWN) for path, place in places.items()})
        return {path: (found[0][path], found[1][path]) for path in paths}

    def _may_follow(
        self, path: str, old: bytes | None, left: bytes, theirs: bytes | None, ours: bytes | None
    ) -> bool:
        """Return whether an entry deleted by one side may be deleted although the other side changed more than its votes."""
        is_deleted = old is not None and (ours is None or theirs is None)
        return is_deleted and may_follow(old or b"", left, path, self._rules.categories)

    def _put(self, tree: Tree, path: str, mode: str, content: bytes | None) -> None:
        if content is None:
            tree.edits[path] = None
            tree.contents.pop(path, None)
            return
        tree.edits[path] = Entry(mode, objects.blob_oid(content, self._rules.hash_name))
        tree.contents[path] = content

    def _merge_other(self, tree: Tree, path: str) -> bool:
        """Merge a file that is not lore by lines or else as a whole; return whether the losing version is kept next to it."""
        # The version of the newer head wins, which is the same on every machine.
        older, newer = sorted((self._first, self._second), key=lambda side: (side.moment, side.commit))
        winner, loser = newer.changed[path], older.changed[path]
        by_lines = self._by_lines(winner, loser)
        if by_lines is not None:
            self._put(tree, path, _mode(winner.before, winner.after, loser.after), by_lines)
            return False
        kept, has_loser = sync_plan.merge_whole_file(winner.before, winner.after, loser.after)
        tree.edits[path] = None if kept is None else Entry(*kept)
        if not has_loser:
            return False
        entry = loser.after
        assert entry is not None
        if entry.mode not in sync_plan.REGULAR:
            raise SyncBlockedError(
                f"{path} is {sync_plan.WHAT.get(entry.mode, 'no file')} that both sides changed.",
                "Resolve it with git, then sync again.",
            )
        content = self._read([entry.oid])[entry.oid]
        tree.edits[sync_plan.other_version_path(path, content)] = entry
        return True

    def _by_lines(self, winner: Difference, loser: Difference) -> bytes | None:
        """Return the text with the changes of both sides; None if they overlap, or a version is no text or too large."""
        entries = [entry for entry in (winner.before, winner.after, loser.after) if entry]
        if len(entries) < 3 or any(entry.mode not in sync_plan.REGULAR for entry in entries):
            return None
        found = self._read(entry.oid for entry in entries)
        if max(map(len, found.values())) > LARGEST_TEXT:
            return None
        try:
            merged = merge_text(*(found[entry.oid].decode() for entry in entries))
        except UnicodeDecodeError:
            return None
        return None if merged is None else merged.encode()


def _mode(before: Entry | None, one: Entry | None, other: Entry | None) -> str:
    old, ours, theirs = (entry.mode if entry else objects.PLAIN for entry in (before, one, other))
    return theirs if ours == old else ours


def _place(path: str, change: Difference, before_moves: Changed) -> str:
    """Return the path in a side's own commit of the file that is merged at `path`, since the other side may have moved it."""
    if path in before_moves and before_moves[path].after == change.after:
        return path
    places = [at for at, found in before_moves.items() if found.after == change.after and found.after]
    return min(places, default=path)


class _Deleted(NamedTuple):
    """An entry that one side deleted: its path, its content on the other side, and the changes of the deleting side.

    `stays` says that the other side changed more than votes: the entry is left for a person unless it was folded.
    """

    path: str
    raw: bytes
    deleted_by: Changed
    stays: bool = False


class _FoldFollower:
    """The folded entries of a merge and those that they were folded into, their hosts.

    The merged tree is that of the side that changed `first`, with the edits of `tree`.
    """

    def __init__(
        self, rules: Rules, read: Reader, deleted: Sequence[_Deleted], first: Changed, tree: Tree
    ) -> None:
        self._rules, self._read, self._first, self._tree = rules, read, first, tree
        self._deleted = {item.path: item for item in deleted}
        self._hosts = {
            id(changed): self._host_paths(changed) for changed in (item.deleted_by for item in deleted)
        }
        self._found: dict[str, tuple[Entry, bytes | None]] = {}
        self.accounts: list[LegacyAccount] = []  # of format 1, of folded entries

    def run(self) -> dict[str, tuple[Entry, bytes | None]]:
        """Return the changed files by path, as `_Merge._follow_folds` does."""
        for path, item in self._deleted.items():
            lost, host = self._parse(path, item.raw), self._last_host(path)
            file = self._parse(host, self._bytes(host)) if lost and host else None
            if lost is None or file is None:
                continue
            self.accounts += accounts_of(lost.lore)
            after = fold(file.lore, lost.lore) if item.stays else None
            if after is not None:
                self._found[host] = self._entry(host), codec.rewrite(file, after, self._rules.categories)
                self._found[path] = self._entry(path), None
        return self._found

    def _last_host(self, path: str) -> str:
        """Return the path of the entry that this one was finally folded into; "" if there is none, or for a cycle."""
        seen = {path}
        while path in self._deleted:
            item = self._deleted[path]
            lost = self._parse(path, item.raw)
            path = self._hosts[id(item.deleted_by)].get(lost.lore.id, "") if lost else ""
            if path in seen or not path:
                return ""
            seen.add(path)
        return path if self._entry_of(path) is not None else ""

    def _host_paths(self, changed: Changed) -> dict[str, str]:
        """Return the paths of the hosts among a side's changes, by the ids of the entries folded into them."""
        paths = [path for path in sorted(changed) if sync_plan.is_lore(path, self._rules.folder)]
        entries = {
            path: entry
            for path in paths
            if (entry := changed[path].after) and entry.mode in sync_plan.REGULAR
        }
        contents = self._read(entry.oid for entry in entries.values())
        found: dict[str, str] = {}
        for path, entry in entries.items():
            raw = contents[entry.oid]
            file = self._parse(path, raw) if b"merged_from" in raw else None
            for lore_id in file.lore.merged_from if file is not None else ():
                found.setdefault(lore_id, path)
        return found

    def _entry_of(self, path: str) -> Entry | None:
        if path in self._tree.edits:
            return self._tree.edits[path]
        return self._first[path].after if path in self._first else None

    def _entry(self, path: str) -> Entry:
        entry = self._entry_of(path)
        assert entry is not None
        return entry

    def _bytes(self, path: str) -> bytes:
        known = self._found[path][1] if path in self._found else self._tree.contents.get(path)
        entry = self._entry(path)
        return known or self._read([entry.oid])[entry.oid]

    def _parse(self, path: str, raw: bytes) -> LoreFile | None:
        try:
            return codec.read(raw, path, self._rules.categories, datetime.fromtimestamp(0, UTC))
        except LoreFileError:
            return None
