"""Choose what to show of an entry: all of a short one; of a long one the title and the passages that answer a question.

A passage goes from the start of a sentence to the end of one. Code, tables and lists stay in one piece where they fit.
The words of the question decide, each weighed by how few parts of the entry have it (in a note about queues "queue" says
little), and, where there is a model at hand, how near a part comes to the question.
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

GAP = "…"  # alone on a line, in place of what is left out
_KEPT_TOGETHER = 0.5  # of the room: a list or code of up to so much is one part
_LONGEST_PART = 240  # characters of a part of a text without sentences or lines
# What a part counts for being after or before one with the words, or below a heading with them.
_AFTER = 0.6
_BEFORE = 0.3
_HEADING = 0.5
_AGAIN = 0.3  # what a word counts in a second part
_NEXT = 0.5  # what a part that is shown counts for the ones next to it
_MOST_WEIGHED = 200
_NEAR = 2.0  # what a standard deviation of nearness counts; measured on long notes made of unrelated lessons
_MOST_TERMS = 200
_MOST_PARTS = 300  # of which the nearness is asked: entries have ten to a hundred, a file written by hand may have any number

_WORD = re.compile(r"[^\W_]+")
_ABBREVIATED = "".join(
    rf"(?<!\b{one})"
    for one in (r"e\.g", r"i\.e", "cf", "vs", "approx", "resp", "etc", "Dr", "Mr", "Mrs", "No")
)
_SENTENCE_END = re.compile(
    rf"{_ABBREVIATED}[.!?][\"'\u201d\u2019)\]`*_]*[ \t\n]+(?=[\"'\u201c\u2018(\[`*_]*[^\Wa-z_])|[\u3002\uff01\uff1f]+"
)
_LIST_ITEM = re.compile(r"(?:^|\n)(?=[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t])")


class _Part(NamedTuple):
    """A part of a text that is shown or not: `text[start:end]`; `fence` is the block of code that it is only a part of."""

    start: int
    end: int
    section: int
    fence: Block | None = None


def excerpt(text: str, question: str, most: int = WHOLE, near: Nearness | None = None) -> Excerpt:
    """Return a text of at most `most` characters whole; of a longer one the title and the passages that match best.

    Where nothing matches that is its beginning.
    """
    if len(text) <= most:
        return Excerpt(text)
    title = _title(text)
    parts, headings = _parts(text, max(80, most - len(title) - 3))
    values, found = _weigh(text, parts, headings, question)
    if near is not None and len(parts) <= _MOST_PARTS:
        values = [value + more for value, more in zip(values, _by_nearness(text, parts, near), strict=True)]
    chosen = _choose(parts, values, found, most - len(title) - 1)
    return _render(text, parts, chosen, title)


def terms(text: str) -> set[str]:
    """Return the stems of the words of a text; of a script without spaces each two letters that follow one another."""
    found = set()
    for word in _WORD.findall(text.lower()):
        if not word.isascii() and cjk_run().search(word):  # no spaces between words
            found.update([word[at : at + 2] for at in range(max(1, len(word) - 1))])
        elif word not in STOP_WORDS:
            found.add(stem(word))
    return found


def _title(text: str) -> str:
    """Return the first line that says something; a long one up to its first sentence or word."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    end = _SENTENCE_END.search(line)
    line = line[: end.end()].rstrip() if end else line
    return line if len(line) <= 120 else line[:120].rpartition(" ")[0] + GAP


# The parts of a text


def _parts(text: str, most: int) -> tuple[list[_Part], list[tuple[int, int]]]:
    """Return the parts of a text, and where the heading of each section is."""
    found: list[_Part] = []
    headings = [(0, 0)]
    joined = False  # whether the next part continues the last one: what a heading or a colon announces
    for block in scan(text):
        if block.kind == HEADING:
            headings.append((block.start, block.end))
        together = int(most * _KEPT_TOGETHER)
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
    """Return a list that fits as one span, else its items; of a paragraph its sentences."""
    block = text[start:end]
    items = [match.end() for match in _LIST_ITEM.finditer(block)]
    if items and len(block) <= together:
        return [(start, end)]
    found = []
    for first, last in _spans_between([0, *items], len(block)):
        piece = block[first:last]
        bounds = [0, *(m.end() for m in _SENTENCE_END.finditer(piece)), *_lines_that_end_early(piece)]
        found += [
            (start + first + one, start + first + two) for one, two in _spans_between(bounds, len(piece))
        ]
    return [(one, one + len(text[one:two].rstrip())) for one, two in found if text[one:two].strip()]


def _lines_that_end_early(text: str) -> Iterator[int]:
    """Yield where lines begin that are no continuation: the word that begins them would have fit into the line before."""
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
    return [(one, one + len(text[one:two].rstrip())) for one, two in spans if text[one:two].strip()]


