"""Word differences of two texts, shown as one text or side by side."""

from __future__ import annotations

import pytest

from engram_tui.widgets.word_marks import mark_both, merge_marked


@pytest.mark.parametrize(
    ("left", "right", "shown"),
    [
        ("They expire after 8 hours.", "They expire after 24 hours.", "They expire after 8 24 hours."),
        ("It listens on 9090", "It listens on 7070", "It listens on 9090 7070"),
        ("Same words.", "Same words.", "Same words."),
        ("One more.", "One.", "One more."),
    ],
)
def test_words_of_both_texts_do_not_run_together(left: str, right: str, shown: str) -> None:
    assert merge_marked(left, right).plain == shown


def test_side_by_side_each_text_is_as_it_was() -> None:
    left, right = "They expire after 8 hours.", "They expire after 24 hours."
    assert [text.plain for text in mark_both(left, right)] == [left, right]


def test_a_line_end_that_only_one_text_has_is_visible() -> None:
    found = mark_both("One.\n\nTwo.", "One.\nTwo.")
    assert [text.plain for text in found] == ["One.¶\n\nTwo.", "One.\nTwo."]
