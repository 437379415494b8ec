"""Charts fit a small terminal."""

from __future__ import annotations

from pathlib import Path

from apikit import QUEUE, TIDES, open_test_store

from engram.domain.explore.insight import Latency
from engram.domain.explore.insight_charts import charts
from tests.explore.test_insight import seen


def test_no_line_of_a_chart_is_wider_than_a_small_terminal(root: Path) -> None:
    with open_test_store(root) as store:
        used = store.record(QUEUE, category="pattern_outcome").lore.id
        store.record(TIDES, category="fact")
        store.query("queue consumer patterns")
        store.feedback(helpful=used)
        found = seen(store)._replace(latency=Latency(9, 3.0, 40.0, 45.0, (0, 2, 3, 2, 1, 1, 0, 0, 0, 0)))
        drawn = charts(found, store.store.clock.now().timestamp(), 36)
    assert max(len(line) for chart in drawn for line in chart.lines) <= 36
    (latency,) = (chart for chart in drawn if chart.title == "Recall latency")
    assert latency.lines[-1].split() == ["≤2", "≤5", "≤10", "≤20", "≤50", "≤100", "≤200"]
