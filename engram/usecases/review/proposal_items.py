"""Proposals of others in the review queue, as they were last fetched: items of kind `proposal`, decided about entry by entry."""

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
    """Find the open proposals of others; a proposal of one's own waits for somebody else."""
    return [_item(one) for one in _open(store)]


def proposal_name(store: Store, item: Item) -> str:
    """Return the name of the proposal that an item is about. Raises NotFoundError where it is open no more."""
    for one in _open(store):
        if _id(one) == item.id:
            return one.name
    raise NotFoundError(f"'{item.title}' is no longer open.", "Somebody else has decided it.")


def _open(store: Store) -> Iterator[OpenProposal]:
    places = store.places
    if places.repository is None or not places.owns_branch or not may_have_proposals(places.repository):
        return
    from engram.usecases.sync.propose import list_proposals  # most stores have none

    try:
        found = list_proposals(store, fetch=False)
    except EngramError:  # no remote is left, or not one of several
        return
    yield from (one for one in found if not one.is_own)


def _id(one: OpenProposal) -> str:
    return item_id(review.PROPOSAL, [one.name])


def _item(one: OpenProposal) -> Item:
    number = counted(one.entries, "entry", "entries")
    title = one.title if number in one.title else f"{number}: {one.title}"
    return Item(
        _id(one), review.PROPOSAL, (), (), title, f"{one.author} proposes {number}.", review.LOOK,
        (f"engram review --proposal {one.name}",), mark=one.commit, author=one.author, titles=(title,), at=float(one.at),
        worth=priority.LEAST_WORTH[review.PROPOSAL], certainty=priority.CERTAINTY[review.PROPOSAL],
    )  # fmt: skip
