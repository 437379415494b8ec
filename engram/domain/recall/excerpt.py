"""Choose what to show of an entry: all of a short one; of a long one the title and the passages that answer a question.

A passage consists of whole sentences. Code, tables and lists stay in one piece if they fit. Parts are chosen by the
words of the question, weighted by their rarity in the entry (in a note about queues "queue" says little), and, if a
model is available, by their similarity to the question.
"""

from __future__ import annotations

import re
from itertools import pairwise
from math import log

from engram.domain.exchange.markdown_blocks import FENCE, HEADING, TEXT, Block, scan
from engram.domain.recall.budget import WHOLE, Excerpt
from engram.domain.text.content_words import stem
from engram.domain.text.scripts import cjk_run
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.domain.recall.budget import Nearness

GAP = "…"  # alone on a line, where text is left out
_TOGETHER = 0.5  # of the room: a list or code block up to this share of it is one part
_LONGEST_PART = 240  # characters of a part of a text without sentences or lines
# Shares of the value of matching words that go to the next part, to the one before, and to parts below a heading.
_AFTER = 0.6
_BEFORE = 0.3
_HEADING = 0.5
_REPEATED = 0.3  # the share of a word's weight that counts if a chosen part has it already
_ADJACENT = 0.5  # the share of a chosen part's value that its neighbours gain
_MAX_CANDIDATES = 200
_NEAR = 2.0  # the value of a standard deviation of nearness; measured on long notes made of unrelated lessons
_MAX_TERMS = 200
_MAX_PARTS = 300  # for nearness: entries have ten to a hundred, a file written by hand may have any number

_WORD = re.compile(r"[^\W_]+")
_NO_ABBREVIATION = "".join(
    rf"(?<!\b{word})"
    for word in (r"e\.g", r"i\.e", "cf", "vs", "approx", "resp", "etc", "Dr", "Mr", "Mrs", "No")
)
_SENTENCE_END = re.compile(
    rf"{_NO_ABBREVIATION}[.!?][\"'\u201d\u2019)\]`*_]*[ \t\n]+(?=[\"'\u201c\u2018(\[`*_]*[^\Wa-z_])|[\u3002\uff01\uff1f]+"
)
_LIST_ITEM = re.compile(r"(?:^|\n)(?=[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t])")


class _Part(NamedTuple):
    """A part of a text, `text[start:end]`, that is shown or left out as a whole; `fence` is the code block that it is cut from."""

    start: int
    end: int
    section: int
    fence: Block | None = None


def excerpt(text: str, question: str, most: int = WHOLE, near: Nearness | None = None) -> Excerpt:
    """Return a text of at most `most` characters whole; of a longer one the title and the best passages.

    If nothing matches, these are the first ones.
    """
    if len(text) <= most:
        return Excerpt(text)
    title = _title_of(text)
    parts, headings = _split(text, max(80, most - len(title) - 3))
    values, found = _weigh(text, parts, headings, question)
    if near is not None and len(parts) <= _MAX_PARTS:
        nearness = _values_by_nearness(text, parts, near)
        values = [value + more for value, more in zip(values, nearness, strict=True)]
    chosen = _choose(parts, values, found, most - len(title) - 1)
    return _render(text, parts, chosen, title)


def terms(text: str) -> set[str]:
    """Return the stems of the words of a text, and the letter bigrams of scripts without spaces."""
    found = set()
    for word in _WORD.findall(text.lower()):
        if not word.isascii() and cjk_run().search(word):  # no spaces between words
            found.update([word[at : at + 2] for at in range(max(1, len(word) - 1))])
        elif word not in STOP_WORDS:
            found.add(stem(word))
    return found


