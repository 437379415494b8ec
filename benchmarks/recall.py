"""Recall quality of a retrieval set through the product: `python benchmarks/recall.py SET.json [SET.json ...]`.

Loads the documents into a scratch store and asks every query with `store.query`, k = 10, no confidence filter.
`bm25` is the word index alone, every word of the query, no floor: what hybrid must never fall below.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import retrieval_set
import scoring
from scratch_store import isolate

import engram
from engram.domain.strength import STRENGTHS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

K = 10
STRATEGIES = ("bm25", "words", "hybrid")


class Measured(NamedTuple):
    """One strategy on one set: quality, milliseconds a query (p50, p99), and answers by their strength.

    `unanswered` counts strengths for the queries that nothing answers.
    """

    strategy: str
    quality: scoring.Quality
    p50_ms: float
    p99_ms: float
    strengths: dict[str, int]
    unanswered: dict[str, int]


class Report(NamedTuple):
    """One set: its name and sizes, why files were refused, and what was measured."""

    name: str
    documents: int
    cut: int
    masked: int
    refused: list[str]
    measured: list[Measured]


def measure(path: str, strategies: Sequence[str] = STRATEGIES) -> Report:
    """Load the set at `path` into a scratch store and measure each strategy."""
    found = retrieval_set.load(path)
    with tempfile.TemporaryDirectory(prefix="engram-recall-") as folder:
        root = os.path.join(folder, "store")
        documents = retrieval_set.store_documents(root, found)
        with engram.open(root, background=False) as store:
            store.refresh()
            generation = store.store.index.look()
            assert generation is not None
            refused = [problem.message for problem in generation.catalog.problems()]
            measured = [_ask(store, name, found, documents) for name in strategies]
    return Report(found.name, len(documents), found.cut, found.masked, refused, measured)


def _ask(
    store: engram.Engram, strategy: str, found: retrieval_set.RetrievalSet, documents: dict[str, str]
) -> Measured:
    asker = _bm25(store) if strategy == "bm25" else _product(store, strategy)
    asker(next(iter(found.queries.values()), "warm up"))
    rankings: dict[str, list[str]] = {}
    times = []
    strengths, unanswered = Counter[str](), Counter[str]()
    for name, text in found.queries.items():
        began = time.perf_counter_ns()
        ids, strength = asker(text)
        times.append((time.perf_counter_ns() - began) / 1e6)
        rankings[name] = [documents[lore_id] for lore_id in ids]
        strengths[strength] += 1
    for text in found.unanswerable:
        unanswered[asker(text)[1]] += 1
    result = scoring.quality(rankings, found.judged)
    p50, p99 = scoring.percentile(times, 0.5), scoring.percentile(times, 0.99)
    return Measured(strategy, result, p50, p99, strengths, unanswered)


def _product(store: engram.Engram, strategy: str) -> Callable[[str], tuple[list[str], str]]:
    def ask(text: str) -> tuple[list[str], str]:
        answer = store.query(text, k=K, min_confidence=0, keep=False, strategy=strategy)
        return [hit.lore.id for hit in answer.lore], answer.strength

    return ask


def _bm25(store: engram.Engram) -> Callable[[str], tuple[list[str], str]]:
    generation = store.store.index.look()
    assert generation is not None

    def ask(text: str) -> tuple[list[str], str]:
        scores = generation.words.search(generation.words.terms(text), K).scores
        by_row = {hit.row: hit.id for hit in generation.catalog.hits(list(scores))}
        return [by_row[row] for row in scores], ""

    return ask


def table(reports: Sequence[Report]) -> str:
    """The reports as a markdown table."""
    names = ["Set", "Strategy", "recall@1", "recall@5", "recall@10", "MRR@10", "nDCG@10", "p50 ms", "p99 ms"]
    names += ["strong / weak / none", "the same where nothing answers"]
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for report in reports:
        for row in report.measured:
            values = " | ".join(f"{value:.4f}" for value in row.quality[:5])
            times = f"{row.p50_ms:.2f} | {row.p99_ms:.2f}"
            counts = f"{_counts(row.strengths)} | {_counts(row.unanswered)}"
            lines.append(f"| {report.name} | {row.strategy} | {values} | {times} | {counts} |")
    return "\n".join(lines)


def _counts(strengths: dict[str, int]) -> str:
    """`strong / weak / none`, or nothing where the asker does not say."""
    if not any(strengths.get(name) for name in STRENGTHS):
        return ""
    return " / ".join(str(strengths.get(name, 0)) for name in STRENGTHS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the sets named on the command line; 1 where hybrid falls below BM25 alone in nDCG@10."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", metavar="SET.json")
    parser.add_argument("--strategies", default=",".join(STRATEGIES), help="comma-separated, of: %(default)s")
    chosen = parser.parse_args(arguments)
    reports = [measure(path, chosen.strategies.split(",")) for path in chosen.sets]
    print(table(reports))
    for report in reports:
        print(f"\n{report.name}: {report.documents:,} documents, {report.cut} cut, {report.masked} masked")
        for why in report.refused:
            print(f"  refused: {why}")
    worse = [report.name for report in reports if _falls_below(report)]
    if worse:
        print(f"\nHybrid is below BM25 alone on: {', '.join(worse)}", file=sys.stderr)
    return 1 if worse else 0


def _falls_below(report: Report) -> bool:
    ndcg = {row.strategy: row.quality.ndcg_10 for row in report.measured}
    return "hybrid" in ndcg and "bm25" in ndcg and ndcg["hybrid"] < ndcg["bm25"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="engram-home-") as home:
        isolate(home)
        sys.exit(main())
