"""The part of the Python API about trust: quarantined lore, ignored sources, origins, the injection test."""

from __future__ import annotations

from engram.api.api_base import Part
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.history.origin import Origin
    from engram.usecases.judgements.ignored_sources import Ignored
    from engram.usecases.review.trust import QuarantinedEntry
    from engram.usecases.upkeep.injection_test import Report


class Trusting(Part):
    """Trust in what came from elsewhere; part of `engram.app.Engram`."""

    def poison_check(self) -> Report:
        """Pass malicious lore to an agent in every possible way, in a scratch store; `.findings` are what got through."""
        from engram.usecases.upkeep.injection_test import poison_check

        return poison_check()

    def held(self) -> list[QuarantinedEntry]:
        """Return the quarantined entries, the latest first (see the setting `trust.hold`)."""
        from engram.usecases.review import trust

        return trust.list_quarantined(self.store)

    def accept(self, *names: str, everything: bool = False) -> list[QuarantinedEntry]:
        """Release entries from quarantine, by id or the start of one. Raises NotFoundError if one is not there, UsageError."""
        from engram.usecases.review import trust

        return trust.accept(self.store, names, everything=everything)

    def reject(self, *names: str, everything: bool = False, delete: bool = False) -> list[QuarantinedEntry]:
        """Archive quarantined entries, or delete them. Raises NotFoundError, UsageError, StoreError."""
        from engram.usecases.review import trust

        return self._written(trust.reject(self.store, names, everything=everything, delete=delete))

    def ignore(self, *sources: str) -> int:
        """Ignore the judgements of sources in this clone; return how many are new. Raises UsageError, StoreError."""
        from engram.usecases.judgements.ignored_sources import ignore

        return ignore(self.store, sources)

    def heed(self, *sources: str) -> int:
        """Stop ignoring sources; return how many. Raises NotFoundError if one is not ignored, StoreError."""
        from engram.usecases.judgements.ignored_sources import restore_sources

        return restore_sources(self.store, sources)

    def ignored(self) -> list[Ignored]:
        """Return the ignored sources, by id. Raises StoreError, GitError."""
        from engram.usecases.judgements.ignored_sources import list_ignored

        return list_ignored(self.store)

    def origin(self, name: str) -> Origin:
        """Return the origin of an entry: clone, agent, commit, signature. Raises NotFoundError, AmbiguousError, GitError."""
        from engram.usecases.history.origin import origin
        from engram.usecases.lookup.listing import get
        from engram.usecases.opening.scopes import open_scope_of

        shown = get(self.store, name)
        return origin(open_scope_of(self.store, shown.scope), shown.lore, shown.path)
