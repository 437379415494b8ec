"""Metrics of a store: their counts, and their text for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apikit import QUEUE, open_test_store

from engram.domain.explore.metrics import COUNTER, HISTOGRAM, Metric, prometheus

if TYPE_CHECKING:
    from pathlib import Path


def test_metrics_count_records_queries_and_entries_shown(root: Path) -> None:
    with open_test_store(root) as store:
        store.record(QUEUE, category="fact")
        store.query("queue consumer patterns")
        store.query("bread")
        found = {(metric.name, dict(metric.labels).get("via", "")): metric for metric in store.metrics()}
    assert found["engram.recorded.total", "unknown"].value == 1  # the kit's store does not say which way
    assert found["engram.recalled.total", "unknown"].value == 2
    assert found["engram.shown.total", ""].value == 1
    assert found["engram.store.size", ""].value == 1
    latency = found["engram.recall.latency_ms", ""]
    assert (latency.times, latency.buckets[-1]) == (2, (float("inf"), 2))
    assert {"engram.sync.push.total", "engram.sync.pull.total", "engram.sync.errors.total", "engram.queue.pending"} <= {
        name for name, _ in found
    }  # fmt: skip


def test_the_prometheus_text_has_the_exposition_format() -> None:
    text = prometheus(
        [
            Metric("engram.withheld.total", COUNTER, "Withheld", 2, (("why", 'a "b"\\\n'),)),
            Metric("engram.withheld.total", COUNTER, "Withheld", 1, (("why", "c"),)),
            Metric("engram.recall.latency_ms", HISTOGRAM, "Time", 3.5, (), ((1.0, 1), (float("inf"), 2))),
        ]
    )
    assert text.splitlines() == [
        "# HELP engram_withheld_total Withheld",
        "# TYPE engram_withheld_total counter",
        'engram_withheld_total{why="a \\"b\\"\\\\\\n"} 2',
        'engram_withheld_total{why="c"} 1',
        "# HELP engram_recall_latency_ms Time",
        "# TYPE engram_recall_latency_ms histogram",
        'engram_recall_latency_ms_bucket{le="1"} 1',
        'engram_recall_latency_ms_bucket{le="+Inf"} 2',
        "engram_recall_latency_ms_sum 3.5",
        "engram_recall_latency_ms_count 2",
    ]


def test_quantiles_lie_between_the_bounds() -> None:
    latency = Metric("x", HISTOGRAM, "", 0.0, (), ((1.0, 5), (10.0, 10), (float("inf"), 10)))
    assert (latency.quantile(0.5), latency.quantile(0.75)) == (1.0, 5.5)
    assert Metric("x", HISTOGRAM, "", 0.0, (), ((1.0, 0), (float("inf"), 0))).quantile(0.5) == 0.0
