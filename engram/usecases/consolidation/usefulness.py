"""The usefulness of entries: from the activity log, and from replaying past queries."""

from __future__ import annotations

from engram.domain.consolidation.usefulness import Answered, Usefulness, answers_by_lore, importance
from engram.domain.errors import UsageError
from engram.domain.recall.budget import tokens
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.consolidation.replay import open_replayer
from engram.usecases.consolidation.survey import Survey
from engram.usecases.index.index_query import query_index
from engram.usecases.lookup.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.usecases.store.store import Store

MOST_QUERIES = 500
SORTS = {
    "importance": lambda entry: (-entry.importance, -entry.shown, entry.id),
    "shown": lambda entry: (-entry.shown, -entry.importance, entry.id),
    "helpful": lambda entry: (-entry.helpful, -entry.importance, entry.id),
    "tokens": lambda entry: (-entry.tokens, entry.id),
    "alone": lambda entry: (-len(entry.alone), -entry.importance, entry.id),
}


class UsefulnessList(NamedTuple):
    """Entries with their usefulness; `total` counts all active entries, `queries` the past queries replayed."""

    lore: tuple[Usefulness, ...]
    total: int
    queries: int


def rate_usefulness(
    store: Store, names: Sequence[str] = (), *, limit: int | None = 20, sort: str = "importance"
) -> UsefulnessList:
    """Rate the named entries of this store, or all its active ones, sorted.

    Raises NotFoundError, AmbiguousError, UsageError, StoreError.
    """
    if sort not in SORTS:
        raise UsageError(f"Lore cannot be sorted by '{sort}'.", f"Sort keys: {', '.join(SORTS)}.")
    if limit is not None and limit < 0:
        raise UsageError(f"The limit must not be negative, but is {limit}.")
    with store.lock:
        wanted = [found.id for found in dict.fromkeys(resolve(store, name) for name in names)]
        survey = query_index(store, lambda generation: Survey(store, generation))
        asked = queries_to_ask(survey)
        with open_replayer(store) as replayer:
            found = usefulness_by_id(survey, replayer.answers(asked))
    if names:
        named = tuple([found[lore_id] for lore_id in wanted if lore_id in found])
        return UsefulnessList(named, len(found), len(asked))
    ranked = sorted(found.values(), key=SORTS[sort])
    return UsefulnessList(tuple(ranked[:limit]), len(found), len(asked))


def usefulness_by_id(survey: Survey, answers: Mapping[str, Answered]) -> dict[str, Usefulness]:
    """Rate all active entries, by id."""
    answered = answers_by_lore(answers)
    ranks = survey.generation.ranks()
    found = {}
    for hit in survey.hits.values():
        shown = survey.usage.shown.get(hit.id, 0)
        top, alone = answered.get(hit.id, (0, ()))
        links = len(survey.linked_by(hit.id))
        value = importance(
            hit.importance, pinned=bool(hit.pinned), helpful=hit.validation_count, shown=shown, alone=len(alone), links=links,
            rank=ranks.get(hit.id, 0.0),
        )  # fmt: skip
        cost = shown * tokens("x" * hit.length)
        found[hit.id] = Usefulness(
            hit.id, hit.path, hit.title, shown, hit.validation_count, cost, top, alone, links, value
        )
    return found


def queries_to_ask(survey: Survey) -> list[str]:
    """Choose the past queries to replay: all that showed a helpful entry, then the latest."""
    helpful = helpful_ids(survey)
    every = list(survey.usage.queries.items())
    first = [text for text, ids in every if not ids.isdisjoint(helpful)]
    return list(dict.fromkeys([*first, *[text for text, _ in every]]))[: max(MOST_QUERIES, len(first))]


def helpful_ids(survey: Survey) -> set[str]:
    """Return the ids of entries that anybody ever found helpful."""
    return survey.usage.helpful | {hit.id for hit in survey.hits.values() if hit.validation_count}
