"""What was read of the files of entities, kept for other processes in a file beside the index; a cache as that is.

A line says what is in one file; the last line of a file counts.
"""

from __future__ import annotations

import contextlib
import os

from engram.adapters.files.durable import atomic
from engram.adapters.index.catalog import Problem
from engram.domain.errors import EngramError
from engram.domain.graph.entity import Entity, Relationship
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from engram.usecases.store.store import Store

    Stamp = tuple[int, int, int]

_CACHE = "entities.jsonl"
_VERSION = 1
_FEW = 64  # files
_STALE = 2  # lines for each file


class Seen(NamedTuple):
    """A file as it was read: its stamp, the entity in it, what is wrong with it.

    It is not `settled` where it was changed so lately that a second change might show in no stamp.
    """

    stamp: Stamp
    entity: Entity | None
    problem: Problem | None
    settled: bool = True


def _cache(store: Store) -> str:
    return os.path.join(store.places.state, _CACHE)


def kept(store: Store, folder: str) -> dict[str, Seen]:
    """What other processes read; nothing where that cannot be told."""
    import json

    try:
        with open(_cache(store), "rb") as file:
            head, _, lines = file.read().decode().partition("\n")
        if json.loads(head) != _head(folder):
            return {}
        rows = json.loads("[" + lines.rstrip().replace("\n", ",") + "]")
        last = {row[0]: row for row in rows}
        found = {name: _revived(row) for name, row in last.items() if len(row) > 1}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return {}
    if len(rows) > _STALE * len(found) + _FEW:
        with contextlib.suppress(OSError):
            os.unlink(_cache(store))
    return found


def _head(folder: str) -> list[object]:
    return [_VERSION, folder]


def _revived(row: list[Any]) -> Seen:
    """What a line says of a file; see `_row`."""
    _, mtime, size, mark, slug, name, kind, aliases, ways, metadata, content, problem = row
    entity = None
    if slug:
        parts = ways.split("\n") if ways else ()
        relationships = tuple(map(Relationship, parts[::3], parts[1::3], parts[2::3]))
        pairs = tuple(zip(metadata[::2], metadata[1::2], strict=True)) if metadata else ()
        names = tuple(aliases.split("\n")) if aliases else ()
        entity = Entity(slug, name, kind, names, relationships, pairs, content)
    return Seen((mtime, size, mark), entity, None if problem is None else Problem._make(problem))


def keep(store: Store, folder: str, before: Mapping[str, Seen], files: Mapping[str, Seen]) -> None:
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
            raw = _lines([_head(folder), *map(_row, settled)])
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
    return [name, *stamp, *said, problem]


def _lines(rows: Iterable[object]) -> bytes:
    import json

    return "".join(
        [json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows]
    ).encode()
