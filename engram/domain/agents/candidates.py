"""Find the few sentences of a text that state a lesson, by conservative rules.

A candidate begins with a label ("Root cause: …", "Decision: …") or a fixed phrase, or is a plain sentence that states a
lesson (`engram.domain.exchange.lesson_sentences`). Everything else is left out: a memory full of chatter is worse than
an empty one.
"""

from __future__ import annotations

import re

from engram.domain.exchange.lesson_sentences import (
    LABEL,
    LABELS,
    LONGEST,
    RESULTS,
    labelled_category,
    lesson_category,
    reports_action,
    sentences,
    without_lead,
)
from engram.domain.typed import NamedTuple

SHORTEST = 40
MOST = 3
CHANGE = "workaround"  # the label for "Fix:" and for workarounds

_BEGINS = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)]|#{1,6})\s")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_LEAD = re.compile(r"^[\s>*+#-]*(?:\d{1,3}[.)]\s+)?[\s*]*")


# "…; I added it" only reports what was done about it.
_DONE = re.compile(r"(?:;|,? [-–—]|, (?:so|and)) (?:I|I've|I'd) (?!can\b|could\b|think\b)(?:[^.]|\.(?!\s))*$")
# A statement in doubt is no lesson yet.
_DOUBT = re.compile(
    r"\b(?:tbd|to be (?:decided|determined|discussed|confirmed)|(?:not|isn't|nothing) (?:yet )?(?:known|clear|decided|sure|found)"
    r"|unclear|(?:is|are|was|were|still|remains) unknown|no idea|still (?:open|looking|investigating)|might"
    r"|(?:may|could) be\b(?! (?:used|called|read|set|shared|opened|empty))"
    r"|maybe|perhaps|probably|presumably|i (?:think|guess|suspect|assume)|hypothesis"
    r"|(?:possible|potential|suspected|likely) (?:root )?(?:cause|reason|culprit))\b",
    re.IGNORECASE,
)


class Candidate(NamedTuple):
    """A sentence or paragraph that may be a lesson, the category that its label suggests, and the label."""

    content: str
    category: str
    label: str = ""


def find_candidates(text: str, most: int = MOST, *, of_fix: bool = False) -> list[Candidate]:
    """Return at most `most` candidates, in the order of the text, without repetitions, code blocks and questions.

    `of_fix` says that the text is about a failure that was fixed.
    """
    found: dict[str, Candidate] = {}
    for _, paragraph in paragraphs(text):
        for one in candidates_in(paragraph, of_fix=of_fix):
            found.setdefault(one.content.casefold(), one)
    return list(found.values())[:most]


def candidates_in(paragraph: str, *, of_person: bool = False, of_fix: bool = False) -> list[Candidate]:
    """Return the candidates of a paragraph: all of it if it has a label, else the sentences that state a lesson.

    With `of_person` only sentences count in which a person decides, wants or prescribes something.
    """
    labelled = labelled_candidate(paragraph)
    if labelled is not None:
        return [labelled]
    if paragraph.startswith(("#", ">")) or labelled_category(paragraph) or _DOUBT.search(paragraph):
        return []
    found = []
    for sentence in sentences(paragraph, spoken=of_person):
        labelled = labelled_candidate(sentence)
        if labelled is not None:
            found.append(labelled)
            continue
        text = without_lead(sentence) if of_person else sentence
        category = lesson_category(text, of_person=of_person, of_fix=of_fix)
        one = make_candidate(text, category, "") if category else None
        if one is not None:
            found.append(one)
    return found


def labelled_candidate(paragraph: str) -> Candidate | None:
    """Return a paragraph as a candidate if it begins with a label, else None."""
    category = labelled_category(paragraph)
    if not category:
        return None
    label = LABEL.match(paragraph)
    return make_candidate(
        paragraph, category, _name_of(int(label.lastgroup[1:])) if label and label.lastgroup else ""
    )


def make_candidate(paragraph: str, category: str, label: str) -> Candidate | None:
    """Return a paragraph that is known to state a lesson as a candidate; None for a question, a doubt, or a wrong length."""
    content = _DONE.sub(".", _LEAD.sub("", paragraph).replace("**", "").strip())
    if label:
        content = _without_deeds(content)
    if not SHORTEST <= len(content) <= LONGEST or content.endswith(("?", ":")) or _DOUBT.search(content):
        return None
    return Candidate(content, category, label)


def _without_deeds(text: str) -> str:
    """Return a text up to the first sentence that tells what somebody did about it."""
    deed = next((one for one in sentences(text)[1:] if reports_action(one)), "")
    return text[: text.index(deed)].strip() if deed else text


def section_of(heading: str) -> tuple[str, str] | None:
    """Return the category and label for text under a heading such as "Lessons learned" or "Decision"; None for others."""
    words = heading.strip().strip("#*: ").lower()
    for number, (names, category) in enumerate(LABELS):
        # Findings are often about this one occasion only.
        if (
            category != RESULTS
            and not words.endswith(("findings", "explanation", "diagnosis"))
            and re.fullmatch(rf"(?:the |our |key )?(?:{names})s?", words)
        ):
            return category, _name_of(number)
    return None


def paragraphs(text: str) -> list[tuple[int, str]]:
    """Return paragraphs, headings and list items, each joined into one line, with the number of its first line.

    Code blocks are left out.
    """
    parts: list[tuple[int, str]] = []
    open_part, in_code = False, False
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            in_code, open_part = not in_code, False
        elif in_code or not line.strip():
            open_part = False
        elif open_part and not _BEGINS.match(line) and not _is_labelled(line):
            parts[-1] = (parts[-1][0], f"{parts[-1][1]} {line.strip()}")
        else:
            parts.append((number, line.strip()))
            open_part = not line.startswith("#")
    return parts


def _is_labelled(line: str) -> bool:
    """Return whether a line begins with a capitalized label; a lower-case one continues a sentence."""
    return line.lstrip("*_ ")[:1].isupper() and bool(LABEL.match(line))


def _name_of(number: int) -> str:
    """Return the tag for a label: `root-cause`."""
    return LABELS[number][0].partition("|")[0].replace(" ", "-")
