"""The entities of a store. A file is read again only if it changed.

Parsed files are cached in this process, and for other processes in a JSON-lines file beside the index, in which the last
line for a file counts.
"""

from __future__ import annotations

import contextlib
import os
import stat
from weakref import WeakKeyDictionary

from engram.adapters.files.durable import atomic
from engram.adapters.files.scan import SIGNED, folder_mtime
from engram.adapters.index.catalog import Problem
from engram.domain.entry.named_files import ENTITIES
from engram.domain.errors import EngramError, LoreFileError
from engram.domain.graph.entity import Entity, Relationship, by_name
from engram.domain.graph.entity_rules import resolve_relationships
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store.outside_changes import record_outside_changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from engram.adapters.files.frontmatter.named_file import FileContents
    from engram.domain.entry.lore import Conflict
    from engram.domain.graph.mentions import Names
    from engram.usecases.store.store import Store

    Stamp = tuple[int, int, int]

_RACY_NS = 2_000_000_000
_CHECK_NS = 1_000_000_000  # the shortest time between checks of the files
_LARGEST = 256 * 1024  # bytes
CONFLICT_HINT = "Copy what is worth keeping, then remove its item from `conflicts`."
_NOT_REGULAR, _NOT_UTF8 = -1, -2
_UNREADABLE = {_NOT_REGULAR: "not a regular file", _NOT_UTF8: "the name is not valid UTF-8; rename it"}


class Entities(NamedTuple):
    """All entities of a store, sorted by slug, the store path of each, and the problems of their files.

    `problems` are those of ignored files, `conflicts` those of files with two versions from a merge.
    """

    entities: tuple[Entity, ...] = ()
    paths: Mapping[str, str] = {}
    problems: tuple[Problem, ...] = ()
    conflicts: tuple[Problem, ...] = ()


_EMPTY = Entities()


class _Memory(NamedTuple):
    files: dict[str, CachedFile]
    stamps: dict[str, Stamp]  # of settled files only
    entities: Entities
    slugs_by_name: dict[str, tuple[str, ...]]  # filled on first use


class EntityNames(NamedTuple):
    """Entities with their names, the modification time of their folder, and when that was checked (both in ns)."""

    entities: tuple[Entity, ...]
    names: Names
    folder: int
    checked_at: int


_memory: WeakKeyDictionary[Store, _Memory] = WeakKeyDictionary()
_names: WeakKeyDictionary[Store, EntityNames] = WeakKeyDictionary()


def list_entities(store: Store) -> tuple[Entity, ...]:
    """List the entities of the store, sorted by slug; unreadable files are in `read_entities(store).problems`."""
    return read_entities(store).entities


def entities_by_name(store: Store) -> tuple[tuple[Entity, ...], Mapping[str, tuple[str, ...]]]:
    """Return the entities, and the slugs that each folded slug, name or alias may mean."""
    with store.lock:
        entities, memory = list_entities(store), _memory.get(store)
        if not entities or memory is None:
            return (), {}
        if not memory.slugs_by_name:
            memory.slugs_by_name.update(by_name(entities))
        return entities, memory.slugs_by_name


def folder_of(store: Store) -> str:
    """Return the folder of the entities, relative to the store."""
    return f"{store.places.home}/{ENTITIES}"


def read_entities(store: Store) -> Entities:
    """Return the entities of the store and the problems of their files, reading only files with a new stamp."""
    stamps = _stamps_of(store)
    if not stamps:
        return _EMPTY
    with store.lock:
        memory = _memory.get(store)
        if memory is not None and memory.stamps == stamps:
            return memory.entities
        from engram.usecases.store.gc_pause import no_collections

        with no_collections():
            return _refresh(
                store, memory.files if memory is not None else load_cache(store, folder_of(store)), stamps
            )


def names_to_detect(store: Store) -> EntityNames:
    """Return the entities and an index of their names, to detect them in texts.

    While the folder is unchanged, files are checked at most once a second, so that bulk recording stays fast.
    """
    folder, now = folder_mtime(store.files.absolute(folder_of(store))), store.clock.nanoseconds()
    last = _names.get(store)
    if last is not None and last.folder == folder < now - _RACY_NS and 0 <= now - last.checked_at < _CHECK_NS:
        return last
    entities = list_entities(store)
    if last is None or last.entities is not entities:
        from engram.domain.graph.mentions import Names

        names = Names(entities)
    else:
        names = last.names
    found = _names[store] = EntityNames(entities, names, folder, now)
    return found


