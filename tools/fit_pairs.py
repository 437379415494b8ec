"""Learn the weights of engram/domain/similarity/pair_weights.py from the development half of tests/data/pairs.

Run it as `python tools/fit_pairs.py`.

Fits logistic regressions with a ridge penalty by Newton's method: one for each kind, and one for the probable duplicates
named by `record`. Training data are the labelled pairs; pairs made of them, of texts of different notes (as most pairs in
a store are) and of long texts with several facts; and pairs of whole real notes on one topic, which are no duplicates.
The bars (thresholds from which a pair is proposed) are chosen by cross-validation, leaving out a tenth of the notes at a time.
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

from labelled_pairs import DEVELOPMENT, Assessor, Labelled, load, make_assessor  # noqa: E402

from engram.adapters.numeric import numpy_module  # noqa: E402
from engram.domain.similarity.equivalence import CONTRADICTION, DUPLICATE  # noqa: E402
from engram.domain.similarity.pairs import Features, features  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy

    Learn = Callable[[numpy.ndarray, numpy.ndarray, numpy.ndarray], numpy.ndarray]

RIDGE = 0.1
FOLDS = 10
LONG = 100  # long pairs made of each kind
BACKGROUND_SHARE = 0.5  # total weight of background pairs, relative to that of labelled ones
NOTES_SHARE = 0.25  # total weight of pairs of real notes, likewise
PRECISION = 0.53  # target for the labelled pairs above a bar
TWIN_SHARE = 0.1  # for duplicates named by `record`: total weight of each sort of unlabelled pairs, likewise
TWIN_RIDGE = 1.0  # on features of mean 0 and variance 1
TWIN_PRECISION = 0.8
LABELS = {DUPLICATE: "same", CONTRADICTION: "contradiction"}
ALL_FROM, SAMPLED_FROM = 0.35, 0.1  # cosines from which background pairs are used: all, or a sample
SAMPLED = 10  # one in so many
NEAR_NOTES = 0.5  # the cosine from which a pair of notes is used
NOTES = os.path.join(ROOT, "tests", "data", "corpus", "notes.jsonl")
TARGET = os.path.join(ROOT, "engram", "domain", "similarity", "pair_weights.py")


def main() -> int:
    """Fit the weights and write their module."""
    fitted = fit()
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write(source(fitted))
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", TARGET], check=False)
    return 0


class Fitted(NamedTuple):
    """The weights and bars of each kind, and those of duplicates named by `record`."""

    weights: dict[str, dict[str, float]]
    bars: dict[str, float]
    twin_weights: dict[str, float]
    twin_bar: float


def fit() -> Fitted:
    """Fit the weights and bars."""
    np = numpy_module()
    pairs = load(DEVELOPMENT)
    long = long_pairs(pairs)
    assessor = make_assessor(pairs, long)
    background = [*background_pairs(pairs, assessor), *long]
    notes, note_words = note_pairs()
    all_pairs = [*pairs, *background, *notes]
    table = np.array(
        [_features(pair, assessor) for pair in all_pairs[: -len(notes)]]
        + [_features(pair, note_words) for pair in notes]
    )
    sorts = np.repeat(range(4), [len(pairs), len(background) - len(long), len(long), len(notes)])
    importance = np.where(sorts == 0, 1, BACKGROUND_SHARE * len(pairs) / len(background))
    importance[sorts == 3] = NOTES_SHARE * len(pairs) / len(notes)
    folds = _folds(all_pairs)
    weights, bars = {}, {}
    for kind, label in LABELS.items():
        is_right = np.array([pair.label == label for pair in all_pairs], float)
        validated = _cross_validate(table, is_right, importance, folds, _newton)[: len(pairs)]
        weights[kind] = _named(_newton(table, is_right, importance))
        bars[kind] = round(_bar(validated, is_right[: len(pairs)], PRECISION), 3)
    is_right = np.array([pair.label == LABELS[DUPLICATE] for pair in all_pairs], float)
    importance = np.where(sorts == 0, 1, TWIN_SHARE * len(pairs) / np.bincount(sorts)[sorts])
    validated = _cross_validate(table, is_right, importance, folds, _newton_standardized)[: len(pairs)]
    # Rounded up to hundredths: in a store, where words have other frequencies, the exact bar would let a few wrong pairs through.
    twin_bar = math.ceil(100 * _bar(validated, is_right[: len(pairs)], TWIN_PRECISION)) / 100
    return Fitted(weights, bars, _named(_newton_standardized(table, is_right, importance)), twin_bar)


def _named(weights: numpy.ndarray) -> dict[str, float]:
    return {
        name: round(float(w), 3) for name, w in zip([*Features._fields, "constant"], weights, strict=True)
    }


def _cross_validate(
    table: numpy.ndarray,
    is_right: numpy.ndarray,
    importance: numpy.ndarray,
    folds: numpy.ndarray,
    learn: Learn,
) -> numpy.ndarray:
    """Return the likelihood of each pair by weights learned without its fold."""
    found = numpy_module().zeros(len(table))
    for fold in range(FOLDS):
        rest = folds != fold
        found[~rest] = _likelihoods(learn(table[rest], is_right[rest], importance[rest]), table[~rest])
    return found


def background_pairs(pairs: list[Labelled], assessor: Assessor) -> list[Labelled]:
    """Make pairs of texts of different notes that are near enough to be compared in a store, labelled unrelated."""
    notes: dict[str, set[str]] = {}
    for pair in pairs:
        for text in (pair.one, pair.other):
            notes.setdefault(text, set()).update(pair.notes)
    return [
        Labelled("", DEVELOPMENT, "unrelated", "", "", "", one, other, (min(notes[one]),))
        for one, other in itertools.combinations(sorted(notes), 2)
        if not notes[one] & notes[other] and _is_used(one, other, assessor)
    ]


def _is_used(one: str, other: str, assessor: Assessor) -> bool:
    """Return whether to use a pair of texts: all that are near, and a sample of the many others."""
    cosine = assessor.cosine(one, other)
    return cosine >= ALL_FROM or (
        cosine >= SAMPLED_FROM and zlib.crc32(f"{one}{other}".encode()) % SAMPLED == 0
    )


def note_pairs() -> tuple[list[Labelled], Assessor]:
    """Make pairs of real notes that are near enough to be compared, labelled near misses; also return their assessor."""
    with open(NOTES, encoding="utf-8") as file:
        notes = [json.loads(line) for line in file]
    assessor = Assessor([note["text"] for note in notes])
    return [
        Labelled("", DEVELOPMENT, "near", "", one["category"], other["category"], one["text"], other["text"], (one["note"],))
        for one, other in itertools.combinations(notes, 2)
        if one["note"] != other["note"] and assessor.cosine(one["text"], other["text"]) >= NEAR_NOTES
    ], assessor  # fmt: skip


def long_pairs(pairs: list[Labelled]) -> list[Labelled]:
    """Make pairs of long texts by joining the sides of several pairs.

    Pairs that say the same make a duplicate, and with a contradiction among them a contradiction. Near misses, or a pair of
    any kind among unrelated texts, make neither.
    """
    random = Random(1)
    label = {kind: [pair for pair in pairs if pair.label == kind] for kind in {pair.label for pair in pairs}}
    found = []
    for _ in range(LONG):
        parts = random.sample(label["same"], random.randint(2, 6))
        found.append(_join(random, "same", parts))
        found.append(_join(random, "contradiction", [random.choice(label["contradiction"]), *parts]))
        found.append(_join(random, "near", random.sample(label["near"], random.randint(2, 6))))
        found.append(_join(random, "near", random.sample(label["near"], random.randint(6, 12))))
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


def _join(random: Random, label: str, parts: list[Labelled]) -> Labelled:
    ones, others = [part.one for part in parts], [part.other for part in parts]
    random.shuffle(others)
    return Labelled("", DEVELOPMENT, label, "", "", "", " ".join(ones), " ".join(others), parts[0].notes)


def source(fitted: Fitted) -> str:
    """Return the source of the module of weights."""
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


def _features(pair: Labelled, assessor: Assessor) -> Features:
    return features(*assessor.evidence(pair))


def _folds(pairs: list[Labelled]) -> numpy.ndarray:
    """Assign a fold to each pair; pairs of a note are in the same one."""
    notes = sorted({pair.notes[0] for pair in pairs})
    number = {note: place % FOLDS for place, note in enumerate(notes)}
    return numpy_module().array([number[pair.notes[0]] for pair in pairs])


def _bar(likely: numpy.ndarray, is_right: numpy.ndarray, precision: float) -> float:
    """Return the lowest likelihood above which this share of pairs is right."""
    np = numpy_module()
    order = np.argsort(-likely)
    right = np.cumsum(is_right[order]) / np.arange(1, len(order) + 1)
    return float(likely[order][np.flatnonzero(right >= precision)[-1]])


def _newton_standardized(
    table: numpy.ndarray, is_right: numpy.ndarray, importance: numpy.ndarray
) -> numpy.ndarray:
    """Fit standardized features, so that the penalty does not depend on their scale; return weights for the original ones."""
    middle, spread = table.mean(axis=0), table.std(axis=0)
    weights = _newton((table - middle) / spread, is_right, importance, TWIN_RIDGE)
    weights[:-1] /= spread
    weights[-1] -= weights[:-1] @ middle
    return weights


def _newton(
    table: numpy.ndarray, is_right: numpy.ndarray, importance: numpy.ndarray, ridge: float = RIDGE
) -> numpy.ndarray:
    np = numpy_module()
    rows = np.c_[table, np.ones(len(table))]
    penalty = np.eye(rows.shape[1]) * ridge
    penalty[-1, -1] = 1e-6
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (importance * (likely - is_right)) + penalty @ weights
        curvature = (rows.T * (importance * likely * (1 - likely))) @ rows + penalty
        weights = weights - np.linalg.solve(curvature, slope)
    return weights


def _likelihoods(weights: numpy.ndarray, table: numpy.ndarray) -> numpy.ndarray:
    np = numpy_module()
    return 1 / (1 + np.exp(-(np.c_[table, np.ones(len(table))] @ weights)))


if __name__ == "__main__":
    sys.exit(main())
