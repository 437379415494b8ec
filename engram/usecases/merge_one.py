"""Merging two versions of a file under the lore folder: an entity's by the fields of entities, any other as a lore."""

from __future__ import annotations

from engram.domain.entity_rules import is_entity
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from engram.adapters.files.merge_file import Merged
    from engram.domain.categories import Categories


def merge_one(
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    path: str,
    folder: str,
    categories: Categories,
    now: datetime,
) -> Merged:
    """Merge two versions of the file at `path`, as `merge_file.merge_files` does; `folder` is the lore folder."""
    if is_entity(path, folder):
        from engram.adapters.files.merge_entity import merge_entities

        return merge_entities(base, ours, theirs, path, now)
    from engram.adapters.files.merge_file import merge_files

    return merge_files(base, ours, theirs, path, categories, now)
