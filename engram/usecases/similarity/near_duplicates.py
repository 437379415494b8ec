"""Find entries that say the same as a new text, or nearly the same, without updating the index.

The same: equal texts, looked up by a number in the catalog, or the same words, numbers, names and negations. What was written
since the index was last updated is found by its file's name, which begins with the slug of the title.

Nearly the same: static vectors are near only if words are shared, so word hits are the candidates, and a model is opened only
if one of them shares enough words to be worth a cosine.
"""

from __future__ import annotations

import contextlib

from engram.domain.entry import refs
from engram.domain.entry.lore import ACTIVE, ARCHIVED, PENDING, SUPERSEDED, Lore, searchable, slug, words_mark
from engram.domain.errors import EngramError
from engram.domain.similarity.equivalence import SAME, RecentText, compare
from engram.domain.text.stop_words import STOP_WORDS
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.file_scan import unread_files
from engram.usecases.index.index_query import look_up
from engram.usecases.store import entry_writer
from engram.usecases.store.quarantine import is_quarantined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.index import Generation
    from engram.domain.similarity.pairs import Words
    from engram.usecases.store.store import Store

NEAR = 0.85
# The least that an entry shares with a new one to be compared: of two texts alike in wording, and of any that may say the same.
# Long texts may just share a topic: what says the same shares about half of its rare words, and a third of all at least.
_WORD_OVERLAP, _LEAST_OVERLAP, _LEAST_OF_LONG = 0.5, 0.25, 0.35
_LONG = 29  # different words
_CANDIDATES, _MORE_CANDIDATES = 4, 6
_TERMS = 16
_KEPT = 32  # new entries for which the rarity of words is not asked for again
_RECENT = 16
_SHORT_JOURNAL = 32_768
_ORDER = {ACTIVE: 0, PENDING: 1, ARCHIVED: 2, SUPERSEDED: 3}  # in which the same is looked for


class There(NamedTuple):
    """An entry that is there already, and its path."""

    lore: Lore
    path: str


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
        others = [*_load(store, sharing_words(store, new.text, limit)), *_recent_texts(store)]
    except EngramError:
        return []
    near = {other.id: other for other in others if other.id != new.id and _is_near(new, other, assessed)}
    if not near:
        return []
    sure = _certainties(store, new, list(near.values())) if assessed else {}
    alike = [other for other in near.values() if other.id in sure or _overlap(new, other) >= _WORD_OVERLAP]
    found = []
    for other, cosine in zip(alike, _nearness(store, new, alike), strict=True):
        certainty = sure.get(other.id, 0.0)
        if cosine >= NEAR or certainty:
            why = compare(lore.content, other.content).why
            found.append(
                Similar(
                    other.id, cosine, other.title, other.path, other.content, other.status, why, certainty
                )
            )
    return sorted(found, key=lambda one: (-one.similarity, one.id))


def similar_or_bare(store: Store, lore: Lore) -> list[Similar]:
    """Return the same; where there are none, those near its text alone: somebody may have recorded it without the rest."""
    return similar(store, lore) or similar(store, lore._replace(context=(), tags=(), files=(), entities=()))


def _is_near(new: RecentText, other: RecentText, assessed: bool) -> bool:
    """Test whether two texts share enough words to be compared."""
    is_long = min(len(new.words), len(other.words)) >= _LONG
    least = _LEAST_OF_LONG if is_long else _LEAST_OVERLAP
    return _overlap(new, other) >= (least if assessed else _WORD_OVERLAP)


def describe(twin: Similar) -> str:
    """Return what a new text is to a near one, before a colon: it probably says the same, or is very similar and differs."""
    if twin.certainty:
        return f"Probably the same as {twin.id}"
    differs = f"; {twin.differs}" if twin.differs else ""
    return f"Very similar to {twin.id} ({twin.similarity:.2f}{differs})"


def _certainties(store: Store, new: RecentText, others: list[RecentText]) -> dict[str, float]:
    """Return how sure it is that others say what the new text says, by id, by the rules of pairs: those that probably do."""
    from engram.domain.similarity.pairs import certainty, shares_enough, side

    embedder = store.bundled_embedder
    words = _pair_words(store, embedder)
    one = side(new.content, new.category, words)
    sides = [(other, side(other.content, other.category, words)) for other in others]
    # The others are no duplicates.
    plausible = [(other, two) for other, two in sides if shares_enough(one, two)]
    if not plausible:
        return {}
    cosines = embedder.similarities(new.content, [other.content for other, _ in plausible])
    found = {
        other.id: certainty(one, two, cosine, words)
        for (other, two), cosine in zip(plausible, cosines, strict=True)
    }
    return {lore_id: sure for lore_id, sure in found.items() if sure}


