"""The entities of a store: all of them at once, read again only where a file changed; what cannot be read is a problem.

What was read is kept in this process, and for the next one in a file beside the index: a cache like that.
"""

from __future__ import annotations

import contextlib
import os
import stat
from weakref import WeakKeyDictionary

from engram.adapters.files import atomic
from engram.adapters.files.scan import SIGNED, folder_mtime
from engram.adapters.index.catalog import Problem
from engram.domain.entity import Entity, Relationship
from engram.domain.entity_rules import FOLDER, resolved
from engram.domain.errors import EngramError, LoreFileError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.indexing import note_outside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from engram.adapters.files.entity_file import EntityFile
    from engram.domain.mentions import Names
    from engram.usecases.store import Store

    Stamp = tuple[int, int, int]

_CACHE = "entities.jsonl"
_VERSION = 1
_FEW = 64  # files
_STALE = 2  # lines for each file
_WITHOUT, _WITH_PROBLEM = 11, 12  # parts of a line
_RACY_NS = 2_000_000_000
_LOOK_NS = 1_000_000_000
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
    stamps: dict[str, Stamp]  # of those that are settled
    entities: Entities


class Prepared(NamedTuple):
    """Entities with their names, the time of their folder, and when it was looked at (ns)."""

    entities: tuple[Entity, ...]
    names: Names
    folder: int
    looked: int


_memory: WeakKeyDictionary[Store, _Memory] = WeakKeyDictionary()
_names: WeakKeyDictionary[Store, Prepared] = WeakKeyDictionary()


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
        if memory is not None and memory.stamps == stamps:
            return memory.entities
        from engram.usecases.catch_up import no_collections

        with no_collections():
            return _looked(store, memory.files if memory is not None else _kept(store), stamps)


def prepared(store: Store) -> Prepared:
    """The entities, and their names ready to be looked for in texts.

    Who records many lore does not have all files looked at each time: where the folder is as it was, once a second.
    """
    folder, now = folder_mtime(store.files.absolute(folder_of(store))), store.clock.nanoseconds()
    kept = _names.get(store)
    if kept is not None and kept.folder == folder < now - _RACY_NS and 0 <= now - kept.looked < _LOOK_NS:
        return kept
    entities = all_entities(store)
    if kept is None or kept.entities is not entities:
        from engram.domain.mentions import Names

        names = Names(entities)
    else:
        names = kept.names
    found = _names[store] = Prepared(entities, names, folder, now)
    return found


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
    stamps = {name: one.stamp for name, one in files.items() if one.settled}
    _memory[store] = _Memory(files, stamps, made)
    if changed and store.files.journaled:
        paths = [f"{folder_of(store)}/{name}" for name in changed]
        note_outside(store, [path for path in paths if not _is_own(store, path)])
    if changed or any(seen is not before[name] for name, seen in files.items()):
        _keep(store, before, files)
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
    """What other processes read; nothing where that cannot be told."""
    import json

    try:
        with open(_cache(store), "rb") as file:
            head, _, lines = file.read().decode().partition("\n")
        if json.loads(head) != _head(store):
            return {}
        rows = json.loads("[" + lines.rstrip().replace("\n", ",") + "]")
        last = {row[0]: row for row in rows}
        kept = {name: _revived(row) for name, row in last.items() if len(row) > 1}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return {}
    if len(rows) > _STALE * len(kept) + _FEW:
        with contextlib.suppress(OSError):
            os.unlink(_cache(store))
    return kept


def _head(store: Store) -> list[object]:
    return [_VERSION, folder_of(store)]


def _revived(row: list[Any]) -> Seen:
    """What a line says of a file; see `_row`."""
    if len(row) == _WITH_PROBLEM:
        problem = Problem._make(row[11])
    elif len(row) == _WITHOUT:
        problem = None
    else:
        raise ValueError(row[0])
    _, *stamp, slug, name, kind, aliases, ways, metadata, content = row[:_WITHOUT]
    if not slug:
        return Seen(tuple(stamp), None, problem)
    parts = ways.split("\n") if ways else ()
    relationships = tuple(map(Relationship, parts[::3], parts[1::3], parts[2::3]))
    pairs = tuple(zip(metadata[::2], metadata[1::2], strict=True)) if metadata else ()
    names = tuple(aliases.split("\n")) if aliases else ()
    return Seen(tuple(stamp), Entity(slug, name, kind, names, relationships, pairs, content), problem)


def _keep(store: Store, before: Mapping[str, Seen], files: Mapping[str, Seen]) -> None:
    """Keep what was read for other processes; where that cannot be written they read for themselves.

    What few changed is added to the file; else, and where too much of it is stale, it is written anew.
    """
    settled = [(name, seen) for name, seen in files.items() if seen.settled]
    new = [(name, seen) for name, seen in settled if seen != before.get(name)]
    gone: list[list[object]] = [[name] for name in before.keys() - files.keys()]
    path = _cache(store)
    try:
        if len(new) + len(gone) < _FEW and os.path.exists(path):
            with open(path, "ab") as file:
                file.write(_lines([*gone, *map(_row, new)]))
        elif settled:
            raw = _lines([_head(store), *map(_row, settled)])
            atomic.put(atomic.prepare(path, raw, store.clock.new_id(), 0o600, synced=False), path)
    except (OSError, EngramError, UnicodeError):
        return


def _row(item: tuple[str, Seen]) -> list[object]:
    """A file as a line: flat, for what stands in lists takes twice as long to read. No name has a line break in it."""
    name, (stamp, entity, problem, _) = item
    said: list[object] = ["", "", "", "", "", 0, ""]
    if entity is not None:
        metadata = [text for pair in entity.metadata for text in pair]
        ways = "\n".join([part for way in entity.relationships for part in way])
        aliases = "\n".join(entity.aliases)
        said = [entity.slug, entity.name, entity.type, aliases, ways, metadata or 0, entity.content]
    return [name, *stamp, *said, *([] if problem is None else [problem])]


def _lines(rows: Iterable[object]) -> bytes:
    import json

    return "".join(
        [json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows]
    ).encode()