def _spans_between(bounds: Sequence[int], end: int) -> Iterator[tuple[int, int]]:
    each = sorted({*bounds, end})
    yield from pairwise(each)


def _cut(text: str, start: int, end: int, most: int) -> Iterator[tuple[int, int]]:
    """Cut a span that is too long to be shown: at the ends of lines, else of sentences, else of words."""
    while end - start > most:
        length = min(most, _LONGEST_PART)
        places = [text.rfind(mark, start, start + length) + len(mark) - 1 for mark in ("\n", ". ", " ")]
        at = next((place for place in places if place > start), start + length)
        yield start, at
        start = at + (text[at] in " \n")
    if end > start:
        yield start, end


# Which of them


def _weigh(
    text: str, parts: Sequence[_Part], headings: Sequence[tuple[int, int]], question: str
) -> tuple[list[float], list[dict[str, float]]]:
    """Return what each part is worth, and the words of the question that it has, with their weights."""
    asked = set(sorted(terms(question))[:_MOST_TERMS])
    has = [asked & terms(text[part.start : part.end]) for part in parts]
    above = [asked & terms(text[start:end]) for start, end in headings]
    counts: dict[str, int] = {}
    for one in has:
        for term in one:
            counts[term] = counts.get(term, 0) + 1
    weight = {term: log(1 + len(parts) / count) for term, count in counts.items()}
    found = [{term: weight[term] for term in one} for one in has]
    own = [sum(one.values()) for one in found]
    values = []
    for number, part in enumerate(parts):
        value = own[number] + _HEADING * sum(
            weight.get(term, 0.0) for term in above[part.section] - has[number]
        )
        value += _AFTER * own[number - 1] if number else 0.0
        value += _BEFORE * own[number + 1] if number + 1 < len(parts) else 0.0
        values.append(value)
    return values, found


def _by_nearness(text: str, parts: Sequence[_Part], near: Nearness) -> list[float]:
    """Return what each part is worth by its nearness to the question, half of it with the parts next to it; 0 on average."""
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
    """Return the numbers of the parts that are shown: the best, then what has other words or stands next to one.

    Where none is worth anything, the first ones.
    """
    if max(values, default=0.0) <= 0:
        return _first(parts, room)
    best_ones = sorted(range(len(parts)), key=lambda n: (-values[n], n))[:_MOST_WEIGHED]
    chosen: set[int] = set()
    seen: set[str] = set()

    def worth(number: int) -> float:
        repeated = sum(weight for term, weight in found[number].items() if term in seen)
        value = values[number] - (1 - _AGAIN) * repeated
        next_to = max([values[n] for n in (number - 1, number + 1) if n in chosen], default=0.0)
        return value + _NEXT * next_to

    while room > 0:
        around = [n for one in chosen for n in (one - 1, one + 1) if 0 <= n < len(parts)]
        fitting = [n for n in {*best_ones, *around} - chosen if _added_length(parts, chosen, n) <= room]
        best = max(fitting, key=lambda n: (worth(n), -n), default=None)
        if best is None or (chosen and worth(best) <= 0):
            break
        room -= _added_length(parts, chosen, best)
        chosen.add(best)
        seen.update(found[best])
    return sorted(chosen)


def _first(parts: Sequence[_Part], room: int) -> list[int]:
    chosen: set[int] = set()
    for number in range(len(parts)):
        room -= _added_length(parts, chosen, number)
        if room < 0:
            break
        chosen.add(number)
    return sorted(chosen)


def _added_length(parts: Sequence[_Part], chosen: set[int], number: int) -> int:
    """Return how many characters a part adds to the chosen ones, at most: with what then stands between them."""
    part = parts[number]
    before = parts[number - 1] if number - 1 in chosen else None
    after = parts[number + 1] if number + 1 in chosen else None
    length = (after.start if after else part.end) - (before.end if before else part.start)
    length += 0 if before or after else len(GAP) + 2
    if part.fence and not any(one and one.fence for one in (before, after)):
        length += len(part.fence.opener) + len(part.fence.closer) + 2
    return length


def _render(text: str, parts: Sequence[_Part], chosen: Sequence[int], title: str) -> Excerpt:
    """Return the chosen parts in the order of the text, below the title, with a mark where something is missing.

    A passage that the text repeats is shown once, and one without a word, such as a bracket of code, not at all.
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
    """Yield the first and last of each run of numbers that follow one another."""
    first = None
    for number, following in zip(chosen, [*chosen[1:], None], strict=True):
        first = number if first is None else first
        if following != number + 1:
            yield first, number
            first = None
