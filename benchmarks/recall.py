"""Recall of retrieval sets through the product: `python benchmarks/recall.py SET [SET ...]`.

A SET is a JSON file, a folder with lore.jsonl and queries.jsonl, or LoCoMo's JSON. Its documents go into a scratch
store and every question is asked with `engram.open(...).query`, k = 10, no confidence filter, in each variant.
`bm25` is the word index alone, every word of the query, no floor: what hybrid must never fall below.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from typing import TYPE_CHECKING

import locomo
import recall_report
import recall_tables
import retrieval_set
from figures import describe_machine
from recall_asking import ask_all
from recall_report import Report
from recall_variants import BM25, HYBRID, VARIANTS
from scratch_store import isolate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recall_asking import Answers


def measure(path: str, variants: Sequence[str] = tuple(VARIANTS)) -> list[Report]:
    """Measure the set at `path` in these variants: one report, or one for each level of LoCoMo.

    Raises OSError, ValueError or KeyError for a set that cannot be read or a variant that there is not.
    """
    if not os.path.isdir(path) and locomo.is_locomo(path):
        return [_conversations(path, level, variants) for level in locomo.LEVELS]
    found = retrieval_set.load(path)
    return [recall_report.of_one(found, _answers(found, variants))]


def _conversations(path: str, level: str, variants: Sequence[str]) -> Report:
    return recall_report.of_units([(found, _answers(found, variants)) for found in locomo.load(path, level)])


def _answers(found: retrieval_set.RetrievalSet, variants: Sequence[str]) -> Answers:
    with tempfile.TemporaryDirectory(prefix="engram-recall-") as folder:
        return ask_all(found, [VARIANTS[name] for name in variants], folder)


def text(reports: Sequence[Report]) -> str:
    """The reports as tables."""
    parts = [recall_tables.quality(reports)]
    parts += map(recall_tables.kinds, reports)
    parts += [recall_tables.honesty(reports), recall_tables.bounds(reports)]
    for report in reports:
        sizes = report.sizes
        said = f"{sizes.documents:,} documents, {sizes.cut} cut, {sizes.masked} masked"
        parts.append("\n".join([f"{report.name}: {said}", *[f"  refused: {why}" for why in sizes.refused]]))
    return "\n\n".join(filter(None, parts))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the sets named on the command line; 1 where hybrid falls below BM25 alone in nDCG@10."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", metavar="SET")
    parser.add_argument(
        "--variants", default=",".join(VARIANTS), help="comma-separated; default all: %(default)s"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    chosen = parser.parse_args(arguments)
    names = chosen.variants.split(",")
    unknown = [name for name in names if name not in VARIANTS]
    if unknown:
        parser.error(f"no such variant: {', '.join(unknown)}")
    reports = [report for path in chosen.sets for report in measure(path, names)]
    if chosen.json:
        machine = describe_machine()
        print(json.dumps({"machine": machine, "sets": [report.as_dict() for report in reports]}, indent=1))
    else:
        print(text(reports))
    worse = [report.name for report in reports if _falls_below(report)]
    if worse:
        print(f"\nHybrid is below BM25 alone on: {', '.join(worse)}", file=sys.stderr)
    return 1 if worse else 0


def _falls_below(report: Report) -> bool:
    if not {BM25, HYBRID} <= report.asked.keys():
        return False
    return report.quality(HYBRID).ndcg_10 < report.quality(BM25).ndcg_10


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="engram-home-") as home:
        isolate(home)
        sys.exit(main())
