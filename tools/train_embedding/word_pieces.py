"""The vocabulary: the teacher's word pieces without those that never occur, and frequent words that it would split."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sources import Pair

KEPT_SPECIAL = ("[PAD]", "[UNK]")
_LEAST_DOCUMENTS = 8
_MOST_NEW = 12_000
_LENGTH = (3, 24)
_BODY = 600


def read_tokenizer(folder: str) -> dict[str, Any]:
    """The teacher's tokenizer.json, with the pruned vocabulary and nothing that adds, cuts or pads."""
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    words = [
        word
        for word in sorted(found["model"]["vocab"], key=found["model"]["vocab"].__getitem__)
        if not word.startswith("[unused")
        and (word in KEPT_SPECIAL or word not in ("[CLS]", "[SEP]", "[MASK]"))
    ]
    special = [token for token in found["added_tokens"] if token["content"] in KEPT_SPECIAL]
    found |= {"truncation": None, "padding": None, "post_processor": None}
    return with_words(found | {"added_tokens": special}, words)


def with_words(settings: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """A tokenizer.json whose vocabulary is these words, the special ones first, numbered in their order."""
    ordered = [*KEPT_SPECIAL, *[word for word in words if word not in KEPT_SPECIAL]]
    ids = {word: number for number, word in enumerate(ordered)}
    special = [token | {"id": ids[token["content"]]} for token in settings["added_tokens"]]
    return settings | {"model": settings["model"] | {"vocab": ids}, "added_tokens": special}


def words_of(settings: dict[str, Any]) -> list[str]:
    """The vocabulary in the order of its ids."""
    ids: dict[str, int] = settings["model"]["vocab"]
    return sorted(ids, key=ids.__getitem__)


def frequent_words(settings: dict[str, Any], pairs: Iterable[Pair]) -> list[str]:
    """Words that the texts say often and the vocabulary does not have, the most frequent first."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(json.dumps(settings))
    documents: Counter[str] = Counter()
    for pair in pairs:
        text = tokenizer.normalizer.normalize_str(f"{pair.title} {pair.body[:_BODY]}")
        documents.update({word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)})
    known = settings["model"]["vocab"]
    new = [
        (-count, word)
        for word, count in documents.items()
        if count >= _LEAST_DOCUMENTS and word not in known and _is_good(word)
    ]
    return [word for _, word in sorted(new)[:_MOST_NEW]]


def _is_good(word: str) -> bool:
    return word.isascii() and word.isalnum() and not word.isdigit() and _LENGTH[0] <= len(word) <= _LENGTH[1]
