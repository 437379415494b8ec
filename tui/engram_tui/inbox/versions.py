"""The versions of an entry that a review item is about, as the merge editor needs them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from engram.domain.entry.disputes import names_of
from engram.domain.entry.people import byline
from engram.domain.errors import EngramError, UsageError
from engram.domain.review.review import ACCEPT, CONFLICT, MERGE, Item
from engram.usecases.recording.resolve_conflict import take_version
from engram.usecases.review.captured_items import captured_entry, is_captured

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.entry.lore import Lore


class Version(NamedTuple):
    """An entry as it is or could be, and a name for it; `by` wrote this version `at` a time (RFC 3339).

    Both are "" if the version is as it was recorded.
    """

    name: str
    lore: Lore
    by: str = ""
    at: str = ""

    @property
    def title(self) -> str:
        """The name, and who wrote it."""
        return f"{self.name}, by {self.who}"

    @property
    def who(self) -> str:
        """Who wrote it."""
        return self.by or byline(self.lore.agent, self.lore.author)


class MergeSource(NamedTuple):
    """The versions to merge, first the one that stays; `base` is the result of the decision without choices."""

    item: Item
    versions: tuple[Version, ...]
    base: Lore
    decision: str

    @property
    def joins(self) -> bool:
        """Whether several entries become one: then their lists are joined by default."""
        return self.decision == MERGE


def versions_of(store: Engram, item: Item) -> list[Version]:
    """Return the versions of an item, first the one that stays: the current one of a conflict, else the oldest entry."""
    if item.kind == CONFLICT:
        lore = store.get(item.lore[0]).lore
        if not lore.conflicts:
            return [Version("current version", lore)]
        latest = max(lore.conflicts, key=lambda conflict: conflict.at)
        names = names_of(latest)
        current = Version("current version", lore, names[0], latest.kept_at)
        with contextlib.suppress(EngramError):  # a field that only an editor can resolve
            other = take_version(lore, store.store.categories)
            if other is not None:
                return [current, Version("other version", other, names[1], latest.at)]
        return [current]
    if is_captured(item):
        return [Version("captured", captured_entry(store.store, item))]
    found = [store.get(entry_id).lore for entry_id in item.lore]
    return [
        Version("older" if index == 0 else "newer" if len(found) == 2 else f"newer {index}", lore)
        for index, lore in enumerate(found)
    ]


def read_merge_source(store: Engram, item: Item) -> MergeSource:
    """Read the versions of an item to merge. Raises NotFoundError, and UsageError if there is only one."""
    decision = ACCEPT if item.kind == CONFLICT else MERGE
    versions = versions_of(store, item)
    if len(versions) < 2:
        raise UsageError(
            "The other version is not text, so it cannot be merged here.", "e opens the file; it shows both."
        )
    merged = store.decide(item, decision, dry_run=True).lore[item.lore[0]]
    if merged is None:
        raise UsageError("The merged entry would be empty.", "i keeps the current version.")
    return MergeSource(item, tuple(versions), merged, decision)
