"""Put the brief into a rules file, for an agent that reads those but may drop a hook's text at the start of a session.

Only a file that `engram connect` created is written, and no link, which a cloned repository may contain.
"""

from __future__ import annotations

import os

from engram.domain.errors import EngramError


def rules_file(agent: str, working: str) -> str:
    """Return the path of an agent's rules file for the project around `working`; "" if `engram connect` created none."""
    from engram.adapters.agents.hosts import host_named

    host = host_named(agent)
    if host is None or not host.session:
        return ""
    from engram.adapters.agents.folders import resolve
    from engram.adapters.git.run.layout import find_repository
    from engram.usecases.agents import connections

    repository = find_repository(working)
    path = resolve(host.session, repository.worktree) if repository else ""
    known = connections.load().get(path) if path else None
    return path if known is not None and agent in known.agents and os.path.realpath(path) == path else ""


def write(path: str, notes: str) -> str:
    """Write the notes into the file from `rules_file`, and return those that could not be written."""
    from engram.adapters.agents.edits import OWNED_MARK
    from engram.adapters.agents.guides import session_rules
    from engram.adapters.files.foreign import foreign_files

    try:
        before = foreign_files.read(path)
        if before is None or OWNED_MARK.encode() not in before:
            return notes
        after = session_rules(notes).encode()
        if after != before:
            foreign_files.replace(path, before, after)
    except EngramError:
        return notes
    return ""
