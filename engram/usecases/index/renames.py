"""A renamed note keeps its id: of the files that are gone and those that are new, which are the same note."""

from __future__ import annotations

from difflib import SequenceMatcher

from engram.adapters.files.durable import atomic
from engram.adapters.files.frontmatter import codec
from engram.domain.entry.note_markup import file_name
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.adapters.index.index import Generation
    from engram.usecases.index.file_scan import Delta
    from engram.usecases.store.store import Store

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
    gone = [path for path in delta.gone if path in delta.known and not delta.known[path].adopted]
    came_from = _by_bytes(delta, gone, new)
    left = [path for path in gone if path not in came_from.values()]
    came_from |= _by_likeness(store, left, {path: raw for path, raw in new.items() if path not in came_from})
    firsts = {path: store.note_ids.first_seen(old) or old for path, old in came_from.items()}
    for old in came_from.values():
        store.note_ids.forget(old)
    for path, first in firsts.items():
        store.note_ids.record(path, first, store.clock.new_id())
    _tell_apart(store, generation, new.keys() - firsts.keys(), delta)


def _note(store: Store, path: str) -> bytes | None:
    """Return the bytes of a note without an id of its own; None of any other file."""
    try:
        raw = store.files.read(path)
        return None if codec.read(raw, path, store.categories, store.clock.now()).adopted else raw
    except EngramError:
        return None


def _by_bytes(delta: Delta, gone: Sequence[str], new: dict[str, bytes]) -> dict[str, str]:
    """Return where new files with the bytes of one that is gone came from; an equal name decides among several."""
    of: dict[str, list[str]] = {}
    for path in gone:
        of.setdefault(delta.known[path].digest, []).append(path)
    found: dict[str, str] = {}
    for path, raw in new.items():
        same = of.get(atomic.digest(raw), [])
        if same:
            old = next((one for one in same if file_name(one) == file_name(path)), same[0])
            same.remove(old)
            found[path] = old
    return found


def _by_likeness(store: Store, gone: Sequence[str], new: dict[str, bytes]) -> dict[str, str]:
    """Return where new files came from that were edited, too: by the lines that the last commit has of those gone."""
    if not gone or not new or len(gone) > _MOST_COMPARED or len(new) > _MOST_COMPARED:
        return {}
    before = _committed(store, gone)
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
    lines = SequenceMatcher(None, before.splitlines(), raw.splitlines(), autojunk=False)
    return lines.ratio() + same_name * _SAME_NAME


def _committed(store: Store, paths: Sequence[str]) -> dict[str, bytes | None]:
    if store.places.repository is None:
        return {}
    from engram.adapters.git.read.versions import read_objects
    from engram.usecases.store.lineage import in_git

    try:
        return dict(
            zip(
                paths,
                read_objects(store.repository, [f"HEAD:{in_git(store, p)}" for p in paths]),
                strict=True,
            )
        )
    except EngramError:
        return {}


def _tell_apart(store: Store, generation: Generation, paths: Iterable[str], delta: Delta) -> None:
    """Give a note at a path where another one was first seen an id of its own."""
    claimed = set[str]()
    for path in sorted(paths):
        known = store.note_ids.first_seen(path) or path
        first, number = known, 1
        while _is_taken(store, generation, codec.provisional_id(first), path, delta) or first in claimed:
            number += 1
            first = f"{path}#{number}"
        claimed.add(first)
        if first != known:
            store.note_ids.record(path, first, store.clock.new_id())


def _is_taken(store: Store, generation: Generation, lore_id: str, path: str, delta: Delta) -> bool:
    """Return whether another file has an id; one that changed counts by what it has now."""
    others = generation.catalog.paths_of([lore_id]) - {path, *delta.gone}
    return any(other not in delta.files or _id_of(store, other) == lore_id for other in others)


def _id_of(store: Store, path: str) -> str:
    try:
        raw, first = store.files.read(path), store.first_seen(path)
        return codec.read(raw, path, store.categories, store.clock.now(), first_seen=first).lore.id
    except EngramError:
        return ""
