"""Two texts compared word by word."""

from __future__ import annotations

import re

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def word_diff(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Pieces of both texts in order: what the first says there, and the second; equal where nothing differs."""
    import difflib

    old, new = _WORDS.findall(before), _WORDS.findall(after)
    for _, start, end, from_, to in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        yield "".join(old[start:end]), "".join(new[from_:to])
