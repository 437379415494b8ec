"""Keep the ids of renamed notes, by matching deleted files with new ones."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.adapters.files.frontmatter import codec
from engram.domain.entry.named_files import file_name
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.freshness import head_commit
from engram.usecases.store.sync_state import read_watermark, write_watermark

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from engram.adapters.index.index import Generation
    from engram.usecases.index.file_scan import Delta
    from engram.usecases.store.store import Store

_SEEN_WATERMARK = "notes-seen"
_MIN_SIMILARITY = 0.5  # share of equal lines; git's own threshold for renames
_SAME_NAME_BONUS = 0.3  # added for an equal file name
_MOST_COMPARED = 40


def follow_renames(store: Store, generation: Generation, delta: Delta) -> None:
    """Record where the new files of a store in place were first seen. Raises StoreError."""
    if store.places.folder:
        return
    new = {
        path: raw
        for path in sorted(delta.files.keys() - delta.known.keys())
        if (raw := _read_note(store, path))
    }
    if not new:
        return
    deleted = {
        path: delta.known[path].digest
        for path in delta.gone
        if path in delta.known and not delta.known[path].adopted
    }
    renamed = _record_renames(store, deleted, new)
    _separate(store, generation, new.keys() - renamed, delta)


def follow_renames_by_git(store: Store, paths: Collection[str]) -> None:
    """Do the same without a previous index, from the notes of the last indexed commit.

    `paths` are all files of the store. Raises StoreError.
    """
    if store.places.folder or store.places.repository is None:
        return
    seen = read_watermark(store, _SEEN_WATERMARK) or head_commit(store)
    committed = _paths_in(store, seen) if seen else set()
    records = store.note_ids.all()
    new = {
        path: raw
        for path in sorted(set(paths) - committed - records.keys())
        if (raw := _read_note(store, path)) is not None
    }
    if not new:
        return
    before = _read_committed(store, sorted(committed - set(paths) - set(records.values())), seen)
    before |= {path: _last_version(store, path) for path in sorted(records.keys() - set(paths))}
    before = {path: raw for path, raw in before.items() if _is_unadopted(store, path, raw)}
    renamed = _record_renames(store, {path: atomic.digest(raw) for path, raw in before.items()}, new, before)
    for path in sorted((new.keys() - renamed) & set(records.values())):
        store.note_ids.record(path, f"{path}#2", store.clock.new_id())


def record_seen_commit(store: Store) -> None:
    """Record the commit whose notes the index has, to compare with if the index is lost."""
    if not store.places.folder and (head := head_commit(store)):
        write_watermark(store, _SEEN_WATERMARK, head)


def _record_renames(
    store: Store, deleted: Mapping[str, str], new: dict[str, bytes], before: Mapping[str, bytes] | None = None
) -> set[str]:
    """Record which new notes are renames of deleted ones (with the digests of their bytes); return their paths.

    `before` has the bytes of the deleted notes (default: those in the last commit).
    """
    came_from = _match_by_bytes(deleted, new)
    unmatched = [path for path in deleted if path not in came_from.values()]
    unmatched_new = {path: raw for path, raw in new.items() if path not in came_from}
    came_from |= _match_by_similarity(store, unmatched, unmatched_new, before)
    firsts = {path: store.note_ids.first_seen(old) or old for path, old in came_from.items()}
    for old in came_from.values():
        store.note_ids.forget(old)
    for path, first in firsts.items():
        store.note_ids.record(path, first, store.clock.new_id())
    return set(firsts)


def _paths_in(store: Store, commit: str) -> set[str]:
    """Return the paths of markdown files in a commit; empty if the commit is lost."""
    from engram.adapters.git.read.versions import names_at
    from engram.usecases.store.version_paths import in_git, in_store

    try:
        names = names_at(store.repository, commit, in_git(store, ""))
    except EngramError:
        return set()
    return {in_store(store, name) for name in names if name.endswith(".md")}


def _is_unadopted(store: Store, path: str, raw: bytes) -> bool:
    try:
        return not codec.read(raw, path, store.categories, store.clock.now()).adopted
    except EngramError:
        return False


def _read_note(store: Store, path: str) -> bytes | None:
    """Return the bytes of a note without its own id; None for any other file."""
    try:
        raw = store.files.read(path)
    except EngramError:
        return None
    return raw if _is_unadopted(store, path, raw) else None


def _match_by_bytes(deleted: Mapping[str, str], new: dict[str, bytes]) -> dict[str, str]:
    """Match new files with deleted ones of equal bytes, of several preferably one of the same name."""
    by_digest: dict[str, list[str]] = {}
    for path, digest in deleted.items():
        by_digest.setdefault(digest, []).append(path)
    found: dict[str, str] = {}
    for path, raw in new.items():
        candidates = by_digest.get(atomic.digest(raw), [])
        if candidates:
            same_name = [old for old in candidates if file_name(old) == file_name(path)]
            found[path] = (same_name or candidates)[0]
            candidates.remove(found[path])
    return found


def _match_by_similarity(
    store: Store, deleted: Sequence[str], new: dict[str, bytes], before: Mapping[str, bytes] | None
) -> dict[str, str]:
    """Match new files with deleted ones that were also edited, by their lines in the last commit."""
    if not deleted or not new or len(deleted) > _MOST_COMPARED or len(new) > _MOST_COMPARED:
        return {}
    before = _read_committed(store, deleted) if before is None else before
    pairs = [
        (_similarity(old, before.get(old), path, raw), path, old)
        for path, raw in new.items()
        for old in deleted
    ]
    found: dict[str, str] = {}
    for similarity, path, old in sorted(pairs, reverse=True):
        if similarity >= _MIN_SIMILARITY and path not in found and old not in found.values():
            found[path] = old
    return found


def _similarity(old: str, before: bytes | None, path: str, raw: bytes) -> float:
    same_name = file_name(old) == file_name(path)
    if before is None:
        return _MIN_SIMILARITY if same_name else 0.0
    from difflib import SequenceMatcher  # half a millisecond of start-up; renames are rare

    lines = SequenceMatcher(None, before.splitlines(), raw.splitlines(), autojunk=False)
    return lines.ratio() + same_name * _SAME_NAME_BONUS


def _last_version(store: Store, path: str) -> bytes:
    """Return the last bytes of a deleted note in the branch's history; empty if it never was in it."""
    from engram.adapters.git.read.versions import read_objects
    from engram.adapters.git.run.runner import run
    from engram.usecases.store.version_paths import in_git

    name = in_git(store, path)
    try:
        last = run(store.repository, "log", "-1", "--format=%H", "HEAD", "--", name).stdout.decode().strip()
        found = read_objects(store.repository, [f"HEAD:{name}", f"{last}^:{name}"])
    except EngramError:
        return b""
    return next((raw for raw in found if raw is not None), b"")


