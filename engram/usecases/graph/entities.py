"""The entities of a store: all of them at once, read again only where a file changed; what cannot be read is a problem.

What was read is kept in this process, and for the next one by `entity_cache`.
"""

from __future__ import annotations

import os
import stat
from weakref import WeakKeyDictionary

from engram.adapters.files.durable import atomic
from engram.adapters.files.scan import SIGNED, folder_mtime
from engram.adapters.index.catalog import Problem
from engram.domain.entry.named_files import ENTITIES
from engram.domain.errors import EngramError, LoreFileError
from engram.domain.graph.entity import by_name
from engram.domain.graph.entity_rules import resolved
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.graph import entity_cache
from engram.usecases.graph.entity_cache import Seen
from engram.usecases.store.outside_changes import record_outside_changes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engram.adapters.files.frontmatter.entity_file import EntityFile
    from engram.domain.entry.lore import Conflict
    from engram.domain.graph.entity import Entity
    from engram.domain.graph.mentions import Names
    from engram.usecases.graph.entity_cache import Stamp
    from engram.usecases.store.store import Store

_RACY_NS = 2_000_000_000
_LOOK_NS = 1_000_000_000
_LARGEST = 256 * 1024  # bytes
TAKE_OVER = "Take over what is worth keeping, and remove its entry from `conflicts`."
_ODD, _UNSPEAKABLE = -1, -2
_WHAT = {_ODD: "this is not a regular file", _UNSPEAKABLE: "the name is not valid UTF-8; rename it"}


class Entities(NamedTuple):
    """All entities of a store, sorted by slug, the store path of each, and what is wrong with their files.

    `problems` are of files that count for nothing, `conflicts` of those in which a merge left two versions of something.
    """

    entities: tuple[Entity, ...] = ()
    paths: Mapping[str, str] = {}
    problems: tuple[Problem, ...] = ()
    conflicts: tuple[Problem, ...] = ()


_NONE = Entities()


class _Memory(NamedTuple):
    files: dict[str, Seen]
    stamps: dict[str, Stamp]  # of those that are settled
    entities: Entities
    meant: dict[str, tuple[str, ...]]  # once that was asked for


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


def with_names(store: Store) -> tuple[tuple[Entity, ...], Mapping[str, tuple[str, ...]]]:
    """The entities, and the slugs that each folded slug, name or alias may mean."""
    with store.lock:
        entities, memory = all_entities(store), _memory.get(store)
        if not entities or memory is None:
            return (), {}
        if not memory.meant:
            memory.meant.update(by_name(entities))
        return entities, memory.meant


def folder_of(store: Store) -> str:
    """The folder of the entities, relative to the store."""
    return f"{store.places.folder}/{ENTITIES}"


def known(store: Store) -> Entities:
    """The entities of the store, and the files that are none. A file is read again where its stamp is another."""
    stamps = _stamps_of(store)
    if not stamps:
        return _NONE
    with store.lock:
        memory = _memory.get(store)
        if memory is not None and memory.stamps == stamps:
            return memory.entities
        from engram.usecases.index.catch_up import no_collections

        with no_collections():
            return _looked(
                store,
                memory.files if memory is not None else entity_cache.kept(store, folder_of(store)),
                stamps,
            )


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
        from engram.domain.graph.mentions import Names

        names = Names(entities)
    else:
        names = kept.names
    found = _names[store] = Prepared(entities, names, folder, now)
    return found


def load(store: Store, path: str) -> EntityFile:
    """Read one entity's file. Raises NotFoundError, StoreError, LoreFileError."""
    from engram.adapters.files.frontmatter import entity_file

    return entity_file.read(store.files.read(path), path)


def _stamps_of(store: Store) -> dict[str, Stamp]:
    """The files of the folder; none where that or one above it is a link, which would lead out of the store."""
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
            mark = (found.st_ino ^ found.st_ctime_ns) & SIGNED if stat.S_ISREG(found.st_mode) else _ODD
            if not name.isascii():
                shown = name.encode(errors="replace").decode()
                name, mark = shown, mark if shown == name else _UNSPEAKABLE
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
    _memory[store] = _Memory(files, stamps, made, {})
    if changed and store.files.journaled:
        paths = [f"{folder_of(store)}/{name}" for name in changed]
        record_outside_changes(store, [path for path in paths if not _is_own(store, path)])
    if changed or any(seen is not before[name] for name, seen in files.items()):
        entity_cache.keep(store, folder_of(store), before, files)
    return made


def _is_own(store: Store, path: str) -> bool:
    """Whether what stands at the path now was written by this process."""
    written = store.own_writes.pop(path, None)
    return written is not None and atomic.holds(store.files.absolute(path), written or None)


def _read(store: Store, name: str, stamp: Stamp) -> Seen:
    path = f"{folder_of(store)}/{name}"
    what = _WHAT.get(stamp[2]) or (f"this file has {stamp[1]:,} bytes" if stamp[1] > _LARGEST else "")
    if what:
        return Seen(stamp, None, Problem(path, 0, what, "Only small markdown files are entities."))
    try:
        file = load(store, path)
    except LoreFileError as error:
        return Seen(stamp, None, Problem(path, error.line, error.reason, error.hint))
    except (EngramError, UnicodeError) as error:
        return Seen(stamp, None, Problem(path, 0, str(error), getattr(error, "hint", "")))
    if not file.conflicts:
        return Seen(stamp, file.entity, None)
    hint = "`engram review` shows both versions and lets you choose."
    return Seen(stamp, file.entity, Problem(path, 0, both_versions(file.conflicts), hint))


def both_versions(conflicts: Sequence[Conflict]) -> str:
    """What a merge left for a person, in words."""
    from engram.domain.merge.merge import DELETED

    fields = dict.fromkeys([entry.field for entry in conflicts])
    told = ["it was deleted by one clone while another changed it"] if DELETED in fields else []
    fields.pop(DELETED, None)
    return "; ".join([*([f"two versions of {', '.join(fields)} are in it"] if fields else []), *told])


def _put_together(store: Store, files: Mapping[str, Seen]) -> Entities:
    found: dict[str, Entity] = {}
    paths: dict[str, str] = {}
    told = [(one.problem, one.entity is None) for one in files.values() if one.problem is not None]
    problems = [problem for problem, is_none in told if is_none]
    conflicts = tuple(sorted([problem for problem, is_none in told if not is_none]))
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
    return Entities(entities, paths, tuple(sorted(problems)), conflicts)
