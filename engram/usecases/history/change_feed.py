"""The change feed for programs that keep a copy of a store: new and changed entries, and the ids of deleted ones.

Changes are ordered by the time this clone saw them, not by the time they were made, as sync may bring in old ones. The feed
is a separate table that survives a damaged or rebuilt index; each call updates it first.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

from engram.adapters.files.durable.atomic import digest
from engram.adapters.state.durable import FEED, DurableDatabase
from engram.adapters.state.feed_table import GONE, SCHEMA, Feed, Line, Seen, differences
from engram.domain.entry import times, ulid
from engram.domain.entry.lore import STATUSES
from engram.domain.errors import CursorGoneError, UsageError, ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import query_index
from engram.usecases.lookup.listing import Shown
from engram.usecases.store import entry_writer
from engram.usecases.store.people import with_authors
from engram.usecases.store.quarantine import quarantined_texts, without_quarantined

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from engram.adapters.index.catalog import Hit, Text
    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

_OVERLAP_SECONDS = 2.0  # file system clocks are coarse: report a change twice rather than never
_BATCH = 200
_CURSOR = re.compile(rf"([{ulid.ALPHABET}]{{8}})-([0-9]{{1,15}})")


class Delta(NamedTuple):
    """New and changed entries in the order of their last changes, the ids of the new ones, and those of deleted ones.

    Pass `cursor` to the next call; if `more`, further changes are waiting. `as_of` is a less exact alternative to the
    cursor.
    """

    lore: tuple[Shown, ...]
    created_ids: tuple[str, ...]
    deleted_ids: tuple[str, ...]
    as_of: datetime
    cursor: str
    more: bool


class Snapshot(NamedTuple):
    """All entries in batches, and the cursor or time to pass to `delta` afterwards."""

    parts: Iterator[list[Shown]]
    as_of: datetime
    cursor: str


def delta(store: Store, since: datetime | str = "", limit: int | None = None) -> Delta:
    """Return the changes since a cursor or a time (aware, or RFC 3339; default: all), without quarantined entries.

    At most `limit` changes, oldest first. Raises ValidationError, UsageError (time in the future), CursorGoneError,
    StoreError.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"The limit must be 1 or more, not {limit}.")
    as_of = times.whole_seconds(store.clock.now())
    since_text = since if isinstance(since, str) else times.render(since)
    cursor = _CURSOR.fullmatch(since_text.strip())
    start_time = None if cursor or not since_text else _moment(since_text, as_of)
    query_index(store, lambda _: None, thorough=True)  # may take long, so without the lock

    def read_changes(connection: sqlite3.Connection) -> tuple[list[Line], str, int]:
        feed = Feed(connection)
        _update(store, feed)
        start = 0 if start_time is None else feed.before(start_time)
        start = _check_cursor(feed, cursor) if cursor else start
        lines = feed.since(start, -1 if limit is None else limit + 1)
        reached = lines[limit - 1].number if limit and len(lines) > limit else max(feed.last, feed.floor)
        return lines, f"{feed.name}-{reached}", start

    with store.lock:
        lines, next_cursor, start = _feed(store).transact(read_changes)
        reported = lines[:limit]
        shown = tuple(_read(store, [(line.id, line.path) for line in reported if not line.is_gone]))
        readable = {one.lore.id for one in shown}
        _report_later(store, [line.id for line in reported if not line.is_gone and line.id not in readable])
        return Delta(
            shown,
            tuple(line.id for line in reported if line.id in readable and line.born > start),
            tuple(sorted(line.id for line in reported if line.is_gone)),
            as_of,
            next_cursor,
            len(lines) > len(reported),
        )


def snapshot(store: Store) -> Snapshot:
    """Return every entry not in quarantine, oldest first; no lock is held between batches. Raises StoreError."""
    with store.lock:
        query_index(store, lambda _: None, thorough=True)
        as_of = times.whole_seconds(store.clock.now())

        def take_snapshot(connection: sqlite3.Connection) -> str:
            feed = Feed(connection)
            _update(store, feed)
            feed.snapshot_taken(as_of.timestamp())
            return f"{feed.name}-{max(feed.last, feed.floor)}"

        cursor = _feed(store).transact(take_snapshot)
        hits = query_index(store, lambda generation: generation.catalog.select("1", (), "ORDER BY id"))
        shown = without_quarantined(store, hits)
        _report_later(store, {hit.id for hit in hits} - {hit.id for hit in shown})
        return Snapshot(_batches(store, shown), as_of, cursor)


def last_snapshot(store: Store) -> datetime | None:
    """Return the time of this clone's latest snapshot; None if there is none. Raises StoreError."""
    at = _feed(store).transact(lambda connection: Feed(connection).snapshot_at)
    return datetime.fromtimestamp(at, UTC) if at else None


