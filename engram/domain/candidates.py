"""The few sentences of a text that say what was learned, by conservative rules: only what its writer marked as such.

A candidate begins with a label ("Root cause: …", "Decision: …") or one of a few fixed phrases. Everything else,
however true, is left to whoever records on purpose: a memory full of chatter is worse than an empty one.
"""

from __future__ import annotations

import re

from engram.domain.typed import NamedTuple

SHORTEST, LONGEST = 40, 700
MOST = 3

_LABELS = (
    ("lesson(?: learned)?|learned|learning|takeaway|insight", "PATTERN_OUTCOME"),
    ("root cause|cause|the cause was", "EDGE_CASE_DISCOVERY"),
    ("gotcha|pitfall|caveat|watch out", "EDGE_CASE_DISCOVERY"),
    ("decision|decided|we decided", "ARCHITECTURAL_DECISION"),
    ("workaround|fix|the fix", "IMPLEMENTATION_FRICTION"),
    ("convention|preference", "PREFERENCE"),
    ("outcome|result", "OUTCOME"),
)
_MARK = r"^\W{0,12}(?:\d{1,3}[.)]\W{1,6})?"  # of a list, a heading, bold
_LABEL = re.compile(
    _MARK + "(?:" + "|".join(f"(?P<l{n}>{words})" for n, (words, _) in enumerate(_LABELS)) + r")\**\s?:\**\s+\S",
    re.IGNORECASE,
)  # fmt: skip
_PHRASES = (
    (r"(?:the )?root cause (?:was|is) ", "EDGE_CASE_DISCOVERY"),
    (r"it turns out (?:that )?", "EDGE_CASE_DISCOVERY"),
    (r"we decided (?:to|against|that) ", "ARCHITECTURAL_DECISION"),
    (r"(?:always|never) [^.]{10,} because ", "PATTERN_OUTCOME"),
)
_PHRASE = re.compile(
    _MARK + "(?:" + "|".join(f"(?P<p{n}>{words})" for n, (words, _) in enumerate(_PHRASES)) + ")",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_LEAD = re.compile(r"^[\s>*+#-]*(?:\d{1,3}[.)]\s+)?[\s*]*")


class Candidate(NamedTuple):
    """What a text may have taught: the sentence or paragraph, and the category that its label suggests."""

    content: str
    category: str


def candidates(text: str, most: int = MOST) -> list[Candidate]:
    """At most `most` candidates, in the order of the text, each said once. Code blocks and questions are none."""
    found: dict[str, Candidate] = {}
    for paragraph in _paragraphs(text):
        candidate = _candidate(paragraph)
        if candidate is not None:
            found.setdefault(candidate.content.casefold(), candidate)
    return list(found.values())[:most]


def _candidate(paragraph: str) -> Candidate | None:
    label, phrase = _LABEL.match(paragraph), _PHRASE.match(paragraph)
    match = label or phrase
    if match is None or not match.lastgroup:
        return None
    table = _LABELS if label else _PHRASES
    content = _LEAD.sub("", paragraph).replace("**", "").strip()
    if not SHORTEST <= len(content) <= LONGEST or content.endswith("?"):
        return None
    return Candidate(content, table[int(match.lastgroup[1:])][1])


def _paragraphs(text: str) -> list[str]:
    """Paragraphs and list items, each as one line, without code blocks."""
    parts: list[str] = []
    open_part, in_code = False, False
    for line in text.splitlines():
        if _FENCE.match(line):
            in_code, open_part = not in_code, False
        elif in_code or not line.strip():
            open_part = False
        elif open_part and not re.match(r"\s*(?:[-*+]|\d{1,3}[.)]|#{1,6})\s", line):
            parts[-1] += " " + line.strip()
        else:
            parts.append(line.strip())
            open_part = True
    return parts
