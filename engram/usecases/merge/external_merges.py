"""Repair merges that were made without Engram's rules.

A host's merge button runs no merge driver: it may leave conflict markers, or lose one side's votes. Such a merge is
repeated from its parents in one commit on top of the head; the commit is the same on every machine, since it has the
date of its parent. If a person resolved conflicts in their own words, these are kept, and only votes and `merged_from`,
which must never be lost, are restored.
"""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime

from engram.adapters.files.frontmatter import codec
from engram.adapters.files.merge.conflict_markers import holds_markers, split_sides
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
from engram.usecases.merge.conflict_review import ConflictReview, may_have_unnamed_conflicts
from engram.usecases.merge.file_merge import merge_one
from engram.usecases.store import judgements, sync_state

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository
    from engram.adapters.git.write.merge_commit import Foreign
    from engram.usecases.merge.commit_merge import ReadAhead
    from engram.usecases.store.store import Store

_WATERMARK = "merges-looked-at"


def repair_merges(store: Store, head: str, read_ahead: ReadAhead | None = None) -> str:
    """Return the head, or a commit on top of it that repairs merges made without the rules.

    Only merges since the last `mark_repaired` are examined. `read_ahead` caches contents for the next merge. Raises
    GitError.
    """
    repo, read_ahead = store.repository, read_ahead or commit_merge.ReadAhead()
    known = sync_state.read_watermark(store, _WATERMARK)
    if head == known:
        return head
    repair = _Repair(store, repo, head)
    for merge in foreign_merges(repo, head, known):
        repair.compare(merge)
    if known:
        repair.resolve_markers(known, read_ahead)
    return repair.commit()


def mark_repaired(store: Store, head: str) -> None:
    """Note that all merges in the history of `head` are in order, ignoring errors."""
    with contextlib.suppress(EngramError):
        sync_state.write_watermark(store, _WATERMARK, head)


def _is_entry_size(path: str) -> bool:
    """Return whether a file is small enough for an entry; `git pull` brings files of any size."""
    try:
        return os.lstat(path).st_size <= sync_plan.LARGEST_LORE
    except OSError:
        return False


class _Repair:
    """A repair of the files of one head."""

    def __init__(self, store: Store, repo: Repository, head: str) -> None:
        self._store, self._repo, self._head = store, repo, head
        self._files: dict[str, bytes] = {}
        self._entries: dict[str, objects.Entry] = {}
        self._merges: list[str] = []
        self._deleted: dict[str, str] = {}  # folded entries that a merge kept: its commit by path

    def compare(self, merge: Foreign) -> None:
        """Compare a merge with the result of the rules, file by file, and add what is missing."""
        parents = sorted((merge.ours, merge.theirs))
        tree = commit_merge.merge_by_rules(self._store, parents)
        # The rules give an entry a vote for another folded into it, even if only one side changed its file.
        touched = dict.fromkeys((*tree.merged, *tree.contents, *tree.followed))
        paths = [path for path in touched if self._is_by_fields(path)]
        commits = (merge.oid, self._head, *parents)
        found = [objects.entries(self._repo, commit, paths) for commit in commits]
        contents = blobs(self._repo, (entry.oid for entries in found for entry in entries.values()))
        for path in paths:
            merged, now, *sides = [
                contents[entries[path].oid] if path in entries else None for entries in found
            ]
            wanted = tree.contents.get(path)
            if now is not None and now == merged == tree.followed.get(path):
                self._deleted[path] = merge.oid
            if merged is None or now is None or wanted is None or merged == wanted:
                continue  # deleted or moved since, or merged correctly
            now = self._files.get(path, now)
            repaired = self._repair_file(path, merged, now, wanted, [side for side in sides if side])
            if repaired is not None and repaired != now:
                self._files[path], self._entries[path] = repaired, found[1][path]
                self._merges = list(dict.fromkeys([*self._merges, merge.oid]))

    def resolve_markers(self, known: str, read_ahead: ReadAhead) -> None:
        """Merge the sides of conflict markers in files changed since `known` by squash merges, rebases and the like.

        Also review conflicts that a merge driver decided there without commits.
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
                if entry.mode in sync_plan.REGULAR and _is_entry_size(os.path.join(root, path))
            ),
            read_ahead.contents,
        )
        read_ahead.keep(contents)
        moment = 0
        for path, entry in found.items():
            sides = split_sides(raw) if holds_markers(raw := contents.get(entry.oid, b"")) else None
            if sides is None and not may_have_unnamed_conflicts(raw):
                continue
            moment = moment or merge_commit.moments(self._repo, [self._head])[0]
            now, categories = datetime.fromtimestamp(moment, UTC), self._store.categories
            folder = self._store.places.folder
            if sides is None:
                decided = ConflictReview(self._repo, self._head, now, folder, categories).decide(path, raw)
                if decided is not None:
                    self._files[path], self._entries[path] = decided, entry
                continue
            merged = merge_one(sides.base, sides.ours, sides.theirs, path, folder, categories, now)
            if merged.content is not None and not merged.kept and not holds_markers(merged.content):
                self._files[path], self._entries[path] = merged.content, entry

    def _is_by_fields(self, path: str) -> bool:
        return sync_plan.is_merged_by_field(path, self._store.places.folder)

    def _repair_file(
        self, path: str, merged: bytes, now: bytes, wanted: bytes, sides: list[bytes]
    ) -> bytes | None:
        """Return the current file with the result of the merge (`merged`) replaced by that of the rules (`wanted`)."""
        is_automatic = _is_made_of(merged, sides)
        if is_automatic and now == merged:
            return wanted
        folder = self._store.places.folder
        if is_automatic and (is_named(path, folder) or self._lore(path, merged) is not None):
            return merge_one(merged, now, wanted, path, folder, self._store.categories, NEVER).content
        return self._with_merged_from(path, now, wanted)

    def _with_merged_from(self, path: str, now: bytes, wanted: bytes) -> bytes | None:
        """Return the file with the `merged_from` of both, and move their votes to the ledger; None if one is no entry."""
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
        """Return the head, or the new commit on top of it."""
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
    """Return whether every line of a file is from one of the sides, so that no person resolved its conflicts."""
    marked = split_sides(raw)
    versions = [marked.ours, marked.theirs] if marked else [raw]
    lines = {line for side in sides for line in side.splitlines()}
    return all(line in lines for version in versions for line in version.splitlines())
