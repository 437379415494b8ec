"""Detect known entities in the text of a new entry, and add them to those given; never creates an entity."""

from __future__ import annotations

import os

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store

SETTING = "graph.detect"
_FOLDER = "entities"  # engram.domain.entry.named_files.ENTITIES, not imported here, to keep recording fast
_MOST = 200  # names in an entry: engram.domain.entry.lore.MAX_ITEMS


def with_mentioned(store: Store, content: str, given: Sequence[str]) -> tuple[str, ...]:
    """Return the given names without duplicates, followed by those of other entities that the text mentions."""
    given = tuple(dict.fromkeys(given))
    if not os.path.isdir(f"{store.places.root}/{store.places.folder}/{_FOLDER}"):
        return given
    if not store.settings.flag(SETTING):
        return given
    from engram.domain.graph.entity_rules import named
    from engram.usecases.graph.entities import names_to_detect

    ready = names_to_detect(store)
    slugs, entities = ready.names.found_in(content), ready.entities
    if not slugs:
        return given
    there = {slug for name in given for slug in named(entities, name)}
    names = {one.slug: one.name for one in entities if one.slug in slugs}
    found = [names[slug] for slug in slugs if slug not in there and slug in names]
    return (*given, *found)[: max(len(given), _MOST)]
