"""Measure whether graph expansion over entities helps recall: `python benchmarks/hop.py SET [SET ...] [--units N]`.

Sets are those of benchmarks/recall.py. As no set names entities, each entry gets its tags and the names in its text that occur
in at least two entries of the set. A name is a word with a digit, with a capital inside the word, or with an initial capital inside
a sentence. Every question is asked twice in one store, k = 10, with and without the expansion.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections import Counter
from typing import TYPE_CHECKING

import locomo
import recall_report
import retrieval_set
import scoring
from recall_asking import K, ask_all
from recall_variants import HYBRID, Variant
from scratch_store import isolate

from engram.domain.text.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recall_report import Report
    from retrieval_set import Document, RetrievalSet

STEP = "one step on"
VARIANTS = (Variant(HYBRID, "hybrid", {}), Variant(STEP, "hybrid", {}, hop=True))
_WORD = re.compile(r"[^\W\d_][\w+#-]*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:#>*-]\s+|\n\s*)\W*$")
_MAX_NAMES = 50  # per entry


def names_in(text: str) -> list[str]:
    """Return the words of a text that look like names, each once."""
    found = []
    for word in _WORD.finditer(text):
        name = word.group()
        inside = any(letter.isupper() or letter.isdigit() for letter in name[1:])
        is_capitalized = name[0].isupper() and not _SENTENCE_START.search(text[: word.start()][-12:])
        if (inside or is_capitalized) and len(name) > 1 and name.lower() not in STOP_WORDS:
            found.append(name)
    return list(dict.fromkeys(found))


def with_names(found: RetrievalSet) -> RetrievalSet:
    """Return the set with the entities of each entry."""
    named = [[*document.tags, *names_in(document.text)] for document in found.documents]
    count = Counter(name.lower() for names in named for name in dict.fromkeys(map(str.lower, names)))
    documents = [_with_entities(*pair, count) for pair in zip(found.documents, named, strict=True)]
    return found._replace(documents=documents)


def _with_entities(document: Document, names: Sequence[str], count: Counter[str]) -> Document:
    by_key = {name.lower(): name for name in reversed(names) if count[name.lower()] > 1}
    return document._replace(entities=tuple(by_key.values())[:_MAX_NAMES])


def reports(path: str, units: int) -> list[Report]:
    """Measure a set and return its report; of LoCoMo, the turns of the first `units` conversations."""
    if os.path.isdir(path) or not locomo.is_locomo(path):
        sets = [retrieval_set.load(path)]
    else:
        sets = locomo.load(path, locomo.TURN)[:units]
    parts = []
    for one in map(with_names, sets):
        named = sum(map(len, (document.entities for document in one.documents)))
        print(f"{one.name}: {len(one.documents):,} entries that name {named:,} entities", flush=True)
        with tempfile.TemporaryDirectory(prefix="engram-hop-") as folder:
            parts.append((one, ask_all(one, VARIANTS, folder)))
    return [recall_report.of_units(parts)]


def print_figures(report: Report) -> None:
    """Print the figures of a set, also by kind of question, and how many questions found more or fewer among ten."""
    for kind in ["", *sorted(set(report.kinds.values()))]:
        one, other = (report.quality(variant.name, kind) for variant in VARIANTS)
        asked = [query for query in report.judged if not kind or report.kinds.get(query) == kind]
        found = [
            [
                scoring.recall(report.asked[variant.name].replies[query].ids, report.judged[query], K)
                for query in asked
            ]
            for variant in VARIANTS
        ]
        more, less = (
            sum(a < b for a, b in zip(*found, strict=True)),
            sum(a > b for a, b in zip(*found, strict=True)),
        )
        print(
            f"{report.name:<16}{kind or 'all':<14}{one.queries:>6} "
            f"R@5 {one.recall_5:.4f} {other.recall_5:.4f}  R@10 {one.recall_10:.4f} {other.recall_10:.4f}  "
            f"nDCG@10 {one.ndcg_10:.4f} {other.ndcg_10:.4f}  more {more} less {less}",
            flush=True,
        )
    times = [scoring.percentile(report.asked[variant.name].times, 0.5) for variant in VARIANTS]
    print(f"{report.name:<16}p50 {times[0]:.1f} ms without, {times[1]:.1f} ms with")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--units", type=int, default=10, help="how many conversations of LoCoMo")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        isolate(home)
        for path in options.sets:
            for report in reports(path, options.units):
                print_figures(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
