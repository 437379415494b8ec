"""The weights of a pair's features, as learnt by tools/fit_pairs.py: made by it, not by hand.

From the development half of tests/pairs; the held-out half was not looked at. BARS are the likelihoods
from which on a pair is proposed to people."""

from __future__ import annotations

WEIGHTS: dict[str, dict[str, float]] = {
    "duplicate": {
        "cosine": 1.701,
        "covered": -0.248,
        "common": -2.647,
        "shared": 3.545,
        "names_shared": 2.075,
        "names_apart": 0.725,
        "kin": 1.027,
        "kin_most": 1.206,
        "polarity": -1.426,
        "opposites": 0.455,
        "value": -1.389,
        "numbers_apart": -0.555,
        "number_alone": -0.059,
        "constant": -4.779,
    },
    "contradiction": {
        "cosine": 0.4,
        "covered": 3.054,
        "common": 2.004,
        "shared": 0.224,
        "names_shared": 0.104,
        "names_apart": -3.049,
        "kin": -1.93,
        "kin_most": -0.928,
        "polarity": 2.048,
        "opposites": 1.596,
        "value": 1.025,
        "numbers_apart": 0.985,
        "number_alone": -0.093,
        "constant": -3.851,
    },
}
BARS: dict[str, float] = {"duplicate": 0.23, "contradiction": 0.295}
