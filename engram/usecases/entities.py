"""The entities of a store, from their files."""

from __future__ import annotations

import os

from engram.domain.entity import Entity, Relationship
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store import Store


def all_entities(store: Store) -> tuple[Entity, ...]:
    """The entities of a store, by slug."""
    import yaml

    folder = store.files.absolute(f"{store.places.folder}/entities")
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if not name.endswith(".md"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            _, fields, content = file.read().split("---\n", 2)
        said = yaml.safe_load(fields)
        links = [
            Relationship(one["kind"], one["to"], str(one.get("since", "")))
            for one in said.get("relationships", ())
        ]
        aliases = tuple(said.get("aliases", ()))
        found.append(
            Entity(name[:-3], said["name"], said["type"], aliases, tuple(links), (), content.strip())
        )
    return tuple(sorted(found))