def load(store: Store, path: str) -> tuple[bytes, FileContents]:
    """Read one entity's file. Raises NotFoundError, StoreError, LoreFileError."""
    from engram.adapters.files.frontmatter import entity_file

    raw = store.files.read(path)
    return raw, entity_file.read(raw, path)


def _stamps_of(store: Store) -> dict[str, Stamp]:
    """Return the stamps of the files; empty if the folder or a parent is a symlink, which may lead out of the store."""
    folder = store.places.root
    for part in folder_of(store).split("/"):
        folder = os.path.join(folder, part)
        if folder_mtime(folder) < 0:
            return {}
    try:
        return dict(_stamps(folder))
    except OSError:
        return {}


def _stamps(folder: str) -> Iterator[tuple[str, Stamp]]:
    """List the possible entity files of the folder, with their stamps."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if not name.endswith(".md") or name.startswith("."):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            is_file = stat.S_ISREG(status.st_mode)
            mark = (status.st_ino ^ status.st_ctime_ns) & SIGNED if is_file else _NOT_REGULAR
            if not name.isascii():
                printable = name.encode(errors="replace").decode()
                name, mark = printable, mark if printable == name else _NOT_UTF8
            yield name, (status.st_mtime_ns, status.st_size, mark)


def _refresh(store: Store, before: Mapping[str, CachedFile], stamps: Mapping[str, Stamp]) -> Entities:
    """Read the changed files, and update both caches."""
    files, changed = {}, []
    for name in sorted(stamps):
        file = before.get(name)
        is_same = file is not None and file.stamp == stamps[name]
        if file is None or not (is_same and file.settled):
            file = _read(store, name, stamps[name])
            file = file._replace(settled=store.clock.nanoseconds() - file.stamp[0] > _RACY_NS)
        if not is_same:
            changed.append(name)
        files[name] = file
    changed += before.keys() - stamps.keys()
    entities = _combine(store, files)
    stamps = {name: one.stamp for name, one in files.items() if one.settled}
    _memory[store] = _Memory(files, stamps, entities, {})
    if changed and store.files.journaled:
        paths = [f"{folder_of(store)}/{name}" for name in changed]
        record_outside_changes(store, [path for path in paths if not _is_own(store, path)])
    if changed or any(file is not before[name] for name, file in files.items()):
        save_cache(store, folder_of(store), before, files)
    return entities


def _is_own(store: Store, path: str) -> bool:
    """Whether the present content of the path was written by this process."""
    written = store.own_writes.pop(path, None)
    return written is not None and atomic.holds(store.files.absolute(path), written or None)


def _read(store: Store, name: str, stamp: Stamp) -> CachedFile:
    path = f"{folder_of(store)}/{name}"
    reason = _UNREADABLE.get(stamp[2]) or (f"this file has {stamp[1]:,} bytes" if stamp[1] > _LARGEST else "")
    if reason:
        return CachedFile(stamp, None, Problem(path, 0, reason, "Only small markdown files are entities."))
    try:
        _, file = load(store, path)
    except LoreFileError as error:
        return CachedFile(stamp, None, Problem(path, error.line, error.reason, error.hint))
    except (EngramError, UnicodeError) as error:
        return CachedFile(stamp, None, Problem(path, 0, str(error), getattr(error, "hint", "")))
    if not file.conflicts:
        return CachedFile(stamp, file.record, None)
    hint = "`engram review` shows both versions and lets you choose."
    return CachedFile(stamp, file.record, Problem(path, 0, describe_conflicts(file.conflicts), hint))


def describe_conflicts(conflicts: Sequence[Conflict]) -> str:
    """Describe the conflicts that a merge left."""
    from engram.domain.entry.disputes import DELETED

    fields = dict.fromkeys([conflict.field for conflict in conflicts])
    deleted = ["one clone deleted it while another changed it"] if DELETED in fields else []
    fields.pop(DELETED, None)
    return "; ".join([*([f"it has two versions of {', '.join(fields)}"] if fields else []), *deleted])


def _combine(store: Store, files: Mapping[str, CachedFile]) -> Entities:
    found: dict[str, Entity] = {}
    paths: dict[str, str] = {}
    problems: list[Problem] = []
    conflicts: list[Problem] = []
    for name, file in files.items():
        if file.problem is not None:
            (problems if file.entity is None else conflicts).append(file.problem)
        if file.entity is None:
            continue
        slug, path = file.entity.slug, f"{folder_of(store)}/{name}"
        if slug in found:
            message = f"{paths[slug]} is the entity {slug}, too; only one of them is used"
            problems.append(Problem(path, 0, message, "Merge the two files, or rename one."))
        else:
            found[slug], paths[slug] = file.entity, path
    entities = resolve_relationships([found[slug] for slug in sorted(found)])
    return Entities(entities, paths, tuple(sorted(problems)), tuple(sorted(conflicts)))


_CACHE_FILE = "entities.jsonl"
_CACHE_VERSION = 1
_MAX_APPENDED = 64  # files
_STALE_LINES = 2  # lines for each file


class CachedFile(NamedTuple):
    """A parsed file: its stamp, the entity, and the problem if there is one.

    A file is not `settled` if it changed so recently that another change might not show in the stamp.
    """

    stamp: Stamp
    entity: Entity | None
    problem: Problem | None
    settled: bool = True


def _cache_path(store: Store) -> str:
    return os.path.join(store.places.state, _CACHE_FILE)


def load_cache(store: Store, folder: str) -> dict[str, CachedFile]:
    """Load the files read by other processes; empty if the cache is missing or invalid."""
    import json

    try:
        with open(_cache_path(store), "rb") as file:
            head, _, lines = file.read().decode().partition("\n")
        if json.loads(head) != _head(folder):
            return {}
        rows = json.loads("[" + lines.rstrip().replace("\n", ",") + "]")
        latest = {row[0]: row for row in rows}
        found = {name: _decode(row) for name, row in latest.items() if len(row) > 1}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return {}
    if len(rows) > _STALE_LINES * len(found) + _MAX_APPENDED:
        with contextlib.suppress(OSError):
            os.unlink(_cache_path(store))
    return found


def _head(folder: str) -> list[object]:
    return [_CACHE_VERSION, folder]


def _decode(row: list[Any]) -> CachedFile:
    """Decode a line of the cache; see `_row`."""
    _, mtime, size, mark, slug, name, kind, aliases, links, metadata, content, problem = row
    entity = None
    if slug:
        parts = links.split("\n") if links else ()
        relationships = tuple(map(Relationship, parts[::3], parts[1::3], parts[2::3]))
        pairs = tuple(zip(metadata[::2], metadata[1::2], strict=True)) if metadata else ()
        names = tuple(aliases.split("\n")) if aliases else ()
        entity = Entity(slug, name, kind, names, relationships, pairs, content)
    return CachedFile((mtime, size, mark), entity, None if problem is None else Problem._make(problem))


def save_cache(
    store: Store, folder: str, before: Mapping[str, CachedFile], files: Mapping[str, CachedFile]
) -> None:
    """Save the files read, for other processes. Failures are ignored, as this is a cache.

    A few changes are appended; after many, the file is rewritten.
    """
    settled = [(name, file) for name, file in files.items() if file.settled]
    changed = [(name, file) for name, file in settled if file != before.get(name)]
    removed: list[list[object]] = [[name] for name in before.keys() - files.keys()]
    path = _cache_path(store)
    try:
        if len(changed) + len(removed) < _MAX_APPENDED and os.path.exists(path):
            with open(path, "ab") as file:
                file.write(_lines([*removed, *map(_row, changed)]))
        elif settled:
            raw = _lines([_head(folder), *map(_row, settled)])
            atomic.move_into_place(atomic.prepare(path, raw, store.clock.new_id(), 0o600, synced=False), path)
    except (OSError, EngramError, UnicodeError):
        return


def _row(item: tuple[str, CachedFile]) -> list[object]:
    """Encode a file as a line: flat, as nested lists take twice as long to parse. No name contains a line break."""
    name, (stamp, entity, problem, _) = item
    fields: list[object] = ["", "", "", "", "", 0, ""]
    if entity is not None:
        metadata = [text for pair in entity.metadata for text in pair]
        links = "\n".join([part for link in entity.relationships for part in link])
        aliases = "\n".join(entity.aliases)
        fields = [entity.slug, entity.name, entity.type, aliases, links, metadata or 0, entity.content]
    return [name, *stamp, *fields, problem]


def _lines(rows: Iterable[object]) -> bytes:
    import json

    return "".join(
        [json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows]
    ).encode()
