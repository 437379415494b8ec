"""Text from anywhere, made safe to stand before a model: nothing in it can look like a frame, a turn or a live link.

What would act on a terminal goes first (`engram.domain.text.safe_text`). Then the marks are broken with which programs tell a
model who speaks, and those that a screen would follow by itself: an image that is fetched carries off whatever
its address holds. Words are left alone: that they are no orders, the frame around them says.
"""

from __future__ import annotations

import re
from functools import cache

from engram.domain.text.safe_text import safe_text

FRAME = "engram-lore"
UNCHECKED = "[unchecked link] "
_ESCAPED = "&lt;"
# Names of marks between angle brackets that agents' programs use, and of HTML that is fetched, followed or run.
_SPEAKING = r"engram[\s_-]*[l1i|]ore|system|antml|tool|function|invoke|parameter|im_(?:start|end)|assistant|human|instruction"
_ACTING = (
    r"img|image|iframe|script|style|svg|object|embed|video|audio|picture|meta|base|form|input|link|a|source"
)
_MARKS = re.compile(
    rf"<(?=\s*/?\s*(?:{_SPEAKING}))|<(?=\s*\|)|<(?=<\s*/?\s*sys)|<(?=\s*/?\s*(?:{_ACTING})(?:[\s/>]|$))"
    r"|<(?=\s*/?\s*(?:user|prompt|important)\b)|<(?=\s*(?:[^\s<>:/]+:[^:\s]|//|www\.))",
    re.IGNORECASE | re.MULTILINE,
)
_TURNS = re.compile(r"\[(?=/?(?:INST|SYSTEM|SYS)\b)")
_LINK = re.compile(r"\](?=[(:])")
_SCHEME = re.compile(r"(?:javascript|vbscript)(?=:)|data(?=:[a-z]+/)|file(?=:/)", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?<!\[unchecked link\] )"
    r"(?:(?<![^\s\[\](){}<>\"'`,;])(?:[^\s\[\](){}<>\"'`,;]+://|www\.)|(?<![\w:\]])//(?=[\w-]+\.))",
    re.IGNORECASE,
)
_PASSES = 8
_NEARLY = 7  # letters in their places, from which a name is taken for that of the frame
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


def harmless(text: str, *, lines: bool = False, is_checked: bool = True) -> str:
    """The text, safe inside a frame; `lines` keeps line ends. A second pass changes nothing.

    Without `is_checked`, for lore that nobody here stands in for, every address is marked as one to be wary of.
    """
    text = safe_text(text, lines=lines)
    for _ in range(_PASSES):  # what is broken may have hidden something else behind it
        before, text = text, _broken(text, is_checked=is_checked)
        if text == before:
            break
    return text


def _broken(text: str, *, is_checked: bool) -> str:
    """The text with each mark in it broken that shows now."""
    plain, places = (text, None) if text.isascii() else _plain(text)
    edits = [(found.start(), 1, _ESCAPED) for found in _MARKS.finditer(plain)]
    edits += [(at, 1, _ESCAPED) for at in _nearly_frames(plain)]
    edits += [(found.start(), 1, "[ ") for found in _TURNS.finditer(plain)]
    edits += [(found.end(), 0, " ") for found in _LINK.finditer(plain)]
    edits += [(found.end(), 0, " ") for found in _SCHEME.finditer(plain)]
    if not is_checked:
        edits += [(found.start(), 0, UNCHECKED) for found in _ADDRESS.finditer(plain)]
    if not edits:
        return text
    return _edited(text, [(places[at], gone, new) for at, gone, new in edits] if places else edits)


def _nearly_frames(plain: str) -> list[int]:
    """Where a bracket opens something that reads like the frame's name, with a letter or two that stand for others."""
    found = []
    at = plain.find("<")
    while at >= 0:
        name = plain[at + 1 : at + 40].lstrip(" /\t")[: len(FRAME)].lower()
        if sum(one == other for one, other in zip(name, FRAME, strict=False)) >= _NEARLY:
            found.append(at)
        at = plain.find("<", at + 1)
    return found


def _plain(text: str) -> tuple[str, list[int]]:
    """The text in the letters that it seems to be written with, and of each the place in the text that it stands for."""
    import unicodedata

    table = _plain_letters()
    letters, places = [], []
    for at, letter in enumerate(text):
        seen = letter if letter.isascii() else table.get(ord(letter)) or unicodedata.normalize("NFKC", letter)
        if not unicodedata.combining(letter):
            letters.append(seen)
            places += [at] * len(seen)
    return "".join(letters), [*places, len(text)]


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with parts replaced: (where, how many characters go, what comes)."""
    parts, at = [], 0
    for start, gone, new in sorted(set(edits)):
        parts += [text[at:start], new]
        at = start + gone
    return "".join([*parts, text[at:]])


@cache
def _plain_letters() -> dict[int, str]:
    """Letters of other scripts as the ones that they look like, each one for one."""
    table = {ord(strange): plain for plain, strangers in _LOOKALIKES.items() for strange in strangers}
    return table | dict.fromkeys(map(ord, _ANGLES), "<") | {ord("\uff1e"): ">"}