def _title_of(text: str) -> str:
    """Return the first line with text, up to the end of its first sentence; a long one is cut after a word."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    end = _SENTENCE_END.search(line)
    line = line[: end.end()].rstrip() if end else line
    return line if len(line) <= 120 else line[:120].rpartition(" ")[0] + GAP


# Split a text into parts


def _split(text: str, most: int) -> tuple[list[_Part], list[tuple[int, int]]]:
    """Return the parts of a text, and the span of each section's heading."""
    found: list[_Part] = []
    headings = [(0, 0)]
    together = int(most * _TOGETHER)
    joined = False  # after a heading or colon: the next part belongs to the last one
    for block in scan(text):
        if block.kind == HEADING:
            headings.append((block.start, block.end))
        if block.kind == TEXT:
            spans = _spans_of_text(text, block.start, block.end, together)
        elif block.end - block.start <= together:
            spans = [(block.start, block.end)]
        else:
            spans = _spans_of_lines(text, block.start, block.end)
        fence = block if block.kind == FENCE and len(spans) > 1 else None
        for start, end in (piece for span in spans for piece in _cut(text, *span, most)):
            last = found[-1] if found else None
            if last is not None and joined and end - last.start <= together and not (fence or last.fence):
                found[-1] = last._replace(end=end, section=len(headings) - 1)
            else:
                found.append(_Part(start, end, len(headings) - 1, fence))
            joined = block.kind == HEADING or text[start:end].endswith(":")
    return found, headings


def _spans_of_text(text: str, start: int, end: int, together: int) -> list[tuple[int, int]]:
    """Return one span for a list that fits, else one for each item; for a paragraph one for each sentence."""
    block = text[start:end]
    items = [match.end() for match in _LIST_ITEM.finditer(block)]
    if items and len(block) <= together:
        return [(start, end)]
    found = []
    for first, last in _spans_between([0, *items], len(block)):
        piece = block[first:last]
        bounds = [0, *(m.end() for m in _SENTENCE_END.finditer(piece)), *_deliberate_line_starts(piece)]
        found += [
            (start + first + one, start + first + two) for one, two in _spans_between(bounds, len(piece))
        ]
    return _strip_spans(text, found)


def _deliberate_line_starts(text: str) -> Iterator[int]:
    """Yield the starts of lines that are not due to wrapping: their first word would have fit on the line before."""
    lines = text.split("\n")
    width, at = max(map(len, lines)), 0
    for line, following in pairwise(lines):
        at += len(line) + 1
        word = following.strip().partition(" ")[0]
        if len(line) + 1 + len(word) <= width:
            yield at


def _spans_of_lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    bounds = [match.end() for match in re.finditer("\n", text[start:end])]
    spans = [(start + one, start + two) for one, two in _spans_between([0, *bounds], end - start)]
    return _strip_spans(text, spans)


