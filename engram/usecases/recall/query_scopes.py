"""One answer from several stores: the candidates of each, weighed by scope, each lore once, the best of all."""

from __future__ import annotations

from engram.domain.errors import EngramError, ValidationError
from engram.domain.recall import ranking, strength
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.opening.scopes import TROUBLE, left_out
from engram.usecases.recall.query import (
    MOST_WEAK,
    STRATEGIES,
    candidates,
    evidence,
    filters_for,
    read_shown,
    recalled,
    refreshed,
    strength_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeVar

    from engram.usecases.recall.query import Question, Recalled
    from engram.usecases.recall.search import Candidate, Filters
    from engram.usecases.store.store import Store

    Searched = TypeVar("Searched")
    Found = tuple[Store, Searched, Candidate]


class Weighing(NamedTuple):
    """What the score of a scope's lore is multiplied by, and how much more than usual has to speak for one."""

    weight: float
    threshold: float


def recall_from(
    stores: Sequence[Store], question: Question, limit: int, notes: list[str]
) -> tuple[str, list[Recalled], tuple[str, ...]]:
    """The weakest strategy that what is shown comes from, what is shown (at most `limit`, best first), what was too weak.

    A store that fails becomes a note, and so does one that could be asked only by a lesser strategy. Raises what is
    wrong where none could be asked.
    """
    found: list[Found[Filters]] = []
    strategies: dict[str, str] = {}
    trouble: Exception | None = None
    for store in stores:
        mine: list[str] = []
        try:
            store.borrow_embedder(stores[0])
            mine += refreshed(store)
            filters = filters_for(store, question)
            strategy, hits = candidates(store, question, filters, limit, mine)
        except ValidationError as error:  # a category of another store's own: nothing here can have it
            trouble = trouble or error
            continue
        except TROUBLE as error:
            trouble = trouble or error
            mine.append(left_out(store.places.scope, error))
        else:
            strategies[store.places.scope] = strategy
            found += [(store, filters, hit) for hit in hits]
        notes += [
            note if note.startswith(store.places.scope) else f"{store.places.scope}: {note}" for note in mine
        ]
    if not strategies and trouble is not None:
        raise trouble
    weighings = {store.places.scope: _weighing(store) for store, _, _ in found}
    shown = _shown(found, weighings, limit, notes)
    there = {hit.lore.id for hit in shown}
    weak = [
        hit.id
        for store, _, hit in found
        if hit.id not in there and (not shown or _is_weak(weighings[store.places.scope], hit))
    ]
    used = [strategies[hit.scope] for hit in shown] or list(strategies.values())[:1]
    return max(used, key=STRATEGIES.index, default=STRATEGIES[0]), shown, tuple(weak[:MOST_WEAK])


def _weighing(store: Store) -> Weighing:
    return Weighing(store.scope.weight, store.settings.number(ranking.THRESHOLD_KEY))


def _is_weak(weighing: Weighing, hit: Candidate) -> bool:
    return evidence(hit) < strength.bounds(hit.score.cosine).shown + weighing.threshold


def best_first(
    found: Sequence[Found[Searched]], weighings: Mapping[str, Weighing]
) -> Iterator[Found[Searched]]:
    """The candidates of all scopes for which enough speaks, weighed by scope; none where nothing answers."""
    if strength_of([hit for _, _, hit in found]) == strength.NONE:
        return
    weights = {name: one.weight for name, one in weighings.items()}
    order = sorted(
        found, key=lambda one: (-round(one[2].score.total * weights[one[0].places.scope], 6), one[2].id)
    )
    for one in order:
        if not _is_weak(weighings[one[0].places.scope], one[2]):
            yield one


def _shown(
    found: Sequence[Found[Filters]], weighings: Mapping[str, Weighing], limit: int, notes: list[str]
) -> list[Recalled]:
    """The best of all candidates, read from their files; a lore that several scopes have is the best one's."""
    shown: dict[str, Recalled] = {}
    for store, filters, hit in best_first(found, weighings):
        if hit.id in shown:
            continue
        try:
            for _, lore in read_shown(store, filters, [hit], 1):
                shown[hit.id] = recalled(store, hit, lore)
        except (EngramError, OSError) as error:
            notes.append(left_out(store.places.scope, error))
        if len(shown) == limit:
            break
    return list(shown.values())
