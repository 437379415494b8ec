"""What is shown of a long entry: the passages that answer the question, from sentence to sentence, within a size."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.recall.budget import Excerpt
from engram.domain.recall.excerpt import GAP, excerpt, terms

FIX = "PgBouncer in transaction mode loses prepared statements. Pass statement_cache_size=0 to asyncpg."
OTHER = "The palette of the settings page was chosen for contrast. Buttons are at least forty pixels high."
NOTE = "\n\n".join(["Notes of the week", *[OTHER] * 8, FIX, *[OTHER] * 8])
CODE = "```sh\n" + "\n".join(f"step {number} --flag" for number in range(12)) + "\n```"

sentences = st.lists(
    st.text("abcdefg ", min_size=3, max_size=90).map(lambda text: f"A{text.strip()}z."),
    min_size=1,
    max_size=60,
)


def pieces(found: Excerpt) -> list[str]:
    return found.text.split(f"\n{GAP}\n")


def test_an_entry_of_twelve_hundred_characters_is_whole() -> None:
    text = ("x" * 99 + "\n") * 12
    assert excerpt(text, "anything") == Excerpt(text)


def test_of_a_long_note_the_passage_that_answers_is_shown_below_the_title() -> None:
    found = excerpt(NOTE, "why does asyncpg fail with prepared statements", 400)
    title, passage = pieces(found)
    assert title == "Notes of the week"
    assert FIX in passage
    assert len(found.text) <= 400
    assert found.left_out > 1000


def test_two_passages_are_shown_where_each_has_words_of_its_own() -> None:
    text = "\n\n".join(
        ["Title here", FIX, *[OTHER] * 12, "Redis keys expire after an hour. They come back cold.", OTHER]
    )
    found = excerpt(text, "redis keys expire, asyncpg statements", 360)
    assert "Redis keys expire" in found.text
    assert "statement_cache_size=0" in found.text
    assert len(pieces(found)) >= 2


def test_a_passage_that_the_text_repeats_is_shown_once() -> None:
    lines = [f"- step{number}" for number in range(40)]
    code = "\n".join(["```yaml", *lines, "  git commit -m doc", "  git push", *lines, "```"])
    found = excerpt(
        f"Releases\n\nAt first:\n\n{code}\n\n{OTHER}\n\nNow:\n\n{code}", "git commit and push", 400
    )
    assert found.text.count("git push") == 1


def test_a_passage_without_a_word_is_not_shown() -> None:
    note = "\n\n".join(["Quotes", *[OTHER] * 8, ">", *[OTHER] * 8])
    assert ">" not in excerpt(note, "", 40, lambda texts: [1.0 * (text == ">") for text in texts]).text


def test_where_no_word_matches_the_nearest_passage_by_meaning_is_shown() -> None:
    def near(texts: object) -> list[float]:
        return [float("PgBouncer" in text) for text in texts]  # type: ignore[attr-defined]

    assert FIX in excerpt(NOTE, "zzz", 400, near).text
    assert FIX not in excerpt(NOTE, "zzz", 400).text


def test_where_nothing_matches_the_beginning_is_shown() -> None:
    found = excerpt(NOTE, "zzz", 400)
    assert pieces(found) == [NOTE[: len(found.text)]]
    assert len(found.text) > 200


def test_an_excerpt_of_a_huge_file_takes_little_time() -> None:
    began = time.process_time()
    for text in (
        "- queue\n" * 20_000,
        "```\n" + "a queue\n" * 20_000,
        "Queue. " * 20_000,
        "| a | b |\n|---|---|\n" * 9000,
    ):
        assert len(excerpt(text, "queue of a", 1000).text) <= 1000
    assert time.process_time() - began < 20


def test_code_stays_in_one_piece_where_it_fits_and_is_fenced_where_it_does_not() -> None:
    text = "\n\n".join(["Deploying", *[OTHER] * 8, "To mend it, run this:", CODE, *[OTHER] * 8])
    assert CODE in excerpt(text, "how to mend it, step 7", 900).text
    part = excerpt(text, "step 7 flag", 250).text
    assert part.count("```") == 2
    assert "step 7 --flag" in part


def test_a_list_stays_in_one_piece_where_it_fits() -> None:
    listed = "\n".join(f"- Rule {number} of the gateway says no." for number in range(6))
    text = "\n\n".join(["Rules", *[OTHER] * 12, listed, *[OTHER] * 8])
    assert listed in excerpt(text, "gateway rule 4", 800).text


def test_lines_that_were_wrapped_are_one_sentence_and_short_lines_are_their_own() -> None:
    wrapped = (
        "When the queue is full the worker stops and waits until somebody\nEmpties it, which takes an hour."
    )
    text = "\n\n".join(
        [
            "Workers",
            *[OTHER] * 8,
            wrapped,
            "Cause: full disk\nFix: rotate the logs of the proxy every day",
            *[OTHER] * 8,
        ]
    )
    assert wrapped in excerpt(text, "worker stops when the queue is full", 300).text
    assert "Fix: rotate the logs" in excerpt(text, "what was the cause, full disk", 300).text


@given(sentences, st.text("abcdefg ", max_size=60), st.integers(120, 2000))
def test_no_passage_begins_or_ends_inside_a_sentence(found: list[str], question: str, most: int) -> None:
    text = "\n\n".join(" ".join(found[at : at + 4]) for at in range(0, len(found), 4))
    shown = excerpt(text, question, most)
    assert len(shown.text) <= max(most, len(found[0]) + 3)
    assert (shown.text == text) == (shown.left_out == 0)
    for piece in pieces(shown):
        assert piece in text
        assert piece.startswith("A")
        assert piece.endswith("z.")


@given(st.text(max_size=4000), st.text(max_size=100), st.integers(100, 1500))
def test_any_text_keeps_to_the_size_it_is_given(text: str, question: str, most: int) -> None:
    shown = excerpt(text, question, most)
    assert len(shown.text) <= max(most, 130)
    assert (shown.left_out == 0) == (len(text) <= most)


@pytest.mark.parametrize(
    ("text", "stems"),
    [("Retried the retries", {"retri"}), ("消息队列", {"消息", "息队", "队列"}), ("What is it?", set())],
)
def test_words_are_compared_by_their_stems(text: str, stems: set[str]) -> None:
    assert terms(text) == stems
