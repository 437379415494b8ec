"""A renamed note keeps its id: of the files that are gone and those that are new, which are the same note."""

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

_SEEN = "notes-seen"  # the watermark
_ALIKE = 0.5  # of the lines; git's own measure for a rename
_SAME_NAME = 0.3  # what an equal file name counts
_MOST_COMPARED = 40


def follow_renames(store: Store, generation: Generation, delta: Delta) -> None:
    """Note where the new files of a store in place were first seen. Raises StoreError."""
    if store.places.folder:
        return
    new = {
        path: raw for path in sorted(delta.files.keys() - delta.known.keys()) if (raw := _note(store, path))
    }
    if not new:
        return
    gone = {
        path: delta.known[path].digest
        for path in delta.gone
        if path in delta.known and not delta.known[path].adopted
    }
    renamed = _follow(store, gone, new)
    _tell_apart(store, generation, new.keys() - renamed, delta)


def follow_renames_by_git(store: Store, paths: Collection[str]) -> None:
    """Do the same where there is no index that knows the notes of before: by those of the last commit that was indexed.

    `paths` are all files of the store. Raises StoreError.
    """
    if store.places.folder or store.places.repository is None:
        return
    seen = read_watermark(store, _SEEN) or head_commit(store)
    committed = _names_in(store, seen) if seen else set()
    records = store.note_ids.all()
    new = {
        path: raw
        for path in sorted(set(paths) - committed - records.keys())
        if (raw := _note(store, path)) is not None
    }
    if not new:
        return
    before = _read_committed(store, sorted(committed - set(paths) - set(records.values())), seen)
    before |= {path: _last_version(store, path) for path in sorted(records.keys() - set(paths))}
    before = {path: raw for path, raw in before.items() if _is_unadopted(store, path, raw)}
    renamed = _follow(store, {path: atomic.digest(raw) for path, raw in before.items()}, new, before)
    for path in sorted((new.keys() - renamed) & set(records.values())):
        store.note_ids.record(path, f"{path}#2", store.clock.new_id())


def note_seen(store: Store) -> None:
    """Note the commit whose notes the index has seen: what is compared when the index is gone."""
    if not store.places.folder and (head := head_commit(store)):
        write_watermark(store, _SEEN, head)


def _follow(
    store: Store, gone: Mapping[str, str], new: dict[str, bytes], before: Mapping[str, bytes] | None = None
) -> set[str]:
    """Record where new notes came from, of those gone (with the digests of their bytes); return their paths.

    `before` has the bytes of those gone (default: those that the last commit has).
    """
    came_from = _by_bytes(gone, new)
    left = [path for path in gone if path not in came_from.values()]
    rest = {path: raw for path, raw in new.items() if path not in came_from}
    came_from |= _by_likeness(store, left, rest, before)
    firsts = {path: store.note_ids.first_seen(old) or old for path, old in came_from.items()}
    for old in came_from.values():
        store.note_ids.forget(old)
    for path, first in firsts.items():
        store.note_ids.record(path, first, store.clock.new_id())
    return set(firsts)


def _names_in(store: Store, commit: str) -> set[str]:
    """Return the paths of markdown in a commit; none where it is gone."""
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


def _note(store: Store, path: str) -> bytes | None:
    """Return the bytes of a note without an id of its own; None of any other file."""
    try:
        raw = store.files.read(path)
    except EngramError:
        return None
    return raw if _is_unadopted(store, path, raw) else None


def _by_bytes(gone: Mapping[str, str], new: dict[str, bytes]) -> dict[str, str]:
    """Return where new files with the bytes of one that is gone came from; an equal name decides among several."""
    of: dict[str, list[str]] = {}
    for path, digest in gone.items():
        of.setdefault(digest, []).append(path)
    found: dict[str, str] = {}
    for path, raw in new.items():
        same = of.get(atomic.digest(raw), [])
        if same:
            old = next((one for one in same if file_name(one) == file_name(path)), same[0])
            same.remove(old)
            found[path] = old
    return found


def _by_likeness(
    store: Store, gone: Sequence[str], new: dict[str, bytes], before: Mapping[str, bytes] | None
) -> dict[str, str]:
    """Return where new files came from that were edited, too: by the lines that the last commit has of those gone."""
    if not gone or not new or len(gone) > _MOST_COMPARED or len(new) > _MOST_COMPARED:
        return {}
    before = _read_committed(store, gone) if before is None else before
    pairs = [
        (_likeness(old, before.get(old), path, raw), path, old) for path, raw in new.items() for old in gone
    ]
    found: dict[str, str] = {}
    for likeness, path, old in sorted(pairs, reverse=True):
        if likeness >= _ALIKE and path not in found and old not in found.values():
            found[path] = old
    return found


def _likeness(old: str, before: bytes | None, path: str, raw: bytes) -> float:
    same_name = file_name(old) == file_name(path)
    if before is None:
        return _ALIKE if same_name else 0.0
    from difflib import SequenceMatcher  # half a millisecond of start-up; hardly a file is renamed

    lines = SequenceMatcher(None, before.splitlines(), raw.splitlines(), autojunk=False)
    return lines.ratio() + same_name * _SAME_NAME


def _last_version(store: Store, path: str) -> bytes:
    """Return the bytes of a note that is gone as the history of the branch had it last; none where it never had it."""
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


def _tell_apart(store: Store, generation: Generation, paths: Iterable[str], delta: Delta) -> None:
    """Give a note at a path where another one was first seen an id of its own."""
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
    """Return whether another file has an id; one that changed counts by what it has now."""
    others = generation.catalog.paths_of([lore_id]) - {path, *delta.gone}
    return any(other not in delta.files or _id_of(store, other) == lore_id for other in others)


def _id_of(store: Store, path: str) -> str:
    try:
        raw, first = store.files.read(path), store.first_seen(path)
        return codec.read(raw, path, store.categories, store.clock.now(), first_seen=first).lore.id
    except EngramError:
        return ""
