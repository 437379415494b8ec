"""Repair merges that were made without Engram's rules.

A host's merge button runs no merge driver: it may leave conflict markers, or lose one side's votes. Such a merge is made
again from its parents, in one commit upon the head that has it: the same commit on every machine, because it is dated
like its parent. A person who resolved conflicts in their own words is not overruled: then only what must never be lost,
votes and `merged_from`, is restored.
"""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime

from engram.adapters.files.frontmatter import codec
from engram.adapters.files.merge.conflict_markers import holds_markers, sides_of
from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import blobs, differences
from engram.adapters.git.write import merge_commit
from engram.adapters.git.write.merge_commit import REPAIRS, foreign_merges
from engram.domain.entry.named_files import is_named
from engram.domain.errors import EngramError, LoreFileError, ValidationError
from engram.domain.judgements.tally import accounts_of, without_accounts
from engram.domain.merge.merge import NEVER, union_of
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.merge import commit_merge
from engram.usecases.merge.conflict_review import SecondLook, may_be_decided
from engram.usecases.merge.file_merge import merge_one
from engram.usecases.store import judgements, sync_state

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository
    from engram.adapters.git.write.merge_commit import Foreign
    from engram.usecases.merge.commit_merge import ReadAhead
    from engram.usecases.store.store import Store

_MARK = "merges-looked-at"


def repair_merges(store: Store, head: str, read_ahead: ReadAhead | None = None) -> str:
    """Return the head itself, or a commit upon it in which the merges of others are what the rules make of them.

    Only merges since the last `mark_repaired` are examined. `read_ahead` keeps what is read and merged next. Raises
    GitError.
    """
    repo, read_ahead = store.repository, read_ahead or commit_merge.ReadAhead()
    known = sync_state.read_watermark(store, _MARK)
    if head == known:
        return head
    repair = _Repair(store, repo, head)
    for merge in foreign_merges(repo, head, known):
        repair.compare(merge)
    if known:
        repair.resolve_markers(known, read_ahead)
    return repair.commit()


def mark_repaired(store: Store, head: str) -> None:
    """Note that all merges in the history of `head` are in order; a note that cannot be written is left out."""
    with contextlib.suppress(EngramError):
        sync_state.write_watermark(store, _MARK, head)


def _is_small(path: str) -> bool:
    """Return whether a file is small enough for an entry: a plain `git pull` brings in files of any size."""
    try:
        return os.lstat(path).st_size <= sync_plan.LARGEST_LORE
    except OSError:
        return False


