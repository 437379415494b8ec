"""Find the entries about things that a prompt names: a service, a person, a company, a library.

A prompt may use the name, an alias, or one word of either.
"""

from __future__ import annotations

import itertools

from engram.adapters.index.delta import is_one_edit_away
from engram.domain.agents import naming
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import query_index
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

MOST = 5  # names in one prompt
_MOST_ENTRIES = 8  # a word in more entries is a subject, which alone identifies too little
_LARGEST_SHARE = 0.03  # the same for a large store, as a share of its entries
# The evidence that an entry needs besides its name, unless that is unambiguous:
_RARE = 0.03  # if the name is no ordinary word
_AMONG_OTHERS = 0.05  # if the prompt names several things
_ALONE = 0.1  # if it names one
_OF_MANY = 0.4  # if many entries are about the thing
_ORDINARY = 0.2  # if the name is an ordinary word
_FEW = 2
_SECOND = 0.85  # the share of the best entry's score from which a second entry about the same thing is shown


class _Name(NamedTuple):
    """A name in a prompt: the slug of an entity, or a word that entries write as a name."""

    text: str
    is_entity: bool = False


class _Thing(NamedTuple):
    """The entries about a named thing, and the ids of those that need no evidence besides the name."""

    about: list[Recalled]
    certain: frozenset[str]
    is_rare: bool = False  # the name is no ordinary word


def find_named(store: Store, text: str) -> list[Recalled]:
    """Return the entries about the things that a prompt names, in the order of the names: for each the best one.

    A single name also brings the second one, if it scores nearly as well. Several names bring different entries, if
    they have any. Empty if no entry is about anything that the prompt names.
    """
    found: dict[_Name, list[Recalled]] = {}
    for one in scopes.stores_to_search(store, (), []):
        try:
            for name, hits in _in_store(one, text).items():
                found.setdefault(name, []).extend(hits)
        except scopes.TROUBLE:  # a search without an index may still find entries
            continue
    for hits in found.values():
        hits.sort(key=lambda hit: (-search.evidence(hit), hit.lore.id))
    if len(found) == 1:
        (hits,) = found.values()
        return [hit for hit in hits[:2] if hit.score.total >= _SECOND * hits[0].score.total]
    best: dict[_Name, Recalled] = {}
    for name, hits in sorted(found.items(), key=lambda each: len(each[1])):
        used = {hit.lore.id for hit in best.values()}
        own = [hit for hit in hits if hit.lore.id not in used and _is_subject(name, hit.lore)]
        belongs_to_other = any(
            _is_subject(other, hits[0].lore) and hits[0] in found[other] for other in found if other != name
        )
        if hits[0].lore.id not in used and (not belongs_to_other or not own):
            best[name] = hits[0]
        elif own and len(hits) <= _FEW:
            best[name] = own[0]
    return [best[name] for name in found if name in best][:MOST]


def _is_subject(name: _Name, lore: Lore) -> bool:
    """Return whether the named thing is the main subject of an entry."""
    return name.is_entity or naming.starts_with(name.text, lore.content)


def _in_store(store: Store, text: str) -> Mapping[_Name, list[Recalled]]:
    """Return the entries of one store about each thing that a text names."""
    names = naming.find_possible_names(text)

    def ask(generation: Generation) -> Mapping[_Name, list[Recalled]]:
        rare = _rare_words(store, generation, names)
        entities = _entities_in(store, text, rare)
        spelled = {
            word for one in entities for name in (one.name, *one.aliases) for word in naming.split_words(name)
        }
        words = [word for word in names if word not in spelled]
        most = max(_MOST_ENTRIES, int(_LARGEST_SHARE * generation.words.count))
        rows: dict[_Name, list[int]] = {}
        for entity in entities:
            spellings = (entity.name, *entity.aliases)
            matches = [row for spelling in spellings for row in generation.words.rows_with(spelling, most)]
            rows[_Name(entity.slug, True)] = list(dict.fromkeys(matches))
        for word in words:
            rows[_Name(word)] = generation.words.rows_with(word, most)
            if not rows[_Name(word)] and word in rare:
                rows[_Name(word)] = generation.words.rows_close_to(word, most)
        rows = {name: matches for name, matches in rows.items() if matches}
        all_rows = frozenset(row for matches in rows.values() for row in matches)
        if not all_rows:
            return {}
        question = Question(text, keep=False)
        criteria = criteria_for(store, question)._replace(rows=all_rows)
        hits = search.search_index(
            store, generation, text, criteria, len(all_rows), meaning=store.embedder is not None
        )
        row_of = {hit.id: hit.row for hit in generation.catalog.hits(sorted(all_rows))}
        read = search.read_candidates(store, criteria, [hit for hit in hits if hit.id in row_of])
        shown = {row_of[hit.lore.id]: hit for hit in as_recalled(store, [*read])}
        candidates = {name: [shown[row] for row in matches if row in shown] for name, matches in rows.items()}
        things = _find_things(candidates, {one.slug: one for one in entities}, rare, naming.split_words(text))
        # Things without answers do not count, which may leave a single one: that needs more evidence.
        things = {name: thing for name, thing in things.items() if _answers(thing, len(things))}
        answers = {name: _answers(thing, len(things)) for name, thing in things.items()}
        return {name: hits for name, hits in answers.items() if hits}

    return query_index(store, ask)


