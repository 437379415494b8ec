"""When a line was written whose own time has yet to come: no later than it was committed.

A clock that is ahead gives its lines times that are, and the ids of a writer only grow: after its clock is right again its
lines still have times ahead, until those have come. So a line from the future counts as of the commit that brought it.
"""

from __future__ import annotations

from engram.domain.entry import ulid
from engram.domain.judgements import ledger
from engram.domain.judgements import tally as tallies
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.usecases.store.store import Store


def note_times(store: Store, tip: str, files: Mapping[str, str]) -> None:
    """Note when the lines that are from the future came to the branch, of these files of it (path: blob id).

    Raises GitError, StoreError.
    """
    now = store.clock.now()
    month, after = f"{now:%y%m}", last_of(tallies.day_of(now))
    for path, oid in files.items():
        source = ledger.source_of(path)
        if source and path.rpartition("/")[2][5:9] >= month and _ahead(store, oid, source, after):
            store.judgements.keep_times(_arrived(store, tip, path, after))


def last_of(day: int) -> str:
    """Return the last id that a line of a day (since 1970, UTC) can have."""
    return ulid.encode(tallies.end_of(day), (1 << 80) - 1)


def _arrived(store: Store, tip: str, path: str, after: str) -> list[tuple[str, str, int]]:
    """Return the lines with ids after this one: their id, their entry, and when they were committed (Unix ms)."""
    from engram.adapters.git.write import ledger_branch

    source = ledger.source_of(path) or ""
    found: dict[str, tuple[str, int]] = {}
    for commit in ledger_branch.arrivals(store.repository, tip, path):
        there = _ahead(store, commit.after, source, after)
        for line_id in there.keys() - _ahead(store, commit.before, source, after).keys():
            at = commit.moment * 1000
            found[line_id] = there[line_id], min(at, found[line_id][1] if line_id in found else at)
    return [(line_id, entry, at) for line_id, (entry, at) in found.items()]


def _ahead(store: Store, oid: str, source: str, after: str) -> dict[str, str]:
    """Return the entries of the lines with ids after this one in a version of a file, by the ids of the lines."""
    from engram.adapters.git.write import ledger_branch

    raw = ledger_branch.contents(store.repository, [oid])[oid] if oid else b""
    return {line.id: line.entry for line in ledger.parse(raw, source).judgements if line.id > after}
