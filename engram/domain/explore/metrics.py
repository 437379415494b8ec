"""Counters, gauges and histograms as values, and their text in the Prometheus exposition format."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metric(NamedTuple):
    """A number with a name like `engram.recalled.total`, its meaning, and labels as (name, value) pairs.

    A histogram also has cumulative `buckets`, (upper bound, count), the last bound being infinity; its `value` is the sum
    of the measurements.
    """

    name: str
    kind: str
    what: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()
    buckets: tuple[tuple[float, int], ...] = ()

    @property
    def times(self) -> int:
        """The number of measurements of a histogram."""
        return self.buckets[-1][1] if self.buckets else 0

    def quantile(self, share: float) -> float:
        """Estimate a quantile (0 to 1) of a histogram from its buckets; 0 if it is empty."""
        wanted, low, below = share * self.times, 0.0, 0
        for bound, count in self.buckets:
            if count >= wanted and count > below and bound != float("inf"):
                return low + (bound - low) * (wanted - below) / (count - below)
            low, below = (low if bound == float("inf") else bound), count
        return low if self.times else 0.0

    def as_dict(self) -> dict[str, object]:
        """Return the metric as JSON; the bound of the last bucket is null."""
        fields: dict[str, object] = {"name": self.name, "kind": self.kind, "labels": dict(self.labels)}
        if self.kind != HISTOGRAM:
            return {**fields, "value": self.value}
        buckets = [{"le": None if bound == float("inf") else bound, "count": n} for bound, n in self.buckets]
        quantiles = {f"p{round(share * 100)}": round(self.quantile(share), 3) for share in (0.5, 0.95, 0.99)}
        return {**fields, "sum": self.value, "count": self.times, "buckets": buckets, **quantiles}


def prometheus(metrics: Sequence[Metric]) -> str:
    """Format metrics in the Prometheus exposition format."""
    lines: list[str] = []
    described: set[str] = set()
    for metric in metrics:
        name = metric.name.replace(".", "_")
        if name not in described:
            described.add(name)
            lines += [f"# HELP {name} {metric.what}", f"# TYPE {name} {metric.kind}"]
        lines += _samples(name, metric)
    return "\n".join([*lines, ""])


def _samples(name: str, metric: Metric) -> Iterator[str]:
    if metric.kind != HISTOGRAM:
        yield f"{name}{_labels(metric.labels)} {_number(metric.value)}"
        return
    for bound, count in metric.buckets:
        yield f"{name}_bucket{_labels((*metric.labels, ('le', _number(bound))))} {count}"
    yield f"{name}_sum{_labels(metric.labels)} {_number(metric.value)}"
    yield f"{name}_count{_labels(metric.labels)} {metric.times}"


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    pairs = ",".join(f'{name}="{_escape(value)}"' for name, value in labels)
    return f"{{{pairs}}}" if pairs else ""


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)
