"""The entities of a store: all of them at once, read again only where a file changed; what cannot be read is a problem.

What was read is kept in this process, and for the next one in a file beside the index: a cache like that.
"""

from __future__ import annotations

import os
import stat
from weakref import WeakKeyDictionary

from engram.adapters.files import atomic
from engram.adapters.files.scan import SIGNED
from engram.adapters.index.catalog import Problem
from engram.domain.entity import Entity, Relationship
from engram.domain.entity_rules import FOLDER, resolved
from engram.domain.errors import EngramError, LoreFileError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.indexing import note_outside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from engram.adapters.files.entity_file import EntityFile
    from engram.usecases.store import Store

    Stamp = tuple[int, int, int]

_CACHE = "entities.json"
_VERSION = 1
_RACY_NS = 2_000_000_000
_LARGEST = 256 * 1024  # bytes


class Seen(NamedTuple):
    """A file as it was read: its stamp, the entity in it, what is wrong with it.

    It is not `settled` where it was changed so lately that a second change might show in no stamp.
    """

    stamp: Stamp
    entity: Entity | None
    problem: Problem | None
    settled: bool = True


class Entities(NamedTuple):
    """All entities of a store, sorted by slug, the store path of each, and what is wrong with their files."""

    entities: tuple[Entity, ...] = ()
    paths: Mapping[str, str] = {}
    problems: tuple[Problem, ...] = ()


_NONE = Entities()


class _Memory(NamedTuple):
    files: dict[str, Seen]
    entities: Entities


_memory: WeakKeyDictionary[Store, _Memory] = WeakKeyDictionary()


def all_entities(store: Store) -> tuple[Entity, ...]:
    """The entities of the store, sorted by slug. Raises nothing for what cannot be read: see `known`."""
    return known(store).entities


def folder_of(store: Store) -> str:
    """The folder of the entities, relative to the store."""
    return f"{store.places.folder}/{FOLDER}"


def known(store: Store) -> Entities:
    """The entities of the store, and the files that are none. A file is read again where its stamp is another."""
    try:
        stamps = dict(_stamps(os.path.join(store.places.root, *folder_of(store).split("/"))))
    except OSError:
        stamps = {}
    if not stamps:
        return _NONE
    with store.lock:
        memory = _memory.get(store)
        before = memory.files if memory is not None else _kept(store)
        if memory is not None and {name: one.stamp for name, one in before.items() if one.settled} == stamps:
            return memory.entities
        return _looked(store, before, stamps)


def load(store: Store, path: str) -> EntityFile:
    """Read one entity's file. Raises NotFoundError, StoreError, LoreFileError."""
    from engram.adapters.files import entity_file

    return entity_file.read(store.files.read(path), path)


def _stamps(folder: str) -> Iterator[tuple[str, Stamp]]:
    """The regular files of the folder that can be entities, with what shows a change of one."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if not name.endswith(".md") or name.startswith("."):
                continue
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            mark = (found.st_ino ^ found.st_ctime_ns) & SIGNED if stat.S_ISREG(found.st_mode) else -1
            yield name, (found.st_mtime_ns, found.st_size, mark)


def _looked(store: Store, before: Mapping[str, Seen], stamps: Mapping[str, Stamp]) -> Entities:
    """Read what changed, and keep what was read."""
    files, changed = {}, []
    for name in sorted(stamps):
        seen = before.get(name)
        is_same = seen is not None and seen.stamp == stamps[name]
        if seen is None or not (is_same and seen.settled):
            seen = _read(store, name, stamps[name])
            seen = seen._replace(settled=store.clock.nanoseconds() - seen.stamp[0] > _RACY_NS)
        if not is_same:
            changed.append(name)
        files[name] = seen
    changed += before.keys() - stamps.keys()
    made = _put_together(store, files)
    _memory[store] = _Memory(files, made)
    if changed and store.files.journaled:
        paths = [f"{folder_of(store)}/{name}" for name in changed]
        note_outside(store, [path for path in paths if not _is_own(store, path)])
    settled = {name: one for name, one in files.items() if one.settled}
    if settled != {name: one for name, one in before.items() if one.settled}:
        _keep(store, settled)
    return made


def _is_own(store: Store, path: str) -> bool:
    """Whether what stands at the path now was written by this process."""
    written = store.own_writes.pop(path, None)
    return written is not None and atomic.holds(store.files.absolute(path), written or None)


def _read(store: Store, name: str, stamp: Stamp) -> Seen:
    path = f"{folder_of(store)}/{name}"
    if stamp[2] < 0 or stamp[1] > _LARGEST:
        what = "this is not a regular file" if stamp[2] < 0 else f"this file has {stamp[1]:,} bytes"
        return Seen(stamp, None, Problem(path, 0, what, "Only small markdown files are entities."))
    try:
        file = load(store, path)
    except LoreFileError as error:
        return Seen(stamp, None, Problem(path, error.line, error.reason, error.hint))
    except (EngramError, UnicodeError) as error:
        return Seen(stamp, None, Problem(path, 0, str(error), getattr(error, "hint", "")))
    if not file.conflicts:
        return Seen(stamp, file.entity, None)
    fields = ", ".join(dict.fromkeys([entry.field for entry in file.conflicts]))
    hint = "Take over what is worth keeping, and remove its entry from `conflicts`."
    return Seen(stamp, file.entity, Problem(path, 0, f"two versions of {fields} are in it", hint))


def _put_together(store: Store, files: Mapping[str, Seen]) -> Entities:
    found: dict[str, Entity] = {}
    paths: dict[str, str] = {}
    problems = [one.problem for one in files.values() if one.problem is not None]
    for name, one in files.items():
        if one.entity is None:
            continue
        slug, path = one.entity.slug, f"{folder_of(store)}/{name}"
        if slug in found:
            message = f"{paths[slug]} is the entity {slug} too, and only one of them counts"
            problems.append(Problem(path, 0, message, "Join the two files, or rename one."))
        else:
            found[slug], paths[slug] = one.entity, path
    entities = resolved([found[slug] for slug in sorted(found)])
    return Entities(entities, paths, tuple(sorted(problems)))


def _cache(store: Store) -> str:
    return os.path.join(store.places.state, _CACHE)


def _kept(store: Store) -> dict[str, Seen]:
    """What another process read; nothing where that cannot be told."""
    import json

    try:
        with open(_cache(store), "rb") as file:
            kept = json.loads(file.read())
        if kept["version"] != _VERSION or kept["folder"] != folder_of(store):
            return {}
        return {name: _revived(row) for name, row in kept["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _revived(row: Any) -> Seen:
    stamp, entity, problem, _ = row
    if entity is not None:
        slug, name, kind, aliases, ways, metadata, content = entity
        ways = tuple([Relationship(*way) for way in ways])
        pairs = tuple([(key, value) for key, value in metadata])
        entity = Entity(slug, name, kind, tuple(aliases), ways, pairs, content)
    return Seen(tuple(stamp), entity, None if problem is None else Problem(*problem))


def _keep(store: Store, files: Mapping[str, Seen]) -> None:
    """Keep what was read for other processes; where that cannot be written they read for themselves."""
    import json

    kept = {"version": _VERSION, "folder": folder_of(store), "files": files}
    try:
        raw = json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()
        path = _cache(store)
        atomic.put(atomic.prepare(path, raw, store.clock.new_id(), 0o600, synced=False), path)
    except (EngramError, UnicodeError):
        return
