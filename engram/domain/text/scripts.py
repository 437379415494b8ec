"""Scripts that need special treatment: those without spaces, and those unknown to an English model."""

from __future__ import annotations

import re
from functools import cache

# Compiled on first use: each takes a millisecond or two.
# Letters of Chinese, Japanese and Korean. Not of Thai, Lao, Khmer and Burmese, whose words are longer than two letters.
_CJK = (
    "\u3005-\u3007", "\u3040-\u30fa", "\u30fc-\u30ff", "\u3400-\u4dbf", "\u4e00-\u9fff", "\uac00-\ud7a3",
    "\uf900-\ufaff", "\uff66-\uff9f", "\U00020000-\U0003ffff",
)  # fmt: skip
# Letters of all scripts but Latin (which includes 1E00-1EFF); no symbols, no emoji.
_NOT_LATIN = (
    "\u0370-\u1dff", "\u1f00-\u1fff", "\u2c00-\u2c5f", "\u2c80-\u2dff", "\u3005-\u3007", "\u3040-\u30fa",
    "\u30fc-\u31ff", "\u3400-\u4dbf", "\u4e00-\ua71f", "\ua800-\uab2f", "\uabc0-\ud7ff", "\uf900-\ufaff",
    "\ufb1d-\ufdff", "\ufe70-\ufefc", "\uff66-\uffdc", "\U00010000-\U0001cfff", "\U0001e000-\U0001efff",
    "\U00020000-\U0003ffff",
)  # fmt: skip


@cache
def cjk_run() -> re.Pattern[str]:
    """Return the pattern of a run of Chinese, Japanese or Korean letters."""
    return re.compile(f"[{''.join(_CJK)}]+")


@cache
def not_latin() -> re.Pattern[str]:
    """Return the pattern of a run of letters of scripts other than Latin."""
    return re.compile(f"[{''.join(_NOT_LATIN)}]+")


@cache
def beyond_punctuation() -> re.Pattern[str]:
    """Return the pattern of a character from the first Chinese, Japanese or Korean letter on: five times as fast to search."""
    # The complement of the range before it: compiling the range itself takes 2 ms, as its end is far away.
    return re.compile("[^\0-\u3004]")
