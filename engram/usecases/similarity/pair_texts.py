"""The terms of many lore, read from their files as fast as that can be: what is kept of those that did not change."""

from __future__ import annotations

import re

from engram.domain.errors import EngramError
from engram.domain.text.words import PART
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.similarity.pair_words import TermsOf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy

    from engram.adapters.index.catalog import Text
    from engram.adapters.index.near import Terms
    from engram.usecases.similarity.pair_cache import Kept

# Splitting at spaces is ten times as fast as a regular expression; what is not ASCII stays, letters get small.
_BOUNDS = bytes(ord(char.lower()) if char.isalnum() else 32 for char in map(chr, range(128))) + bytes(
    range(128, 256)
)

_PUNCTUATION = re.compile(rb"\xe2\x80[\x80-\xbf]")  # dashes, quotes, dots: mostly all that is not ASCII


def terms_of(
    read: Callable[[str], bytes], texts: Sequence[Text], places: numpy.ndarray, kept: Kept | None
) -> Terms:
    """The terms of each lore; `places` says where what is kept of it stands (-1: `read` its file)."""
    from engram.adapters.index.near import Terms
    from engram.adapters.numeric import numpy_module

    np = numpy_module()
    known = TermsOf()
    found = []
    for text, place in zip(texts, places.tolist(), strict=True):
        if place >= 0 and kept is not None:
            found.append(kept.terms.terms[kept.terms.starts[place] : kept.terms.starts[place + 1]])
        else:
            terms = _terms(read, text.path, known)
            found.append(np.fromiter(terms, np.uint32, len(terms)))
    starts = np.concatenate([[0], np.cumsum([len(terms) for terms in found], dtype=np.int64)]).astype(
        np.int64
    )
    return Terms(starts, np.concatenate(found) if found else np.zeros(0, np.uint32))


def _terms(read: Callable[[str], bytes], path: str, known: TermsOf) -> set[int]:
    """The terms of what a file says below its frontmatter; none of a file that cannot be read just now."""
    try:
        raw = read(path)
    except EngramError:
        return set()
    if raw.startswith(b"---"):
        raw = raw[max(0, raw.find(b"\n---", 3) + 4) :]
    plain = raw.translate(_BOUNDS)
    if not plain.isascii():
        plain = _PUNCTUATION.sub(b" ", plain)
    if plain.isascii():
        found = {*map(known.__getitem__, plain.split())}
    else:
        said = plain.decode(errors="replace").split()
        found = {*map(known.__getitem__, said)}
        for word in said:
            if not word.isascii():
                found.update(map(known.__getitem__, PART.findall(word.casefold())))
    found.discard(0)
    return found
