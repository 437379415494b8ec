"""Load the labelled pairs of tests/data/pairs, and assess them as the product does."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from scratch_store import ROOT

from engram.adapters.embed.provider import open_embedder
from engram.domain.similarity.claims import Claim
from engram.domain.similarity.pairs import Side, Words, side
from engram.usecases.similarity.pair_terms import StoreWords, term

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.adapters.embed.protocols import Embedder

PATH = os.path.join(ROOT, "tests", "data", "pairs", "pairs.jsonl")
DEVELOPMENT, HELD_OUT = HALVES = ("development", "held-out")


class Labelled(NamedTuple):
    """A labelled pair. `edit` is "light" if the sides differ in a few characters only; `notes` are the sources of the facts."""

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
    """Load the pairs of one half, or all."""
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
    """The sides, cosines and document frequencies of a set of texts that stands for a store."""

    def __init__(self, texts: Iterable[str], further: Iterable[str] = ()) -> None:
        """Embed the texts. The `further` ones can be assessed, but do not count towards document frequencies."""
        embedder: Embedder | None = open_embedder("bundled")
        assert embedder is not None
        self._texts = sorted({*texts})
        all_texts = sorted({*self._texts, *further})
        self._vectors = dict(zip(all_texts, embedder.embed(all_texts), strict=True))
        document_frequency = Counter(term(stem) for text in self._texts for stem in Claim(text).stems)
        self.words: Words = StoreWords(
            embedder, lambda stem: document_frequency[term(stem)], len(self._texts)
        ).words()

    def evidence(self, pair: Labelled) -> tuple[Side, Side, float, Words]:
        """Return the arguments of `assess` and `features` for a pair: its sides, their cosine, and the words."""
        sides = side(pair.one, pair.category, self.words), side(pair.other, pair.other_category, self.words)
        return *sides, self.cosine(pair.one, pair.other), self.words

    def cosine(self, one: str, other: str) -> float:
        """Return the cosine of two of the texts."""
        return round(float(self._vectors[one] @ self._vectors[other]), 4)


def make_assessor(pairs: Iterable[Labelled], further: Iterable[Labelled] = ()) -> Assessor:
    """Return an assessor of the texts of these pairs."""
    return Assessor(_texts(pairs), _texts(further))


def _texts(pairs: Iterable[Labelled]) -> list[str]:
    return [text for pair in pairs for text in (pair.one, pair.other)]
