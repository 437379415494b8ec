"""Compute the file changes that revert commits; nothing is written."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.domain.entry import times
from engram.domain.entry.confidence import MERGE_GAIN, Vote
from engram.domain.entry.disputes import DELETED
from engram.domain.entry.named_files import is_named
from engram.domain.judgements.tally import without_accounts
from engram.domain.merge.merge import union_of
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.merge.file_merge import merge_one
from engram.usecases.store import entry_writer, judgements

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from engram.adapters.files.frontmatter import codec
    from engram.adapters.git.run.layout import Repository
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store


class Reversed(NamedTuple):
    """The changes that revert commits, the ids of the entries, and the resulting accounts of this clone in format 1.

    `kept` has a sentence for each file or field kept.
    """

    changes: tuple[Change, ...]
    lore: tuple[str, ...]
    accounts: Mapping[str, Vote]
    kept: tuple[str, ...]


def reverse(
    store: Store,
    repository: Repository,
    commits: Sequence[str],
    exactly: Collection[str] = (),
    reviews: Mapping[str, str] | None = None,
) -> Reversed:
    """Revert the commits one after another, newest first. Raises GitError, StoreError.

    `reviews` maps those that accepted a proposal to the commit that the proposal was based on. Unpushed commits in
    `exactly` are reverted byte for byte in files unchanged since: votes that only this clone has seen may shrink.
    """
    return _Reversal(store, repository, exactly).run(commits, reviews or {})


class _Reversal:
    """The state of the files while commits are reverted."""

    def __init__(self, store: Store, repository: Repository, exactly: Collection[str]) -> None:
        self._store = store
        self._exactly = exactly
        self._repository = repository
        self._originals: dict[str, bytes | None] = {}
        self._contents: dict[str, bytes | None] = {}
        self._accounts: dict[str, Vote] = {}
        self._ids: dict[str, None] = {}
        self._notes: list[str] = []

    def run(self, commits: Sequence[str], reviews: Mapping[str, str]) -> Reversed:
        from engram.adapters.git.read.versions import accepted_changes, changes_of, is_shared, read_objects

        for commit in commits:
            exact = commit in self._exactly and not is_shared(self._repository, commit)
            base = reviews.get(commit, "")
            steps = (
                accepted_changes(self._repository, base, commit)
                if base
                else changes_of(self._repository, commit)
            )
            names = [name for step in steps for name in (step.before, step.after) if name]
            contents = dict(zip(names, read_objects(self._repository, names), strict=True))
            for step in steps:
                before, after = (contents.get(name) if name else None for name in (step.before, step.after))
                if not (exact and self._restore_exactly(step.path, before, after)):
                    self._revert(step.path, before, after)
        changes = tuple(
            Change(path, content, None if (old := self._originals[path]) is None else atomic.digest(old))
            for path, content in self._contents.items()
            if content != self._originals[path]
        )
        return Reversed(changes, tuple(self._ids), self._accounts, tuple(self._notes))

    def _restore_exactly(self, path: str, before: bytes | None, after: bytes | None) -> bool:
        """Restore the old bytes if the file is unchanged since; returns whether it is."""
        if self._read(path) != after:
            return False
        lore = self._parse(path, before or after or b"")
        if lore is not None:
            self._ids[lore.id] = None
        self._contents[path] = before
        return True

    def _revert(self, path: str, before: bytes | None, after: bytes | None) -> None:
        path = self._current_path(path, after)
        now = self._read(path)
        if before is not None and after is not None and now is None:
            self._notes.append(f"{path} was deleted since and stays deleted.")
            return
        store = self._store
        folder = store.places.folder
        merged = merge_one(after, now, before, path, folder, store.categories, store.clock.now())
        content = merged.content
        lore = self._parse(path, content if content is not None else (before or after or b""))
        if lore is not None:
            self._ids[lore.id] = None
        if content is not None and now is not None:
            content = self._finish(path, now, after, before, content)
        self._report(path, [entry.field for entry in merged.conflicts])
        self._contents[path] = content
        for kept in merged.kept:
            self._read(kept.path)
            self._contents[kept.path] = kept.content

    def _report(self, path: str, fields: Sequence[str]) -> None:
        if DELETED in fields:
            self._notes.append(f"{path} was changed since, so it is not deleted.")
        elif fields:
            names = ", ".join(fields)
            self._notes.append(f"{path}: {names} changed since and stays; the old value is in `conflicts`.")

    def _finish(
        self, path: str, now: bytes, after: bytes | None, before: bytes | None, content: bytes
    ) -> bytes:
        """Give the merged file a new date, and keep the ids folded into it."""
        files = [self._file(path, raw) for raw in (now, after, before, content)]
        current, reverted, original, result = (file.lore if file else None for file in files)
        if files[3] is None or result is None or current is None:
            return content
        finished = result._replace(merged_from=union_of(current.merged_from, result.merged_from))
        if reverted is not None and original is not None and reverted.votes:
            self._take_back_votes(current, reverted, original)
        if result.votes and _words(finished) == _words(current):
            return content  # of format 1: its votes were moved to the ledger, and are brought back
        if finished._replace(updated_at=current.updated_at) == current:
            return now
        stamp = times.after(self._store.clock.now(), current.updated_at)
        return entry_writer.rewrite(self._store, files[3], finished._replace(updated_at=stamp))

    def _take_back_votes(self, current: Lore, reverted: Lore, original: Lore) -> None:
        """Add the weight of reverted votes of format 1 to the opposite side of this clone's account.

        Sums only grow, so that clones can merge them; the count of helpful judgements stays.
        """
        clones = reverted.votes.keys() | original.votes.keys()
        pairs = [(reverted.votes.get(clone, Vote()), original.votes.get(clone, Vote())) for clone in clones]
        up, down = (sum(getattr(a, side) - getattr(b, side) for a, b in pairs) for side in ("up", "down"))
        up += MERGE_GAIN * (len(reverted.merged_from) - len(original.merged_from))
        if up or down:
            mine = self._accounts.get(current.id) or judgements.own_account(self._store, current)
            self._accounts[current.id] = Vote(
                mine.up + max(down, 0) + max(-up, 0), mine.down + max(up, 0) + max(-down, 0), mine.n
            )

    def _current_path(self, path: str, after: bytes | None) -> str:
        """Return the current path of a file that may have been renamed."""
        if after is None or self._read(path) is not None:
            return path
        lore = self._parse(path, after)
        if lore is None:
            return path
        from engram.usecases.lookup.resolve import hits_by_id

        found = [hit.path for hit in hits_by_id(self._store, lore.id)]
        return found[0] if found else path

    def _read(self, path: str) -> bytes | None:
        if path not in self._contents:
            self._originals[path] = self._contents[path] = self._store.files.read_if_there(path)
        return self._contents[path]

    def _file(self, path: str, raw: bytes | None) -> codec.LoreFile | None:
        if raw is None or is_named(path, self._store.places.folder):
            return None
        return entry_writer.parse(self._store, raw, path)

    def _parse(self, path: str, raw: bytes) -> Lore | None:
        file = self._file(path, raw)
        return file.lore if file else None


def _words(lore: Lore) -> Lore:
    """Return an entry without votes of format 1 and its last change's time."""
    return without_accounts(lore)._replace(updated_at=lore.created_at)
