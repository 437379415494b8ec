"""Neutralize untrusted text for a prompt: no frame, speaker mark or active link survives.

Text for a prompt is made safe in two steps: this module changes the text, and a frame around it declares it data
(`framing` for answers of tools, `fence` for hooks). `leaks` checks the result.

Terminal control characters are removed first (`engram.domain.text.safe_text`). Then two kinds of marks are broken: those
by which agent programs tell a model who speaks, and those that a client follows by itself, since fetching an image sends
away whatever its address contains. Words stay as they are; the frame declares that they are no instructions.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from engram.domain.text.safe_text import safe_text

FRAME = "engram-lore"
UNCHECKED = "[unchecked link] "
_ESCAPED = "&lt;"
# Tags of agent programs, and HTML elements that are fetched, followed or run.
_SPEAKING = r"engram[\s_-]*[l1i|]ore|system|antml|tool|function|invoke|parameter|im_(?:start|end)|assistant|human|instruction"
_ACTING = (
    r"img|image|iframe|script|style|svg|object|embed|video|audio|picture|meta|base|form|input|link|a|source"
)
_MARKS = re.compile(
    rf"<(?=\s*/?\s*(?:{_SPEAKING}))|<(?=\s*\|)|<(?=<\s*/?\s*sys)|<(?=\s*/?\s*(?:{_ACTING})(?:[\s/>]|$))"
    r"|<(?=\s*/?\s*(?:user|prompt|important)\b)|<(?=\s*(?:[^\s<>:/]+:[^:\s]|//|www\.))",
    re.IGNORECASE | re.MULTILINE,
)
_NON_ASCII = re.compile(r"[^\0-\x7f]")
_TURNS = re.compile(r"\[(?=/?(?:INST|SYSTEM|SYS)\b)")
_LINK = re.compile(r"\](?=[(:])")
_SCHEME = re.compile(r"(?:javascript|vbscript)(?=:)|data(?=:[a-z]+/)|file(?=:/)", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?<!\[unchecked link\] )"
    r"(?:(?<![^\s\[\](){}<>\"'`,;])(?:[^\s\[\](){}<>\"'`,;]+://|www\.)|(?<![\w:\]])//(?=[\w-]+\.))",
    re.IGNORECASE,
)
_PASSES = 8
_CACHED = 200  # texts: fitting an answer into its budget renders each about ten times
_FEWEST_ALIKE = 7  # letters in the same position as in the frame's name, from which a name passes for it
_ANGLES = "\uff1c\ufe64\u2039\u3008\u27e8\u2329\u276e\u276c\u02c2\u1438\u227a\u29fc\u00ab\u300a\u27ea"
_LOOKALIKES = {
    "a": "\u0430\u03b1\u0251\uff41", "e": "\u0435\u0454\u03b5\u212e\uff45", "g": "\u0261\u0581\uff47",
    "i": "\u0456\u03b9\u0131\uff49", "l": "\u04cf\u0406\u2113\uff4c\u217c\u01c0",
    "m": "\u043c\u217f\uff4d", "n": "\u043f\u0578\u03b7\uff4e",
    "o": "\u043e\u03bf\u0585\uff4f", "r": "\u0433\u0280\u1d26\uff52", "s": "\u0455\uff53", "t": "\u0442\u03c4\uff54",
    "u": "\u03c5\u057d\uff55", "y": "\u0443\u04af\uff59", "c": "\u0441\u03f2\uff43", "h": "\u04bb\uff48", "f": "\uff46",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d\u00b7", "/": "\u2044\u2215\uff0f\u29f8", "|": "\uff5c\u2223",
    "[": "\uff3b\u3014", "]": "\uff3d\u3015", "(": "\uff08", ":": "\uff1a\ua789",
}  # fmt: skip


@lru_cache(maxsize=_CACHED)
def neutralize(text: str, *, lines: bool = False, is_checked: bool = True) -> str:
    """Make a text safe inside a frame; `lines` keeps line ends. Idempotent.

    `is_checked` is False for lore that nobody has confirmed in this clone: every address in it is marked as unchecked.
    """
    text = safe_text(text, lines=lines)
    for _ in range(_PASSES):  # breaking a mark may reveal another one
        before, text = text, _break_marks(text, is_checked=is_checked)
        if text == before:
            break
    return text


def neutralize_data(value: object, *, is_checked: bool) -> object:
    """Neutralize every text in a JSON value."""
    if isinstance(value, str):
        return neutralize(value, lines=True, is_checked=is_checked)
    if isinstance(value, list):
        return [neutralize_data(item, is_checked=is_checked) for item in value]
    if isinstance(value, dict):
        return {key: neutralize_data(item, is_checked=is_checked) for key, item in value.items()}
    return value


def _break_marks(text: str, *, is_checked: bool) -> str:
    """Break each mark that the text shows."""
    plain, places = (text, None) if text.isascii() else _plain(text)
    edits = [(found.start(), 1, _ESCAPED) for found in _MARKS.finditer(plain)]
    edits += [(at, 1, _ESCAPED) for at in _imitated_frames(plain)]
    edits += [(found.start(), 1, "[ ") for found in _TURNS.finditer(plain)]
    edits += [(found.end(), 0, " ") for found in _LINK.finditer(plain)]
    edits += [(found.end(), 0, " ") for found in _SCHEME.finditer(plain)]
    if not is_checked:
        edits += [(found.start(), 0, UNCHECKED) for found in _ADDRESS.finditer(plain)]
    if not edits:
        return text
    return _apply_edits(text, [(places[at], length, new) for at, length, new in edits] if places else edits)


def _imitated_frames(plain: str) -> list[int]:
    """Find brackets before a misspelt or lookalike name of the frame."""
    found = []
    at = plain.find("<")
    while at >= 0:
        name = plain[at + 1 : at + 40].lstrip(" /\t")[: len(FRAME)].lower()
        if sum(one == other for one, other in zip(name, FRAME, strict=False)) >= _FEWEST_ALIKE:
            found.append(at)
        at = plain.find("<", at + 1)
    return found


def _plain(text: str) -> tuple[str, list[int]]:
    """Replace lookalike letters by the ASCII ones; also return the place in the text of each letter."""
    import unicodedata

    table = _plain_letters()
    parts, places, after = list[str](), list[int](), 0
    for found in _NON_ASCII.finditer(text):
        at, letter = found.start(), found[0]
        parts.append(text[after:at])
        places += range(after, at)
        if not unicodedata.combining(letter):
            parts.append(table.get(ord(letter)) or unicodedata.normalize("NFKC", letter))
            places += [at] * len(parts[-1])
        after = at + 1
    return "".join([*parts, text[after:]]), [*places, *range(after, len(text) + 1)]


def _apply_edits(text: str, edits: list[tuple[int, int, str]]) -> str:
    """Replace parts of a text; each edit is (start, number of characters removed, replacement)."""
    parts, at = [], 0
    for start, length, new in sorted(set(edits)):
        parts += [text[at:start], new]
        at = start + length
    return "".join([*parts, text[at:]])


@cache
def _plain_letters() -> dict[int, str]:
    """Map letters of other scripts to the ASCII letters that they look like."""
    table = {ord(letter): plain for plain, letters in _LOOKALIKES.items() for letter in letters}
    return table | dict.fromkeys(map(ord, _ANGLES), "<") | {ord("\uff1e"): ">"}
