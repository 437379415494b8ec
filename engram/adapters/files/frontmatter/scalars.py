"""Strings as YAML writes them: which may stand plain, and how the others are quoted.

Plain only where every YAML reader gives the same string back: PyYAML as strings, and the readers of YAML 1.1
and 1.2 that turn `no`, `1:30` or `2026-11-21` into something else.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Patterns stand here as text and are compiled by `re` at their first use (and kept): most runs need few of them.
# What YAML 1.1 does not allow raw in a stream, or takes for a line break (U+0085, U+2028, U+2029).
_UNSAFE = "\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
UNSAFE = f"[{_UNSAFE}]"
_NOT_ONE_LINE = f"[\t\n{_UNSAFE}]"
# NUL and lone surrogates have no escape that is read back: they stay, and are refused with the text.
_ESCAPED = '["\\\\\x01-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]'
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_FLOW_MARKS = r"[,?\[\]{}]"
_TYPED_WORDS = frozenset(("~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<"))
_TYPED_LETTERS = frozenset("0123456789abcdefABCDEFnNiIxXoOtTzZ_.,:+- ")
_TYPED = (
    r"(?i)[-+]?\.(?:inf|nan)|[-+]?[.0-9][0-9_.,:]*(?:e[-+]?[0-9]*)?"
    r"|[-+]?0(?:x[0-9a-f_]+|o[0-7_]+|b[01_]+)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t ].*)?"
)
_SHORT_OF = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def is_readable(text: str) -> bool:
    """Return whether `text` holds nothing that YAML wants escaped (tabs and line feeds are fine)."""
    return text.replace("\n", "").isprintable() or not re.search(UNSAFE, text)


def reads_plain(text: str, flow: bool) -> bool:
    """Return whether `text`, written without quotes on one line, is read back as the same string."""
    if not text or text[0] == " " or text[-1] in " :":
        return False
    if text[0] in _INDICATORS and (text[0] != "-" or text[1:2] in ("", " ")):
        return False
    if ": " in text or " #" in text or (flow and re.search(_FLOW_MARKS, text)):
        return False
    return text.isprintable() or not re.search(_NOT_ONE_LINE, text)


@lru_cache(maxsize=1024)  # names, words and clones return again and again
def scalar(text: str, flow: bool = False) -> str:
    """`text` as a YAML scalar of one line: plain where that is safe, else in double quotes."""
    plain = reads_plain(text, flow) and text[0] != "-" and not _is_typed(text)
    return text if plain else quote(text)


def _is_typed(text: str) -> bool:
    """Return whether some YAML reader takes the plain `text` for a number, a time, a truth or nothing."""
    if text[0] in "0123456789+." and _TYPED_LETTERS.issuperset(text):
        return re.fullmatch(_TYPED, text) is not None
    return text.lower() in _TYPED_WORDS


def quote(text: str) -> str:
    """`text` in double quotes; only quotes, backslashes and what YAML forbids raw are escaped."""
    return f'"{re.sub(_ESCAPED, _escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    letter = match.group()
    code = ord(letter)
    return _SHORT_OF.get(letter) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
