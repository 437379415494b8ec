"""Merge two trees of files by Engram's rules: a pure function of what each side changed since the base.

The phases in order: entries that one side moved are put at one path (`moved_entries`); files that one side changed are
taken; files that both changed are merged, by fields or by lines; and where one side folded an entry into another that
the other side changed, what the other side did goes to the entry it was folded into.

The bytes of files come through a function of the caller, so that nothing here knows where they are kept.
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
    # Who last changed the words of files of a side, by path: called with the commit of the side and paths in it.
    Historian = Callable[[str, Sequence[str]], Mapping[str, Edit]]

LARGEST_TEXT = 64 * 1024  # bytes of a file that is not lore and is merged by lines all the same


class Rules(NamedTuple):
    """What a merge depends on besides the files: the lore folder, the categories, git's hash, this machine's clock.

    `parsed` has entries that need not be parsed again, and takes what the merge parses.
    """

    folder: str
    categories: Categories
    hash_name: str
    now: datetime
    parsed: ParsedFiles | None = None


class Side(NamedTuple):
    """One side: its commit, when that was made (unix seconds), and what it changed since the base."""

    commit: str
    moment: int
    changed: dict[str, Difference]


class Tree(NamedTuple):
    """A merged tree, as differences from the first side.

    `contents` has the bytes that are new with it; `merged` are the paths that both sides had changed; `conflicts` counts
    the versions left for a person; `followed` has the entries that were deleted because they had been folded, as they
    would have been left for a person otherwise.
    """

    edits: dict[str, Entry | None]
    contents: dict[str, bytes]
    merged: tuple[str, ...]
    conflicts: int
    followed: dict[str, bytes]
    accounts: tuple[LegacyAccount, ...] = ()  # of format 1, of entries that another took in


def merge_trees(
    rules: Rules, first: Side, second: Side, read: Reader, historian: Historian | None = None
) -> Tree:
    """Merge two sides, given in the order of their commits' ids. Raises SyncBlockedError for what cannot be merged.

    `historian` is asked about the files where it matters whose version is the later one; without it their
    `updated_at` decides.
    """
    return _Merge(rules, first, second, read, historian).run()


class _Merge:
    """One merge of two trees."""

    def __init__(
        self, rules: Rules, first: Side, second: Side, read: Reader, historian: Historian | None
    ) -> None:
        self._rules, self._first, self._second, self._read = rules, first, second, read
        self._historian = historian
        self._before_moves = [dict(side.changed) for side in (first, second)]
        self._accounts: list[LegacyAccount] = []

    def run(self) -> Tree:
        """Return the merged tree."""
        one, other = self._first.changed, self._second.changed
        moved = follow_moves(self._read, self._rules.folder, one, other)
        todo = sync_plan.plan(
            {path: found.after for path, found in one.items()},
            {path: found.after for path, found in other.items()},
        )
        incoming = {path: other[path].after for path in todo.incoming}
        made = Tree(incoming | moved, {}, todo.to_merge, 0, {})
        lore = [path for path in todo.to_merge if self._is_by_fields(path)]
        conflicts = self._merge_lore(made, lore)
        conflicts += sum(self._merge_other(made, path) for path in sorted(set(todo.to_merge) - set(lore)))
        return made._replace(conflicts=conflicts, accounts=tuple(self._accounts))

    def _is_by_fields(self, path: str) -> bool:
        """Return whether both sides have a file of a kind that is merged by its fields."""
        one, other = self._first.changed[path], self._second.changed[path]
        versions = (one.before, one.after, other.after)
        is_file = all(entry is None or entry.mode in sync_plan.REGULAR for entry in versions)
        return is_file and sync_plan.is_by_fields(path, self._rules.folder)

    def _merge_lore(self, made: Tree, paths: list[str]) -> int:
        """Merge files of lore, entities and agents that both sides changed into `made`; return the number of conflicts."""
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
        for path, done in merged.items():
            before, one, other = *first.changed[path], second.changed[path].after
            old, ours, theirs = (contents[entry.oid] if entry else None for entry in (before, one, other))
            mode = _mode(before, one, other)
            self._put(made, path, mode, done.content)
            for kept in done.kept:
                self._put(made, kept.path, mode, kept.content)
            left = theirs if ours is None else ours
            if left is not None and (done.content is None or self._may_follow(path, old, left, theirs, ours)):
                by = (first if ours is None else second).changed
                deleted.append(_Deleted(path, left, by, done.content is not None))
            conflicts += len(done.conflicts) + len(done.kept)
        folded = _follow_folds(self._rules, self._read, deleted, first.changed, made, self._accounts)
        made.followed.update({path: made.contents[path] for path, (_, raw) in folded.items() if raw is None})
        for path, (entry, content) in folded.items():
            self._put(made, path, entry.mode, content)
        return conflicts - len(made.followed)

    def _edits(self, paths: Sequence[str]) -> dict[str, tuple[Edit, Edit]]:
        """Return who wrote both versions of these files, as far as the history of the sides says."""
        if not paths or self._historian is None:
            return {}
        found = []
        for side, known in zip((self._first, self._second), self._before_moves, strict=True):
            places = {path: _place(path, side.changed[path], known) for path in paths}
            edits = self._historian(side.commit, sorted(set(places.values())))
            found.append({path: edits.get(place, UNKNOWN) for path, place in places.items()})
        return {path: (found[0][path], found[1][path]) for path in paths}

    def _may_follow(
        self, path: str, old: bytes | None, left: bytes, theirs: bytes | None, ours: bytes | None
    ) -> bool:
        """Return whether an entry that one side deleted may be deleted although the other side did more than vote for it."""
        is_deleted = old is not None and (ours is None or theirs is None)
        return is_deleted and may_follow(old or b"", left, path, self._rules.categories)

    def _put(self, made: Tree, path: str, mode: str, content: bytes | None) -> None:
        if content is None:
            made.edits[path] = None
            made.contents.pop(path, None)
            return
        made.edits[path] = Entry(mode, objects.blob_oid(content, self._rules.hash_name))
        made.contents[path] = content

    def _merge_other(self, made: Tree, path: str) -> bool:
        """Merge a file that is not lore: by lines, else as a whole; return whether the losing version is kept next to it."""
        # The newer head's version stays, the same one on every machine.
        older, newer = sorted((self._first, self._second), key=lambda side: (side.moment, side.commit))
        winner, loser = newer.changed[path], older.changed[path]
        by_lines = self._by_lines(winner, loser)
        if by_lines is not None:
            self._put(made, path, _mode(winner.before, winner.after, loser.after), by_lines)
            return False
        kept, has_loser = sync_plan.three_way(winner.before, winner.after, loser.after)
        made.edits[path] = None if kept is None else Entry(*kept)
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
        made.edits[sync_plan.other_version_path(path, content)] = entry
        return True

    def _by_lines(self, winner: Difference, loser: Difference) -> bytes | None:
        """Return the text with the changes of both sides; None where they overlap, or a version is no small text."""
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
    """Return where a side itself has the file that is merged at `path`: the other side may have moved it."""
    if path in before_moves and before_moves[path].after == change.after:
        return path
    places = [at for at, found in before_moves.items() if found.after == change.after and found.after]
    return min(places, default=path)


class _Deleted(NamedTuple):
    """An entry that one side deleted: its path, its bytes on the side that changed it, and what the other side changed.

    `stays` means that the change was more than a vote: the entry is left for a person if it was not folded into another.
    """

    path: str
    raw: bytes
    deleted_by: Changed
    stays: bool = False


def _follow_folds(
    rules: Rules,
    read: Reader,
    deleted: Sequence[_Deleted],
    first: Changed,
    made: Tree,
    accounts: list[LegacyAccount],
) -> dict[str, tuple[Entry, bytes | None]]:
    """Return the files that change because a deleted entry was folded: the entry of each so far, and its new bytes.

    An entry stays deleted that one side folded into another while the other side, which did not know, changed it. But
    what it adds goes to the entry that it was folded into, along the folds of both sides, and its votes of format 1 to
    `accounts`. New bytes of None delete a file. The merged tree is that of the side that changed `first`, with the
    edits of `made`.
    """
    if not deleted:
        return {}
    follower = _FoldFollower(rules, read, deleted, first, made)
    found = follower.run()
    accounts += follower.accounts
    return found


class _FoldFollower:
    """The entries of one merge that were folded, and those that they were folded into (their hosts)."""

    def __init__(
        self, rules: Rules, read: Reader, deleted: Sequence[_Deleted], first: Changed, made: Tree
    ) -> None:
        self._rules, self._read, self._first, self._made = rules, read, first, made
        self._deleted = {item.path: item for item in deleted}
        self._hosts = {
            id(changed): self._host_paths(changed) for changed in (one.deleted_by for one in deleted)
        }
        self._found: dict[str, tuple[Entry, bytes | None]] = {}
        self.accounts: list[LegacyAccount] = []  # of format 1, of entries that another took in

    def run(self) -> dict[str, tuple[Entry, bytes | None]]:
        """Return what changes, by path."""
        for path, item in self._deleted.items():
            lost, host = self._parse(path, item.raw), self._last_host(path)
            file = self._parse(host, self._bytes(host)) if lost and host else None
            if lost is None or file is None:
                continue
            self.accounts += accounts_of(lost.lore)
            after = fold(file.lore, lost.lore) if item.stays else None
            if after is None:
                continue
            self._found[host] = self._entry(host), codec.rewrite(file, after, self._rules.categories)
            if item.stays:
                self._found[path] = self._entry(path), None
        return self._found

    def _last_host(self, path: str) -> str:
        """Return the path of the entry that this one is part of in the end; "" for none, or where they name each other."""
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
        """Return, by the id of each folded entry, the path of the entry among one side's changes that names it as folded."""
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
        if path in self._made.edits:
            return self._made.edits[path]
        return self._first[path].after if path in self._first else None

    def _entry(self, path: str) -> Entry:
        entry = self._entry_of(path)
        assert entry is not None
        return entry

    def _bytes(self, path: str) -> bytes:
        known = self._found[path][1] if path in self._found else self._made.contents.get(path)
        entry = self._entry(path)
        return known or self._read([entry.oid])[entry.oid]

    def _parse(self, path: str, raw: bytes) -> LoreFile | None:
        try:
            return codec.read(raw, path, self._rules.categories, datetime.fromtimestamp(0, UTC))
        except LoreFileError:
            return None
