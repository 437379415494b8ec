"""Texts that are not lore: too short to be useful, a greeting, a log dump, bare code, a question.

Only obvious cases count as junk, since such a text is not recalled until a person decides about it.
"""

from __future__ import annotations

import re

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_LETTERS = 4
DOUBTFUL_LETTERS = 8  # a shorter text may still be a name or a preference, but is worth a review
_LOG_LINES, _LOG_SHARE = 6, 0.7
_MIN_LOG_LINES = 3  # of a text that has no other lines
_GREETING = re.compile(
    r"(hi|hello|hey|hallo|bonjour|hola|thanks?( you)?|thx|ok(ay)?|yes|no|done|test(ing)?|good (morning|evening|night|job)|bye"
    r"|got it|sure|great|perfect|lgtm|will do|let me know|you'?re welcome)"
    r"[\s,.!]*((there|all|everyone|world|again|so much|you|very much|team)[\s,.!]*)*"
)
_LOG_LINE = re.compile(
    r"\s*(\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|(\[?(DEBUG|INFO|WARN(ING)?|ERROR|TRACE|FATAL)\b)|"
    r"at [\w.$]+\(.*\)$|File \".*\", line \d+|#\d+ 0x|\w{3} +\d+ \d\d:\d\d:\d\d )"
)
_QUESTION = re.compile(r"[^.!?\n]*\?\s*")
_FENCE = re.compile(r"^(```|~~~)", re.MULTILINE)


def why_junk(content: str, shortest: int = MIN_LETTERS) -> str:
    """Return why a text is junk, as a clause; "" if it is not. `shortest` is the fewest letters and digits allowed."""
    text = content.strip()
    plain = text.casefold()
    if sum(letter.isalnum() for letter in text) < shortest and not _is_dense(text):
        return "it is too short to say anything"
    if len(plain) < 80 and _GREETING.fullmatch(plain):
        return "it is a greeting or a word of agreement"
    if _QUESTION.fullmatch(text):
        return "it is a question, not an answer"
    if _is_log([line for line in text.split("\n") if line.strip()]):
        return "it is an excerpt of a log"
    if _is_only_code(text):
        return "it is code without an explanation"
    return ""


def _is_log(lines: Sequence[str]) -> bool:
    """Return whether these lines are mostly from a log: all of a few, or most of many."""
    matching = sum(bool(_LOG_LINE.match(line)) for line in lines)
    if len(lines) < _LOG_LINES:
        return matching == len(lines) >= _MIN_LOG_LINES
    return matching >= _LOG_SHARE * len(lines)


def _is_dense(text: str) -> bool:
    """Return whether the text is in a script with few characters a word, such as Chinese or Japanese."""
    return sum(ord(letter) > 0x2E80 for letter in text) >= 2


def _is_only_code(text: str) -> bool:
    """Return whether the text is fenced code and nothing else."""
    marks = _FENCE.findall(text)
    if len(marks) < 2 or not text.startswith(("```", "~~~")):
        return False
    outside, inside = [], False
    for line in text.split("\n"):
        if _FENCE.match(line):
            inside = not inside
        elif not inside and line.strip():
            outside.append(line)
    return not outside
