"""Measure recall on retrieval sets through the product: `python benchmarks/recall.py SET [SET ...]`.

A SET is a JSON file, a folder with lore.jsonl and queries.jsonl, or the JSON of LoCoMo or LongMemEval. Its documents go into a
scratch store and every question is asked with `engram.open(...).query`, k = 10, no confidence filter, in each variant.
`bm25` is the bare word index, with every word of the query and no threshold; hybrid must never fall below it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from typing import TYPE_CHECKING

import locomo
import longmemeval
import recall_providers
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
    from retrieval_set import RetrievalSet


def measure(path: str, variants: Sequence[str] = tuple(VARIANTS)) -> list[Report]:
    """Measure the set at `path` in these variants: one report, or one per level of LoCoMo.

    Raises OSError, ValueError or KeyError for a set that cannot be read or an unknown variant.
    """
    return [_report(found, variants) for found in _sets(path)]


def _sets(path: str) -> list[RetrievalSet] | list[list[RetrievalSet]]:
    """Load the sets at a path: each one store, or a list with a store for each conversation."""
    if os.path.isdir(path):
        return [retrieval_set.load(path)]
    if longmemeval.is_longmemeval(path):
        return [longmemeval.load(path)]
    if locomo.is_locomo(path):
        return [locomo.load(path, level) for level in locomo.LEVELS]
    return [retrieval_set.load(path)]


def _report(found: RetrievalSet | list[RetrievalSet], variants: Sequence[str]) -> Report:
    if isinstance(found, list):
        return recall_report.of_units([(unit, _answers(unit, variants)) for unit in found])
    return recall_report.of_one(found, _answers(found, variants))


def _answers(found: RetrievalSet, variants: Sequence[str]) -> Answers:
    with tempfile.TemporaryDirectory(prefix="engram-recall-") as folder:
        return ask_all(found, [VARIANTS[name] for name in variants], folder)


def text(reports: Sequence[Report]) -> str:
    """Return the reports as tables."""
    parts = [recall_tables.quality(reports)]
    parts += map(recall_tables.kinds, reports)
    parts += map(recall_tables.any_found, reports)
    parts += [recall_tables.honesty(reports), recall_tables.bounds(reports)]
    for report in reports:
        sizes = report.sizes
        summary = f"{sizes.documents:,} documents, {sizes.cut} cut, {sizes.masked} masked"
        parts.append(
            "\n".join([f"{report.name}: {summary}", *[f"  refused: {why}" for why in sizes.refused]])
        )
    return "\n\n".join(filter(None, parts))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the sets on the command line; return 1 if hybrid falls below BM25 alone in nDCG@10."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", metavar="SET")
    parser.add_argument(
        "--variants", default=",".join(VARIANTS), help="comma-separated; default all: %(default)s"
    )
    parser.add_argument(
        "--providers",
        help="compare embedding providers instead: comma-separated, of bundled, mapped, read, none, onnx=FOLDER",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    options = parser.parse_args(arguments)
    if options.providers:
        return _compare(parser, options.sets, options.providers.split(","))
    names = options.variants.split(",")
    unknown = [name for name in names if name not in VARIANTS]
    if unknown:
        parser.error(f"no such variant: {', '.join(unknown)}")
    reports = [report for path in options.sets for report in measure(path, names)]
    if options.json:
        machine = describe_machine()
        print(json.dumps({"machine": machine, "sets": [report.as_dict() for report in reports]}, indent=1))
    else:
        print(text(reports))
    worse = [report.name for report in reports if _falls_below(report)]
    if worse:
        print(f"\nHybrid is below BM25 alone on: {', '.join(worse)}", file=sys.stderr)
    return 1 if worse else 0


def _compare(parser: argparse.ArgumentParser, sets: Sequence[str], providers: Sequence[str]) -> int:
    """Print a table of all providers on all sets, and one of each set's kinds of question."""
    try:
        for provider in providers:
            recall_providers.settings_of(provider)
    except ValueError as error:
        parser.error(str(error))
    found = [recall_providers.compare(one, providers) for path in sets for one in _sets(path)]
    kinds = [recall_tables.kinds(one.report) for one in found]
    print("\n\n".join(filter(None, [recall_tables.providers(found), *kinds])))
    return 0


def _falls_below(report: Report) -> bool:
    if not {BM25, HYBRID} <= report.asked.keys():
        return False
    return report.quality(HYBRID).ndcg_10 < report.quality(BM25).ndcg_10


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="engram-home-") as home:
        isolate(home)
        sys.exit(main())
