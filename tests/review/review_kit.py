"""Helpers for tests of the review queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.usecases.review.review import review

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.review.review import Item


def queue(store: Engram, *kinds: str) -> list[tuple[str, str]]:
    """Return kind and title of the items of these kinds (none: all)."""
    return [(item.kind, item.title) for item in review(store.store, kinds=kinds).items]


def only(store: Engram, kind: str) -> Item:
    """Return the only item of a kind."""
    found = review(store.store, kinds=[kind]).items
    assert len(found) == 1
    return found[0]
