"""The part of the Python API about trust: quarantined lore, where an entry is from, the red team."""

from __future__ import annotations

from engram.api.api_base import Part
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.history.origin import Origin
    from engram.usecases.judgements.ignored_sources import Ignored
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
        """Release quarantined entries, by id or the start of one. Raises NotFoundError for any other, UsageError."""
        from engram.usecases.review import trust

        return trust.accept(self.store, names, everything=everything)

    def reject(self, *names: str, everything: bool = False, delete: bool = False) -> list[QuarantinedEntry]:
        """Archive quarantined entries, or delete them. Raises NotFoundError, UsageError, StoreError."""
        from engram.usecases.review import trust

        return self._written(trust.reject(self.store, names, everything=everything, delete=delete))

    def ignore(self, *sources: str) -> int:
        """Set aside what sources say of entries, in this clone alone; how many are new. Raises UsageError, StoreError."""
        from engram.usecases.judgements.ignored_sources import ignore

        return ignore(self.store, sources)

    def heed(self, *sources: str) -> int:
        """Let such sources count again; how many. Raises NotFoundError for one that is not ignored, StoreError."""
        from engram.usecases.judgements.ignored_sources import restore_sources

        return restore_sources(self.store, sources)

    def ignored(self) -> list[Ignored]:
        """The ignored sources, by id. Raises StoreError, GitError."""
        from engram.usecases.judgements.ignored_sources import list_ignored

        return list_ignored(self.store)

    def origin(self, name: str) -> Origin:
        """Where an entry is from: clone, agent, last commit, its signature. Raises NotFoundError, AmbiguousError, GitError."""
        from engram.usecases.history.origin import origin
        from engram.usecases.lookup.listing import get
        from engram.usecases.opening.scopes import reach

        shown = get(self.store, name)
        return origin(reach(self.store, shown.scope), shown.lore, shown.path)
