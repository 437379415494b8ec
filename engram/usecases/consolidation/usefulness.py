"""What each lore is worth: from the live record, and from asking its questions again."""

from __future__ import annotations

from engram.domain.consolidation.usefulness import Worth, answers_by_lore, importance
from engram.domain.errors import UsageError
from engram.domain.recall.budget import tokens
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.consolidation.replay import rehearsing
from engram.usecases.consolidation.survey import Look
from engram.usecases.index.index_query import consult
from engram.usecases.lookup.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.domain.consolidation.usefulness import Answered
    from engram.usecases.store.store import Store

MOST_QUERIES = 500
SORTS = {
    "importance": lambda worth: (-worth.importance, -worth.shown, worth.id),
    "shown": lambda worth: (-worth.shown, -worth.importance, worth.id),
    "helpful": lambda worth: (-worth.helpful, -worth.importance, worth.id),
    "tokens": lambda worth: (-worth.tokens, worth.id),
    "alone": lambda worth: (-len(worth.alone), -worth.importance, worth.id),
}


class Worths(NamedTuple):
    """Lore with their worth, how many active lore there are in all, and how many past queries were asked again."""

    lore: tuple[Worth, ...]
    total: int
    queries: int


def worth(
    store: Store, names: Sequence[str] = (), *, limit: int | None = 20, sort: str = "importance"
) -> Worths:
    """The worth of the named lore of this store, or of all its active ones in this order.

    Raises NotFoundError, AmbiguousError, UsageError, StoreError.
    """
    if sort not in SORTS:
        raise UsageError(f"Lore cannot be sorted by '{sort}'.", f"Sort keys: {', '.join(SORTS)}.")
    if limit is not None and limit < 0:
        raise UsageError(f"The limit must not be negative, but is {limit}.")
    with store.lock:
        wanted = [found.id for found in dict.fromkeys(resolve(store, name) for name in names)]
        look = consult(store, lambda generation: Look(store, generation))
        asked = queries_to_ask(look)
        with rehearsing(store) as rehearsal:
            found = worths(look, rehearsal.answers(asked))
    if names:
        return Worths(tuple([found[one] for one in wanted if one in found]), len(found), len(asked))
    every = sorted(found.values(), key=SORTS[sort])
    return Worths(tuple(every[:limit]), len(found), len(asked))


def worths(look: Look, answers: Mapping[str, Answered]) -> dict[str, Worth]:
    """The worth of all active lore, by id."""
    answered = answers_by_lore(answers)
    ranks = look.generation.ranks()
    found = {}
    for hit in look.hits.values():
        shown = look.usage.shown.get(hit.id, 0)
        top, alone = answered.get(hit.id, (0, ()))
        links = len(look.linked_by(hit.id))
        value = importance(
            hit.importance, pinned=bool(hit.pinned), helpful=hit.validation_count, shown=shown, alone=len(alone), links=links,
            rank=ranks.get(hit.id, 0.0),
        )  # fmt: skip
        cost = shown * tokens("x" * hit.length)
        found[hit.id] = Worth(
            hit.id, hit.path, hit.title, shown, hit.validation_count, cost, top, alone, links, value
        )
    return found


def queries_to_ask(look: Look) -> list[str]:
    """The past queries to ask again: first those that showed a lore which was found helpful, then the latest."""
    helpful = helpful_ids(look)
    every = list(look.usage.queries.items())
    first = [text for text, ids in every if not ids.isdisjoint(helpful)]
    return list(dict.fromkeys([*first, *[text for text, _ in every]]))[: max(MOST_QUERIES, len(first))]


def helpful_ids(look: Look) -> set[str]:
    """The lore that anybody ever found helpful."""
    return look.usage.helpful | {hit.id for hit in look.hits.values() if hit.validation_count}
