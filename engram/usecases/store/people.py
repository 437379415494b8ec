"""The person here and this machine, by name: what is written with what they record, and what is shown of others."""

from __future__ import annotations

import os
import sqlite3

from engram.domain.entry.people import committer_name, plain_name
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.state.history_table import HistoryTable
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

AUTHOR_KEY, JUDGEMENTS_KEY, MACHINE_KEY = "record.author", "judgements.name", "record.machine"
_NOTED = "author"  # the file in the state folder with what git said last


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
    """Return the name of the machine whose clone has this source (26 characters, or the last eight); else its short id.

    It is that of the last commit known here that names it.
    """
    from engram.domain.entry import ulid

    short = ulid.short(source) if ulid.is_valid(source) else source
    if short and short == store.source:
        return own_machine(store) or short
    return _machine_names(store).get(short) or short


def person_of(store: Store, source: str) -> str:
    """Return the name of the person whose clone has this source, as far as that is known; "" else."""
    if source == store.known_source_id:
        return plain_name(own_name(store))
    try:
        return store.judgements.names().get(source, "")
    except (OSError, sqlite3.Error):
        return ""


def authors(store: Store, lore: Sequence[Lore | Hit]) -> list[str]:
    """Return who recorded each entry: its author, else whom git names for the commit that added it; "" if unknown.

    Entries of earlier versions have no author. Of the history only what its table has now is read; git is not asked.
    """
    missing = [one.id for one in lore if not one.author]
    found = _in_history(store, lambda table: table.added_by(missing)) if missing else {}
    return [one.author or committer_name(found.get(one.id, "")) for one in lore]


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
        with HistoryTable(path) as table:
            return read(table)
    except sqlite3.Error:
        return {}
