"""Measure precision and recall of duplicates and contradictions on both halves of tests/data/pairs: `python benchmarks/pairs.py`.

The weights were learned from the development half, so only the held-out half shows how good they are.
"""

from __future__ import annotations

import statistics
import sys
from typing import NamedTuple

from labelled_pairs import HALVES, Labelled, load, make_assessor

from engram.domain.similarity.equivalence import CONTRADICTION, DUPLICATE, NEAR, SAME, is_shown
from engram.domain.similarity.pairs import Assessment, assess, features, likelihood, shares_enough

LABELS = {DUPLICATE: "same", CONTRADICTION: "contradiction"}
_BARS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7)


class Judged(NamedTuple):
    """A labelled pair, its cosine and assessment, and the likelihood of each kind regardless of thresholds."""

    pair: Labelled
    cosine: float
    assessment: Assessment
    likely: dict[str, float]


class Score(NamedTuple):
    """Counts of pairs of a kind: proposed as it, rightly so, and labelled as it."""

    right: int
    proposed: int
    real: int

    @property
    def precision(self) -> float:
        """The share of proposals that are right."""
        return self.right / self.proposed if self.proposed else 1.0

    @property
    def recall(self) -> float:
        """The share of real pairs that are proposed."""
        return self.right / self.real


def judge(half: str) -> list[Judged]:
    """Assess the pairs of a half."""
    pairs = load(half)
    words = make_assessor(pairs)
    found = []
    for pair in pairs:
        one, other, cosine, known = words.evidence(pair)
        likely = {kind: likelihood(kind, features(one, other, cosine, known)) for kind in LABELS}
        if not shares_enough(one, other):
            likely[DUPLICATE] = 0.0
        found.append(Judged(pair, cosine, assess(one, other, cosine, known), likely))
    return found


def score(judged: list[Judged], kind: str) -> Score:
    """Score the pairs proposed as this kind; entries that are folded automatically count as duplicates."""
    kinds = {DUPLICATE, SAME} if kind == DUPLICATE else {kind}
    proposed = [
        item for item in judged
        if item.assessment.kind in kinds and is_shown(item.assessment.kind, item.assessment.strength, item.cosine)
    ]  # fmt: skip
    right = sum(item.pair.label == LABELS[kind] for item in proposed)
    return Score(right, len(proposed), sum(item.pair.label == LABELS[kind] for item in judged))


def score_at(judged: list[Judged], kind: str, bar: float) -> Score:
    """Score this kind by its likelihood alone, with `bar` as the threshold."""
    proposed = [item for item in judged if item.likely[kind] >= bar]
    right = sum(item.pair.label == LABELS[kind] for item in proposed)
    return Score(right, len(proposed), sum(item.pair.label == LABELS[kind] for item in judged))


def score_by_cosine(judged: list[Judged], kind: str, recall: float) -> Score:
    """Score cosine alone at the threshold that finds at least this share of the real pairs."""
    ranked = sorted(judged, key=lambda item: -item.cosine)
    scores = (
        Score(
            sum(item.pair.label == LABELS[kind] for item in ranked[:count]),
            count,
            sum(item.pair.label == LABELS[kind] for item in ranked),
        )
        for count in range(1, len(ranked) + 1)
    )
    return next(found for found in scores if found.recall >= recall)


def in_other_words(judged: list[Judged]) -> list[Judged]:
    """Return the pairs without the light edits, which are easy."""
    return [item for item in judged if not item.pair.edit]


def wrong_folds(judged: list[Judged]) -> list[Judged]:
    """Return pairs that would be folded automatically and must not be."""
    return [item for item in judged if item.assessment.kind == SAME and item.pair.label != "same"]


def table(halves: dict[str, list[Judged]]) -> str:
    """Return the scores as markdown."""
    lines = [
        "| Half | Kind | real | proposed | right | recall | precision | cosine alone, at that recall |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for half, every in halves.items():
        judged = in_other_words(every)
        for kind in LABELS:
            found = score(judged, kind)
            alone = score_by_cosine(judged, kind, found.recall)
            values = f"{found.real} | {found.proposed} | {found.right} | {found.recall:.2f} | {found.precision:.2f}"
            lines.append(f"| {half} | {kind} | {values} | {alone.precision:.2f} |")
    return "\n".join(lines)


def curve(halves: dict[str, list[Judged]]) -> str:
    """Return recall and precision by threshold, as markdown."""
    heads = [f"{half}, {kind}" for half in halves for kind in LABELS]
    lines = [f"| bar | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for bar in _BARS:
        found = [score_at(in_other_words(judged), kind, bar) for judged in halves.values() for kind in LABELS]
        lines.append(f"| {bar} | {' | '.join(f'{s.recall:.2f} / {s.precision:.2f}' for s in found)} |")
    return "\n".join(lines)


def cosines(halves: dict[str, list[Judged]]) -> str:
    """Return the median cosine of each label, as markdown."""
    labels = ["same", "near", "contradiction", "unrelated"]
    lines = [f"| Median cosine | {' | '.join(labels)} |", "|---" * (len(labels) + 1) + "|"]
    for half, every in halves.items():
        judged = in_other_words(every)
        medians = [
            statistics.median(item.cosine for item in judged if item.pair.label == label) for label in labels
        ]
        lines.append(f"| {half} | {' | '.join(f'{value:.2f}' for value in medians)} |")
    return "\n".join(lines)


def main() -> int:
    """Print all tables; return 1 if a pair would be folded wrongly."""
    halves = {half: judge(half) for half in HALVES}
    print(cosines(halves), table(halves), curve(halves), sep="\n\n")
    wrong = 0
    for half, judged in halves.items():
        folded = [item for item in judged if item.assessment.kind == SAME]
        near = [item for item in judged if item.cosine >= NEAR and item.pair.label != "same"]
        wrong_here = len(wrong_folds(judged))
        wrong += wrong_here
        print(f"\n{half}: {len(folded)} pairs fold by themselves, {wrong_here} of them wrongly;")
        print(f"{len(near)} others are as near (cosine {NEAR} or more) and do not.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
