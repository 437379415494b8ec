"""Entries about what a prompt names: a service, a person, a company, a library, by its name, an alias, or one word of either."""

from __future__ import annotations

from engram.domain.agents import naming
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import consult
from engram.usecases.opening import scopes
from engram.usecases.recall import search
from engram.usecases.recall.question import Question, Recalled, as_recalled, criteria_for

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from engram.adapters.index.index import Generation
    from engram.domain.entry.lore import Lore
    from engram.domain.graph.entity import Entity
    from engram.usecases.store.store import Store

MOST = 5  # things that one prompt names
_MOST_ENTRIES = 8  # what more entries have is a subject, of which a name alone says too little
_SHARE = 0.03  # of a larger store
# The evidence that an entry needs:
_BESIDE = 0.05  # where the prompt names several things
_ALONE = 0.1  # where it names one
_OF_MANY = 0.4  # where many entries are about it
_ORDINARY = 0.2  # where an ordinary word is its name
_FEW = 2
# Of the best entry's relevance: so near comes another about the same thing that is brought, too.
_SECOND = 0.85


class _Name(NamedTuple):
    """What a prompt names: the slug of an entity, or a word that entries write as a name."""

    text: str
    is_entity: bool = False


def about_named(store: Store, text: str) -> list[Recalled]:
    """Return the entries about what a prompt names, in the order of the names, for each the one that answers best.

    For a single name also the next, where it comes near. Empty where the prompt names nothing that entries are about.
    """
    found: dict[_Name, list[Recalled]] = {}
    for one in scopes.stores_to_ask(store, (), []):
        try:
            for name, hits in _in_store(one, text).items():
                found.setdefault(name, []).extend(hits)
        except scopes.TROUBLE:  # without an index what is found by words may still come
            continue
    best: dict[str, Recalled] = {}
    for name, several in found.items():
        least = _BESIDE if len(found) > 1 else _ALONE if len(several) <= _FEW else _OF_MANY
        hits = [hit for hit in several if name.is_entity or search.evidence(hit) >= least]
        hits.sort(key=lambda hit: (-hit.score.total, hit.lore.id))
        near = [hit for hit in hits if hit.score.total >= _SECOND * hits[0].score.total]
        for hit in near[: 2 if len(found) == 1 else 1]:
            best.setdefault(hit.lore.id, hit)
    return list(best.values())[:MOST]


def _in_store(store: Store, text: str) -> Mapping[_Name, list[Recalled]]:
    """Return the entries of one store about each thing that a text names, by its spelling there."""
    entities = _entities_in(store, text)
    words = naming.words_of(text)
    if not words and not entities:
        return {}

    def ask(generation: Generation) -> Mapping[_Name, list[Recalled]]:
        most = max(_MOST_ENTRIES, int(_SHARE * generation.words.count))
        rows: dict[_Name, list[int]] = {}
        for entity in entities:
            spellings = (entity.name, *entity.aliases)
            every = [row for spelling in spellings for row in generation.words.rows_with(spelling, most)]
            rows[_Name(entity.slug, True)] = list(dict.fromkeys(every))
        for word in words:
            rows[_Name(word)] = generation.words.rows_with(word, most)
        rows = {name: some for name, some in rows.items() if some}
        every_row = frozenset(row for some in rows.values() for row in some)
        if not every_row:
            return {}
        question = Question(text, keep=False)
        criteria = criteria_for(store, question)._replace(rows=every_row)
        hits = search.search_index(
            store, generation, text, criteria, len(every_row), meaning=store.embedder is not None
        )
        row_of = {hit.id: hit.row for hit in generation.catalog.hits(sorted(every_row))}
        read = search.read_candidates(store, criteria, [hit for hit in hits if hit.id in row_of])
        shown = {row_of[hit.lore.id]: hit for hit in as_recalled(store, [*read])}
        return _about_each(store, rows, shown, {one.slug: one for one in entities})

    return consult(store, ask)


def _about_each(
    store: Store,
    rows: Mapping[_Name, Sequence[int]],
    read: Mapping[int, Recalled],
    entities: Mapping[str, Entity],
) -> Mapping[_Name, list[Recalled]]:
    """Keep of the entries that have a name those that are about it, and of the names those that are one."""
    found: dict[_Name, list[Recalled]] = {}
    taken: set[int] = set()
    for name, some in rows.items():
        hits = [read[row] for row in some if row in read]
        if name.is_entity:
            entity = entities[name.text]
            spellings = tuple(map(naming.fold, (entity.name, entity.slug, *entity.aliases)))
            about = [hit for hit in hits if _is_about(hit.lore, spellings)]
        elif set(some) <= taken:  # another word of a name
            continue
        else:
            how = naming.how_surely(name.text, [hit.lore.content for hit in hits])
            about = [hit for hit in hits if how != naming.NO and _is_about(hit.lore, (name.text,))]
            if how == naming.LIKELY and about and _is_ordinary(store, name.text):
                about = [hit for hit in about if search.evidence(hit) >= _ORDINARY]
        if about:
            found[name] = about
            taken.update(some)
    return found


def _is_ordinary(store: Store, word: str) -> bool:
    """Return whether the model knows a word as a whole; True where it does not say."""
    match = store.embedder.nearness([word], [1.0], [b""]) if store.embedder is not None else None
    return match is None or len(match.query.words) < 2


def _is_about(lore: Lore, spellings: Iterable[str]) -> bool:
    named = {naming.fold(name) for name in lore.entities}
    return any(spelling in named or _first_is_there(spelling, lore.content) for spelling in spellings)


def _first_is_there(spelling: str, text: str) -> bool:
    return naming.is_about(spelling, text) or (" " in spelling and spelling in naming.fold(text))


def _entities_in(store: Store, text: str) -> list[Entity]:
    """Return the entities that a text names by their name or an alias in any case."""
    from engram.usecases.graph.entities import names_to_detect

    known = names_to_detect(store)
    if not known.entities:
        return []
    exact: Collection[str] = known.names.found_in(text)
    words = f" {' '.join(naming.words_in(text))} "
    return [
        entity
        for entity in known.entities
        if entity.slug in exact
        or any(
            naming.is_telling(name) and f" {' '.join(naming.words_in(name))} " in words
            for name in (entity.name, *entity.aliases)
        )
    ]
