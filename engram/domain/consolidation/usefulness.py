"""The usefulness of an entry: how often it was shown and helped, its cost, and the queries that only it answers."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

TOP = 3
PROMOTED_FROM = 0.5  # importance
PROMOTED_USES = 2
# Weights of the importance of an entry: helpful judgements, being shown, queries that it alone answers, links, rank.
_HELPFUL = 0.5
_SHOWN = 0.05
_ALONE = 0.25
_LINK = 0.25
_RANK = 0.5
_MAX_SHOWN = 10  # being shown is weak evidence: unhelpful entries are shown, too


class Answered(NamedTuple):
    """The answer to a past query: ids, best first, and those without which it would be weaker (`alone`)."""

    ids: tuple[str, ...]
    alone: tuple[str, ...] = ()


class Usefulness(NamedTuple):
    """The usefulness of one entry.

    `shown` counts the answers with it on this machine, `helpful` the helpful judgements of all clones, `tokens` is the
    total cost of showing it. `top` counts the past queries that rank it in the first three, `alone` lists those that it
    answers alone: without it their answer would be weaker or empty. `links` counts the entries with a relation to it.
    """

    id: str
    path: str
    title: str
    shown: int
    helpful: int
    tokens: int
    top: int
    alone: tuple[str, ...]
    links: int
    importance: float


def importance(
    stated: float | None,
    *,
    pinned: bool,
    helpful: int,
    shown: int,
    alone: int = 0,
    links: int = 0,
    rank: float = 0.0,
) -> float:
    """Compute the importance, 0..1: as stated, 1 if pinned, else from use, links and graph rank (`rank`, 0..1).

    To reach 0.5 takes two helpful judgements; or one and being shown ten times; or two links and two queries answered alone.
    """
    if stated is not None:
        return stated
    if pinned:
        return 1.0
    points = (
        _HELPFUL * helpful + _SHOWN * min(shown, _MAX_SHOWN) + _ALONE * alone + _LINK * links + _RANK * rank
    )
    return round(points / (points + 1), 2)


def answers_by_lore(answers: Mapping[str, Answered]) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Map each entry to the number of answers that rank it in the first three, and the queries it answers alone."""
    top: dict[str, int] = {}
    alone: dict[str, list[str]] = {}
    for query, answered in answers.items():
        for lore_id in answered.ids[:TOP]:
            top[lore_id] = top.get(lore_id, 0) + 1
        for lore_id in answered.alone:
            alone.setdefault(lore_id, []).append(query)
    return {lore_id: (top.get(lore_id, 0), tuple(alone.get(lore_id, ()))) for lore_id in top.keys() | alone}
