"""Texts that are obviously junk, and texts that only look like it.

Mutants that make no difference: how few letters the Inbox doubts, give or take one, as it only asks; `None` for `False`.
"""

from __future__ import annotations

import pytest

from engram.domain.admission.junk import why_junk

SHORT = "it is too short to say anything"
GREETING = "it is a greeting or a word of agreement"
QUESTION = "it is a question, not an answer"
LOG = "it is an excerpt of a log"
CODE = "it is code without an explanation"
ENTRY = "2026-01-01 12:00:00 it went on"


def log(entries: int, prose: int) -> str:
    return "\n".join([ENTRY] * entries + ["The worker dies."] * prose)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", SHORT),
        ("abc", SHORT),
        ("a - b - c !!!", SHORT),
        ("abcd", ""),
        ("a1-b2", ""),
        ("漢", SHORT),
        ("漢字", ""),
        ("\u2e81\u2e81", ""),
        ("\u2e80\u2e80", SHORT),
        ("Thanks, everyone!", GREETING),
        ("  Good morning  ", GREETING),
        ("Thanks to the cache it is fast.", ""),
        ("thanks" + "!" * 73, GREETING),
        ("thanks" + "!" * 74, ""),
        ("Why does the worker die?", QUESTION),
        ("Why does the worker die? It has no lock.", ""),
        ("Why does the worker die?\nNobody knows", ""),
        (log(2, 0), ""),
        (log(3, 0), LOG),
        (ENTRY + "\n\n" + ENTRY + "\n \n" + ENTRY, LOG),
        (log(4, 1), ""),
        (log(5, 0), LOG),
        (log(5, 1), LOG),
        (log(4, 2), ""),
        (log(7, 3), LOG),
        (log(69, 31), ""),
        ("```\ntotal = 1\n```", CODE),
        ("~~~\ntotal = 1\n~~~", CODE),
        ("```\ntotal = 1\n```\n\n```\nprice = 2\n```\n", CODE),
        ("```\ntotal = 1", ""),
        ("```\ntotal = 1\n```\nThis sets it.", ""),
        ("```\ntotal = 1\n```\nand then\n```\nprice = 2\n```", ""),
        ("This sets it:\n```\ntotal = 1\n```", ""),
        ("This sets it with ``` marks.", ""),
    ],
)
def test_only_obvious_junk_is_called_junk(text: str, why: str) -> None:
    assert why_junk(text) == why


def test_a_caller_may_ask_for_more_letters() -> None:
    assert why_junk("seven77", 8) == SHORT
    assert why_junk("eight888", 8) == ""


def test_a_few_lines_are_a_log_if_all_are_log_lines() -> None:
    log = (
        "2026-01-01 12:00:00 ERROR it failed\n2026-01-01 12:00:01 ERROR again\n2026-01-01 12:00:02 INFO done"
    )
    assert why_junk(log) == "it is an excerpt of a log"
    assert not why_junk(f"The worker dies without its lock:\n{log}")
    assert not why_junk("ERROR 1045 means that the password is wrong.")
