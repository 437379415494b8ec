"""Merge two versions of a file under the lore folder: an entity, an agent, or else an entry."""

from __future__ import annotations

from engram.domain.entry.named_files import is_agent, is_entity
from engram.domain.merge.merge import UNKNOWN, Edit
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from engram.adapters.files.frontmatter.codec import ParsedFiles
    from engram.adapters.files.merge.merge_readable import Merged
    from engram.domain.entry.categories import Categories


def merge_one(
    base: bytes | None,
    ours: bytes | None,
    theirs: bytes | None,
    path: str,
    folder: str,
    categories: Categories,
    now: datetime,
    parsed: ParsedFiles | None = None,
    edits: tuple[Edit, Edit] = (UNKNOWN, UNKNOWN),
) -> Merged:
    """Merge two versions of the file at `path`, as `merge_file.merge_files` does; `folder` is the lore folder."""
    if is_entity(path, folder) or is_agent(path, folder):
        from engram.adapters.files.frontmatter import agent_file, entity_file
        from engram.adapters.files.merge.merge_named import merge_named

        kind = entity_file.KIND if is_entity(path, folder) else agent_file.KIND
        return merge_named(base, ours, theirs, path, now, kind, edits)
    from engram.adapters.files.merge.merge_file import merge_files

    return merge_files(base, ours, theirs, path, categories, now, edits, parsed)
