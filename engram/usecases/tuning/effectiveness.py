"""The effectiveness of recall: judgements counted by strategy, strength, scope, category, age, and part of the score."""

from __future__ import annotations

import json

from engram.domain.entry.confidence import HELPFUL, INCORRECT, NOT_RELEVANT
from engram.domain.explore.tables import Table
from engram.domain.recall import ranking
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.explore.explore import stores
from engram.usecases.index.index_query import query_index
from engram.usecases.opening import scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from engram.domain.recall.ranking import Score, Weights
    from engram.usecases.recall.search import Candidate
    from engram.usecases.store.store import Store
    from engram.usecases.tuning.judged_retrievals import JudgedRetrieval

MOST_ROWS = 20
GONE = "(gone)"
NONE = "(none)"
NOT_SHOWN = "(not shown now)"
# With upper bounds in hours.
AGES = (("first hour", 1), ("first day", 24), ("first week", 168), ("first month", 720))
OLDER = "older"
_COLUMNS = ("judged", HELPFUL, NOT_RELEVANT, INCORRECT, "rate")


class Judged(NamedTuple):
    """Scope, category and creation time (Unix seconds) of a judged entry."""

    scope: str
    category: str
    created_at: float


class _Line(NamedTuple):
    """One judgement with all its dimensions."""

    kind: str
    strategy: str
    strength: str
    scope: str
    category: str
    age: str
    part: str
    standing: str


def effectiveness(
    store: Store, retrievals: Sequence[JudgedRetrieval], shown: Mapping[str, Sequence[Candidate]]
) -> tuple[Table, ...]:
    """Count the judgements in a table per dimension; `shown` has the current answers of replayed questions."""
    known = _look_up(store, {lore_id for retrieval in retrievals for lore_id in retrieval.kinds})
    weights = ranking.weights_of(store.settings)
    lines = []
    for entry, kinds in retrievals:
        current = shown.get(entry.query, ())
        for lore_id, kind in kinds.items():
            lore = known.get(lore_id)
            age = _age(entry.at - lore.created_at) if lore else GONE
            part, standing = _find_lift(current, lore_id, weights)
            scope, category = (lore.scope, lore.category) if lore else (GONE, GONE)
            lines.append(_Line(kind, entry.strategy, entry.strength, scope, category, age, part, standing))
    ages = [*(name for name, _ in AGES), OLDER, GONE]
    return (
        _count_judgements("strategies", "strategy", lines, lambda line: line.strategy),
        _count_judgements("parts", "lifted by", lines, lambda line: line.part),
        _count_judgements("standing", "standing", lines, lambda line: line.standing),
        _count_judgements("strengths", "strength", lines, lambda line: line.strength),
        _count_judgements("scopes", "scope", lines, lambda line: line.scope),
        _count_judgements("categories", "category", lines, lambda line: line.category),
        _count_judgements("ages", "age", lines, lambda line: line.age, ages),
    )


def _look_up(store: Store, ids: set[str]) -> dict[str, Judged]:
    """Look up entries in all scopes, by id."""
    found: dict[str, Judged] = {}
    wanted = json.dumps(sorted(ids))
    for scope, other in stores(store, ""):
        try:
            hits = query_index(
                other,
                lambda generation: generation.catalog.select(
                    "id IN (SELECT value FROM json_each(?))", (wanted,)
                ),
            )
        except scopes.TROUBLE:
            continue
        for hit in hits:
            found.setdefault(hit.id, Judged(scope, hit.category, hit.created_at))
    return found


def _age(seconds: float) -> str:
    return next((name for name, hours in AGES if seconds <= hours * 3600), OLDER)


def _find_lift(shown: Sequence[Candidate], lore_id: str, weights: Weights) -> tuple[str, str]:
    """Return the score part by which an entry most exceeds the mean of its answer, and how standing moved it (up, down, no)."""
    places = {hit.id: place for place, hit in enumerate(shown)}
    if lore_id not in places:
        return NOT_SHOWN, NOT_SHOWN
    score = shown[places[lore_id]].score
    all_parts = [_parts(hit.score, weights) for hit in shown]
    own = all_parts[places[lore_id]]
    above = {
        part: value - sum([parts[part] for parts in all_parts]) / len(all_parts)
        for part, value in own.items()
    }
    part = max(above, key=above.__getitem__)
    better = sum([hit.score.relevance > score.relevance for hit in shown])
    moved = places[lore_id] - better
    return part if above[part] > 0 else NONE, "up" if moved < 0 else "down" if moved else "no"


def _parts(score: Score, weights: Weights) -> dict[str, float]:
    """Split a score into its parts, before path and scope weights."""
    standing = weights.standing * score.standing * score.relevance
    if score.cosine is None:
        return {"words": score.words, "standing": standing}
    whole = 1 + weights.words + (0.0 if score.near is None else ranking.NEAR)
    return {
        "words": weights.words * score.words**ranking.SHARPNESS / whole,
        "meaning": max(score.cosine, 0.0) / whole,
        "near": ranking.NEAR * (score.near or 0.0) / whole,
        "standing": standing,
    }


def _count_judgements(
    name: str, column: str, lines: Sequence[_Line], key: Callable[[_Line], str], order: Iterable[str] = ()
) -> Table:
    """Count the judgements of each kind by the value of `key`, most frequent first, or in the given `order`."""
    sums: dict[str, dict[str, int]] = {value: {} for value in order}
    for line in lines:
        kinds = sums.setdefault(key(line) or "-", {})
        kinds[line.kind] = kinds.get(line.kind, 0) + 1
    rows = [(value, *_row(kinds)) for value, kinds in sums.items() if kinds]
    if not order:
        rows.sort(key=lambda row: (-int(row[1] or 0), row[0]))
    return Table(name, (column, *_COLUMNS), tuple(rows[:MOST_ROWS]), len(rows) > MOST_ROWS)


def _row(kinds: Mapping[str, int]) -> tuple[int | float, ...]:
    counts = [kinds.get(kind, 0) for kind in (HELPFUL, NOT_RELEVANT, INCORRECT)]
    return sum(counts), *counts, round(counts[0] / sum(counts), 2)
