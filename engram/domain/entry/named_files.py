"""Files below the lore folder that are no lore and are known by their names: those of entities and of agents."""

from __future__ import annotations

ENTITIES = "entities"  # folders directly below the lore folder
AGENTS = "agents"
FOLDERS = (ENTITIES, AGENTS)


def is_entity(path: str, folder: str) -> bool:
    """Return whether a path is that of an entity's file in the lore folder `folder`."""
    return _is_in(path, f"{folder}/{ENTITIES}")


def is_agent(path: str, folder: str) -> bool:
    """Return whether a path is that of an agent's file in the lore folder `folder`."""
    return _is_in(path, f"{folder}/{AGENTS}")


def is_named(path: str, folder: str) -> bool:
    """Return whether a path is that of either: merged by fields, but no lore."""
    return is_entity(path, folder) or is_agent(path, folder)


def _is_in(path: str, folder: str) -> bool:
    top, _, name = path.rpartition("/")
    return top == folder and name.endswith(".md") and not name.startswith(".")
