"""Two people with a clone each, and one entry that both have."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from apikit import git
from storekit import commit
from sync_kit import make_clones as clones_with

from engram.usecases.recording.edit import Edit
from engram.usecases.review.decisions import decide
from engram.usecases.review.review import review

if TYPE_CHECKING:
    from pathlib import Path

    from engram.domain.entry.lore import Conflict, Lore


TEXT = "The port of staging is 8080.\n\nIt is in the compose file.\n\nProduction has its own."
ANN, BOB = "Ann Lee", "Bob O'Neil"


class Pair:
    """Two people with a clone each, a and b, and one entry that both have."""

    def __init__(self, folder: Path) -> None:
        self.clones, self.id = clones_with(folder, TEXT)
        for name, person in (("a", ANN), ("b", BOB)):
            git(self.clones.root(name), "config", "user.name", person)

    def edit(self, name: str, old: str, new: str) -> datetime:
        """Change words through Engram; return the time of the edit."""
        self.clones.clock.advance(minutes=1)
        store = self.clones[name]
        store.edit(self.id, Edit(content=store.get(self.id).lore.content.replace(old, new)))
        commit(store)
        return self.lore(name).updated_at

    def lore(self, name: str) -> Lore:
        return self.clones[name].get(self.id).lore

    def conflict(self) -> Conflict:
        """Return the only conflict, the same in both clones."""
        found = [self.lore(name) for name in "ab"]
        assert found[0] == found[1]
        (conflict,) = found[0].conflicts
        return conflict

    def decide(self, name: str, decision: str) -> None:
        self.clones.clock.advance(minutes=1)
        store = self.clones[name].store
        (item,) = review(store, kinds=["conflict"]).items
        decide(store, item, decision)
        commit(self.clones[name])
