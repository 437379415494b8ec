"""Metrics of a store, from its activity log, its index and its write journal."""

from __future__ import annotations

from engram.domain.errors import EngramError
from engram.domain.explore.metrics import COUNTER, GAUGE, HISTOGRAM, Metric
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.adapters.state.activity_table import ActivityTable
    from engram.usecases.store.store import Store

BOUNDS_MS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)
_NAMES = {
    "record": "engram.recorded.total",
    "query": "engram.recalled.total",
    "feedback": "engram.feedback.total",
}
_DESCRIPTIONS = {
    "engram.recorded.total": "Entries recorded, by front end",
    "engram.recalled.total": "Queries answered, by front end",
    "engram.feedback.total": "Calls of feedback, by front end",
}
_SYNCED = {"push": "pushed", "pull": "pulled", "errors": "errors"}


def metrics(store: Store) -> list[Metric]:
    """Return all metrics, the gauges last. Raises StoreError if another process locks the log too long."""
    with store.lock:
        live = store.session_state.live
        return [*_counters(live), _latency(live), *_syncs(live.details("sync")), *_gauges(store)]


def _counters(live: ActivityTable) -> list[Metric]:
    totals = live.totals()
    found = []
    for action, name in _NAMES.items():
        counts = _sum_by_front_end({via: count for other, via, count, _, _ in totals if other == action})
        found += [
            Metric(name, COUNTER, _DESCRIPTIONS[name], count, (("via", front_end),))
            for front_end, count in counts.items()
        ]
    imported = live.details("import").get("imported", 0)
    if imported:
        name = _NAMES["record"]
        found.insert(0, Metric(name, COUNTER, _DESCRIPTIONS[name], imported, (("via", "import"),)))
    return found + _count_shown(totals, live.withheld())


def _count_shown(totals: list[tuple[str, str, int, int, int]], withheld: Mapping[str, int]) -> list[Metric]:
    shown = [(lore, tokens) for action, _, _, lore, tokens in totals if action in ("query", "get", "brief")]
    lore, tokens = sum(number for number, _ in shown), sum(number for _, number in shown)
    captured = sum(count for action, _, count, _, _ in totals if action == "capture")
    return [
        Metric("engram.shown.total", COUNTER, "Entries shown to an agent or a person", lore),
        Metric("engram.tokens.total", COUNTER, "Estimated tokens of the entries shown", tokens),
        Metric("engram.captured.total", COUNTER, "Reports from hooks", captured),
        *[
            Metric("engram.withheld.total", COUNTER, "Entries near a query but not shown, by reason", count, (("why", why),))
            for why, count in withheld.items()
        ],
    ]  # fmt: skip


def _sum_by_front_end(counts: Mapping[str, int]) -> dict[str, int]:
    """Sum counts by front end; all events of hooks are one front end."""
    found: dict[str, int] = {}
    for via, count in counts.items():
        front_end = via.partition(" ")[0] or "unknown"
        found[front_end] = found.get(front_end, 0) + count
    return found


def _latency(live: ActivityTable) -> Metric:
    counts, total, count = live.latencies(BOUNDS_MS)
    buckets = (*zip(BOUNDS_MS, counts, strict=True), (float("inf"), count))
    what = "Latency of queries in milliseconds"
    return Metric("engram.recall.latency_ms", HISTOGRAM, what, round(total, 3), (), buckets)


def _syncs(sums: Mapping[str, int]) -> list[Metric]:
    descriptions = {
        "push": "Syncs that pushed entries",
        "pull": "Syncs that pulled entries",
        "errors": "Syncs that failed",
    }
    return [
        Metric(f"engram.sync.{name}.total", COUNTER, descriptions[name], sums.get(f"times.{key}", 0))
        for name, key in _SYNCED.items()
    ]


def _gauges(store: Store) -> list[Metric]:
    pending = len(store.files.journal.waiting())
    return [
        Metric("engram.store.size", GAUGE, "Entries in the store", _size(store)),
        Metric("engram.queue.pending", GAUGE, "Changes waiting to be committed", pending),
    ]


def _size(store: Store) -> int:
    from engram.usecases.index.index_query import query_index

    try:
        return query_index(store, lambda generation: generation.catalog.count())
    except EngramError:
        return 0
