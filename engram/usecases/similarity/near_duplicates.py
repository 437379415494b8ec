"""Entries that say nearly the same as a new one: a warning given with `record`, without updating the index.

Static vectors are near only if words are shared, so word hits are the candidates, and a model is opened only if one of
them shares enough words to be worth a cosine.
"""

from __future__ import annotations

import contextlib

from engram.adapters.index.damage import DamagedIndexError, damage_noticed
from engram.domain.entry import refs
from engram.domain.entry.lore import ACTIVE, searchable
from engram.domain.errors import EngramError
from engram.domain.similarity.equivalence import DUPLICATE, SAME, RecentText, compare
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import entry_writer
from engram.usecases.store.quarantine import is_quarantined

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

NEAR = 0.85
PROBABLE = 0.65  # the strength from which on a duplicate is named as one; docs/curation.md has the figures
# The least that an entry shares with a new one to be compared: of two texts alike in wording, and of any that may say the same.
_WORD_OVERLAP, _LEAST_OVERLAP = 0.5, 0.25
_CANDIDATES, _MORE_CANDIDATES = 4, 12
_TERMS = 16
_RECENT = 16
_SHORT_JOURNAL = 32_768


class Similar(NamedTuple):
    """An entry near another: its id, the cosine of the two texts, its title and file, its text and status.

    `differs` says in a clause what keeps the two from being surely the same, if that can be told. `certainty`, 0..1, is how
    sure it is that they say the same all the same; 0 where that is not probable, or was not assessed.
    """

    id: str
    similarity: float
    title: str
    path: str
    content: str = ""
    status: str = ACTIVE
    differs: str = ""
    certainty: float = 0.0


def similar(store: Store, lore: Lore, *, assessed: bool = False) -> list[Similar]:
    """Return entries that are as near as 0.85 to `lore`, nearest first; if `assessed`, those that probably say the same, too.

    Never raises: it is only a warning.
    """
    new = _recent_text(lore, "")
    try:
        limit = _MORE_CANDIDATES if assessed else _CANDIDATES
        others = [*_hits(store, new.text, limit), *_written_just_now(store)]
    except (EngramError, DamagedIndexError):
        return []
    least = _LEAST_OVERLAP if assessed else _WORD_OVERLAP
    near = {other.id: other for other in others if other.id != new.id and _overlap(new, other) >= least}
    if not near:
        return []
    cosines = _nearness(store, new, list(near.values()))
    sure = _certainties(store, new, list(near.values())) if assessed else [0.0] * len(near)
    found = []
    for other, cosine, certainty in zip(near.values(), cosines, sure, strict=True):
        if cosine >= NEAR or certainty:
            why = compare(lore.content, other.content).why
            found.append(
                Similar(
                    other.id, cosine, other.title, other.path, other.content, other.status, why, certainty
                )
            )
    return sorted(found, key=lambda one: (-one.similarity, one.id))


def describe(twin: Similar) -> str:
    """Return what a new text is to a near one, before a colon: it probably says the same, or is very like it and differs."""
    if twin.certainty:
        return f"Probably the same as {twin.id}"
    differs = f"; {twin.differs}" if twin.differs else ""
    return f"Very like {twin.id} ({twin.similarity:.2f}{differs})"


def _certainties(store: Store, new: RecentText, others: list[RecentText]) -> list[float]:
    """Return how sure it is that each of the others says what the new text says, by the rules of pairs; 0 if not probable."""
    from engram.adapters.embed.provider import open_embedder
    from engram.domain.similarity.pairs import assess, side
    from engram.usecases.similarity.pair_terms import StoreWords

    embedder, generation = open_embedder("bundled"), store.index.look()
    assert embedder is not None
    if generation is None:  # every word counts alike
        words = StoreWords(embedder, lambda _: 1, 1).words()
    else:
        words = StoreWords(embedder, generation.words.frequency, generation.words.count).words()
    cosines = embedder.similarities(new.content, [other.content for other in others])
    one, found = side(new.content, new.category, words), []
    for other, cosine in zip(others, cosines, strict=True):
        pair = assess(one, side(other.content, other.category, words), cosine, words)
        is_probable = pair.kind in (SAME, DUPLICATE) and pair.strength >= PROBABLE
        found.append(pair.strength if is_probable else 0.0)
    return found


def remember(store: Store, lore: Lore, path: str) -> None:
    """Keep what was just recorded for the next comparison: the index does not have it yet."""
    store.recent[path] = _recent_text(lore, path)
    while len(store.recent) > _RECENT:
        del store.recent[next(iter(store.recent))]


def _hits(store: Store, text: str, limit: int) -> list[RecentText]:
    """Return the entries of the index that share most words with the text."""
    generation = store.index.look()
    if generation is None:
        return []
    with damage_noticed():
        found = generation.words.search(generation.words.terms(text, _TERMS), limit)
        paths = [hit.path for hit in generation.catalog.hits(list(found.scores))]
    return _load(store, paths)


def _written_just_now(store: Store) -> list[RecentText]:
    """Return what this process recorded lately and what others wrote to the journal that git does not have yet."""
    operations = store.files.journal.waiting() if store.files.journal.size() < _SHORT_JOURNAL else []
    waiting = [item.path for operation in operations for item in operation.changes if item.content]
    return [*store.recent.values(), *_load(store, [path for path in waiting if path not in store.recent])]


def _load(store: Store, paths: list[str]) -> list[RecentText]:
    found = []
    for path in paths:
        with contextlib.suppress(EngramError):
            lore = entry_writer.load(store, path).lore
            if not is_quarantined(store, lore):
                found.append(_recent_text(lore, path))
    return found


def _recent_text(lore: Lore, path: str) -> RecentText:
    text = searchable(lore)
    words = frozenset(refs.fold(text).split()) - STOP_WORDS
    return RecentText(lore.id, lore.title, path, text, words, lore.content, lore.status, lore.category)


def _overlap(one: RecentText, other: RecentText) -> float:
    return len(one.words & other.words) / max(1, min(len(one.words), len(other.words)))


def _nearness(store: Store, one: RecentText, others: list[RecentText]) -> list[float]:
    """Return the cosine of a text with each of the others; the share of common words without an embedding model."""
    embedder = store.embedder
    if embedder is None:
        found = [len(one.words & other.words) / max(1, len(one.words | other.words)) for other in others]
    else:
        found = embedder.similarities(one.text, [other.text for other in others])
    return [round(cosine, 4) for cosine in found]
