"""The weights of a pair's features, as learnt by tools/fit_pairs.py: made by it, not by hand.

From the development half of tests/pairs; the held-out half was not looked at. BARS are the likelihoods
from which on a pair is proposed to people."""

from __future__ import annotations

WEIGHTS: dict[str, dict[str, float]] = {
    "duplicate": {
        "cosine": 3.868,
        "cosine_squared": 1.138,
        "covered": -1.714,
        "common": -3.713,
        "common_squared": -5.217,
        "evidence": 4.694,
        "length": -1.319,
        "long": -4.259,
        "thin": -6.155,
        "names_shared": 1.464,
        "names_apart": 0.131,
        "kin": 4.096,
        "kin_most": 2.705,
        "polarity": -1.645,
        "opposites": 0.115,
        "value": -2.894,
        "numbers_apart": -0.82,
        "number_alone": -0.191,
        "constant": -5.327,
    },
    "contradiction": {
        "cosine": 2.369,
        "cosine_squared": -2.325,
        "covered": 4.3,
        "common": 4.38,
        "common_squared": -2.358,
        "evidence": 0.924,
        "length": -3.906,
        "long": 1.203,
        "thin": -1.374,
        "names_shared": -0.547,
        "names_apart": -3.002,
        "kin": -1.625,
        "kin_most": -0.815,
        "polarity": 2.546,
        "opposites": 2.101,
        "value": 1.084,
        "numbers_apart": 1.28,
        "number_alone": 0.247,
        "constant": -3.88,
    },
}
BARS: dict[str, float] = {"duplicate": 0.182, "contradiction": 0.143}
