"""The terms of many lore, read from their files as fast as that can be: what is kept of those that did not change."""

from __future__ import annotations

import re

from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.pair_words import TermsOf

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy

    from engram.adapters.index.catalog import Text
    from engram.adapters.index.near import Terms
    from engram.usecases.pair_cache import Kept
    from engram.usecases.store import Store

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


def terms_of(store: Store, texts: Sequence[Text], places: numpy.ndarray, kept: Kept | None) -> Terms:
    """The terms of each lore; `places` says where what is kept of it stands (-1: read it)."""
    from engram.adapters.index.near import Terms
    from engram.adapters.index.numeric import numpy_module

    np = numpy_module()
    known = TermsOf()
    found = []
    for text, place in zip(texts, places.tolist(), strict=True):
        if place >= 0 and kept is not None:
            found.append(kept.terms.terms[kept.terms.starts[place] : kept.terms.starts[place + 1]])
        else:
            found.append(np.array(_read(store, text.path, known), dtype=np.uint32))
    starts = np.concatenate([[0], np.cumsum([len(terms) for terms in found], dtype=np.int64)]).astype(
        np.int64
    )
    return Terms(starts, np.concatenate(found) if found else np.zeros(0, np.uint32))


def _read(store: Store, path: str, known: TermsOf) -> list[int]:
    """The terms of what a file says below its frontmatter; none of a file that cannot be read just now."""
    try:
        text = store.files.read(path).decode(errors="replace")
    except EngramError:
        return []
    if text.startswith("---"):
        text = text[max(0, text.find("\n---", 3) + 4) :]
    words = set(_WORD.findall(text.casefold().replace("’", "'")))
    return sorted({known[word] for word in words} - {0})
