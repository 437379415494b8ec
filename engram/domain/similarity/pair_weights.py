"""The weights of a pair's features, as learnt by tools/fit_pairs.py: made by it, not by hand.

From the development half of tests/data/pairs; the held-out half was not looked at. BARS are the likelihoods
from which on a pair is proposed to people, TWIN_BAR is that from which on a duplicate is named when it is recorded, by
weights of its own."""

from __future__ import annotations

WEIGHTS: dict[str, dict[str, float]] = {
    "duplicate": {
        "cosine": 3.936,
        "cosine_squared": 1.067,
        "covered": -1.276,
        "common": -3.559,
        "common_squared": -5.273,
        "evidence": 4.693,
        "length": -1.255,
        "long": -3.922,
        "thin": -6.387,
        "names_shared": 1.434,
        "names_apart": 0.11,
        "kin": 4.038,
        "kin_most": 2.561,
        "polarity": -2.487,
        "opposites": -0.604,
        "value": -3.18,
        "numbers_apart": -0.764,
        "number_alone": -0.122,
        "constant": -5.516,
    },
    "contradiction": {
        "cosine": 1.967,
        "cosine_squared": -2.019,
        "covered": 3.499,
        "common": 3.671,
        "common_squared": -1.684,
        "evidence": 0.583,
        "length": -3.819,
        "long": 0.897,
        "thin": -0.191,
        "names_shared": -0.597,
        "names_apart": -3.247,
        "kin": -1.631,
        "kin_most": -0.653,
        "polarity": 3.153,
        "opposites": 2.49,
        "value": 0.582,
        "numbers_apart": 1.86,
        "number_alone": 0.231,
        "constant": -2.887,
    },
}
BARS: dict[str, float] = {"duplicate": 0.192, "contradiction": 0.153}
TWIN_WEIGHTS: dict[str, float] = {
    "cosine": 5.474,
    "cosine_squared": 0.773,
    "covered": 0.87,
    "common": -2.687,
    "common_squared": -11.684,
    "evidence": 2.061,
    "length": 2.211,
    "long": -11.304,
    "thin": -5.922,
    "names_shared": 1.554,
    "names_apart": 0.247,
    "kin": 8.411,
    "kin_most": 2.524,
    "polarity": -2.825,
    "opposites": -0.575,
    "value": -6.582,
    "numbers_apart": -0.455,
    "number_alone": -0.024,
    "constant": -6.81,
}
TWIN_BAR = 0.6
