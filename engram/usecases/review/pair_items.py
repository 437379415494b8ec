"""Items of the review queue about several lore: those that say the same, as one item a group, and those that contradict."""

from __future__ import annotations

from engram.domain.recall.budget import tokens
from engram.domain.review import review
from engram.domain.review.review import Item, item_id
from engram.domain.similarity.equivalence import CONTRADICTION, SAME
from engram.domain.similarity.pair_groups import groups
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.lookup.hits import hits_of
from engram.usecases.review.mark import mark
from engram.usecases.similarity.pairs import pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.generation import Generation
    from engram.domain.similarity.pairs import Pair
    from engram.usecases.store.store import Store


def duplicates(store: Store, generation: Generation) -> list[Item]:
    """Groups of lore that say the same, those with the most in them first."""
    found = [pair for pair in pairs(store) if pair.kind != CONTRADICTION]
    joined = sorted(groups(found), key=lambda group: (-len(group), group))
    hits = hits_of(generation, [lore_id for group in joined for lore_id in group])
    why = {frozenset((pair.one, pair.other)): pair for pair in found}
    items = []
    for group in joined:
        if all(lore_id in hits for lore_id in group):
            inside = [pair for ends, pair in why.items() if ends <= set(group)]
            items.append(_item(review.DUPLICATE, [hits[one] for one in group], inside, review.MERGE))
    return items


def contradictions(store: Store, generation: Generation) -> list[Item]:
    """Pairs of lore of which only one can be right, the surest first."""
    found = [pair for pair in pairs(store) if pair.kind == CONTRADICTION]
    hits = hits_of(generation, [lore_id for pair in found for lore_id in (pair.one, pair.other)])
    return [
        _item(review.CONTRADICTION, [hits[pair.one], hits[pair.other]], [pair], review.SUPERSEDE)
        for pair in found
        if pair.one in hits and pair.other in hits
    ]


def _item(kind: str, hits: Sequence[Hit], found: Sequence[Pair], proposal: str) -> Item:
    ids, paths = tuple(hit.id for hit in hits), tuple(hit.path for hit in hits)
    surest = max(found, key=lambda pair: (pair.strength, pair.one, pair.other))
    what = "Says the same as" if surest.kind == SAME else "May say the same as"
    what = "May contradict" if kind == review.CONTRADICTION else what
    others = f"{len(hits) - 1} others" if len(hits) > 2 else f"'{hits[1].title}'"
    evidence = tuple(f"{hit.id} {hit.title}" for hit in hits)
    cost = sum(tokens("x" * hit.length) for hit in hits)
    why = f"{what} {others}: {surest.why} (strength {surest.strength:.2f}, cosine {surest.cosine:.2f})."
    return Item(
        item_id(kind, ids), kind, ids, paths, hits[0].title, why, proposal, evidence, cost, mark(hits),
        hits[-1].agent or "",
    )  # fmt: skip
