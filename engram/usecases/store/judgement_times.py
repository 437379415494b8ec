"""When a line was written whose own time cannot be right: between the commit that brought it and the one before that.

A clock that is ahead gives its lines times that are, and the ids of a writer only grow: after its clock is right again its
lines still have times ahead, until those have come. So a line from the future counts as of the commit that brought it.
A clock that is behind gives times before those of commits that were there already: such a line counts as of these. Lines are
in a file for each month, and only those of months that were over by then are looked at, since decay counts months.
"""

from __future__ import annotations

from datetime import UTC, datetime

from engram.domain.entry import ulid
from engram.domain.judgements import ledger
from engram.domain.judgements import tally as tallies
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.usecases.store.store import Store


def note_times(store: Store, known: str, tip: str, files: Mapping[str, str]) -> None:
    """Note when lines came to the branch that are from the future or the past, of these files of it (path: blob id).

    What was there at the commit `known` ("": none) was looked at before. Raises GitError, StoreError.
    """
    now = store.clock.now()
    month, after = f"{now:%y%m}", last_of(tallies.day_of(now))
    for path, oid in files.items():
        source = ledger.source_of(path)
        if source and _month(path) >= month and _ahead(store, oid, source, after):
            store.judgements.keep_times(_read_arrivals(store, tip, path, after))
    # By no clock of this machine, which may be wrong: of the months that anybody has judged in, the last.
    ledgers = [path.rpartition(":")[2] for path in store.judgements.known()]
    last = max((_month(path) for path in ledgers if ledger.source_of(path)), default="")
    if any(_month(path) < last for path in files if ledger.source_of(path)):
        store.judgements.keep_times(_behind(store, known, tip))


def _month(path: str) -> str:
    return path.rpartition("/")[2][5:9]


def _behind(store: Store, known: str, tip: str) -> list[tuple[str, str, int]]:
    """Return lines older than the commit before the one that brought them: their id, entry, and that time (Unix ms)."""
    from engram.adapters.git.write import ledger_branch

    suspects = [
        one
        for one in ledger_branch.written_since(store.repository, known, tip, ledger.RESTORED)
        if ledger.source_of(one.path) and one.after and one.parent_moment
        if _month(one.path) < f"{datetime.fromtimestamp(one.parent_moment, UTC):%y%m}"
    ]
    found: dict[str, tuple[str, int]] = {}
    for one in suspects:
        raw = ledger_branch.contents(store.repository, [oid for oid in (one.before, one.after) if oid])
        source, floor = ledger.source_of(one.path) or "", one.parent_moment * 1000
        before = {line.id for line in ledger.parse(raw.get(one.before, b""), source).judgements}
        for line in ledger.parse(raw[one.after], source).judgements:
            if line.id not in before and ulid.milliseconds(line.id) < floor:
                found[line.id] = line.entry, min(floor, found.get(line.id, ("", floor))[1])
    return [(line_id, entry, at) for line_id, (entry, at) in found.items()]


def last_of(day: int) -> str:
    """Return the last id that a line of a day (since 1970, UTC) can have."""
    return ulid.encode(max(0, tallies.end_of(day)), (1 << 80) - 1)


def _read_arrivals(store: Store, tip: str, path: str, after: str) -> list[tuple[str, str, int]]:
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
