"""Statistics of a whole store, from its catalog and the activity log, without reading files of entries."""

from __future__ import annotations

import json
from collections import Counter

from engram.adapters.state.activity_sums import LiveSums
from engram.domain.entry.confidence import STATES, state
from engram.domain.entry.lore import ACTIVE
from engram.domain.errors import EngramError
from engram.domain.explore.insight import (
    LATENCY_BOUNDS_MS,
    Asked,
    Entry,
    Growth,
    Insight,
    Latency,
    Share,
    Week,
)
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.explore.recorders import find_recorders
from engram.usecases.index.index_query import query_index
from engram.usecases.opening import scopes

if TYPE_CHECKING:
    from engram.adapters.index.catalog import Catalog, Hit
    from engram.usecases.store.store import Store

GROWTH_POINTS = 48
WEEKS = 12
UNUSED_DAYS = 30
MOST_NAMED = 5
MOST_SHARES = 8
MOST_TIMED = 1000  # queries
_DAY = 86_400.0
# Entries of a person count under the author's name, those of an agent under the agent's, whoever it works for.
_RECORDER = (
    "CASE WHEN agent IN ('', 'human') AND author != '' THEN author"
    " ELSE coalesce(nullif(agent, ''), 'unknown') END"
)


def compute_insight(store: Store) -> Insight:
    """Compute the statistics of a store, in bounded time. Raises StoreError."""
    with store.lock:
        now = store.clock.now().timestamp()
        log = LiveSums(store.session_state)
        shown = json.dumps(log.shown())
        return query_index(store, lambda generation: _compute(store, generation.catalog, log, shown, now))


def _compute(store: Store, catalog: Catalog, log: LiveSums, shown: str, now: float) -> Insight:
    by_confidence = {int(value): count for value, count in catalog.count_by("confidence").items()}
    states = dict.fromkeys(STATES, 0)
    tenths = [0] * 10
    for thousandths, count in by_confidence.items():
        states[state(thousandths)] += count
        tenths[max(0, min(9, thousandths // 100))] += count
    unused = "status = ? AND validation_count = 0 AND created_at < ? AND id NOT IN (SELECT value FROM json_each(?))"
    values = (ACTIVE, now - UNUSED_DAYS * _DAY, shown)
    order = f"ORDER BY validation_count DESC, confidence DESC, id LIMIT {MOST_NAMED}"
    useful = catalog.select("validation_count > 0", (), order)
    oldest_unused = catalog.select(unused, values, f"ORDER BY created_at, id LIMIT {MOST_NAMED}")
    total_unanswered, unanswered = log.unanswered(MOST_NAMED)
    total = sum(by_confidence.values())
    return Insight(
        total=total,
        active=catalog.count("status = ?", (ACTIVE,)),
        growth=_growth(catalog, now),
        confidence=tuple(tenths),
        states=tuple(Share(name, count) for name, count in states.items()),
        weeks=_weeks(log, now),
        useful=tuple(map(_entry, useful)),
        unused=tuple(map(_entry, oldest_unused)),
        unused_total=catalog.count(unused, values),
        unanswered=tuple(Asked(*query) for query in unanswered),
        unanswered_total=total_unanswered,
        latency=_latency(log.took_ms(MOST_TIMED)),
        categories=_shares(catalog.count_by("category")),
        scopes=_scopes(store, total),
        agents=_shares(_count_recorders(store, catalog)),
    )


def _entry(hit: Hit) -> Entry:
    confidence = (hit.confidence + 5) // 10 / 100
    return Entry(hit.id, hit.title, confidence, hit.validation_count, hit.created_at)


def _growth(catalog: Catalog, now: float) -> Growth:
    first = catalog.select("1", (), "ORDER BY created_at LIMIT 1")
    if not first:
        return Growth()
    start = min(first[0].created_at, now - 1)
    span = (now - start) / GROWTH_POINTS
    counts = catalog.count_by(
        f"min({GROWTH_POINTS - 1}, max(0, CAST((created_at - {start!r}) / {span!r} AS INTEGER)))"
    )
    totals, running_total = [], 0
    for number in range(GROWTH_POINTS):
        running_total += counts.get(number, 0)  # type: ignore[call-overload]
        totals.append(running_total)
    new = catalog.count("created_at >= ?", (now - 30 * _DAY,))
    return Growth(start, now, tuple(totals), new)


def _weeks(log: LiveSums, now: float) -> tuple[Week, ...]:
    """Return the last weeks, oldest first; the last one ends now."""
    start = now - WEEKS * 7 * _DAY
    counts = log.judgements(start, 7 * _DAY)
    weeks = [Week(start + number * 7 * _DAY, *counts.get(number, ())) for number in range(WEEKS)]
    late = counts.get(WEEKS)  # recorded at this very moment
    if late:
        last = weeks[-1]
        weeks[-1] = Week(last.start, *(one + other for one, other in zip(last[1:], late, strict=True)))
    return tuple(weeks)


def _latency(times_ms: list[float]) -> Latency:
    if not times_ms:
        return Latency()
    counts = [0] * (len(LATENCY_BOUNDS_MS) + 1)
    for value in times_ms:
        counts[next((index for index, bound in enumerate(LATENCY_BOUNDS_MS) if value <= bound), -1)] += 1
    p50, p95, p99 = (
        round(times_ms[min(len(times_ms) - 1, int(len(times_ms) * share))], 3) for share in (0.5, 0.95, 0.99)
    )
    return Latency(len(times_ms), p50, p95, p99, tuple(counts))


def _shares(counts: dict[str, int]) -> tuple[Share, ...]:
    """Return the first shares of counts that are sorted by size."""
    return tuple(Share(str(name), count) for name, count in list(counts.items())[:MOST_SHARES])


def _count_recorders(store: Store, catalog: Catalog) -> dict[str, int]:
    """Count the entries of each person and agent, highest first."""
    counts = Counter(catalog.count_by(_RECORDER))
    for label, names in find_recorders(store, catalog).items():
        counts.subtract({label: len(names)})
        counts.update(names.values())
    return {name: number for name, number in counts.most_common() if number}


def _scopes(store: Store, total: int) -> tuple[Share, ...]:
    """Count the entries of each scope whose index is ready."""
    here = store.places.scope
    found = [Share(here, total)]
    for name in scopes.reachable_scopes(store):
        if name == here:
            continue
        try:
            generation = (
                scopes.open_scope_of(store, name).index.look() if scopes.exists(store, name) else None
            )
            if generation is not None and generation.catalog.count():
                found.append(Share(name, generation.catalog.count()))
        except EngramError:
            continue
    return tuple(found)