def _strip_spans(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans without white space at their ends; none that is only white space."""
    return [(one, one + len(text[one:two].rstrip())) for one, two in spans if text[one:two].strip()]


def _spans_between(bounds: Sequence[int], end: int) -> Iterator[tuple[int, int]]:
    yield from pairwise(sorted({*bounds, end}))


def _cut(text: str, start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """Cut a span that is too long to be shown: at line ends, else at ends of sentences, else between words."""
    while end - start > most:
        length = min(most, _LONGEST_PART)
        places = [text.rfind(mark, start, start + length) + len(mark) - 1 for mark in ("\n", ". ", " ")]
        at = next((place for place in places if place > start), start + length)
        yield start, at
        start = at + (text[at] in " \n")
    if end > start:
        yield start, end


# Choose the parts


def _weigh(
    text: str, parts: Sequence[_Part], headings: Sequence[tuple[int, int]], question: str
) -> tuple[list[float], list[dict[str, float]]]:
    """Return the value of each part, and the terms of the question that it has, with their weights."""
    wanted = set(sorted(terms(question))[:_MAX_TERMS])
    matches = [wanted & terms(text[part.start : part.end]) for part in parts]
    above = [wanted & terms(text[start:end]) for start, end in headings]
    counts: dict[str, int] = {}
    for match in matches:
        for term in match:
            counts[term] = counts.get(term, 0) + 1
    weight = {term: log(1 + len(parts) / count) for term, count in counts.items()}
    found = [{term: weight[term] for term in match} for match in matches]
    own = [sum(weights.values()) for weights in found]
    values = []
    for number, part in enumerate(parts):
        value = own[number] + _HEADING * sum(
            weight.get(term, 0.0) for term in above[part.section] - matches[number]
        )
        value += _AFTER * own[number - 1] if number else 0.0
        value += _BEFORE * own[number + 1] if number + 1 < len(parts) else 0.0
        values.append(value)
    return values, found


def _values_by_nearness(text: str, parts: Sequence[_Part], near: Nearness) -> list[float]:
    """Return the value of each part by its nearness to the question, alone and with the adjacent parts; 0 on average."""
    alone = [text[part.start : part.end] for part in parts]
    around = [
        text[one.start : two.end]
        for one, two in zip([parts[0], *parts], [*parts[1:], parts[-1]], strict=False)
    ]
    found = near([*alone, *around])
    each = [(one + two) / 2 for one, two in zip(found[: len(parts)], found[len(parts) :], strict=True)]
    mean = sum(each) / len(each)
    deviation = (sum((one - mean) ** 2 for one in each) / len(each)) ** 0.5
    return [_NEAR * (one - mean) / deviation if deviation else 0.0 for one in each]


def _choose(
    parts: Sequence[_Part], values: Sequence[float], found: Sequence[dict[str, float]], room: int
) -> list[int]:
    """Return the numbers of the parts to show: the best, then parts with other words or next to a chosen one.

    If no part has any value, return the first ones.
    """
    if max(values, default=0.0) <= 0:
        return _first_parts(parts, room)
    candidates = sorted(range(len(parts)), key=lambda n: (-values[n], n))[:_MAX_CANDIDATES]
    chosen: set[int] = set()
    seen: set[str] = set()

    def worth(number: int) -> float:
        repeated = sum(weight for term, weight in found[number].items() if term in seen)
        value = values[number] - (1 - _REPEATED) * repeated
        adjacent = max([values[n] for n in (number - 1, number + 1) if n in chosen], default=0.0)
        return value + _ADJACENT * adjacent

    while room > 0:
        around = [n for one in chosen for n in (one - 1, one + 1) if 0 <= n < len(parts)]
        fitting = [n for n in {*candidates, *around} - chosen if _added_length(parts, chosen, n) <= room]
        best = max(fitting, key=lambda n: (worth(n), -n), default=None)
        if best is None or (chosen and worth(best) <= 0):
            break
        room -= _added_length(parts, chosen, best)
        chosen.add(best)
        seen.update(found[best])
    return sorted(chosen)


def _first_parts(parts: Sequence[_Part], room: int) -> list[int]:
    chosen: set[int] = set()
    for number in range(len(parts)):
        room -= _added_length(parts, chosen, number)
        if room < 0:
            break
        chosen.add(number)
    return sorted(chosen)


def _added_length(parts: Sequence[_Part], chosen: set[int], number: int) -> int:
    """Return how many characters a part adds to the chosen ones at most, including those between them."""
    part = parts[number]
    before = parts[number - 1] if number - 1 in chosen else None
    after = parts[number + 1] if number + 1 in chosen else None
    length = (after.start if after else part.end) - (before.end if before else part.start)
    length += 0 if before or after else len(GAP) + 2
    if part.fence and not any(one and one.fence for one in (before, after)):
        length += len(part.fence.opener) + len(part.fence.closer) + 2
    return length


def _render(text: str, parts: Sequence[_Part], chosen: Sequence[int], title: str) -> Excerpt:
    """Return the chosen parts in the order of the text, below the title, with a mark where text is left out.

    A passage that the text repeats is shown once; one without a word, such as a bracket of code, is not shown.
    """
    pieces = [] if chosen and chosen[0] == 0 else [title]
    passages, shown = set[str](), 0
    for first, last in _runs(chosen):
        start, end = parts[first].start, parts[last].end
        piece = text[start:end]
        if piece in passages or not _WORD.search(piece):
            continue
        passages.add(piece)
        shown += end - start
        opened, closed = parts[first].fence, parts[last].fence
        if opened is not None and start != opened.start:
            piece = f"{opened.opener}\n{piece}"
        if closed is not None and end != closed.end:
            piece = f"{piece}\n{closed.closer}"
        pieces.append(piece)
    return Excerpt(f"\n{GAP}\n".join(pieces), max(1, len(text) - shown))


def _runs(chosen: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last number of each run of consecutive numbers."""
    first = None
    for number, following in zip(chosen, [*chosen[1:], None], strict=True):
        first = number if first is None else first
        if following != number + 1:
            yield first, number
            first = None
