"""The weights of a pair's features, as learnt by tools/fit_pairs.py: made by it, not by hand.

From the development half of tests/pairs; the held-out half was not looked at. BARS are the likelihoods
from which on a pair is proposed to people."""

from __future__ import annotations

WEIGHTS: dict[str, dict[str, float]] = {
    "duplicate": {
        "cosine": 3.818,
        "cosine_squared": 2.092,
        "covered": -0.214,
        "common": -3.951,
        "common_squared": -5.875,
        "evidence": 3.648,
        "length": -2.746,
        "names_shared": 1.807,
        "names_apart": 0.054,
        "kin": 4.333,
        "kin_most": 1.958,
        "polarity": -2.024,
        "opposites": -0.007,
        "value": -2.988,
        "numbers_apart": -1.278,
        "number_alone": -0.11,
        "constant": -4.748,
    },
    "contradiction": {
        "cosine": 2.417,
        "cosine_squared": -1.728,
        "covered": 4.694,
        "common": 4.029,
        "common_squared": -2.823,
        "evidence": 0.997,
        "length": -2.758,
        "names_shared": -0.496,
        "names_apart": -2.999,
        "kin": -1.419,
        "kin_most": -0.975,
        "polarity": 2.545,
        "opposites": 1.867,
        "value": 0.723,
        "numbers_apart": 1.412,
        "number_alone": 0.388,
        "constant": -4.789,
    },
}
BARS: dict[str, float] = {"duplicate": 0.165, "contradiction": 0.146}
