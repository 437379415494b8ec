"""Find entries that say the same as a new text, or nearly the same, without updating the index.

The same: equal texts, looked up by a number in the catalog, or the same words, numbers, names and negations. Entries written
since the index was last updated are found by their file names, which begin with the slug of the title.

Nearly the same: static vectors are near only if words are shared, so word hits are the candidates, and the model is loaded
only if one of them shares enough words.
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
from engram.usecases.index.index_query import query_without_refresh
from engram.usecases.store import entry_writer
from engram.usecases.store.quarantine import is_quarantined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.adapters.embed.protocols import Embedder
    from engram.adapters.index.index import Generation
    from engram.domain.similarity.pairs import Words
    from engram.usecases.store.store import Store

NEAR = 0.85
# The least share of common words for a comparison: of texts in similar words, of any that may say the same, and of long ones,
# which may just share a topic: long duplicates share about half of their rare words, and at least a third of all.
_WORD_OVERLAP, _MIN_OVERLAP, _MIN_OVERLAP_OF_LONG = 0.5, 0.25, 0.35
_LONG = 29  # different words
_CANDIDATES, _MORE_CANDIDATES = 4, 6
_TERMS = 16
_STALE_AFTER = 32  # new entries, after which the rarity of words is looked up again
_RECENT = 16
_SHORT_JOURNAL = 32_768
_STATUS_ORDER = {ACTIVE: 0, PENDING: 1, ARCHIVED: 2, SUPERSEDED: 3}  # of preference among equal texts


class ExistingEntry(NamedTuple):
    """An existing entry and its path."""

    lore: Lore
    path: str


class Similar(NamedTuple):
    """An entry similar to another: its id, the cosine of the texts, its title, path, content and status.

    `differs` says in a clause what differs, "" if unknown. `certainty` (0..1) is how sure it is that both say the same; 0 if
    that is improbable or was not assessed.
    """

    id: str
    similarity: float
    title: str
    path: str
    content: str = ""
    status: str = ACTIVE
    differs: str = ""
    certainty: float = 0.0


def find_similar(store: Store, lore: Lore, *, assessed: bool = False) -> list[Similar]:
    """Return entries with a cosine of at least NEAR to `lore`, nearest first; if `assessed`, also those that probably say the same.

    Raises no EngramError, as this is only a warning.
    """
    new = _recent_text(lore, "")
    try:
        limit = _MORE_CANDIDATES if assessed else _CANDIDATES
        others = [*_load_texts(store, sharing_words(store, new.text, limit)), *_recent_texts(store)]
    except EngramError:
        return []
    near = {other.id: other for other in others if other.id != new.id and _is_near(new, other, assessed)}
    if not near:
        return []
    certainties = _certainties(store, new, list(near.values())) if assessed else {}
    alike = [
        other for other in near.values() if other.id in certainties or _overlap(new, other) >= _WORD_OVERLAP
    ]
    found = []
    for other, cosine in zip(alike, _nearness(store, new, alike), strict=True):
        certainty = certainties.get(other.id, 0.0)
        if cosine >= NEAR or certainty:
            why = compare(lore.content, other.content).why
            found.append(
                Similar(
                    other.id, cosine, other.title, other.path, other.content, other.status, why, certainty
                )
            )
    return sorted(found, key=lambda entry: (-entry.similarity, entry.id))


def find_similar_or_by_text(store: Store, lore: Lore) -> list[Similar]:
    """As `find_similar`; if there are none, compare without context, tags, files and entities, which others may have left out."""
    return find_similar(store, lore) or find_similar(
        store, lore._replace(context=(), tags=(), files=(), entities=())
    )


def _is_near(new: RecentText, other: RecentText, assessed: bool) -> bool:
    """Test whether two texts share enough words to be compared."""
    is_long = min(len(new.words), len(other.words)) >= _LONG
    min_overlap = _MIN_OVERLAP_OF_LONG if is_long else _MIN_OVERLAP
    return _overlap(new, other) >= (min_overlap if assessed else _WORD_OVERLAP)


def describe_similarity(twin: Similar) -> str:
    """Return a phrase, to precede a colon, on how a new text relates to a similar one."""
    if twin.certainty:
        return f"Probably the same as {twin.id}"
    differs = f"; {twin.differs}" if twin.differs else ""
    return f"Very similar to {twin.id} ({twin.similarity:.2f}{differs})"


def _certainties(store: Store, new: RecentText, others: list[RecentText]) -> dict[str, float]:
    """Return how sure it is that others say the same as the new text, by id; only those that probably do."""
    from engram.domain.similarity.pairs import certainty, shares_enough, side

    embedder = store.bundled_embedder
    words = _pair_words(store, embedder)
    one = side(new.content, new.category, words)
    sides = [(other, side(other.content, other.category, words)) for other in others]
    # Those that share less are no duplicates.
    plausible = [(other, two) for other, two in sides if shares_enough(one, two)]
    if not plausible:
        return {}
    cosines = embedder.similarities(new.content, [other.content for other, _ in plausible])
    found = {
        other.id: certainty(one, two, cosine, words)
        for (other, two), cosine in zip(plausible, cosines, strict=True)
    }
    return {lore_id: certain for lore_id, certain in found.items() if certain}


def _pair_words(store: Store, embedder: Embedder) -> Words:
    """Return the weights and the nearness of words, cached over some records, which hardly change the rarity of a word."""
    from engram.usecases.similarity.pair_terms import StoreWords

    generation = store.index.look()
    if generation is None:  # all words have the same weight
        return StoreWords(embedder, lambda _: 1, 1).words()
    index, cached = generation.words, store.pair_words
    if (
        cached is None
        or cached.word_index is not index
        or not cached.total <= index.count < cached.total + _STALE_AFTER
    ):
        from engram.domain.similarity.pairs import KeptWords

        words = StoreWords(embedder, index.frequency, index.count).words()
        cached = store.pair_words = KeptWords(index, index.count, words)
    return cached.words


def remember(store: Store, lore: Lore, path: str) -> None:
    """Keep a new entry for the next comparisons, as the index does not have it yet."""
    store.recent[path] = _recent_text(lore, path)
    while len(store.recent) > _RECENT:
        del store.recent[next(iter(store.recent))]


def sharing_words(store: Store, text: str, limit: int) -> list[str]:
    """Return the paths of the indexed entries that share most words with the text."""

    def search(generation: Generation) -> list[str]:
        found = generation.words.search(generation.words.terms(text, _TERMS), limit)
        return [hit.path for hit in generation.catalog.hits(list(found.scores))]

    return query_without_refresh(store, search)


def _recent_texts(store: Store) -> list[RecentText]:
    """Return the entries that this process recorded last, and those in the journal that are not committed yet."""
    operations = store.files.journal.waiting() if store.files.journal.size() < _SHORT_JOURNAL else []
    waiting = [item.path for operation in operations for item in operation.changes if item.content]
    return [
        *store.recent.values(),
        *_load_texts(store, [path for path in waiting if path not in store.recent]),
    ]


def _load_texts(store: Store, paths: list[str]) -> list[RecentText]:
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
    """Return the cosine of a text with each of the others; without an embedding model, the share of common words."""
    embedder = store.embedder if others else None
    if embedder is None:
        found = [len(one.words & other.words) / max(1, len(one.words | other.words)) for other in others]
    else:
        found = embedder.similarities(one.text, [other.text for other in others])
    return [round(cosine, 4) for cosine in found]


def find_same(store: Store, lore: Lore, near: Iterable[str] = ()) -> ExistingEntry | None:
    """Return the entry that says the same as `lore`, or None; `near` are paths of entries in similar words.

    Of several, prefer active ones, then the oldest. Quarantined entries do not count, nor do pending ones of other clones:
    repeating their words must not admit the rest of their text.
    """
    mark = words_mark(lore.content)
    indexed = query_without_refresh(store, lambda generation: generation.catalog.paths_with_mark(mark))
    same = [
        entry
        for entry in _load_entries(store, [*indexed, *_unindexed_files(store, lore), *near])
        if entry.lore.id != lore.id
        and (entry.lore.status != PENDING or entry.lore.source_id == store.source_id)
        and (words_mark(entry.lore.content) == mark or compare(lore.content, entry.lore.content).kind == SAME)
    ]
    return min(same, key=lambda entry: (_STATUS_ORDER[entry.lore.status], entry.lore.id), default=None)


def find_replacement(store: Store, lore_id: str) -> Lore | None:
    """Return an active entry that supersedes this one, or None."""
    paths = query_without_refresh(
        store, lambda generation: generation.catalog.paths_relating("supersedes", lore_id)
    )
    entries = [entry.lore for entry in _load_entries(store, paths) if entry.lore.status == ACTIVE]
    return next((lore for lore in entries if ("supersedes", lore_id) in lore.relations), None)


def _unindexed_files(store: Store, lore: Lore) -> list[str]:
    """Return files that are not indexed yet and may have this title: by their names, and from the journal."""
    found = unread_files(store, store.index.look(), f"{slug(lore.title)}--")
    try:
        waiting = store.files.journal.waiting() if store.files.journaled else []
    except EngramError:
        waiting = []
    title = lore.title.encode()
    found += [
        change.path
        for operation in waiting
        for change in operation.changes
        if change.content and title in change.content
    ]
    return found


def _load_entries(store: Store, paths: Sequence[str]) -> list[ExistingEntry]:
    found = []
    for path in dict.fromkeys(paths):
        with contextlib.suppress(EngramError):
            file = entry_writer.load(store, path)
            if file.adopted and not is_quarantined(store, file.lore):
                found.append(ExistingEntry(file.lore, path))
    return found
