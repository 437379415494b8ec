"""Names of people and machines: those written with new entries, and those shown for existing ones."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from weakref import WeakKeyDictionary

from engram.domain.entry.people import committer_name, plain_name
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from engram.adapters.index.catalog import Hit
    from engram.adapters.state.history_table import HistoryTable
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

    Named = TypeVar("Named", Lore, Hit)
    Stamp = tuple[tuple[int, int], ...]

AUTHOR_KEY, JUDGEMENTS_KEY, MACHINE_KEY = "record.author", "judgements.name", "record.machine"
_NAME_FILE = "author"  # caches the name that git returned, in the state folder
# For each open store, the authors by entry ("" if unknown), and the stamp of the history table they were read from.
_authors: WeakKeyDictionary[Store, tuple[Stamp, dict[str, str]]] = WeakKeyDictionary()


def own_name(store: Store) -> str:
    """Return the user's name according to git: `GIT_AUTHOR_NAME`, else `author.name` or `user.name`; "" if none is set."""
    from engram.adapters.git.run.author import author_name

    def read() -> Sequence[tuple[str, str, str]]:
        from engram.adapters.git.run.configuration import settings

        return settings(folder)

    repository = store.places.repository
    folder = repository.worktree if repository else store.places.root
    try:
        return author_name(folder, os.path.join(store.places.state, _NAME_FILE), read)
    except (GitError, OSError):
        return ""


def published_name(store: Store) -> str:
    """Return the user's name as written with new entries; "" if the settings say not to publish it."""
    return own_name(store) if _publishes_names(store) else ""


def published_machine(store: Store) -> str:
    """Return the name of this machine as written in commits; "" if the settings say not to publish names."""
    return own_machine(store) if _publishes_names(store) else ""


def _publishes_names(store: Store) -> bool:
    return store.settings.flag(AUTHOR_KEY) and store.settings.flag(JUDGEMENTS_KEY)


def own_machine(store: Store) -> str:
    """Return the name of this machine: from the settings, else its host name."""
    name = store.settings.text(MACHINE_KEY)
    if not name and hasattr(os, "uname"):
        name = os.uname().nodename.partition(".")[0]
    elif not name:  # Windows
        import socket

        name = socket.gethostname()
    return plain_name(name)


def machine_name(store: Store, source: str) -> str:
    """Return the name of the machine of the clone with this source id (full or short); if unknown, the short id."""
    return known_machine(store, source) or _short_id(source)


def known_machine(store: Store, source: str) -> str:
    """Return the name of the machine of the clone with this source id; "" if no commit in the history table names it."""
    short = _short_id(source)
    return own_machine(store) if short and short == store.source else _machine_names(store).get(short, "")


def _short_id(source: str) -> str:
    from engram.domain.entry import ulid

    return ulid.short(source) if ulid.is_valid(source) else source


def person_of(store: Store, source: str) -> str:
    """Return the name of the person whose clone has this source id; "" if unknown."""
    if source == store.known_source_id:
        return plain_name(own_name(store))
    try:
        return store.judgements.names().get(source, "")
    except (OSError, sqlite3.Error):
        return ""


def with_authors(store: Store, lore: Sequence[Named]) -> list[Named]:
    """Return the entries for display: one without an author gets the author of the commit that added it."""
    missing = [entry.id for entry in lore if not entry.author]
    if not missing:
        return list(lore)
    found = authors_of(store, missing)
    return [entry if entry.author else entry._replace(author=found[entry.id]) for entry in lore]


def authors_of(store: Store, ids: Sequence[str]) -> Mapping[str, str]:
    """Return the authors of the commits that added these entries, by entry id; "" if unknown.

    For entries of earlier versions, which have no author. Reads only the history table as it is now; does not run git.
    """
    stamp = _stamp(store)
    cached = _authors.get(store)
    if cached is None or cached[0] != stamp:
        cached = _authors[store] = stamp, {}
    names = cached[1]
    new = [lore_id for lore_id in ids if lore_id not in names]
    if new:
        found = _read_history(store, lambda table: table.added_by(new))
        names.update({lore_id: committer_name(found.get(lore_id, "")) for lore_id in new})
    return names


def _stamp(store: Store) -> Stamp:
    """Return the times and sizes of the files of the history table, to detect changes."""
    from engram.adapters.state.history_table import table_path

    found = []
    path = table_path(store.places.state)
    for file in (path, f"{path}-wal"):
        with contextlib.suppress(OSError):
            stat = os.stat(file)
            if stat.st_size:  # an open table without changes has an empty log
                found.append((stat.st_mtime_ns, stat.st_size))
    return tuple(found)


def _machine_names(store: Store) -> dict[str, str]:
    """Return the names of machines in the history table, by the short ids of their clones."""
    found = _read_history(store, lambda table: table.machines())
    return {source: plain_name(name) for source, name in found.items()}


def _read_history(store: Store, read: Callable[[HistoryTable], dict[str, str]]) -> dict[str, str]:
    """Read the history table; return nothing if there is none."""
    from engram.adapters.state.history_table import HistoryTable, table_path

    path = table_path(store.places.state)
    if not os.path.exists(path):
        return {}
    try:
        with contextlib.closing(HistoryTable(path)) as table:
            return read(table)
    except sqlite3.Error:
        return {}
