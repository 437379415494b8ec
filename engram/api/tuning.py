"""The part of the Python API that tunes the ranking by judged queries."""

from __future__ import annotations

from engram.api.api_base import Part
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.domain.tuning.evolution import Evolution


class Evolving(Part):
    """Tuning of the ranking; part of `engram.app.Engram`."""

    def evolve(self, *, apply: bool = False, revert: bool = False, user: bool = False) -> Evolution:
        """Evaluate the ranking on judged queries: `.effectiveness`, `.proposals` with evidence, or `.why` there are none.

        `apply` writes the proposals to the store's `.engram.toml`, or with `user` to your own file, the only place for
        weights of scopes; `.applied` are those that were written. `revert` restores the file as it was before the last
        `apply`. Raises UsageError, NotFoundError (nothing to revert), ConflictError (the file was changed since), StoreError.
        """
        from engram.usecases.tuning.apply import evolve_store

        done = evolve_store(self.store, apply=apply, revert=revert, user=user)
        if done.file:
            self._schedule_commit()
        return done
