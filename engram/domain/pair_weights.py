"""The weights of a pair's features, as learnt by tools/fit_pairs.py: made by it, not by hand.

From the development half of tests/pairs; the held-out half was not looked at. BARS are the likelihoods
from which on a pair is proposed to people."""

from __future__ import annotations

WEIGHTS: dict[str, dict[str, float]] = {
    "duplicate": {
        "cosine": 3.77,
        "cosine_squared": 2.105,
        "covered": -0.054,
        "common": -3.973,
        "common_squared": -5.948,
        "evidence": 3.649,
        "length": -2.719,
        "names_shared": 1.783,
        "names_apart": 0.054,
        "kin": 4.477,
        "kin_most": 1.81,
        "polarity": -2.023,
        "opposites": -0.019,
        "value": -3.0,
        "numbers_apart": -1.263,
        "number_alone": -0.105,
        "constant": -4.775,
    },
    "contradiction": {
        "cosine": 2.399,
        "cosine_squared": -1.734,
        "covered": 4.717,
        "common": 4.026,
        "common_squared": -2.806,
        "evidence": 0.963,
        "length": -2.704,
        "names_shared": -0.46,
        "names_apart": -3.057,
        "kin": -1.482,
        "kin_most": -0.935,
        "polarity": 2.561,
        "opposites": 1.872,
        "value": 0.743,
        "numbers_apart": 1.396,
        "number_alone": 0.381,
        "constant": -4.797,
    },
}
BARS: dict[str, float] = {"duplicate": 0.166, "contradiction": 0.141}
