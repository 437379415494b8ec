"""The word index: which texts the words of a query find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engram.adapters.index import words as module
from engram.adapters.index.words import Words

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def words(tmp_path: Path) -> Words:
    """Twelve texts: all say "queue", each a word of its own, one "parseHeader"."""
    index = Words(str(tmp_path / "words"), create=True)
    index.begin(bulk=False)
    for row in range(12):
        index.add(row, f"queue topic{row}" + " of parseHeader" * (row == 3))
    index.commit()
    return index


def found(words: Words, text: str) -> list[int]:
    return sorted(words.search(words.terms(text), 100).scores)


def test_every_term_is_searched_in_a_small_store(words: Words) -> None:
    assert found(words, "queue topic7") == list(range(12))


def test_terms_in_most_texts_are_ignored_in_a_large_store_unless_alone(
    words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = words.search(["queue", "topic7"], 100)
    monkeypatch.setattr(module, "_MANY", 11)
    after = words.search(["queue", "topic7"], 100)
    assert list(after.scores) == [7]
    assert (after.perfect, after.rarity) == (before.perfect, before.rarity)
    assert found(words, "queue") == list(range(12))
    assert found(words, "queue queues") == list(range(12))
    assert found(words, "queue 5555") == list(range(12))


def test_a_name_is_queried_whole_if_it_is_in_the_index_and_else_by_its_parts(words: Words) -> None:
    assert words.terms("parseHeader") == ["parsehead"]
    assert words.terms("headerParse of parseHeaders") == ["header", "pars", "of", "parsehead"]
    assert found(words, "headerParse") == [3]


def test_the_cache_of_words_is_bounded_and_cleared_by_changes(
    words: Words, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_REMEMBERED", 3)
    hits = words.search(words.terms("brokerTopic"), 10)
    assert words.weigh(["brokerTopic", "a", "b", "c", "d"], hits)[0][0] > 0
    assert words.weigh(["queue"], hits) == [(0.0, False)]
    assert set(words._terms_of) == {"queue"}
    words.begin(bulk=False)
    words.add(12, "brokerTopic")
    words.commit()
    assert words.terms("brokerTopic") == ["brokertop"]
    hits = words.search(words.terms("brokerTopic"), 10)
    assert list(hits.scores) == [12]
    assert words.weigh(["brokerTopic"], hits)[0][0] > 0
