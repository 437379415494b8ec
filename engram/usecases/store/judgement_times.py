"""Correct the times of lines that were written by a wrong clock, from the times of the commits that brought them.

A clock that is ahead dates lines in the future, and since the ids of a writer only grow, that goes on after it is set
right. A line from the future counts as of the commit that brought it. A clock that is behind dates lines before the
parent of the commit that brought them; such a line counts as of the parent. Ledgers have a file for each month, and only
files of months before the parent's are checked, since decay counts months.
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
    """Store corrected times of lines from the future or the past, in these files of the branch (path: blob id).

    Everything up to the commit `known` ("": none) was checked before. Raises GitError, StoreError.
    """
    now = store.clock.now()
    month, after = f"{now:%y%m}", last_id_of_day(tallies.day_of(now))
    for path, oid in files.items():
        source = ledger.source_of(path)
        if source and _month(path) >= month and _lines_after(store, oid, source, after):
            store.judgements.keep_times(_find_future_lines(store, tip, path, after))
    # Take the last month from the ledgers, since the clock of this machine may be wrong.
    ledgers = [path.rpartition(":")[2] for path in store.judgements.known()]
    last = max((_month(path) for path in ledgers if ledger.source_of(path)), default="")
    if any(_month(path) < last for path in files if ledger.source_of(path)):
        store.judgements.keep_times(_find_past_lines(store, known, tip))


def _month(path: str) -> str:
    return path.rpartition("/")[2][5:9]


def _find_past_lines(store: Store, known: str, tip: str) -> list[tuple[str, str, int]]:
    """Return lines dated before the parent of the commit that brought them: id, entry, and the parent's time (Unix ms)."""
    from engram.adapters.git.write import ledger_branch

    suspects = [
        change
        for change in ledger_branch.written_since(store.repository, known, tip, ledger.RESTORED)
        if ledger.source_of(change.path) and change.after and change.parent_moment
        if _month(change.path) < f"{datetime.fromtimestamp(change.parent_moment, UTC):%y%m}"
    ]
    found: dict[str, tuple[str, int]] = {}
    for change in suspects:
        raw = ledger_branch.contents(store.repository, [oid for oid in (change.before, change.after) if oid])
        source, floor = ledger.source_of(change.path) or "", change.parent_moment * 1000
        before = {line.id for line in ledger.parse(raw.get(change.before, b""), source).judgements}
        for line in ledger.parse(raw[change.after], source).judgements:
            if line.id not in before and ulid.milliseconds(line.id) < floor:
                found[line.id] = line.entry, min(floor, found.get(line.id, ("", floor))[1])
    return [(line_id, entry, at) for line_id, (entry, at) in found.items()]


def last_id_of_day(day: int) -> str:
    """Return the last possible id of a line of a day (since 1970, UTC)."""
    return ulid.encode(max(0, tallies.end_of(day)), (1 << 80) - 1)


def _find_future_lines(store: Store, tip: str, path: str, after: str) -> list[tuple[str, str, int]]:
    """Return the lines of a file with ids after `after`: id, entry, and the time of their commit (Unix ms)."""
    from engram.adapters.git.write import ledger_branch

    source = ledger.source_of(path) or ""
    found: dict[str, tuple[str, int]] = {}
    for commit in ledger_branch.arrivals(store.repository, tip, path):
        lines = _lines_after(store, commit.after, source, after)
        for line_id in lines.keys() - _lines_after(store, commit.before, source, after).keys():
            at = commit.moment * 1000
            found[line_id] = lines[line_id], min(at, found[line_id][1] if line_id in found else at)
    return [(line_id, entry, at) for line_id, (entry, at) in found.items()]


def _lines_after(store: Store, oid: str, source: str, after: str) -> dict[str, str]:
    """Return the entries of the lines with ids after `after` in a version of a file, by line id."""
    from engram.adapters.git.write import ledger_branch

    raw = ledger_branch.contents(store.repository, [oid])[oid] if oid else b""
    return {line.id: line.entry for line in ledger.parse(raw, source).judgements if line.id > after}
