"""Learn the weights of engram/domain/similarity/pair_weights.py from the development half of tests/data/pairs.

Run it as `python tools/fit_pairs.py`.

Logistic regressions with a ridge penalty, by Newton's method: one for each kind, and one for what is named at record.
Besides the labelled pairs there are pairs made of them: texts of different notes, which a store is full of, and long
texts of several learnings; and pairs of real notes as long as they were written, on one topic, which are no
duplicates. The bars, from which on a pair is proposed, are read off the labelled pairs by leaving out a tenth of the
notes at a time.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
import zlib
from random import Random
from typing import TYPE_CHECKING, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "benchmarks")]

from labelled_pairs import DEVELOPMENT, Assessor, Labelled, assessor, load  # noqa: E402

from engram.adapters.numeric import numpy_module  # noqa: E402
from engram.domain.similarity.equivalence import CONTRADICTION, DUPLICATE  # noqa: E402
from engram.domain.similarity.pairs import Features, features  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy

    Learn = Callable[[numpy.ndarray, numpy.ndarray, numpy.ndarray], numpy.ndarray]

RIDGE = 0.1
FOLDS = 10
LONG = 100  # how many of each kind of long pair are put together
BACKGROUND_SHARE = 0.5  # the weight of all background pairs together, against that of the labelled ones
NOTES_SHARE = 0.25  # and that of all pairs of real notes
PRECISION = 0.53  # of what the bars let through of the labelled pairs, so many should be right
TWIN_SHARE = 0.1  # for what is named at record: the weight of each of the three sorts of made pairs
TWIN_RIDGE = 1.0  # on features of mean 0 and variance 1
TWIN_PRECISION = 0.8
LABELS = {DUPLICATE: "same", CONTRADICTION: "contradiction"}
NEARER, LEAST, SOME = (
    0.35,
    0.1,
    10,
)  # cosines of background pairs: all from the first, one in ten from the second
NEAR_NOTES = 0.5  # the cosine from which two notes are compared
NOTES = os.path.join(ROOT, "tests", "data", "corpus", "notes.jsonl")
TARGET = os.path.join(ROOT, "engram", "domain", "similarity", "pair_weights.py")


def main() -> int:
    """Fit, and write the file of weights."""
    fitted = fit()
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write(source(fitted))
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", TARGET], check=False)
    return 0


class Fitted(NamedTuple):
    """The weights and bars of each kind, and those of what is named at record."""

    weights: dict[str, dict[str, float]]
    bars: dict[str, float]
    twin_weights: dict[str, float]
    twin_bar: float


def fit() -> Fitted:
    """The weights and the bars."""
    np = numpy_module()
    pairs = load(DEVELOPMENT)
    long = long_pairs(pairs)
    words = assessor(pairs, long)
    background = [*background_pairs(pairs, words), *long]
    notes, of_notes = note_pairs()
    both = [*pairs, *background, *notes]
    table = np.array(
        [_features(pair, words) for pair in both[: -len(notes)]]
        + [_features(pair, of_notes) for pair in notes]
    )
    sorts = np.repeat(range(4), [len(pairs), len(background) - len(long), len(long), len(notes)])
    importance = np.where(sorts == 0, 1, BACKGROUND_SHARE * len(pairs) / len(background))
    importance[sorts == 3] = NOTES_SHARE * len(pairs) / len(notes)
    folds = _folds(both)
    weights, bars = {}, {}
    for kind, label in LABELS.items():
        wanted = np.array([pair.label == label for pair in both], float)
        left_out = _left_out(table, wanted, importance, folds, _newton)[: len(pairs)]
        weights[kind] = _named(_newton(table, wanted, importance))
        bars[kind] = round(_bar(left_out, wanted[: len(pairs)], PRECISION), 3)
    wanted = np.array([pair.label == LABELS[DUPLICATE] for pair in both], float)
    importance = np.where(sorts == 0, 1, TWIN_SHARE * len(pairs) / np.bincount(sorts)[sorts])
    left_out = _left_out(table, wanted, importance, folds, _newton_of_equals)[: len(pairs)]
    # Up to whole hundredths: in a store, where words have other rarities, the bar itself lets a few wrong pairs through.
    twin_bar = math.ceil(100 * _bar(left_out, wanted[: len(pairs)], TWIN_PRECISION)) / 100
    return Fitted(weights, bars, _named(_newton_of_equals(table, wanted, importance)), twin_bar)


def _named(weights: numpy.ndarray) -> dict[str, float]:
    return {
        name: round(float(w), 3) for name, w in zip([*Features._fields, "constant"], weights, strict=True)
    }


def _left_out(
    table: numpy.ndarray, wanted: numpy.ndarray, importance: numpy.ndarray, folds: numpy.ndarray, learn: Learn
) -> numpy.ndarray:
    """The likelihood of each pair by weights that were learnt without its fold."""
    found = numpy_module().zeros(len(table))
    for fold in range(FOLDS):
        rest = folds != fold
        found[~rest] = _likelihoods(learn(table[rest], wanted[rest], importance[rest]), table[~rest])
    return found


def background_pairs(pairs: list[Labelled], words: Assessor) -> list[Labelled]:
    """Pairs of texts of different notes that are near enough to be looked at in a store, labelled unrelated."""
    notes: dict[str, set[str]] = {}
    for pair in pairs:
        for text in (pair.one, pair.other):
            notes.setdefault(text, set()).update(pair.notes)
    return [
        Labelled("", DEVELOPMENT, "unrelated", "", "", "", one, other, (min(notes[one]),))
        for one, other in itertools.combinations(sorted(notes), 2)
        if not notes[one] & notes[other] and _looked_at(one, other, words)
    ]


def _looked_at(one: str, other: str, words: Assessor) -> bool:
    """Whether two texts would be compared in a small store; of the many that are not near some are enough."""
    cosine = words.cosine(one, other)
    return cosine >= NEARER or (cosine >= LEAST and zlib.crc32(f"{one}{other}".encode()) % SOME == 0)


def note_pairs() -> tuple[list[Labelled], Assessor]:
    """Pairs of real notes that are near enough to be looked at, labelled near misses, and what knows their words."""
    with open(NOTES, encoding="utf-8") as file:
        notes = [json.loads(line) for line in file]
    words = Assessor([note["text"] for note in notes])
    return [
        Labelled("", DEVELOPMENT, "near", "", one["category"], other["category"], one["text"], other["text"], (one["note"],))
        for one, other in itertools.combinations(notes, 2)
        if one["note"] != other["note"] and words.cosine(one["text"], other["text"]) >= NEAR_NOTES
    ], words  # fmt: skip


def long_pairs(pairs: list[Labelled]) -> list[Labelled]:
    """Pairs of long texts put together from the sides of several pairs.

    From pairs that say the same: duplicates, and with one contradiction among them a contradiction. From near misses,
    or from one pair of any kind among texts that have nothing to do with it: neither.
    """
    random = Random(1)
    label = {kind: [pair for pair in pairs if pair.label == kind] for kind in {pair.label for pair in pairs}}
    found = []
    for _ in range(LONG):
        parts = random.sample(label["same"], random.randint(2, 6))
        found.append(_joined(random, "same", parts))
        found.append(_joined(random, "contradiction", [random.choice(label["contradiction"]), *parts]))
        found.append(_joined(random, "near", random.sample(label["near"], random.randint(2, 6))))
        found.append(_joined(random, "near", random.sample(label["near"], random.randint(6, 12))))
    for pair in pairs:
        others = [other for other in pairs if not {*other.notes} & {*pair.notes}]
        for most in (5, 12):
            parts = random.sample(others, 2 * random.randint(2, most))
            texts = [
                " ".join([*(part.one for part in parts[start::2]), text])
                for start, text in enumerate(pair[6:8])
            ]
            found.append(Labelled("", DEVELOPMENT, "near", "", "", "", *texts, pair.notes))
    return found


def _joined(random: Random, label: str, parts: list[Labelled]) -> Labelled:
    ones, others = [part.one for part in parts], [part.other for part in parts]
    random.shuffle(others)
    return Labelled("", DEVELOPMENT, label, "", "", "", " ".join(ones), " ".join(others), parts[0].notes)


def source(fitted: Fitted) -> str:
    """The text of the file of weights."""
    lines = [
        '"""The weights of a pair\'s features, as learnt by tools/fit_pairs.py: made by it, not by hand.',
        "",
        "From the development half of tests/data/pairs; the held-out half was not looked at. BARS are the likelihoods",
        "from which on a pair is proposed to people, TWIN_BAR is that from which on a duplicate is named when it is recorded, by",
        'weights of its own."""',
        "",
        "from __future__ import annotations",
        "",
        f"WEIGHTS: dict[str, dict[str, float]] = {fitted.weights!r}",
        f"BARS: dict[str, float] = {fitted.bars!r}",
        f"TWIN_WEIGHTS: dict[str, float] = {fitted.twin_weights!r}",
        f"TWIN_BAR = {fitted.twin_bar!r}",
    ]
    return "\n".join(lines) + "\n"