def _pair_words(store: Store, embedder: Embedder) -> Words:
    """Return what the store knows of words; kept for some records, as how rare a word is hardly changes with them."""
    from engram.usecases.similarity.pair_terms import StoreWords

    generation = store.index.look()
    if generation is None:  # every word counts alike
        return StoreWords(embedder, lambda _: 1, 1).words()
    known = generation.words
    kept = store.pair_words
    if kept is None or kept.word_index is not known or not kept.total <= known.count < kept.total + _KEPT:
        from engram.domain.similarity.pairs import KeptWords

        kept = store.pair_words = KeptWords(
            known, known.count, StoreWords(embedder, known.frequency, known.count).words()
        )
    return kept.words


def remember(store: Store, lore: Lore, path: str) -> None:
    """Keep what was just recorded for the next comparison: the index does not have it yet."""
    store.recent[path] = _recent_text(lore, path)
    while len(store.recent) > _RECENT:
        del store.recent[next(iter(store.recent))]


def sharing_words(store: Store, text: str, limit: int) -> list[str]:
    """Return the files of the entries in the index that share most words with the text."""

    def ask(generation: Generation) -> list[str]:
        found = generation.words.search(generation.words.terms(text, _TERMS), limit)
        return [hit.path for hit in generation.catalog.hits(list(found.scores))]

    return look_up(store, ask)


def _recent_texts(store: Store) -> list[RecentText]:
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
    embedder = store.embedder if others else None
    if embedder is None:
        found = [len(one.words & other.words) / max(1, len(one.words | other.words)) for other in others]
    else:
        found = embedder.similarities(one.text, [other.text for other in others])
    return [round(cosine, 4) for cosine in found]


def find_same(store: Store, lore: Lore, near: Iterable[str] = ()) -> There | None:
    """Return the entry that says what `lore` says, None where there is none; `near` are paths of entries with like words.

    Of several, one that is recalled comes first, then the oldest. Quarantined entries are none, nor are pending ones of
    other clones: repeating their words must not let in what else they hold.
    """
    mark = words_mark(lore.content)
    there = _entries(
        store,
        [
            *look_up(store, lambda generation: generation.catalog.paths_with_mark(mark)),
            *_unlisted_files(store, lore),
            *near,
        ],
    )
    others = [
        one
        for one in there
        if one.lore.id != lore.id
        and (one.lore.status != PENDING or one.lore.source_id == store.source_id)
        and (words_mark(one.lore.content) == mark or compare(lore.content, one.lore.content).kind == SAME)
    ]
    return min(others, key=lambda one: (_ORDER[one.lore.status], one.lore.id), default=None)


def replacement_of(store: Store, lore_id: str) -> Lore | None:
    """Return an active entry that supersedes this one; None where there is none."""
    paths = look_up(store, lambda generation: generation.catalog.paths_relating("supersedes", lore_id))
    found = [one.lore for one in _entries(store, paths) if one.lore.status == ACTIVE]
    return next((one for one in found if ("supersedes", lore_id) in one.relations), None)


def _unlisted_files(store: Store, lore: Lore) -> list[str]:
    """Return files that the index does not know yet: by their names, as they are written, and those in the journal."""
    found = unread_files(store, store.index.look(), f"{slug(lore.title)}--")
    try:
        waiting = store.files.journal.waiting() if store.files.journaled else []
    except EngramError:
        waiting = []
    mark = lore.title.encode()
    found += [
        change.path for one in waiting for change in one.changes if change.content and mark in change.content
    ]
    return [*dict.fromkeys(found)]


def _entries(store: Store, paths: Sequence[str]) -> list[There]:
    found = []
    for path in dict.fromkeys(paths):
        with contextlib.suppress(EngramError):
            file = entry_writer.load(store, path)
            if file.adopted and not is_quarantined(store, file.lore):
                found.append(There(file.lore, path))
    return found
