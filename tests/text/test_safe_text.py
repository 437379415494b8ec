"""Safe text has nothing that controls a terminal, hides from the reader or cannot be encoded."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.domain.text.safe_text import SHOWN_AS, safe_text

ANY_TEXT = st.text(st.characters() | st.characters(categories=("Cc", "Cf", "Cs")))
BLANK_LETTERS = "\u115f\u1160\u3164\uffa0\u2800"
BIDIRECTIONAL = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(ANY_TEXT, st.booleans())
def test_safe_text_has_no_active_characters(text: str, lines: bool) -> None:
    kept = {"\n", "\t"} if lines else set()
    for letter in safe_text(text, lines=lines):
        assert letter in kept or unicodedata.category(letter) not in {"Cc", "Cs", "Zl", "Zp"}, hex(
            ord(letter)
        )
        assert unicodedata.bidirectional(letter) not in BIDIRECTIONAL, hex(ord(letter))


@given(ANY_TEXT, st.booleans())
def test_the_result_is_encodable_and_stable(text: str, lines: bool) -> None:
    once = safe_text(text, lines=lines)
    assert safe_text(once, lines=lines) == once
    assert once.encode().decode() == once


@given(st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters=BLANK_LETTERS)))
def test_ordinary_text_is_untouched(text: str) -> None:
    assert safe_text(text) == text
    assert safe_text(text, lines=True) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;new title\x07", "␛]0;new title␇"),
        ("\x9b2Jcleared", f"{SHOWN_AS}2Jcleared"),
        ("a\x08b\x7fc\x00", "a␈b␡c␀"),
        ("if is_admin\u202e\u2066: # no", f"if is_admin{SHOWN_AS}{SHOWN_AS}: # no"),
        ("ask \U000e0068\U000e0069", f"ask {SHOWN_AS}{SHOWN_AS}"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("warning ⚠\ufe0f", "warning ⚠"),
        ("bad \udc80 byte", f"bad {SHOWN_AS} byte"),
    ],
    ids=["colour", "title", "c1", "deletions", "bidi", "tags", "zero width", "emoji", "surrogate"],
)
def test_active_characters_become_visible(text: str, shown: str) -> None:
    assert safe_text(text) == shown


def test_lines_are_kept_on_request_only() -> None:
    text = "one\r\ntwo\tthree\u2028four\rfive\n"
    assert safe_text(text, lines=True) == "one\ntwo\tthree\nfour␍five\n"
    assert safe_text(text) == "one  two three four five "


def test_every_invisible_format_character_is_replaced() -> None:
    """Only the visible ones of Arabic, Syriac, Kaithi and hieroglyphs stay (Unicode category Cf)."""
    left = [
        code
        for code in range(0x110000)
        if unicodedata.category(chr(code)) == "Cf" and safe_text(chr(code)) == chr(code)
    ]
    names = {unicodedata.name(chr(code)).split()[0] for code in left}
    assert names <= {"ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN", "SHORTHAND"}
