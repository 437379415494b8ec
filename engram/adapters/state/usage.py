"""Usage of each entry by the activity log and feedback of this clone, and the questions asked."""

from __future__ import annotations

import json
from itertools import chain

from engram.adapters.state.activity_table import MOST_KEPT
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.adapters.state.database import StateDatabase

_SPAN = 28 * 86_400


class Usage(NamedTuple):
    """By lore id: in how many answers it was `shown`, when it was `used` (Unix seconds; at least one of each month), and
    who was `helpful`. `queries` are the questions, the latest first, with the ids that they showed.
    """

    shown: dict[str, int]
    used: dict[str, list[float]]
    helpful: set[str]
    queries: dict[str, set[str]]


def usage(databases: Iterable[StateDatabase]) -> Usage:
    """Return all that these state databases say. Raises StoreError where another process holds one."""
    found = Usage({}, {}, set(), {})
    asked: list[tuple[float, str, list[str]]] = []
    spans: dict[str, dict[int, tuple[float, float]]] = {}
    for database in databases:
        asked += [(at, query, json.loads(ids)) for at, query, ids in database.live.answers(MOST_KEPT)]
        for lore_id, kind, at in database.run("SELECT id, kind, at FROM feedback"):
            _note(spans, lore_id, at)
            if kind == "helpful":
                found.helpful.add(lore_id)
    for at, query, ids in sorted(asked, key=lambda line: -line[0]):
        if query:
            found.queries.setdefault(query, set()).update(ids)
        for lore_id in ids:
            found.shown[lore_id] = found.shown.get(lore_id, 0) + 1
            _note(spans, lore_id, at)
    found.used.update(
        {lore_id: sorted({*chain(*found_spans.values())}) for lore_id, found_spans in spans.items()}
    )
    return found


def _note(spans: dict[str, dict[int, tuple[float, float]]], lore_id: str, at: float) -> None:
    """Remember the first and last use of each 28 days: no month of the calendar in which there was one is missed."""
    found = spans.setdefault(lore_id, {})
    slot = int(at // _SPAN)
    first, last = found.get(slot, (at, at))
    found[slot] = (min(first, at), max(last, at))
