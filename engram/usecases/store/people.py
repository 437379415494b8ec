"""The person here and this machine, by name: what is written with what they record, and what is shown of others."""

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
_NOTED = "author"  # the file in the state folder with what git said last
# Of each open store who added which entry, "" where the table of the history did not know, and what that table looked like.
_added: WeakKeyDictionary[Store, tuple[Stamp, dict[str, str]]] = WeakKeyDictionary()


def own_name(store: Store) -> str:
    """Return git's name of the person here: `GIT_AUTHOR_NAME`, else `author.name` or `user.name`; "" for none."""
    from engram.adapters.git.run.author import author_name

    def read() -> Sequence[tuple[str, str, str]]:
        from engram.adapters.git.run.configuration import settings

        return settings(folder)

    repository = store.places.repository
    folder = repository.worktree if repository else store.places.root
    try:
        return author_name(folder, os.path.join(store.places.state, _NOTED), read)
    except (GitError, OSError):
        return ""


def published_name(store: Store) -> str:
    """Return the name that is written with what the person here records; "" where they do not want that."""
    named = store.settings.flag(AUTHOR_KEY) and store.settings.flag(JUDGEMENTS_KEY)
    return own_name(store) if named else ""


def published_machine(store: Store) -> str:
    """Return the name of this machine as commits say it; "" where names are not wanted."""
    if not (store.settings.flag(AUTHOR_KEY) and store.settings.flag(JUDGEMENTS_KEY)):
        return ""
    return own_machine(store)


def own_machine(store: Store) -> str:
    """Return the name of this machine: what the settings say, else its host name."""
    said = store.settings.text(MACHINE_KEY)
    if not said and hasattr(os, "uname"):
        said = os.uname().nodename.partition(".")[0]
    elif not said:  # Windows
        import socket

        said = socket.gethostname()
    return plain_name(said)


def machine_name(store: Store, source: str) -> str:
    """Return the name of the machine whose clone has this source (26 characters, or the last eight); else its short id."""
    return known_machine(store, source) or _short(source)


def known_machine(store: Store, source: str) -> str:
    """Return the same; "" where no commit of which the table of the history knows names the machine."""
    short = _short(source)
    return own_machine(store) if short and short == store.source else _machine_names(store).get(short, "")


def _short(source: str) -> str:
    from engram.domain.entry import ulid

    return ulid.short(source) if ulid.is_valid(source) else source


def person_of(store: Store, source: str) -> str:
    """Return the name of the person whose clone has this source, as far as that is known; "" else."""
    if source == store.known_source_id:
        return plain_name(own_name(store))
    try:
        return store.judgements.names().get(source, "")
    except (OSError, sqlite3.Error):
        return ""


def with_authors(store: Store, lore: Sequence[Named]) -> list[Named]:
    """Return the entries to be shown: one without an author has whom git names for the commit that added it."""
    missing = [one.id for one in lore if not one.author]
    if not missing:
        return list(lore)
    found = authors_of(store, missing)
    return [one if one.author else one._replace(author=found[one.id]) for one in lore]


def authors_of(store: Store, ids: Sequence[str]) -> Mapping[str, str]:
    """Return whom git names for the commit that added each of these entries, by id; "" where that is unknown.

    Entries of earlier versions have no author. Of the history only what its table has now is read, once; git is not asked.
    """
    stamp = _stamp(store)
    known = _added.get(store)
    if known is None or known[0] != stamp:
        known = _added[store] = stamp, {}
    names = known[1]
    new = [one for one in ids if one not in names]
    if new:
        found = _in_history(store, lambda table: table.added_by(new))
        names.update({one: committer_name(found.get(one, "")) for one in new})
    return names


def _stamp(store: Store) -> Stamp:
    """Return what changes when the table of the history does: the sizes and times of its files."""
    from engram.adapters.state.history_table import table_path

    found = []
    path = table_path(store.places.state)
    for file in (path, f"{path}-wal"):
        with contextlib.suppress(OSError):
            at = os.stat(file)
            # An open table without changes has an empty log.
            found += [(at.st_mtime_ns, at.st_size)] if at.st_size else []
    return tuple(found)


def _machine_names(store: Store) -> dict[str, str]:
    """Return the names of machines by the short ids of their clones, as the table of the history has them now."""
    found = _in_history(store, lambda table: table.machines())
    return {source: plain_name(name) for source, name in found.items()}


def _in_history(store: Store, read: Callable[[HistoryTable], dict[str, str]]) -> dict[str, str]:
    """Read the table of the history as it is; nothing where there is none."""
    from engram.adapters.state.history_table import HistoryTable, table_path

    path = table_path(store.places.state)
    if not os.path.exists(path):
        return {}
    try:
        with contextlib.closing(HistoryTable(path)) as table:
            return read(table)
    except sqlite3.Error:
        return {}
