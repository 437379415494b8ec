"""Measure what `record` recognises in labelled pairs and in a folder of notes: `python benchmarks/twins.py [FOLDER]`.

All first sides of tests/data/pairs are recorded in one store; then each second side is checked: is it known, and is
its first side named as a probable duplicate? A pair that is not labelled `same` and whose second side is known as the
first is a wrong merge. The notes of a folder of markdown are imported and recorded once more: each must be known as
itself.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import scratch_store
from labelled_pairs import HALVES, load

import engram


def main(arguments: list[str]) -> int:
    """Print the figures; return 1 if anything would be merged wrongly."""
    wrong = sum(labelled(half) for half in HALVES)
    wrong += sum(notes(Path(folder)) for folder in arguments)
    return int(wrong > 0)


def labelled(half: str) -> int:
    """Print how recording treats the pairs of a half; return how many it would merge wrongly."""
    counts, known, named, others = found = weigh(half)
    print(f"{half}: {sum(counts.values())} pairs")
    for label, number in sorted(counts.items()):
        print(f"  {label:<14} {number:>4}  known {known[label]:>3}  named {named[label]:>3}")
    print(
        f"  known or named of what is the same: {found.recall:.2f}; "
        f"right of the labelled that are named: {found.precision:.2f}"
    )
    print(f"  entries named beside: {others} (many say a part of the same; nobody labelled them)")
    return sum(number for label, number in known.items() if label != "same")


class Weighed(NamedTuple):
    """By label: pairs, second sides known as the first, and second sides that name it as a probable duplicate.

    `others` counts further entries that are named.
    """

    counts: Counter[str]
    known: Counter[str]
    named: Counter[str]
    others: int

    @property
    def recall(self) -> float:
        """The share of pairs that say the same that are known or named."""
        return (self.known["same"] + self.named["same"]) / self.counts["same"]

    @property
    def precision(self) -> float:
        """The share of named pairs that say the same."""
        return self.named["same"] / max(1, self.named.total())


def weigh(half: str) -> Weighed:
    """Record the first sides of the pairs of a half, and check the second ones."""
    pairs = load(half)
    counts, known, named = Counter[str](), Counter[str](), Counter[str]()
    others = 0
    with tempfile.TemporaryDirectory() as folder:
        scratch_store.make_plain(f"{folder}/store")
        with engram.open(f"{folder}/store") as store:
            ids = [store.record(pair.one, category=pair.category).lore.id for pair in pairs]
            store.refresh()
            for pair, first in zip(pairs, ids, strict=True):
                found = store.weigh(pair.other, category=pair.other_category)
                counts[pair.label] += 1
                known[pair.label] += found.known is not None and found.known.id == first
                twins = [twin.id for twin in found.similar if twin.certainty]
                named[pair.label] += first in twins
                others += sum(twin != first for twin in twins)
    return Weighed(counts, known, named, others)


def notes(folder: Path) -> int:
    """Import notes, print how a second recording treats them, and return how many were treated wrongly."""
    with tempfile.TemporaryDirectory() as place:
        scratch_store.make_plain(f"{place}/store")
        with engram.open(f"{place}/store") as store:
            done = store.import_markdown(str(folder), redact=True)
            store.refresh()
            entries = [shown.lore for shown in store.list(limit=None).lore]
            wrong = 0
            for lore in entries:
                found = store.weigh(lore.content, category=lore.category).known
                wrong += found is None or found.id != lore.id
            again = store.import_markdown(str(folder), redact=True)
    print(
        f"{folder}: {done.imported} entries, {wrong} taken for another, {again.imported} more after a second import"
    )
    return wrong + again.imported


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
