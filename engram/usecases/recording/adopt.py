"""Adopt files that people put into the lore folder: add the fields of an entry, and keep the text."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.adapters.files.frontmatter.further_keys import with_keys
from engram.domain.errors import NotFoundError, UsageError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.index.index_query import query_without_refresh
from engram.usecases.index.refresh import refresh
from engram.usecases.lookup.listing import Shown
from engram.usecases.store import entry_writer, judgements, people

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store


def find_adoptable(store: Store) -> list[str]:
    """Return the paths of lore files without an id."""
    refresh(store)
    return sorted(
        hit.path for hit in query_without_refresh(store, lambda found: found.catalog.select("adopted = 0"))
    )


def adopt(store: Store, paths: Sequence[str] = (), *, category: str = "") -> list[Shown]:
    """Add the fields of an entry to the files at `paths` (relative to the store; none: all without an id).

    Raises NotFoundError for a path that cannot be adopted, UsageError for no paths in a store in place.
    """
    if not paths and not store.places.folder:
        raise UsageError(
            "The notes of this folder stay as they are until you edit them.",
            "Name those that are to get their fields now: engram adopt NOTE.md",
        )
    with store.lock:
        adoptable = find_adoptable(store)
        unknown = [path for path in paths if path not in adoptable]
        if unknown:
            raise NotFoundError(
                f"{unknown[0]} is not a file that can be adopted.", "`engram doctor` lists those that can."
            )
        return [_adopt(store, path, category) for path in (dict.fromkeys(paths) or adoptable)]


def add_aliases(store: Store) -> list[str]:
    """Add the titles of entries to their `aliases` if missing; return the ids of the entries that changed."""
    changed = []
    with store.lock:
        refresh(store)
        for hit in query_without_refresh(store, lambda found: found.catalog.select("1")):
            file = entry_writer.load_readable(store, hit.path)
            if file is None:
                continue  # `engram doctor` reports it
            if not file.adopted or not hit.path.endswith(f"--{hit.id}.md") or file.lore.title in file.aliases:
                continue
            content = with_keys(file.raw, {"aliases": (*file.aliases, file.lore.title)})
            change = Change(hit.path, content, atomic.digest(file.raw))
            entry_writer.write(
                store, [entry_writer.operation_for(store, file.lore, f"alias: {hit.title}", [change])]
            )
            changed.append(hit.id)
    return changed


def _adopt(store: Store, path: str, category: str) -> Shown:
    file = entry_writer.load(store, path)
    chosen = store.categories.parse(category) if category else file.lore.category
    lore = file.lore._replace(
        category=chosen,
        type=store.categories.type_of(chosen),
        source_id=file.lore.source_id or store.source_id,
        agent=file.lore.agent or store.caller.who,
        author=file.lore.author or people.published_name(store),
    )
    content = entry_writer.rewrite(store, file, lore)
    adopted = Change(path, content, atomic.digest(file.raw))
    entry_writer.write(store, [entry_writer.operation_for(store, lore, f"adopt: {lore.title}", [adopted])])
    return Shown(judgements.with_tally(store, lore), path)
