"""What a lore is worth: how often it was shown and helped, what it cost, which questions only it answers."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

TOP = 3
PROMOTED_FROM = 0.5  # importance
PROMOTED_USES = 2
_HELPFUL, _SHOWN, _ALONE, _LINK, _RANK = 0.5, 0.05, 0.25, 0.25, 0.5
_SHOWN_MOST = 10  # to be shown often is little proof: what helps nobody is shown as well


class Answered(NamedTuple):
    """What a past query shows now: the ids, best first, and those without which its answer would be weaker."""

    ids: tuple[str, ...]
    alone: tuple[str, ...] = ()


class Worth(NamedTuple):
    """The worth of one lore.

    `shown` counts the answers it was in, on this machine; `helpful` how often it was found so, by all clones;
    `tokens` what showing it cost in all; `top` the past queries among whose first three it is now; `alone` those that
    it answers alone: without it their answer would be weaker, or none; `links` the lore that name it in a relation.
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
    """0..1: what its file says, else 1 for a pinned lore, else what use, links and graph (`rank`, 0..1) speak for.

    0.5 are two times helpful, or once and shown ten times, or two lore that name it and two questions it alone answers.
    """
    if stated is not None:
        return stated
    if pinned:
        return 1.0
    points = (
        _HELPFUL * helpful + _SHOWN * min(shown, _SHOWN_MOST) + _ALONE * alone + _LINK * links + _RANK * rank
    )
    return round(points / (points + 1), 2)


def answers_by_lore(answers: Mapping[str, Answered]) -> dict[str, tuple[int, tuple[str, ...]]]:
    """For each lore: in how many of the answers it is among the first three, and the queries it answers alone."""
    top: dict[str, int] = {}
    alone: dict[str, list[str]] = {}
    for query, answered in answers.items():
        for lore_id in answered.ids[:TOP]:
            top[lore_id] = top.get(lore_id, 0) + 1
        for lore_id in answered.alone:
            alone.setdefault(lore_id, []).append(query)
    return {lore_id: (top.get(lore_id, 0), tuple(alone.get(lore_id, ()))) for lore_id in top.keys() | alone}
