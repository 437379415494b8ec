"""Entities that the text of a new lore names, added to those that it was given; never a new entity."""

from __future__ import annotations

import os
from weakref import WeakKeyDictionary

from engram.domain.entity_rules import FOLDER, named
from engram.domain.typed import TYPE_CHECKING
from engram.domain.validation import MAX_ITEMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.domain.entity import Entity
    from engram.domain.mentions import Names
    from engram.usecases.store import Store

SETTING = "graph.detect"
_names: WeakKeyDictionary[Store, tuple[tuple[Entity, ...], Names]] = WeakKeyDictionary()


def with_mentioned(store: Store, content: str, given: Sequence[str]) -> tuple[str, ...]:
    """The given names of entities, each once, and after them those of the entities that the text names."""
    given = tuple(dict.fromkeys(given))
    if not os.path.isdir(f"{store.places.root}/{store.places.folder}/{FOLDER}"):
        return given
    if not store.settings.flag(SETTING):
        return given
    from engram.usecases.entities import all_entities

    entities = all_entities(store)
    if not entities:
        return given
    there = {slug for name in given for slug in named(entities, name)}
    names = {one.slug: one.name for one in entities}
    found = [names[slug] for slug in _names_of(store, entities).found_in(content) if slug not in there]
    return (*given, *found)[: max(len(given), MAX_ITEMS)]


def _names_of(store: Store, entities: tuple[Entity, ...]) -> Names:
    """The names to look for, made anew where the entities are others."""
    kept = _names.get(store)
    if kept is None or kept[0] is not entities:
        from engram.domain.mentions import Names

        kept = _names[store] = entities, Names(entities)
    return kept[1]