def _answers(thing: _Thing, things: int) -> list[Recalled]:
    """Return the entries about a thing with enough evidence; `things` counts those that the prompt names."""
    if thing.is_rare and len(thing.about) <= _FEW:
        least = _RARE
    else:
        least = _AMONG_OTHERS if things > 1 else _ALONE if len(thing.about) <= _FEW else _OF_MANY
    return [hit for hit in thing.about if hit.lore.id in thing.certain or search.evidence(hit) >= least]


def _find_things(
    candidates: Mapping[_Name, list[Recalled]],
    entities: Mapping[str, Entity],
    rare: Collection[str],
    prompt: Sequence[str],
) -> Mapping[_Name, _Thing]:
    """Keep the words that are names, and of the entries that contain them those that are about the thing.

    Neighbouring words of the prompt that an entry contains, too, such as `Ada Byron`, name one thing.
    """
    found: dict[_Name, _Thing] = {}
    neighbours = {*itertools.pairwise(prompt)}
    last = _Name("")
    for name, hits in candidates.items():
        entity = entities[name.text] if name.is_entity else None
        thing = _from_entity(entity, hits) if entity else _from_word(name.text, hits, name.text in rare)
        ids = {hit.lore.id for hit in thing.about}
        both = [hit for hit in found[last].about if hit.lore.id in ids] if last in found else []
        if both and (last.text, name.text) in neighbours:
            found[last] = found[last]._replace(about=both, certain=found[last].certain | thing.certain)
        elif ids and all({hit.lore.id for hit in other.about} != ids for other in found.values()):
            found[name] = thing
            last = name
    return found


def _from_entity(entity: Entity, hits: Sequence[Recalled]) -> _Thing:
    spellings = tuple(map(naming.fold, (entity.name, entity.slug, *entity.aliases)))
    about = [hit for hit in hits if _is_about(hit.lore, spellings)]
    return _Thing(about, frozenset(hit.lore.id for hit in about))


def _from_word(word: str, hits: Sequence[Recalled], is_rare: bool) -> _Thing:
    texts = [hit.lore.content for hit in hits]
    spelling = _correct_spelling(word, texts)
    certainty = naming.rate_certainty(spelling, texts)
    about = [hit for hit in hits if certainty != naming.NO and _is_about(hit.lore, (spelling,))]
    if certainty == naming.LIKELY and not is_rare:
        about = [hit for hit in about if search.evidence(hit) >= _ORDINARY]
    certain = [
        hit.lore.id
        for hit in about
        if certainty == naming.SURE
        and spelling == word
        and len(about) <= _FEW
        and naming.starts_with(word, hit.lore.content, is_rare)
    ]
    return _Thing(about, frozenset(certain), is_rare)


def _correct_spelling(word: str, texts: Sequence[str]) -> str:
    """Return a word if texts contain it, else one of theirs that is one edit away (`falcons`, `kestrl`)."""
    if any(naming.occurs_in(word, text) for text in texts):
        return word
    others = {other for text in texts for other in naming.split_words(text) if is_one_edit_away(word, other)}
    return min(others, default=word)


def _rare_words(store: Store, generation: Generation, words: Sequence[str]) -> frozenset[str]:
    """Return the words that the model splits into several tokens, so that they are no ordinary ones; none without a model."""
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
    return any(
        spelling in named
        or naming.is_about(spelling, lore.content)
        or (" " in spelling and spelling in naming.fold(lore.content))
        for spelling in spellings
    )


def _entities_in(store: Store, text: str, rare: Collection[str]) -> list[Entity]:
    """Return the entities that a text names in any case: by their name, an alias, or a rare word of the name."""
    from engram.usecases.graph.entities import names_to_detect

    known = names_to_detect(store)
    if not known.entities:
        return []
    exact: Collection[str] = known.names.found_in(text)
    words = f" {' '.join(naming.split_words(text))} "
    return [
        entity
        for entity in known.entities
        if entity.slug in exact
        or any(word in rare for word in naming.split_words(entity.name))
        or any(
            naming.is_distinctive(name) and f" {' '.join(naming.split_words(name))} " in words
            for name in (entity.name, *entity.aliases)
        )
    ]
