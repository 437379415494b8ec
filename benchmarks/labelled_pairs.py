"""The labelled pairs of tests/data/pairs, assessed as the product assesses them, each half separately."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from engram.adapters.embed.provider import open_embedder  # noqa: E402
from engram.domain.similarity.claims import Claim  # noqa: E402
from engram.domain.similarity.pairs import Side, Words, side  # noqa: E402
from engram.usecases.similarity.pair_terms import StoreWords, term  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.adapters.embed.protocols import Embedder

PATH = os.path.join(ROOT, "tests", "data", "pairs", "pairs.jsonl")
DEVELOPMENT, HELD_OUT = HALVES = ("development", "held-out")


class Labelled(NamedTuple):
    """One labelled pair. `edit` is "light" where the sides differ in a few marks only; `notes` are where the facts are from."""

    id: str
    half: str
    label: str
    edit: str
    category: str
    other_category: str
    one: str
    other: str
    notes: tuple[str, ...]


def load(half: str = "") -> list[Labelled]:
    """The pairs of one half, or all."""
    with open(PATH, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [
        Labelled(
            row["id"], row["half"], row["label"], row.get("edit", ""), row["category"],
            row.get("other_category", row["category"]), row["one"], row["other"], tuple(row["notes"]),
        )
        for row in rows
        if half in {"", row["half"]}
    ]  # fmt: skip


class Assessor:
    """The sides, cosines and word knowledge of a set of texts that stand for a store."""

    def __init__(self, texts: Iterable[str], further: Iterable[str] = ()) -> None:
        """The `further` texts can be assessed, but do not count for how rare a word is."""
        embedder: Embedder | None = open_embedder("bundled")
        assert embedder is not None
        self._texts = sorted({*texts})
        every = sorted({*self._texts, *further})
        self._vectors = dict(zip(every, embedder.embed(every), strict=True))
        said = Counter(term(stem) for text in self._texts for stem in Claim(text).stems)
        self.words: Words = StoreWords(embedder, lambda stem: said[term(stem)], len(self._texts)).words()

    def evidence(self, pair: Labelled) -> tuple[Side, Side, float, Words]:
        """What `assess` and `features` judge a pair by: its two sides, their cosine, and what is known of words."""
        sides = side(pair.one, pair.category, self.words), side(pair.other, pair.other_category, self.words)
        return *sides, self.cosine(pair.one, pair.other), self.words

    def cosine(self, one: str, other: str) -> float:
        """The cosine of two of the texts."""
        return round(float(self._vectors[one] @ self._vectors[other]), 4)


def assessor(pairs: Iterable[Labelled], further: Iterable[Labelled] = ()) -> Assessor:
    """An assessor of the texts of these pairs."""
    return Assessor(_texts(pairs), _texts(further))


def _texts(pairs: Iterable[Labelled]) -> list[str]:
    return [text for pair in pairs for text in (pair.one, pair.other)]
