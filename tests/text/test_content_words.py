"""The wording of texts: the differences between two texts that change their meaning."""

from __future__ import annotations

import pytest

from engram.domain.text.content_words import difference, stem, wording, words_in


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("The workers retry the job.", "- Worker retries **jobs**!", ""),
        ("When the cache is cold, the parser is slow.", "The parser is slow when the cache is cold.", ""),
        ("Tantivy's parser is strict.", "The parser of tantivy is strict.", ""),
        ("It waits 1,000 ms, five times.", "It waits 1000 ms, 5 times.", ""),
        ("The client can't retry.", "The client cannot retry.", ""),
        (
            "The server waits for the client.",
            "The client waits for the server.",
            "they say it in another order",
        ),
        ("Use nginx.", "Use caddy.", "only one of them says caddy, nginx"),
        ("a b c d e f g", "a", "only one of them says b, c, d …"),
        ("It never retries.", "It retries.", "only one of them says never"),
        ("Keep x > 3.", "Keep x < 3.", "they differ in symbols or options"),
        ("Run it with -f.", "Run it with -F -f.", "they differ in symbols or options"),
        ("Set `Retry`.", "Set `retry`.", "they write code in different case"),
    ],
)
def test_texts_differ_in_meaning_by_words_order_symbols_or_code(one: str, other: str, why: str) -> None:
    assert difference(wording(one), wording(other)) == why
    assert difference(wording(other), wording(one)) == why


def test_words_with_different_endings_have_one_stem() -> None:
    assert {stem(word) for word in ("retry", "retries", "retried", "retrying")} == {stem("retry")}
    assert stem("sing") == "sing"
    assert stem("class") == "class"
    assert stem("use") == "use"


def test_words_keep_their_apostrophes_and_letters_of_any_script() -> None:
    assert words_in("Don't use 'em, a-b_c (2x): naïve!") == [
        "Don't",
        "use",
        "em",
        "a",
        "b",
        "c",
        "2x",
        "naïve",
    ]
    assert words_in("it's 'quoted' a/b") == ["it's", "quoted", "a", "b"]
    assert words_in("a/b, c.") == ["a", "b", "c"]
