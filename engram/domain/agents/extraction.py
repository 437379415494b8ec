"""Extract a few candidates from a transcript or document: lessons that were stated and not retracted.

It depends on the speaker what counts: findings of an agent; decisions, wishes and rules of a person; nothing of tools and
systems.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from engram.domain.agents.candidates import (
    CHANGE,
    Candidate,
    candidates_in,
    labelled_candidate,
    make_candidate,
    paragraphs,
    section_of,
)
from engram.domain.agents.explanations import find_explanation, reports_problem
from engram.domain.exchange.lesson_sentences import reports_action, sentences
from engram.domain.review.anchors import code_names
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MOST = 10
AGENT, PERSON, DOCUMENT = "agent", "person", "document"
_LABELS_OF_PERSONS = ("decision", "convention", "remember")
_MOST_OF_SECTION = 4
_MOST_NAMES = 8
_LONGEST_PROMPT = 1_000  # characters; a longer one specifies the task at hand
_ALIKE = 0.8  # the share of common words from which two candidates count as one
_ROLES = {
    **dict.fromkeys(
        ("assistant", "agent", "claude", "codex", "ai", "gemini", "cursor", "copilot", "model"), AGENT
    ),
    **dict.fromkeys(("user", "human", "me", "developer"), PERSON),
    **dict.fromkeys(("tool", "system", "output", "function", "result", "tool result"), ""),
}
_SPEAKER = re.compile(rf"^(?:\*\*|#{{1,3}} )?({'|'.join(_ROLES)})(?:\*\*)?:(?:\*\*)?(?:\s+|$)", re.IGNORECASE)
_RETRACTED = re.compile(
    r"\b(?:(?:that|this|it|i) (?:was|is) (?:wrong|not it|incorrect)|scratch that|correction:|not the (?:root )?cause(?: after all)?"
    r"|i was mistaken|ruled (?:it|that|this) out|false alarm)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^(#{1,6})\s+(?:\d{1,3}[.)]\s*)?(.*)$")
# "Two lessons from this one:" introduces a list.
_INTRODUCES = re.compile(
    r"\b(?:lessons?|gotchas?|pitfalls?|learned|worth (?:knowing|remembering)|for next time)\b[^.?]{0,60}:\W*$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_DEEPEST = 7  # a level below every heading, for such a list
_NOT_PROSE = ("|", "<", "![", "[", "$ ", ">")
_PATH = re.compile(r"(?<![\w/:.@-])(?:\./)?((?:[\w.@-]+/)*[\w@-][\w.@-]*\.[A-Za-z][A-Za-z0-9]{0,7})(?![\w/])")
_CODE_ENDINGS = re.compile(
    r"\.(?:py|pyi|js|jsx|ts|tsx|mjs|go|rs|c|h|cc|cpp|hpp|java|kt|rb|php|swift|cs|sh|sql|md|toml|yaml|yml|json|lock|css|html|tf|proto)$"
)
_HASH = re.compile(r"(?<![\w&/])#([A-Za-z][\w-]{1,30})\b")
_WIKI = re.compile(r"\[\[([^\]|\n]{2,60})(?:\|[^\]\n]*)?\]\]")


class Turn(NamedTuple):
    """A text of one speaker (`AGENT`, `PERSON`, or `DOCUMENT` for none), and where it is: as `message 3`, or by its line."""

    speaker: str
    text: str
    where: str = ""
    line: int = 0


class Extracted(NamedTuple):
    """A candidate, where it was found, and what it is about."""

    content: str
    category: str
    where: str
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


def speaker_of(role: str) -> str:
    """Return the speaker for the name of a role; "" for tools, systems and unknown roles."""
    return _ROLES.get(role.lower(), "")


def split_turns(text: str) -> list[Turn]:
    """Split a plain text into turns: a transcript if lines begin with two or more different speakers, else one document."""
    lines = text.splitlines()
    starts = [(at, match) for at, line in enumerate(lines) if (match := _SPEAKER.match(line))]
    if len({match[1].lower() for _, match in starts}) < 2:
        return [Turn(DOCUMENT, text)]
    found = []
    for (at, match), end in zip(starts, [at for at, _ in starts[1:]] + [len(lines)], strict=True):
        body = [lines[at][match.end() :], *lines[at + 1 : end]]
        found.append(Turn(speaker_of(match[1]), "\n".join(body), line=at))
    return found


def extract(turns: Iterable[Turn], most: int = MOST) -> list[Extracted]:
    """Return at most `most` candidates of these turns, in order, without repetitions."""
    found: list[tuple[str, Candidate]] = []
    prompts: list[str] = []
    spoken = [turn for turn in turns if turn.speaker]
    for turn, following in zip_longest(spoken, spoken[1:]):
        known = len(found)
        _collect(turn, found)
        if turn.speaker == PERSON:
            prompts.append(turn.text)
        # Only the agent's last text before the next prompt is a report.
        elif (
            len(found) == known
            and (following is None or following.speaker == PERSON)
            and reports_problem(prompts)
        ):
            one = find_explanation(turn.text)
            found += [(turn.where or f"line {turn.line}", one)] if one is not None else []
    kept: list[tuple[str, Candidate]] = []
    for where, one in found:
        if not any(are_alike(one.content, other.content) for _, other in kept):
            kept.append((where, one))
    return [_add_references(one, where) for where, one in kept[:most]]


def _collect(turn: Turn, found: list[tuple[str, Candidate]]) -> None:
    of_person = turn.speaker == PERSON
    for number, one in _candidates_of(paragraphs(turn.text), of_person=of_person):
        if one is None:
            if found:
                found.pop()
        elif not (of_person and one.label) or one.label in _LABELS_OF_PERSONS:
            found.append((turn.where or f"line {turn.line + number}", one))


def _candidates_of(
    parts: Sequence[tuple[int, str]], *, of_person: bool = False
) -> Iterator[tuple[int, Candidate | None]]:
    """Yield the candidates of a text with their lines; None where the candidate before is retracted."""
    section: tuple[str, str] | None = None
    level = left = 0
    is_task = of_person and sum(len(part) for _, part in parts) > _LONGEST_PROMPT
    for number, paragraph in parts:
        heading = _HEADING.match(paragraph)
        if heading and (section is None or len(heading[1]) <= level):
            section, level, left = section_of(heading[2]), len(heading[1]), _MOST_OF_SECTION
        elif _INTRODUCES.search(paragraph):
            section, level, left = section_of("lessons learned"), _DEEPEST, _MOST_OF_SECTION
        elif level == _DEEPEST and not _ITEM.match(paragraph):
            section, level = None, 0
        one = labelled_candidate(paragraph)
        if one is None and section and left and not heading and not paragraph.startswith(_NOT_PROSE):
            first = "".join(sentences(paragraph)[:1])
            one = None if reports_action(first) else make_candidate(paragraph, *section)
            left -= one is not None
        if _RETRACTED.search(paragraph) and one is None:
            yield number, None
        elif one is not None:
            yield number, one
        elif not is_task:
            for stated in candidates_in(paragraph, of_person=of_person):
                yield number, stated


def _add_references(one: Candidate, where: str) -> Extracted:
    """Add the tags, files and entities that the text of a candidate names."""
    files = [path for path in _PATH.findall(one.content) if "/" in path or _CODE_ENDINGS.search(path)]
    in_files = " ".join(files)
    names = [name for name in code_names(one.content) if name not in in_files]
    names += [name.strip() for name in _WIKI.findall(one.content)]
    tags = [
        "extracted",
        *([one.label] if one.label else []),
        *(tag.lower() for tag in _HASH.findall(one.content)),
    ]
    return Extracted(
        one.content, one.category, where, tuple(dict.fromkeys(tags)), tuple(dict.fromkeys(files))[:_MOST_NAMES],
        tuple(dict.fromkeys(names))[:_MOST_NAMES],
    )  # fmt: skip


def is_mere_change(one: Extracted) -> bool:
    """Return whether a candidate labelled "Fix:" describes a change, which is in git anyway, rather than a workaround."""
    return CHANGE in one.tags and CHANGE not in one.content.casefold()


def are_alike(one: str, other: str) -> bool:
    """Return whether nearly all words of the shorter of two texts occur in the other."""
    first, second = _words(one), _words(other)
    return len(first & second) >= _ALIKE * max(1, min(len(first), len(second)))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold())) - STOP_WORDS
