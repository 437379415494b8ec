"""Entries about what a prompt names: a service, a person, a company, a library, by its name, an alias, or one word of either."""

from __future__ import annotations

import itertools

from engram.adapters.index.delta import is_one_edit_away
from engram.domain.agents import naming
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import consult
from engram.usecases.opening import scopes
from engram.usecases.recall import search
from engram.usecases.recall.plain_search import plain_model
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
# The evidence that an entry needs, unless its name can mean nothing else:
_RARE = 0.03  # where no ordinary word is its name
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


class _Thing(NamedTuple):
    """The entries about what a name means, and the ids of those that need no evidence besides it."""

    about: list[Recalled]
    certain: frozenset[str]
    is_rare: bool = False  # no ordinary word


def about_named(store: Store, text: str) -> list[Recalled]:
    """Return the entries about what a prompt names, in the order of the names, for each the one that answers best.

    For a single name also the next, where it comes near; of several each brings one of its own, if it has any. Empty where
    the prompt names nothing that entries are about.
    """
    found: dict[_Name, list[Recalled]] = {}
    for one in scopes.stores_to_ask(store, (), []):
        try:
            for name, hits in _in_store(one, text).items():
                found.setdefault(name, []).extend(hits)
        except scopes.TROUBLE:  # without an index what is found by words may still come
            continue
    for hits in found.values():
        hits.sort(key=lambda hit: (-search.evidence(hit), hit.lore.id))
    if len(found) == 1:
        (hits,) = found.values()
        return [hit for hit in hits[:2] if hit.score.total >= _SECOND * hits[0].score.total]
    best: dict[_Name, Recalled] = {}
    for name, hits in sorted(found.items(), key=lambda each: len(each[1])):
        taken = {hit.lore.id for hit in best.values()}
        others = [hit for hit in hits if hit.lore.id not in taken and _is_its(hit.lore, name)]
        is_of_another = any(
            _is_its(hits[0].lore, other) and hits[0] in found[other] for other in found if other != name
        )
        if hits[0].lore.id not in taken and (not is_of_another or not others):
            best[name] = hits[0]
        elif others and len(hits) <= _FEW:
            best[name] = others[0]
    return [best[name] for name in found if name in best][:MOST]


def _is_its(lore: Lore, name: _Name) -> bool:
    """Return whether an entry is about this thing before all."""
    return name.is_entity or naming.begins(name.text, lore.content)


def _in_store(store: Store, text: str) -> Mapping[_Name, list[Recalled]]:
    """Return the entries of one store about each thing that a text names, by its spelling there."""
    names = naming.words_of(text)

    def ask(generation: Generation) -> Mapping[_Name, list[Recalled]]:
        rare = _rare(store, generation, names)
        entities = _entities_in(store, text, rare)
        spelled = {
            word for one in entities for name in (one.name, *one.aliases) for word in naming.words_in(name)
        }
        words = [word for word in names if word not in spelled]
        most = max(_MOST_ENTRIES, int(_SHARE * generation.words.count))
        rows: dict[_Name, list[int]] = {}
        for entity in entities:
            spellings = (entity.name, *entity.aliases)
            every = [row for spelling in spellings for row in generation.words.rows_with(spelling, most)]
            rows[_Name(entity.slug, True)] = list(dict.fromkeys(every))
        for word in words:
            rows[_Name(word)] = generation.words.rows_with(word, most)
            if not rows[_Name(word)] and word in rare:
                rows[_Name(word)] = generation.words.rows_close_to(word, most)
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
        candidates = {name: [shown[row] for row in some if row in shown] for name, some in rows.items()}
        things = _things(candidates, {one.slug: one for one in entities}, rare, naming.words_in(text))
        # What has no answer is no thing besides the others, and a single one needs more evidence.
        things = {name: thing for name, thing in things.items() if _answering(thing, len(things))}
        answering = {name: _answering(thing, len(things)) for name, thing in things.items()}
        return {name: some for name, some in answering.items() if some}

    return consult(store, ask)


