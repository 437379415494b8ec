"""The weights of a pair's features, as learnt by tools/fit_pairs.py: made by it, not by hand.

From the development half of tests/pairs; the held-out half was not looked at. BARS are the likelihoods
from which on a pair is proposed to people."""

from __future__ import annotations

WEIGHTS: dict[str, dict[str, float]] = {
    "duplicate": {
        "cosine": 2.844,
        "cosine_squared": 2.127,
        "covered": -1.066,
        "common": -3.082,
        "common_squared": -5.499,
        "evidence": 3.971,
        "length": -0.605,
        "long": -4.665,
        "thin": -6.415,
        "names_shared": 1.608,
        "names_apart": 0.072,
        "kin": 3.853,
        "kin_most": 2.349,
        "polarity": -1.766,
        "opposites": 0.126,
        "value": -3.049,
        "numbers_apart": -0.74,
        "number_alone": -0.163,
        "constant": -5.396,
    },
    "contradiction": {
        "cosine": 2.154,
        "cosine_squared": -1.753,
        "covered": 4.474,
        "common": 4.007,
        "common_squared": -2.562,
        "evidence": 1.298,
        "length": -3.43,
        "long": 1.818,
        "thin": -2.179,
        "names_shared": -0.478,
        "names_apart": -2.959,
        "kin": -1.45,
        "kin_most": -0.926,
        "polarity": 2.522,
        "opposites": 1.917,
        "value": 0.843,
        "numbers_apart": 1.255,
        "number_alone": 0.381,
        "constant": -4.52,
    },
}
BARS: dict[str, float] = {"duplicate": 0.174, "contradiction": 0.155}