def _batches(store: Store, hits: Sequence[Hit]) -> Iterator[list[Shown]]:
    for start in range(0, len(hits), _BATCH):
        with store.lock:
            batch = hits[start : start + _BATCH]
            entries = list(_read(store, [(hit.id, hit.path) for hit in batch]))
            _report_later(store, {hit.id for hit in batch} - {shown.lore.id for shown in entries})
            yield entries


def _report_later(store: Store, ids: Collection[str]) -> None:
    """Report these entries in the next call, as they cannot be read now."""
    if ids:
        _feed(store).transact(lambda connection: Feed(connection).doubt(ids))


def _read(store: Store, locations: Sequence[tuple[str, str]]) -> Iterator[Shown]:
    for lore_id, path in locations:
        file = entry_writer.load_readable(store, path)
        if file is not None and file.lore.id == lore_id:  # else deleted or broken in between
            [lore] = with_authors(store, [file.lore])
            yield Shown(lore, path, "", store.places.scope, digest(file.raw))


def _moment(text: str, now: datetime) -> float:
    """Parse a time to Unix seconds, less a safety overlap. Raises ValidationError, UsageError."""
    try:
        moment = max(0.0, times.parse(text).timestamp() - _OVERLAP_SECONDS)
    except (ValueError, OverflowError):
        hint = "For example 2026-01-28T10:00:00Z, or the `cursor` of the previous answer."
        raise ValidationError("since", "'since' is neither a cursor nor an RFC 3339 time.", hint) from None
    if moment > now.timestamp():
        raise UsageError("'since' is in the future.", "Send the `cursor` or `as_of` of the previous answer.")
    return moment


def _check_cursor(feed: Feed, cursor: re.Match[str]) -> int:
    """Return the number in a cursor. Raises CursorGoneError if it is from another feed or too old."""
    number = int(cursor[2])
    if cursor[1] != feed.name or not feed.floor <= number <= max(feed.last, feed.floor):
        raise CursorGoneError(
            "This cursor belongs to another clone's change feed, or is older than what the feed keeps.",
            "Take a snapshot, or ask without `since`, and continue with the cursor of that answer.",
        )
    return number


def _feed(store: Store) -> DurableDatabase:
    path = os.path.join(store.places.state, FEED)
    if path not in store.durable:
        store.durable[path] = DurableDatabase(path, SCHEMA, store.degraded.append)
    return store.durable[path]


def _update(store: Store, feed: Feed) -> None:
    """Add the differences from the index to the feed. Quarantined texts count as not yet present."""
    if store.judged_mark:
        feed.doubt(store.judgements.take_unreported())
    quarantined = quarantined_texts(store)
    stamp = _stamp(store, quarantined)
    if feed.name and feed.mark == stamp:
        return

    def read_index(generation: Generation) -> tuple[list[Text], set[str], dict[str, float]]:
        catalog = generation.catalog
        changed = (
            {}
            if feed.name
            else {hit.id: max(hit.mtime_ns / 1e9, hit.updated_at) for hit in catalog.select("1")}
        )
        return catalog.texts(STATUSES), {problem.path for problem in catalog.problems()}, changed

    texts, broken, changed = query_index(store, read_index)
    now = store.clock.now().timestamp()
    seen = [
        Seen(text.id, text.path, text.digest, min(now, changed.get(text.id, now)))
        for text in texts
        if text.id not in quarantined or text.text_digest not in (quarantined[text.id] or ())
    ]
    ids = {text.id for text in texts}
    known = feed.known()
    if not feed.name:
        feed.begin(ulid.short(store.clock.new_id()))
        deleted = [
            Seen(lore_id, "", GONE, at) for lore_id, at in store.state.tombstones.all() if lore_id not in ids
        ]
        feed.note(sorted([*seen, *deleted], key=lambda entry: entry.at))
        feed.up_to_date(stamp)
        return
    deleted = [
        Seen(lore_id, path, GONE, now)
        for lore_id, (path, digest) in known.items()
        if digest != GONE and lore_id not in ids and path not in broken
    ]
    feed.note([*differences(known, seen), *deleted])
    feed.up_to_date(stamp)


def _stamp(store: Store, quarantined: Mapping[str, Collection[str] | None]) -> str:
    """Return a stamp of the index and the quarantine."""
    rows, lines = query_index(
        store, lambda generation: (generation.catalog.count_rows(), generation.catalog.sum_of_lines())
    )
    quarantine = sorted((lore_id, sorted(digests or ())) for lore_id, digests in quarantined.items())
    return f"{rows} {lines} {digest(repr(quarantine).encode())}"
