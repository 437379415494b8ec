"""What a store and its live record come to, as values: how much, how good, how used, how quick."""

from __future__ import annotations

from engram.domain.typed import NamedTuple

LATENCY_BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500)


class Share(NamedTuple):
    """How many lore have one value of something."""

    name: str
    number: int


class Noted(NamedTuple):
    """A lore that is worth a line: confidence 0.00..1.00, times that it was helpful, when it was recorded (Unix seconds)."""

    id: str
    title: str
    confidence: float
    helpful: int
    created_at: float


class Growth(NamedTuple):
    """How much lore there was at the ends of equal spans of time; times in Unix seconds."""

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
        """All of them."""
        return self.helpful + self.not_relevant + self.incorrect

    @property
    def rate(self) -> float:
        """The share of helpful ones, 0..1; 0 where nothing was judged."""
        return self.helpful / self.judged if self.judged else 0.0


class Asked(NamedTuple):
    """A question that found nothing the last time, how often it did, and when last (Unix seconds)."""

    query: str
    times: int
    last_at: float


class Latency(NamedTuple):
    """How long queries took, in milliseconds: how many were looked at, quantiles, and counts up to each bound (and beyond)."""

    queries: int = 0
    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    counts: tuple[int, ...] = ()


class Insight(NamedTuple):
    """All of it. `confidence` counts lore in ten equal parts of 0..1, `states` by what they are called.

    `categories` and `agents` are the largest. `unused` were never shown on this machine nor called helpful anywhere,
    and are older than a month: the oldest of `unused_total`. What is about queries and judgements is from this
    machine's live record, its latest entries.
    """

    total: int
    active: int
    growth: Growth
    confidence: tuple[int, ...]
    states: tuple[Share, ...]
    weeks: tuple[Week, ...]
    useful: tuple[Noted, ...]
    unused: tuple[Noted, ...]
    unused_total: int
    unanswered: tuple[Asked, ...]
    unanswered_total: int
    latency: Latency
    categories: tuple[Share, ...]
    scopes: tuple[Share, ...]
    agents: tuple[Share, ...]

    def as_dict(self) -> dict[str, object]:
        """As JSON."""
        found: dict[str, object] = {}
        for name, value in zip(self._fields, self, strict=True):
            if isinstance(value, tuple) and hasattr(value, "_asdict"):
                found[name] = value._asdict()
            elif isinstance(value, tuple):
                found[name] = [one._asdict() if hasattr(one, "_asdict") else one for one in value]
            else:
                found[name] = value
        return found
