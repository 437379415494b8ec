"""The tokenizer of a model folder: our own if its rules are BERT's, else the library."""

from __future__ import annotations

import os

from engram.adapters.embed.errors import EmbeddingError
from engram.adapters.embed.identity import TOKENIZER_FILE, VOCABULARY_FILE
from engram.adapters.embed.tensorfile import HINT
from engram.adapters.embed.tokenizers_library import LibraryTokenizer
from engram.adapters.embed.wordpiece import Vocabulary, WordPieceTokenizer
from engram.domain.text.scripts import not_latin
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from engram.adapters.embed.protocols import Tokenizer

# As in the bundled tokenizer.json, without reading its 640 KB (a test compares).
BUNDLED_SPECIAL = ("[PAD]", "[UNK]")
BUNDLED_UNKNOWN = 1


class SizedTokenizer(NamedTuple):
    """A tokenizer and the number of ids it may return."""

    tokenizer: Tokenizer
    tokens: int


def bundled_tokenizer(folder: str) -> SizedTokenizer:
    """Return the tokenizer of the bundled model, from its word list. Raises EmbeddingError if it is missing.

    In scripts other than Latin the model knows some letters and no words: they would make any two texts alike.
    """
    try:
        with open(os.path.join(folder, VOCABULARY_FILE), encoding="utf-8") as file:
            words = file.read().split("\n")
    except (OSError, ValueError) as error:
        raise EmbeddingError("The bundled model is incomplete.", "Install Engram again.") from error
    vocabulary = Vocabulary(dict(zip(words, range(len(words)), strict=True)), BUNDLED_SPECIAL)
    library = LibraryTokenizer(os.path.join(folder, TOKENIZER_FILE), BUNDLED_UNKNOWN)
    return SizedTokenizer(WordPieceTokenizer(vocabulary, library, not_latin), len(words))


def folder_tokenizer(folder: str) -> SizedTokenizer:
    """Return the tokenizer of any model folder. Raises EmbeddingError if its tokenizer.json cannot be used."""
    path = os.path.join(folder, TOKENIZER_FILE)
    try:
        settings = read_settings(path)
        tokens = _token_ids(settings)
        unknown = _unknown_id(settings, tokens)
        vocabulary = bert_vocabulary(settings)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise EmbeddingError(f"The tokenizer {path} cannot be read ({error}).", HINT) from error
    library = LibraryTokenizer(path, unknown)
    tokenizer = WordPieceTokenizer(vocabulary, library) if vocabulary else library
    return SizedTokenizer(tokenizer, 1 + max(tokens.values(), default=-1))


def read_settings(path: str) -> dict[str, Any]:
    """Read a tokenizer.json. Raises OSError or ValueError."""
    import json

    with open(path, encoding="utf-8") as file:
        settings: dict[str, Any] = json.load(file)
    return settings


def bert_vocabulary(settings: Mapping[str, Any]) -> Vocabulary | None:
    """Return the vocabulary for our own WordPiece, or None if a tokenizer.json needs rules it does not have.

    Accents and Chinese characters may be handled either way: texts with any go to the library.
    """
    model = settings["model"]
    normalizer = settings.get("normalizer") or {}
    added = settings.get("added_tokens") or []
    simple = (
        model.get("type") == "WordPiece"
        and model["unk_token"] in model["vocab"]
        and normalizer.get("type") == "BertNormalizer"
        and normalizer.get("clean_text") is True
        and normalizer.get("lowercase") is True
        and (settings.get("pre_tokenizer") or {}).get("type") == "BertPreTokenizer"
        and not any(token.get(trait) for token in added for trait in _HARD_TRAITS)
    )
    if not simple:
        return None
    special = tuple(token["content"] for token in added)
    prefix, longest = model["continuing_subword_prefix"], model["max_input_chars_per_word"]
    return Vocabulary(model["vocab"], special, prefix, longest)


# Added tokens with these cannot be found by their literal text.
_HARD_TRAITS = ("normalized", "single_word", "lstrip", "rstrip")


def _token_ids(settings: Mapping[str, Any]) -> dict[str, int]:
    """Return every token of a tokenizer.json with its id; a Unigram vocabulary is a list of [token, score]."""
    vocabulary = settings["model"]["vocab"]
    if isinstance(vocabulary, list):
        vocabulary = {token: number for number, (token, _) in enumerate(vocabulary)}
    added = {token["content"]: token["id"] for token in settings.get("added_tokens") or []}
    return {**vocabulary, **added}


def _unknown_id(settings: Mapping[str, Any], tokens: Mapping[str, int]) -> int | None:
    """Return the id of the unknown token: by name, except in Unigram models, which give the id itself."""
    model = settings["model"]
    if "unk_id" in model:
        number: int | None = model["unk_id"]
        return number
    return tokens.get(model.get("unk_token"))
