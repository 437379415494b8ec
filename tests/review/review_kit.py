"""The review queue of a store, as tests look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.usecases.review.review import review

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.review.review import Item


def queue(store: Engram, *kinds: str) -> list[tuple[str, str]]:
    """What waits, of these kinds or all: kind and title."""
    return [(item.kind, item.title) for item in review(store.store, kinds=kinds).items]


def only(store: Engram, kind: str) -> Item:
    """The one item of a kind."""
    found = review(store.store, kinds=[kind]).items
    assert len(found) == 1
    return found[0]
