"""The forms in which the word index stores a text: names followed by their parts, scripts without spaces as pairs of letters.

Both are done before tantivy's own analysis, whose Python package has neither.
"""

from __future__ import annotations

import re

from engram.domain.text.scripts import beyond_punctuation, cjk_run
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Where a name has a part: `parseHeader`, `HTTPServer`; not `APIs`. Looking for the capital first takes a sixth of the time.
_BOUNDARY = re.compile(r"[A-Z](?:(?<=[a-z][A-Z])|(?<=[A-Z]{2})[a-z]{2})")
_NAME = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]*?(?:[a-z][A-Z]|[A-Z]{2}[a-z]{2})[A-Za-z0-9]*")
_REST = re.compile(r"[A-Za-z0-9]*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def stored_form(text: str) -> str:
    """Return a text as it is stored: the parts of its names after it, pairs in place of runs of characters."""
    named = names(text)
    return character_pairs(" ".join([text, *_PART.findall(" ".join(named))]) if named else text)


def names(text: str) -> list[str]:
    """Return the names in a text that have parts, in order: what `_NAME` finds, in a tenth of its time."""
    found, end = [], 0
    for boundary in _BOUNDARY.finditer(text):
        place = boundary.start()
        if place < end:
            continue
        start = place
        while start > end and text[start - 1].isalnum() and text[start - 1].isascii():
            start -= 1
        end = _REST.match(text, place).end()  # type: ignore[union-attr]  # of nothing, too
        found.append(text[start:end])
    return found


def query_form(text: str, is_kept: Callable[[str], bool]) -> str:
    """Return a text as it is queried: only the parts of a name such as `parseHeader` that is not in the index."""
    if not _BOUNDARY.search(text):
        return character_pairs(text)
    return character_pairs(
        _NAME.sub(lambda name: name[0] if is_kept(name[0]) else " ".join(_PART.findall(name[0])), text)
    )


def character_pairs(text: str) -> str:
    """Replace Chinese, Japanese or Korean text by its pairs of neighbouring characters; a single one stays."""
    return text if text.isascii() or not beyond_punctuation().search(text) else cjk_run().sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    letters = run[0]
    pairs = [letters[place : place + 2] for place in range(len(letters) - 1)]
    return f" {' '.join(pairs or [letters])} "