def _read_committed(store: Store, paths: Sequence[str], commit: str = "HEAD") -> dict[str, bytes]:
    if store.places.repository is None:
        return {}
    from engram.adapters.git.read.versions import read_objects
    from engram.usecases.store.version_paths import in_git

    try:
        found = read_objects(store.repository, [f"{commit}:{in_git(store, path)}" for path in paths])
        return {path: raw for path, raw in zip(paths, found, strict=True) if raw is not None}
    except EngramError:
        return {}


def _separate(store: Store, generation: Generation, paths: Iterable[str], delta: Delta) -> None:
    """Give notes their own ids if another note was first seen at their path."""
    claimed = set[str]()
    for path in sorted(paths):
        known = store.note_ids.first_seen(path) or path
        first, number = known, 1
        while (
            _has_other_file(store, generation, codec.provisional_id(first), path, delta) or first in claimed
        ):
            number += 1
            first = f"{path}#{number}"
        claimed.add(first)
        if first != known:
            store.note_ids.record(path, first, store.clock.new_id())


def _has_other_file(store: Store, generation: Generation, lore_id: str, path: str, delta: Delta) -> bool:
    """Whether another file has an id; a changed file counts by its current id."""
    others = generation.catalog.paths_of([lore_id]) - {path, *delta.gone}
    return any(other not in delta.files or _id_of(store, other) == lore_id for other in others)


def _id_of(store: Store, path: str) -> str:
    try:
        raw, first = store.files.read(path), store.first_seen(path)
        return codec.read(raw, path, store.categories, store.clock.now(), first_seen=first).lore.id
    except EngramError:
        return ""
