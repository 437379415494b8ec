"""Check text for a prompt for leaks, independently of the code that makes it safe.

`engram doctor --poison` and the tests apply this to every path by which lore reaches a model.
"""

from __future__ import annotations

import re
import unicodedata

from engram.domain.admission import credit
from engram.domain.admission.tiers import AGENT, FOREIGN, IMPORT, TIERS
from engram.domain.agents import fence, framing
from engram.domain.agents.framing import HEADINGS, WRITTEN
from engram.domain.agents.neutralization import FRAME, UNCHECKED
from engram.domain.typed import NamedTuple

RAW, BROKEN, LINK, UNFRAMED, QUARANTINED, NOT_SHOWN = LEAKS = (
    "raw escape", "broken frame", "active link", "unframed text", "quarantined lore", "not shown",
)  # fmt: skip
# The name in it cannot look like anything but a name.
_BY = r"(?: by [^\W_][\w .'-]{0,39}| here)?(?: today| \d+ \w+ ago)?"
_EARNED = rf"(?:{'|'.join(credit.TIERS)})(?: \d+×)?(?:, confirmed \d+×)?(?:, last{_BY})?"
_WHO = rf"(?:({'|'.join(TIERS)})(?:: [\w@.+, -]+)?|[\w@.+, -]+) · (?:today|\d+ \w+ ago)"
_ABOUT = rf"[a-z ]+ · (?:{_EARNED}|{_WHO}|{_EARNED} · {_WHO})(?: · {framing.EXCERPT})?"
_HEAD = re.compile(rf"\[L\d+\] {_ABOUT}")
_NAMED = re.compile(rf"\[L\d+(?: [0-9A-Z]{{26}})?\](?: {fence.ABOVE})?")
_FACTS = re.compile(rf"(?:L\d+|[0-9A-Z]{{26}}) · {_ABOUT}")
_ENTITY = re.compile(rf"[a-z0-9-]+ · entity · {WRITTEN} · ({FOREIGN}): [\w ]+(?: · {framing.EXCERPT})?")
_CAPTURED = re.compile(r"\[captured (?:today|yesterday|\d+ days ago), not confirmed\] [A-Z_]+")
_MARKUP = re.compile(
    r"<\s*/?\s*(?:system|tool|function|invoke|assistant|human|user\b|antml|instruction|parameter\b)|<\s*\||<<\s*sys|\[/?inst\]",
    re.IGNORECASE,
)
_ACTIVE = re.compile(
    r"\]\(|^\W*\[[^\]]+\]:\s|<\s*(?:a|img|iframe|script|svg|object|embed|form|link|base|meta)[\s>/]|<\s*(?:\w+:)?//|<\s*www\."
    r"|\b(?:javascript|vbscript):|\bdata:\w+/|\bfile:/",
    re.IGNORECASE | re.MULTILINE,
)
_ADDRESS = re.compile(r"[a-z0-9][a-z0-9+.-]*://|(?<!\S)www\.|(?<![\w:/\]])//\w+\.\w", re.IGNORECASE)
_FEWEST_ALIKE = 8  # letters in the same position as in the name
_INDENT = "    "
_BLANK = "\u115f\u1160\u3164\uffa0\u2800"
_OPENING = ("LESS-THAN", "ANGLE BRACKET", "ANGLE QUOTATION", "ARROWHEAD", "PRECEDES", "CANADIAN SYLLABICS PA")


class Leak(NamedTuple):
    """One of `LEAKS`, and the line that shows it."""

    kind: str
    line: str


def leaks_of_fence(text: str) -> list[Leak]:
    """Find leaks in a text that hooks add to a prompt; "" has none."""
    if not text:
        return []
    first, *inside, last = text.split("\n")
    found = (
        [] if (first, last) == (f"<{FRAME}>", f"</{FRAME}>") else [Leak(BROKEN, f"{first} … {last}"[:200])]
    )
    return found + _lines(inside, _INDENT, (_HEAD, _NAMED, _CAPTURED), (fence.NOTICE, fence.ALSO))


def leaks_of_quotes(text: str) -> list[Leak]:
    """Find leaks in the text of a tool, which consists of notices, lines of facts, quoted and blank lines."""
    return _lines(
        [line for line in text.split("\n") if line],
        ">",
        (_FACTS,),
        (framing.NOTICE, framing.WEAK, framing.SEVERAL, framing.ALSO),
    )


def leaks_of_context(text: str) -> list[Leak]:
    """Find leaks in a context, which also has headings and entities."""
    return _lines(
        [line for line in text.split("\n") if line],
        ">",
        (_FACTS, _ENTITY),
        (framing.NOTICE, framing.ALSO, *HEADINGS),
    )


def leaks_of_data(text: str, *, is_checked: bool) -> list[Leak]:
    """Find leaks in a text of structured data, which a program frames."""
    return [leak for line in text.split("\n") for leak in _in_line(line, is_checked=is_checked)]


def _lines(
    lines: list[str], prefix: str, own: tuple[re.Pattern[str], ...], notices: tuple[str, ...]
) -> list[Leak]:
    found, tier = [], ""
    for number, line in enumerate(lines):
        match = next((match for form in own if (match := form.fullmatch(line))), None)
        if match:
            tier = next(filter(None, match.groups()), AGENT) if match.re.groups else FOREIGN
            found += [Leak(QUARANTINED, line)] if tier == TIERS[-1] else []
        elif not line.startswith(prefix) and line not in notices and not (number == 1 and line.endswith(":")):
            found.append(Leak(UNFRAMED, line[:200]))
        found += _in_line(line, is_checked=tier not in (FOREIGN, IMPORT))
    return found


def _in_line(line: str, *, is_checked: bool) -> list[Leak]:
    found = []
    if any(_is_raw(letter) for letter in line):
        found.append(Leak(RAW, ascii(line)[:200]))
    if _MARKUP.search(unicodedata.normalize("NFKC", line)) or _imitates_frame(line):
        found.append(Leak(BROKEN, line[:200]))
    plain = unicodedata.normalize("NFKC", line)
    unmarked = [
        at for at in _ADDRESS.finditer(plain) if UNCHECKED not in plain[max(0, at.start() - 80) : at.start()]
    ]
    if _ACTIVE.search(plain) or (unmarked and not is_checked):
        found.append(Leak(LINK, line[:200]))
    return found


def _is_raw(letter: str) -> bool:
    return letter in _BLANK or (letter != "\t" and unicodedata.category(letter) in ("Cc", "Cf", "Co", "Cs"))


def _imitates_frame(line: str) -> bool:
    """Return whether a character like an angle bracket precedes a text that resembles the name of the frame."""
    for at, letter in enumerate(line):
        if letter == "<" or (ord(letter) > 127 and any(n in unicodedata.name(letter, "") for n in _OPENING)):
            rest = unicodedata.normalize("NFKD", line[at + 1 : at + 60]).casefold()
            name = "".join(c for c in rest if not unicodedata.combining(c)).lstrip(" /\u2044\u2215\t")[
                : len(FRAME)
            ]
            if sum(one == other for one, other in zip(name, FRAME, strict=False)) >= _FEWEST_ALIKE:
                return True
    return False
