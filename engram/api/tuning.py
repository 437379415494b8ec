"""The part of the Python API that lets a store's ranking learn from what was judged."""

from __future__ import annotations

from engram.api.api_base import Part
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.domain.tuning.evolution import Evolution


class Evolving(Part):
    """Evolution; `engram.app.Engram` has all of it."""

    def evolve(self, *, apply: bool = False, revert: bool = False, user: bool = False) -> Evolution:
        """What judged queries tell of the ranking: `.effectiveness`, `.proposals` with their evidence, or `.why` there are none.

        `apply` writes the proposals into the store's `.engram.toml`, or with `user` into your own file, where alone weights
        of scopes go (`.applied`: which were written); `revert` gives
        that file back as it was before the last time. Raises UsageError, NotFoundError (nothing to revert),
        ConflictError (the file was changed since), StoreError.
        """
        from engram.usecases.tuning.apply import evolve_store

        done = evolve_store(self.store, apply=apply, revert=revert, user=user)
        if done.file:
            self._schedule_commit()
        return done
