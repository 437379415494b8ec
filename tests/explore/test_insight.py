"""Insight: statistics of the catalog and the activity log, and their charts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from apikit import COLOUR, QUEUE, TIDES, SetClock, cli, open_test_store

from engram.domain.explore.insight import Insight, Week
from engram.domain.explore.insight_charts import charts

if TYPE_CHECKING:
    from engram.app import Engram


def seen(store: Engram) -> Insight:
    return store.insight()


def test_an_empty_store_has_no_statistics(root: Path) -> None:
    with open_test_store(root) as store:
        found = seen(store)
        assert (found.total, found.growth.totals, found.unused) == (0, (), ())
        (chart,) = charts(found, 0.0, 60)
        assert "No lore here yet" in chart.sentence


def test_insight_counts_entries_judgements_and_queries(root: Path) -> None:
    clock = SetClock()
    with open_test_store(root, clock=clock) as store:
        old = store.record(TIDES, category="fact").lore.id
        store.record(COLOUR, category="fact", confidence=0.25, agent="codex")
        clock.advance(days=40)
        used = store.record(QUEUE, category="pattern_outcome").lore.id
        store.query("queue consumer patterns")
        store.query("how to bake bread without yeast")
        store.query("how to bake bread without yeast")
        store.feedback(helpful=used)
        store.feedback(incorrect=used)
        found = seen(store)
    assert (found.total, found.active, found.growth.totals[-1], found.growth.new_in_30_days) == (3, 3, 3, 1)
    assert found.growth.totals[0] == 2
    assert sum(found.confidence) == 3
    assert (found.confidence[2], {one.name: one.number for one in found.states}["cold"]) == (1, 1)
    assert [one.id for one in found.useful] == [used]
    assert found.unused_total == 2
    assert found.unused[0].id == old
    assert [(one.query, one.times) for one in found.unanswered] == [("how to bake bread without yeast", 2)]
    assert (found.latency.queries, sum(found.latency.counts)) == (3, 3)
    assert found.latency.p50 <= found.latency.p95 <= found.latency.p99
    week = found.weeks[-1]
    assert (week.helpful, week.incorrect, week.rate) == (1, 1, 0.5)
    assert {one.name: one.number for one in found.categories} == {"FACT": 2, "PATTERN_OUTCOME": 1}
    assert {one.name: one.number for one in found.agents}["codex"] == 1


def test_a_query_answered_later_is_no_longer_unanswered(root: Path) -> None:
    with open_test_store(root) as store:
        store.record(COLOUR, category="fact")
        store.query("tide tables daylight saving")
        assert seen(store).unanswered_total == 1
        store.record(TIDES, category="fact")
        store.query("tide tables daylight saving")
        assert seen(store).unanswered_total == 0


def test_an_entry_that_was_shown_is_not_unused(root: Path) -> None:
    clock = SetClock()
    with open_test_store(root, clock=clock) as store:
        store.record(TIDES, category="fact")
        clock.advance(days=31)
        assert seen(store).unused_total == 1
        store.query("tide tables")
        assert seen(store).unused_total == 0


def test_the_command_prints_every_finding_and_one_document(root: Path) -> None:
    with open_test_store(root) as store:
        store.record(TIDES + " \x1b[31m", category="fact")
        store.query("bake bread")
    done = cli("insight", cwd=root)
    assert done.code == 0
    for title in (
        "Growth",
        "Confidence",
        "Helpful, by week",
        "Recall latency",
        "Without an answer",
        "Categories",
    ):
        assert f"{title}:" in done.out
    assert "\x1b[31m" not in done.out
    assert json.loads(cli("insight", "--json", cwd=root).out)["total"] == 1


def test_a_week_without_judgements_has_no_rate() -> None:
    assert Week(0.0).rate == 0.0
