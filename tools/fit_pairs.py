"""Learn the weights of engram/domain/pair_weights.py from the development half of tests/pairs: `python tools/fit_pairs.py`.

Two logistic regressions with a ridge penalty, by Newton's method. Besides the labelled pairs, texts drawn from
different notes that share something stand for the unrelated pairs that a store is full of. The bars, from which on a
pair is proposed, are read off the same half by leaving out a tenth of the notes at a time.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import TYPE_CHECKING

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "benchmarks")]

from engram.adapters.index.numeric import numpy_module  # noqa: E402
from engram.domain.equivalence import CONTRADICTION, DUPLICATE  # noqa: E402
from engram.domain.pairs import Features, features  # noqa: E402
from labelled_pairs import DEVELOPMENT, Assessor, Labelled, assessor, load  # noqa: E402

if TYPE_CHECKING:
    import numpy

RIDGE = 0.5
FOLDS = 10
BACKGROUND_SHARE = 0.5  # the weight of all background pairs together, against that of the labelled ones
RECALL = {DUPLICATE: 0.75, CONTRADICTION: 0.72}  # what the bars should find of the development half
LABELS = {DUPLICATE: "same", CONTRADICTION: "contradiction"}
TARGET = os.path.join(ROOT, "engram", "domain", "pair_weights.py")


def main() -> int:
    """Fit, and write the file of weights."""
    fitted = fit()
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write(source(*fitted))
    subprocess.run(["ruff", "format", "--quiet", TARGET], check=False)
    return 0


def fit() -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """The weights and the bars."""
    np = numpy_module()
    pairs = load(DEVELOPMENT)
    words = assessor(pairs)
    background = background_pairs(pairs, words)
    both = [*pairs, *background]
    table = np.array([_features(pair, words) for pair in both])
    importance = np.ones(len(both))
    importance[len(pairs) :] = BACKGROUND_SHARE * len(pairs) / len(background)
    folds = _folds(both)
    weights, bars = {}, {}
    for kind, label in LABELS.items():
        wanted = np.array([pair.label == label for pair in both], float)
        left_out = np.zeros(len(both))
        for fold in range(FOLDS):
            rest = folds != fold
            left_out[~rest] = _likelihoods(_newton(table[rest], wanted[rest], importance[rest]), table[~rest])
        found = _newton(table, wanted, importance)
        weights[kind] = {name: round(float(w), 3) for name, w in zip([*Features._fields, "constant"], found, strict=True)}
        best = np.sort(left_out[: len(pairs)][wanted[: len(pairs)] == 1])[::-1]
        bars[kind] = round(float(best[int(RECALL[kind] * len(best))]), 3)
    return weights, bars


def background_pairs(pairs: list[Labelled], words: Assessor) -> list[Labelled]:
    """Pairs of texts of different notes that are near enough to be looked at in a store, labelled unrelated."""
    notes: dict[str, set[str]] = {}
    for pair in pairs:
        for text in (pair.one, pair.other):
            notes.setdefault(text, set()).update(pair.notes)
    return [
        Labelled("", DEVELOPMENT, "unrelated", "", "", "", one, other, (min(notes[one]),))
        for one, other in itertools.combinations(sorted(notes), 2)
        if not notes[one] & notes[other] and words.cosine(one, other) >= 0.35
    ]


def source(weights: dict[str, dict[str, float]], bars: dict[str, float]) -> str:
    """The text of the file of weights."""
    lines = [
        '"""The weights of a pair\'s features, as learnt by tools/fit_pairs.py: made by it, not by hand.',
        "",
        "From the development half of tests/pairs; the held-out half was not looked at. BARS are the likelihoods",
        'from which on a pair is proposed to people."""',
        "",
        "from __future__ import annotations",
        "",
        f"WEIGHTS: dict[str, dict[str, float]] = {weights!r}",
        f"BARS: dict[str, float] = {bars!r}",
    ]
    return "\n".join(lines) + "\n"


def _features(pair: Labelled, words: Assessor) -> Features:
    sides = words.side(pair.one, pair.category), words.side(pair.other, pair.other_category)
    return features(*sides, words.cosine(pair.one, pair.other), words.words)


def _folds(pairs: list[Labelled]) -> numpy.ndarray:
    """A fold for each pair; pairs of one note are in one."""
    notes = sorted({pair.notes[0] for pair in pairs})
    number = {note: place % FOLDS for place, note in enumerate(notes)}
    return numpy_module().array([number[pair.notes[0]] for pair in pairs])


def _newton(table: numpy.ndarray, wanted: numpy.ndarray, importance: numpy.ndarray) -> numpy.ndarray:
    np = numpy_module()
    rows = np.c_[table, np.ones(len(table))]
    penalty = np.eye(rows.shape[1]) * RIDGE
    penalty[-1, -1] = 1e-6
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (importance * (likely - wanted)) + penalty @ weights
        curvature = (rows.T * (importance * likely * (1 - likely))) @ rows + penalty
        weights = weights - np.linalg.solve(curvature, slope)
    return weights


def _likelihoods(weights: numpy.ndarray, table: numpy.ndarray) -> numpy.ndarray:
    np = numpy_module()
    return 1 / (1 + np.exp(-(np.c_[table, np.ones(len(table))] @ weights)))


if __name__ == "__main__":
    sys.exit(main())
