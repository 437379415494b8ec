"""The part of the Python API about proposals: lore for a branch that one may not push to."""

from __future__ import annotations

from engram.api.api_base import Part
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engram.usecases.review.proposals import MergedReview, Proposal
    from engram.usecases.sync.propose import OpenProposal, Proposed


class Proposing(Part):
    """Proposals of an open store; part of `engram.app.Engram`."""

    def propose(
        self, title: str = "", *, timeout: float = 120.0, step: Callable[[str], None] | None = None
    ) -> Proposed:
        """Push local changes to a branch of their own, `engram/proposals/NAME`: to the open proposal, else a new one.

        Raises UsageError if there are no changes, and as `sync`.
        """
        from engram.usecases.sync.propose import propose
        from engram.usecases.sync.sync import Options

        return propose(self.store, title, Options(timeout=timeout), step)

    def proposals(self, *, fetch: bool = True) -> Sequence[OpenProposal]:
        """Return the open proposals, newest first; without `fetch`, as last fetched. Raises UsageError, RemoteError."""
        from engram.usecases.sync.propose import list_proposals

        return list_proposals(self.store, fetch=fetch)

    def proposal(self, name: str, *, fetch: bool = True) -> Proposal:
        """Return a proposal with its entries and the decision about each. Raises NotFoundError, RemoteError, GitError."""
        from engram.usecases.review.proposals import load_proposal

        return load_proposal(self.store, name, fetch=fetch)

    def decide_proposal(self, name: str, decisions: Sequence[tuple[str, str, str]]) -> Proposal:
        """Note decisions about entries of a proposal: (id, `accept`, `reject` or "" for none, reason).

        Nothing else changes yet. Raises NotFoundError, UsageError for a rejection without a reason.
        """
        from engram.usecases.review.proposals import decide

        return decide(self.store, name, decisions)

    def finish_proposal(
        self, name: str, *, timeout: float = 120.0, step: Callable[[str], None] | None = None
    ) -> MergedReview:
        """Merge the accepted entries into the branch of lore and push it; rejected ones go back with the reason.

        Raises UsageError if an entry is undecided, and as `sync`.
        """
        from engram.usecases.review.proposals import finish
        from engram.usecases.sync.sync import Options

        return finish(self.store, name, Options(timeout=timeout), step)