class _Repair:
    """The files of one head that have to be repaired."""

    def __init__(self, store: Store, repo: Repository, head: str) -> None:
        self._store, self._repo, self._head = store, repo, head
        self._files: dict[str, bytes] = {}
        self._entries: dict[str, objects.Entry] = {}
        self._merges: list[str] = []
        self._deleted: dict[str, str] = {}  # entries that were folded, and the merge that kept them

    def compare(self, merge: Foreign) -> None:
        """Compare one merge with what the rules give, file by file, and take over what is missing."""
        parents = sorted((merge.ours, merge.theirs))
        made = commit_merge.merge_by_rules(self._store, parents)
        # By the rules, an entry that another was folded into has a vote for that, though only one side changed its file.
        touched = dict.fromkeys((*made.merged, *made.contents, *made.followed))
        paths = [path for path in touched if self._is_by_fields(path)]
        commits = (merge.oid, self._head, *parents)
        found = [objects.entries(self._repo, commit, paths) for commit in commits]
        contents = blobs(self._repo, (entry.oid for entries in found for entry in entries.values()))
        for path in paths:
            there, now, *sides = [
                contents[entries[path].oid] if path in entries else None for entries in found
            ]
            wanted = made.contents.get(path)
            if now is not None and now == there == made.followed.get(path):
                self._deleted[path] = merge.oid
            if there is None or now is None or wanted is None or there == wanted:
                continue  # deleted or moved by somebody since, or as it should be
            now = self._files.get(path, now)
            repaired = self._repair_file(path, there, now, wanted, [side for side in sides if side])
            if repaired is not None and repaired != now:
                self._files[path], self._entries[path] = repaired, found[1][path]
                self._merges = list(dict.fromkeys([*self._merges, merge.oid]))

    def resolve_markers(self, known: str, read_ahead: ReadAhead) -> None:
        """Merge the sides of conflict markers in files that changed since: of squash merges, rebases and the like.

        And decide again what a driver decided there without commits.
        """
        found = {
            path: change.after
            for path, change in differences(self._repo, known, self._head).items()
            if change.after and self._is_by_fields(path) and path not in self._files
        }
        root = self._repo.worktree
        contents = blobs(
            self._repo,
            (
                entry.oid
                for path, entry in found.items()
                if entry.mode in sync_plan.REGULAR and _is_small(os.path.join(root, path))
            ),
            read_ahead.contents,
        )
        read_ahead.keep(contents)
        moment = 0
        for path, entry in found.items():
            sides = sides_of(raw) if holds_markers(raw := contents.get(entry.oid, b"")) else None
            if sides is None and not may_be_decided(raw):
                continue
            moment = moment or merge_commit.moments(self._repo, [self._head])[0]
            now, categories = datetime.fromtimestamp(moment, UTC), self._store.categories
            folder = self._store.places.folder
            if sides is None:
                decided = SecondLook(self._repo, self._head, now, folder, categories).decide(path, raw)
                if decided is not None:
                    self._files[path], self._entries[path] = decided, entry
                continue
            merged = merge_one(sides.base, sides.ours, sides.theirs, path, folder, categories, now)
            if merged.content is not None and not merged.kept and not holds_markers(merged.content):
                self._files[path], self._entries[path] = merged.content, entry

    def _is_by_fields(self, path: str) -> bool:
        return sync_plan.is_by_fields(path, self._store.places.folder)

    def _repair_file(
        self, path: str, there: bytes, now: bytes, wanted: bytes, sides: list[bytes]
    ) -> bytes | None:
        """Return the file as it is now, with what the merge made of it (`there`) replaced by what the rules make (`wanted`)."""
        if now == there and _is_made_of(there, sides):
            return wanted
        folder = self._store.places.folder
        if _is_made_of(there, sides) and (is_named(path, folder) or self._lore(path, there) is not None):
            return merge_one(there, now, wanted, path, folder, self._store.categories, NEVER).content
        return self._with_merged(path, now, wanted)

    def _with_merged(self, path: str, now: bytes, wanted: bytes) -> bytes | None:
        """Return the file with the `merged_from` of both, their votes kept in the ledger; None where one is no entry."""
        file, other = self._lore(path, now), self._lore(path, wanted)
        if file is None or other is None or file.lore.id != other.lore.id:
            return None
        lore, more = file.lore, other.lore
        judgements.keep_accounts(self._store, [*accounts_of(lore), *accounts_of(more)])
        after = lore._replace(merged_from=union_of(lore.merged_from, more.merged_from))
        if after == lore:
            return now
        try:
            return codec.rewrite(file, without_accounts(after), self._store.categories)
        except ValidationError:
            return None

    def _lore(self, path: str, raw: bytes) -> codec.LoreFile | None:
        if is_named(path, self._store.places.folder):
            return None
        try:
            return codec.read(raw, path, self._store.categories, NEVER)
        except LoreFileError:
            return None

    def commit(self) -> str:
        """Return the head, or the new commit upon it."""
        if not self._files and not self._deleted:
            return self._head
        (moment,) = merge_commit.moments(self._repo, [self._head])
        lines = [f"{REPAIRS}: {oid}" for oid in dict.fromkeys([*self._merges, *self._deleted.values()])]
        text = (
            f"repair: {len(self._files) + len(self._deleted)} files merged without Engram's rules\n\n"
            + "\n".join(lines)
            + "\n"
        )
        edits = dict.fromkeys(self._deleted) | {path: self._entries[path] for path in self._files}
        return merge_commit.write_merge(self._repo, [self._head], edits, self._files, moment, text)


def _is_made_of(raw: bytes, sides: list[bytes]) -> bool:
    """Return whether every line of a file is from one of the sides: then no person resolved its conflicts."""
    shown = sides_of(raw)
    versions = [shown.ours, shown.theirs] if shown else [raw]
    lines = {line for side in sides for line in side.splitlines()}
    return all(line in lines for version in versions for line in version.splitlines())
