"""Proposals of others in the review queue, as last fetched: items of kind `proposal`, decided entry by entry."""

from __future__ import annotations

from engram.adapters.git.remote.remotes import may_have_proposals
from engram.domain.errors import EngramError, NotFoundError
from engram.domain.review import priority, review
from engram.domain.review.review import Item, item_id
from engram.domain.text.counted_nouns import counted
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store
    from engram.usecases.sync.propose import OpenProposal


def find_proposals(store: Store, _generation: Generation) -> list[Item]:
    """Find the open proposals of others; somebody else reviews one's own."""
    return [_item(one) for one in _list_open(store)]


def proposal_name(store: Store, item: Item) -> str:
    """Return the name of the proposal that an item is about. Raises NotFoundError if it is no longer open."""
    for proposal in _list_open(store):
        if _id(proposal) == item.id:
            return proposal.name
    raise NotFoundError(f"'{item.title}' is no longer open.", "Somebody else has decided it.")


def _list_open(store: Store) -> Iterator[OpenProposal]:
    places = store.places
    if places.repository is None or not places.owns_branch or not may_have_proposals(places.repository):
        return
    from engram.usecases.sync.propose import list_proposals  # most stores have none

    try:
        found = list_proposals(store, fetch=False)
    except EngramError:  # there is no remote, or none of several is chosen
        return
    yield from (one for one in found if not one.is_own)


def _id(proposal: OpenProposal) -> str:
    return item_id(review.PROPOSAL, [proposal.name])


def _item(proposal: OpenProposal) -> Item:
    number = counted(proposal.entries, "entry", "entries")
    title = proposal.title if number in proposal.title else f"{number}: {proposal.title}"
    return Item(
        _id(proposal), review.PROPOSAL, (), (), title, f"{proposal.author} proposes {number}.", review.LOOK,
        (f"engram review --proposal {proposal.name}",), mark=proposal.commit, author=proposal.author, titles=(title,),
        at=float(proposal.at), worth=priority.LEAST_WORTH[review.PROPOSAL], certainty=priority.CERTAINTY[review.PROPOSAL],
    )  # fmt: skip
