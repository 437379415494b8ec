"""The language of a text by its function words: English unless another is obvious."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from engram.domain.text import languages
from engram.domain.text.languages import ENGLISH, LANGUAGES, language_of

SETS = Path(__file__).resolve().parents[2] / "benchmarks" / "sets"


@pytest.mark.parametrize("name", ["german", "spanish", "russian"])
def test_the_language_of_entries_is_recognised(name: str) -> None:
    texts = [
        entry["text"] for entry in json.loads((SETS / f"{name}.json").read_text("utf-8"))["docs"].values()
    ]
    assert name in LANGUAGES
    assert [text for text in texts if language_of(text) not in {name, ENGLISH}] == []
    assert sum(language_of(text) == name for text in texts) >= 0.8 * len(texts)


def test_english_entries_are_never_classified_as_another_language() -> None:
    texts = [
        entry["text"] for entry in json.loads((SETS / "short_lore.json").read_text("utf-8"))["docs"].values()
    ]
    assert [text for text in texts if language_of(text) != ENGLISH] == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", ENGLISH),
        ("def retry(count): return count", ENGLISH),
        ("The menu says la carte and the label says der Preis.", ENGLISH),
        ("Redis", ENGLISH),
        (
            "def ensure(path): 'Se asegura de que un directorio exista'; if path and not exists(path): make(path)",
            ENGLISH,
        ),
        ("Les sauvegardes tournent la nuit sur la réplique.", "french"),
        ("De facturen worden niet op maandag verstuurd.", "dutch"),
        ("I prezzi sono sempre in centesimi, non in euro.", "italian"),
        ("As faturas são enviadas pela manhã, nunca à noite.", "portuguese"),
        ("Fakturorna skickas inte på måndagar.", "swedish"),
    ],
)
def test_a_text_needs_several_function_words_of_another_language(text: str, language: str) -> None:
    assert language_of(text) == language


def test_splitting_ascii_words_agrees_with_the_pattern_for_all_characters() -> None:
    differing = [
        f"U+{code:04X}"
        for code in range(sys.maxunicode + 1)
        if not 0xD800 <= code <= 0xDFFF
        and not languages._BEYOND.search(text := f"Le{chr(code)}B")
        and languages._plain_words(text) != languages._WORD.findall(text.lower())
    ]
    assert differing == []
