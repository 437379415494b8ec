"""Statistics of a store and its activity log, as values: amount, quality, use, speed."""

from __future__ import annotations

from engram.domain.typed import NamedTuple

LATENCY_BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


class Share(NamedTuple):
    """The number of entries with one value of a property."""

    name: str
    number: int


class Entry(NamedTuple):
    """An entry to list: confidence 0.00..1.00, count of helpful judgements, when it was recorded (Unix seconds)."""

    id: str
    title: str
    confidence: float
    helpful: int
    created_at: float


class Growth(NamedTuple):
    """The number of entries at the ends of equal time spans; times in Unix seconds."""

    start: float = 0.0
    end: float = 0.0
    totals: tuple[int, ...] = ()
    new_in_30_days: int = 0


class Week(NamedTuple):
    """The judgements of seven days on this machine; `start` in Unix seconds."""

    start: float
    helpful: int = 0
    not_relevant: int = 0
    incorrect: int = 0

    @property
    def judged(self) -> int:
        """The number of judgements."""
        return self.helpful + self.not_relevant + self.incorrect

    @property
    def rate(self) -> float:
        """The share of helpful judgements, 0..1; 0 if there are none."""
        return self.helpful / self.judged if self.judged else 0.0


class Asked(NamedTuple):
    """A query that found nothing the last time: how often it was asked, and when last (Unix seconds)."""

    query: str
    times: int
    last_at: float


class Latency(NamedTuple):
    """The latency of queries in milliseconds: number of queries, quantiles, and counts per bucket."""

    queries: int = 0
    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    counts: tuple[int, ...] = ()


class Insight(NamedTuple):
    """All statistics. `confidence` counts entries in ten equal intervals of 0..1, `states` by name.

    `categories` and `agents` are the largest. `unused` lists the oldest of `unused_total` entries older than a month that
    were never shown on this machine nor judged helpful anywhere. Queries and judgements come from this machine's activity
    log.
    """

    total: int
    active: int
    growth: Growth
    confidence: tuple[int, ...]
    states: tuple[Share, ...]
    weeks: tuple[Week, ...]
    useful: tuple[Entry, ...]
    unused: tuple[Entry, ...]
    unused_total: int
    unanswered: tuple[Asked, ...]
    unanswered_total: int
    latency: Latency
    categories: tuple[Share, ...]
    scopes: tuple[Share, ...]
    agents: tuple[Share, ...]

    def as_dict(self) -> dict[str, object]:
        """Return the statistics as JSON."""
        found: dict[str, object] = {}
        for name, value in zip(self._fields, self, strict=True):
            if isinstance(value, tuple) and hasattr(value, "_asdict"):
                found[name] = value._asdict()
            elif isinstance(value, tuple):
                found[name] = [item._asdict() if hasattr(item, "_asdict") else item for item in value]
            else:
                found[name] = value
        return found
