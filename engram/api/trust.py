"""The part of the Python API about trust: lore that waits to be let in, where an entry is from, the red team."""

from __future__ import annotations

from engram.api.part import Part
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.history.origin import Origin
    from engram.usecases.review.trust import QuarantinedEntry
    from engram.usecases.upkeep.injection_test import Report


class Trusting(Part):
    """What came from elsewhere, and whether it counts; `engram.app.Engram` has all of it."""

    def poison_check(self) -> Report:
        """Put a red team's lore before an agent in every way there is, in a scratch store: `.findings` got through.

        Nothing of this store is read or written.
        """
        from engram.usecases.upkeep.injection_test import poison_check

        return poison_check()

    def held(self) -> list[QuarantinedEntry]:
        """Lore that came from elsewhere and waits until it is accepted, the latest first (see `trust.hold`)."""
        from engram.usecases.review import trust

        return trust.list_quarantined(self.store)

    def accept(self, *names: str, everything: bool = False) -> list[QuarantinedEntry]:
        """Let held lore count, by id or the start of one. Raises NotFoundError for one that is not held, UsageError."""
        from engram.usecases.review import trust

        return trust.accept(self.store, names, everything=everything)

    def reject(self, *names: str, everything: bool = False, delete: bool = False) -> list[QuarantinedEntry]:
        """Archive held lore, or delete them. Raises NotFoundError, UsageError, StoreError."""
        from engram.usecases.review import trust

        rejected = trust.reject(self.store, names, everything=everything, delete=delete)
        self._changed()
        return rejected

    def origin(self, name: str) -> Origin:
        """Where an entry is from: clone, agent, last commit, its signature. Raises NotFoundError, AmbiguousError, GitError."""
        from engram.usecases.history.origin import origin
        from engram.usecases.lookup.listing import get
        from engram.usecases.opening.scopes import reach

        shown = get(self.store, name)
        return origin(reach(self.store, shown.scope), shown.lore, shown.path)
