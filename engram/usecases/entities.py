"""The entities of a store, read from their files; those that cannot be read are left out."""

from __future__ import annotations

import os

from engram.adapters.files import further_keys
from engram.domain.entity import Entity, Relationship
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store import Store

FOLDER = "entities"


def all_entities(store: Store) -> tuple[Entity, ...]:
    """Every entity, sorted by slug."""
    folder = f"{store.places.folder}/{FOLDER}"
    try:
        names = sorted(os.listdir(store.files.absolute(folder)))
    except OSError:
        return ()
    found = []
    for name in names:
        if name.endswith(".md"):
            try:
                found.append(_entity(store, f"{folder}/{name}", name.removesuffix(".md")))
            except EngramError:
                continue
    return tuple(found)


def _entity(store: Store, path: str, slug: str) -> Entity:
    keys, text = further_keys.read(store.files.read(path), path)
    related = keys.get("relationships", [])
    return Entity(
        slug,
        further_keys.text_of(keys.get("name")) or slug,
        further_keys.text_of(keys.get("type")) or "concept",
        further_keys.words_of(keys.get("aliases", "")),
        tuple(
            Relationship(str(one.get("kind", "")), str(one.get("to", "")), str(one.get("since", "")))
            for one in (related if isinstance(related, list) else [])
            if isinstance(one, dict)
        ),
        content=text,
    )