def _answering(thing: _Thing, things: int) -> list[Recalled]:
    """Return the entries about a thing with enough evidence beside its name; `things` is how many the prompt names."""
    if thing.is_rare and len(thing.about) <= _FEW:
        least = _RARE
    else:
        least = _BESIDE if things > 1 else _ALONE if len(thing.about) <= _FEW else _OF_MANY
    return [hit for hit in thing.about if hit.lore.id in thing.certain or search.evidence(hit) >= least]


def _things(
    candidates: Mapping[_Name, list[Recalled]],
    entities: Mapping[str, Entity],
    rare: Collection[str],
    prompt: Sequence[str],
) -> Mapping[_Name, _Thing]:
    """Keep of the names those that are one, and of the entries that have it those that are about it.

    Neighbouring words of the prompt, `Ada Byron`, that an entry has, too, name one thing.
    """
    found: dict[_Name, _Thing] = {}
    neighbours = {*itertools.pairwise(prompt)}
    last = _Name("")
    for name, hits in candidates.items():
        entity = entities[name.text] if name.is_entity else None
        thing = _entity(entity, hits) if entity else _named(name.text, hits, name.text in rare)
        ids = {hit.lore.id for hit in thing.about}
        both = [hit for hit in found[last].about if hit.lore.id in ids] if last in found else []
        if both and (last.text, name.text) in neighbours:
            found[last] = found[last]._replace(about=both, certain=found[last].certain | thing.certain)
        elif ids and all({hit.lore.id for hit in other.about} != ids for other in found.values()):
            found[name] = thing
            last = name
    return found


def _entity(entity: Entity, hits: Sequence[Recalled]) -> _Thing:
    spellings = tuple(map(naming.fold, (entity.name, entity.slug, *entity.aliases)))
    about = [hit for hit in hits if _is_about(hit.lore, spellings)]
    return _Thing(about, frozenset(hit.lore.id for hit in about))


def _named(word: str, hits: Sequence[Recalled], is_rare: bool) -> _Thing:
    texts = [hit.lore.content for hit in hits]
    meant = _as_spelled(word, texts)
    how = naming.how_surely(meant, texts)
    about = [hit for hit in hits if how != naming.NO and _is_about(hit.lore, (meant,))]
    if how == naming.LIKELY and not is_rare:
        about = [hit for hit in about if search.evidence(hit) >= _ORDINARY]
    certain = [
        hit.lore.id
        for hit in about
        if how == naming.SURE
        and meant == word
        and len(about) <= _FEW
        and naming.begins(word, hit.lore.content, is_rare)
    ]
    return _Thing(about, frozenset(certain), is_rare)


def _as_spelled(word: str, texts: Sequence[str]) -> str:
    """Return the word of texts that a word means: itself, or one that it is an edit away from (`falcons`, `kestrl`)."""
    if any(naming.is_in(word, text) for text in texts):
        return word
    others = {other for text in texts for other in naming.words_in(text) if is_one_edit_away(word, other)}
    return min(others, default=word)


def _rare(store: Store, generation: Generation, words: Sequence[str]) -> frozenset[str]:
    """Return the words that the model does not know as a whole, so that they are no ordinary ones; none without a model."""
    embedder = store.embedder
    if embedder is None or not words:
        return frozenset()
    plain = plain_model(embedder, generation)

    def tokens(word: str) -> int:
        if plain is not None:
            return len(plain.nearness([word], [1.0], []).words)
        match = embedder.nearness([word], [1.0], [b""])
        return len(match.query.words) if match is not None else 0

    return frozenset(word for word in words if tokens(word) > 1)


def _is_about(lore: Lore, spellings: Iterable[str]) -> bool:
    named = {naming.fold(name) for name in lore.entities}
    return any(spelling in named or _first_is_there(spelling, lore.content) for spelling in spellings)


def _first_is_there(spelling: str, text: str) -> bool:
    return naming.is_about(spelling, text) or (" " in spelling and spelling in naming.fold(text))


def _entities_in(store: Store, text: str, rare: Collection[str]) -> list[Entity]:
    """Return the entities that a text names in any case: by their name, an alias, or a rare word of the name."""
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
        or any(word in rare for word in naming.words_in(entity.name))
        or any(
            naming.is_telling(name) and f" {' '.join(naming.words_in(name))} " in words
            for name in (entity.name, *entity.aliases)
        )
    ]
