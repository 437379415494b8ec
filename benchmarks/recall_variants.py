"""The variants of recall to measure: the product's query path, whole or without one part.

A part is disabled by setting a constant that it depends on for the time of the run. So the product needs no switches for
benchmarks, and the code measured is that of a user's query.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.domain.recall.ranking import BY_BOTH, BY_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

BM25, WORDS, DENSE, HYBRID = "bm25", "words", "dense", "hybrid"
NO_FLOOR = "hybrid without floor"

Constant = tuple[str, str]
"""A module's name and the name of a constant in it."""

_NEVER = 1_000_000_000
_WITHOUT_BOUNDS: dict[Constant, Any] = {
    ("engram.domain.recall.ranking", "BY_BOTH"): BY_BOTH._replace(weak=-9.0, shown=-9.0),
    ("engram.domain.recall.ranking", "BY_WORDS"): BY_WORDS._replace(weak=-9.0, shown=-9.0),
}


class Variant(NamedTuple):
    """A variant of recall: a strategy ("" for the bare word index), and the constants to set.

    `own_index`: whether the index is built with these constants; `hop`: whether queries expand over entities.
    """

    name: str
    strategy: str
    constants: dict[Constant, Any]
    own_index: bool = False
    hop: bool = False


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(BM25, "", {}),
        Variant(WORDS, "words", {}),
        Variant(
            DENSE,
            "hybrid",
            {("engram.domain.recall.ranking", "WORDS"): 0.0, ("engram.domain.recall.ranking", "NEAR"): 0.0}
            | _WITHOUT_BOUNDS,
        ),
        Variant(HYBRID, "hybrid", {}),
        Variant(NO_FLOOR, "hybrid", _WITHOUT_BOUNDS),
        Variant(
            "hybrid without misspelt",
            "hybrid",
            {("engram.adapters.index.words", "_SHORTEST_MISSPELT"): _NEVER},
        ),
        Variant("hybrid without sharpness", "hybrid", {("engram.domain.recall.ranking", "SHARPNESS"): 1.0}),
        Variant("hybrid without reranking", "hybrid", {("engram.domain.recall.ranking", "NEAR"): 0.0}),
        Variant(
            "hybrid without neighbours",
            "hybrid",
            {("engram.usecases.recall.rerank", "MOST_NEIGHBOURS"): 0},
        ),
        Variant("hybrid without standing", "hybrid", {("engram.domain.recall.ranking", "STANDING"): 0.0}),
        Variant("hybrid without passages", "hybrid", {("engram.domain.text.passages", "LONG"): _NEVER}, True),
    )
}


@contextmanager
def set_for(variant: Variant) -> Iterator[None]:
    """Set the variant's constants while the block runs. Raises AttributeError for a constant that does not exist."""
    before = {}
    try:
        for (module, name), value in variant.constants.items():
            holder = importlib.import_module(module)
            before[module, name] = getattr(holder, name)
            setattr(holder, name, value)
        yield
    finally:
        for (module, name), value in before.items():
            setattr(importlib.import_module(module), name, value)
