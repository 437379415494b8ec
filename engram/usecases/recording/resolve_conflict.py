"""Taking the version of an entry that lost a merge, instead of the one that stands."""

from __future__ import annotations

from engram.adapters.files.frontmatter.fields import thousandths_of
from engram.domain.entry import times
from engram.domain.entry.categories import parse_types
from engram.domain.errors import UsageError
from engram.domain.merge.merge import DELETED
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from engram.domain.entry.categories import Categories
    from engram.domain.entry.lore import Conflict, Lore

_LISTS = ("tags", "files", "entities", "context", "sources")
_TEXTS = ("content", "status", "agent", "source_id")


def take_version(lore: Lore, categories: Categories) -> Lore | None:
    """Return the lore with each version of its `conflicts` in place of what stands; None where that version was deleted.

    Of several versions of one field the latest is taken. Raises UsageError for what only an editor can settle.
    """
    latest: dict[str, Conflict] = {}
    for entry in sorted(lore.conflicts, key=lambda entry: entry.at):
        latest[entry.field] = entry
    if DELETED in latest:
        return None
    for entry in latest.values():
        lore = _taken(lore, entry, categories)
    return lore._replace(conflicts=())


def _taken(lore: Lore, entry: Conflict, categories: Categories) -> Lore:
    name, value = entry.field, entry.value
    plain: dict[str, Any] = {}
    if name in _TEXTS:
        plain[name] = value
    if name in _LISTS:
        plain[name] = tuple(value.split("\n")) if value else ()
    if plain:
        return lore._replace(**plain)
    if name == "category":
        category = categories.parse(value)
        return lore._replace(category=category, type=categories.type_of(category))
    if name == "type":
        return lore._replace(type=parse_types([value])[0] if value else categories.type_of(lore.category))
    if name == "prior" and (prior := thousandths_of(value)) is not None:
        return lore._replace(prior=prior)
    if name == "pinned":
        return lore._replace(pinned=value == "true")
    if name == "importance":
        return lore._replace(importance=float(value) if value else None)
    if name == "expires_at":
        return lore._replace(expires_at=times.parse(value) if value else None)
    raise UsageError(
        f"The other version of '{name}' cannot be applied on its own.",
        f"Resolve it in your editor: engram edit {lore.id}",
    )
