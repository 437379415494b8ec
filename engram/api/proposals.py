"""The part of the Python API that is about proposals: lore that somebody lets into a protected branch."""

from __future__ import annotations

from engram.api.api_base import Part
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.usecases.review.proposals import Finished, Proposal
    from engram.usecases.sync.propose import OpenProposal, Proposed


class Proposing(Part):
    """Proposals of an open store; `engram.app.Engram` has all of it."""

    def propose(
        self, title: str = "", *, timeout: float = 120.0, step: Callable[[str], None] | None = None
    ) -> Proposed:
        """Push what waits here to a branch of its own, `engram/proposals/NAME`: the proposal that is open, else a new one.

        Raises UsageError where nothing waits; else as `sync`.
        """
        from engram.usecases.sync.propose import propose
        from engram.usecases.sync.sync import Options

        return propose(self.store, title, Options(timeout=timeout), step)

    def proposals(self, *, fetch: bool = True) -> Sequence[OpenProposal]:
        """The open proposals, newest first; without `fetch` as they were last fetched. Raises UsageError, RemoteError."""
        from engram.usecases.sync.propose import list_proposals

        return list_proposals(self.store, fetch=fetch)

    def proposal(self, name: str, *, fetch: bool = True) -> Proposal:
        """A proposal with its entries, and what was decided about each. Raises NotFoundError, RemoteError, GitError."""
        from engram.usecases.review.proposals import load_proposal

        return load_proposal(self.store, name, fetch=fetch)

    def decide_proposal(self, name: str, decisions: Sequence[tuple[str, str, str]]) -> Proposal:
        """Note decisions about entries of a proposal: (id, `accept`, `reject` or "" for none, reason); nothing else changes yet.

        Raises NotFoundError, UsageError for a rejection without a reason.
        """
        from engram.usecases.review.proposals import decide

        return decide(self.store, name, decisions)

    def finish_proposal(
        self, name: str, *, timeout: float = 120.0, step: Callable[[str], None] | None = None
    ) -> Finished:
        """Bring what was decided into the branch of lore, here and at the remote: what was rejected goes back with its reason.

        Raises UsageError while an entry is undecided; else as `sync`.
        """
        from engram.usecases.review.proposals import finish
        from engram.usecases.sync.sync import Options

        return finish(self.store, name, Options(timeout=timeout), step)
