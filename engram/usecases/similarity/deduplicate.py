"""Deduplicate after a pull: fold incoming entries into existing entries that say the same.

engram.domain.similarity.deduplicate has the rules. A fold is an operation like any other: journaled, committed, and
reverted by `engram undo`. A watermark in the state folder names the commit up to which entries were compared, so after a
killed sync the next one catches up.
"""

from __future__ import annotations

import contextlib

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.adapters.files.frontmatter import keys
from engram.adapters.git.read.differences import differences
from engram.adapters.git.run import layout
from engram.domain.errors import ConflictError, EngramError, GitError
from engram.domain.similarity.deduplicate import fold, may_fold
from engram.domain.similarity.equivalence import DUPLICATE, NEAR, SAME, compare
from engram.domain.sync import sync_plan
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.similarity.near_duplicates import sharing_words
from engram.usecases.store import entry_writer, judgements, sync_state
from engram.usecases.store.quarantine import in_quarantine, quarantined_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.adapters.git.read.differences import Difference
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store

_MARK = "folded-up-to"
_CANDIDATES = 8  # for each incoming entry, those that share most rare words


class Alike(NamedTuple):
    """Two similar entries that were not folded: their ids, duplicate or contradiction, and why."""

    older: str
    younger: str
    kind: str
    why: str


class Folded(NamedTuple):
    """The number of entries folded into others, and the pairs that a person has to tell apart."""

    folded: int = 0
    alike: tuple[Alike, ...] = ()


def begin(store: Store) -> None:
    """Set the watermark before the first pull of a clone: the entries that it has are not new."""
    head = layout.read_head(store.repository).oid
    if head and not sync_state.read_watermark(store, _MARK):
        sync_state.write_watermark(store, _MARK, head)


def arrivals(store: Store, *, others_alone: bool = False) -> list[str]:
    """Return the paths of entries added since the watermark, with `others_alone` only those of others. Raises GitError."""
    repo = store.repository
    since, head = sync_state.read_watermark(store, _MARK), layout.read_head(repo).oid
    found = _added_paths(store, repo, since, head) if since and head and since != head else []
    return [path for path in found if _is_by_others(store, path)] if others_alone else found


def _is_by_others(store: Store, path: str) -> bool:
    file = entry_writer.load_readable(store, path)
    return file is not None and file.lore.source_id != store.source_id


def fold_arrivals(store: Store, paths: Sequence[str]) -> Folded:
    """Fold incoming entries and move the watermark. Raises EngramError; then the next sync does it again."""
    since, head = sync_state.read_watermark(store, _MARK), layout.read_head(store.repository).oid
    done = _Folding(store).run(paths) if paths else Folded()
    if since and head and since != head:
        _confirm_folded(store, since, head)
    if head:
        sync_state.write_watermark(store, _MARK, head)
    return done


class _Folding:
    """One run over incoming entries; caches files and vectors, as many may be similar to the same entry."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._quarantined = quarantined_texts(store)
        self._embedder = store.bundled_embedder
        self._files: dict[str, LoreFile | None] = {}
        self._vectors: dict[str, numpy.ndarray] = {}

    def run(self, paths: Sequence[str]) -> Folded:
        pairs = sorted({pair for path in paths for pair in self._find_pairs(path)})
        alike, folded = [], set[str]()
        for older, younger, older_path, younger_path in pairs:
            if older in folded or younger in folded:
                continue
            one, other = self._file(older_path), self._file(younger_path)
            assert one is not None
            assert other is not None
            verdict = compare(one.lore.content, other.lore.content)
            if verdict.kind == SAME and self._write(older_path, younger_path):
                folded.add(younger)
            else:
                kind = DUPLICATE if verdict.kind == SAME else verdict.kind
                alike.append(Alike(older, younger, kind, verdict.why or "but they cannot be folded"))
        return Folded(len(folded), tuple(pair for pair in alike if not {pair.older, pair.younger} & folded))

    def _find_pairs(self, path: str) -> Iterator[tuple[str, str, str, str]]:
        """Yield pairs of this entry and similar ones, by id and path, older first, so that all are folded into the oldest."""
        file = self._file(path)
        if file is None:
            return
        for other_path in sorted(sharing_words(self._store, file.lore.content, _CANDIDATES + 1)):
            other = self._file(other_path) if other_path != path else None
            if other is None or not may_fold(file.lore, other.lore) or self._cosine(path, other_path) < NEAR:
                continue
            first, second = sorted([(file.lore.id, path), (other.lore.id, other_path)])
            yield first[0], second[0], first[1], second[1]

    def _file(self, path: str) -> LoreFile | None:
        if path not in self._files:
            self._files[path] = None
            with contextlib.suppress(EngramError):
                file = entry_writer.load(self._store, path)
                if file.adopted and not in_quarantine(self._quarantined, file.lore):
                    self._files[path] = file
        return self._files[path]

    def _cosine(self, one: str, other: str) -> float:
        return round(float(self._vector(one) @ self._vector(other)), 4)

    def _vector(self, path: str) -> numpy.ndarray:
        if path not in self._vectors:
            file = self._files[path]
            assert file is not None
            self._vectors[path] = self._embedder.embed_one(file.lore.content)
        return self._vectors[path]

    def _write(self, path: str, younger_path: str) -> bool:
        """Fold the younger into the older; return False if that is impossible, so that a person has to decide."""
        store, one, other = self._store, self._files[path], self._files[younger_path]
        assert one is not None
        assert other is not None
        folded = fold(one.lore, other.lore)
        if folded is None or foreign_keys(other) - foreign_keys(one):
            return False
        content = entry_writer.rewrite(store, one, folded)
        changes = [
            Change(path, content, atomic.digest(one.raw)),
            Change(younger_path, None, atomic.digest(other.raw)),
        ]
        details = [("Engram-Folded", other.lore.id)]
        operation = entry_writer.operation_for(store, folded, f"fold: {folded.title}", changes, details)
        try:
            entry_writer.write(store, [operation])
        except ConflictError:  # another process is changing one of them
            return False
        judgements.confirm_own(store, [folded])
        self._files[path] = entry_writer.load(store, path)
        return True


def _confirm_folded(store: Store, since: str, head: str) -> None:
    """Confirm the entries into which others folded entries of this clone."""
    found = []
    for path, change in _changed_files(store, store.repository, since, head).items():
        with contextlib.suppress(EngramError):
            if change.after and b"\nsources:" in store.files.read(path):
                found.append(entry_writer.load(store, path).lore)
    judgements.confirm_own(store, found)


def foreign_keys(file: LoreFile) -> set[str]:
    """Return the keys of a file that are not Engram's."""
    from engram.adapters.files.frontmatter import fields, frontmatter

    entries = keys.load(frontmatter.decode(file.raw))[1]
    return {entry.key for entry in entries} - {*fields.KEYS}


def _added_paths(store: Store, repo: Repository, since: str, head: str) -> list[str]:
    return [path for path, found in _changed_files(store, repo, since, head).items() if found.before is None]


def _changed_files(store: Store, repo: Repository, since: str, head: str) -> dict[str, Difference]:
    """Return the files of entries that differ between two commits."""
    try:
        changed = differences(repo, since, head)
    except GitError:  # history was rewritten: the commit no longer exists
        return {}
    folder = store.places.folder
    return {path: found for path, found in changed.items() if sync_plan.is_lore(path, folder)}