def _features(pair: Labelled, words: Assessor) -> Features:
    return features(*words.evidence(pair))


def _folds(pairs: list[Labelled]) -> numpy.ndarray:
    """A fold for each pair; pairs of one note are in one."""
    notes = sorted({pair.notes[0] for pair in pairs})
    number = {note: place % FOLDS for place, note in enumerate(notes)}
    return numpy_module().array([number[pair.notes[0]] for pair in pairs])


def _bar(likely: numpy.ndarray, wanted: numpy.ndarray, precision: float) -> float:
    """The lowest likelihood from which on this share of pairs is right."""
    np = numpy_module()
    order = np.argsort(-likely)
    right = np.cumsum(wanted[order]) / np.arange(1, len(order) + 1)
    return float(likely[order][np.flatnonzero(right >= precision)[-1]])


def _newton_of_equals(
    table: numpy.ndarray, wanted: numpy.ndarray, importance: numpy.ndarray
) -> numpy.ndarray:
    """The same with a penalty that does not depend on how large a feature is: the weights of the features as they are."""
    middle, spread = table.mean(axis=0), table.std(axis=0)
    weights = _newton((table - middle) / spread, wanted, importance, TWIN_RIDGE)
    weights[:-1] /= spread
    weights[-1] -= weights[:-1] @ middle
    return weights


def _newton(
    table: numpy.ndarray, wanted: numpy.ndarray, importance: numpy.ndarray, ridge: float = RIDGE
) -> numpy.ndarray:
    np = numpy_module()
    rows = np.c_[table, np.ones(len(table))]
    penalty = np.eye(rows.shape[1]) * ridge
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
