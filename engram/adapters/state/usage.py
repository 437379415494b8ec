"""The usage of each entry and past questions, by the activity log and feedback of this clone."""

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
    """By entry id: in how many answers it was `shown`, and when it was `used` (Unix seconds; at least once for each month).

    `helpful` are the ids that helped; `queries` are the questions, the latest first, with the ids that they showed.
    """

    shown: dict[str, int]
    used: dict[str, list[float]]
    helpful: set[str]
    queries: dict[str, set[str]]


def usage(databases: Iterable[StateDatabase]) -> Usage:
    """Return the usage in these state databases. Raises StoreError if another process holds one."""
    found = Usage({}, {}, set(), {})
    answers: list[tuple[float, str, list[str]]] = []
    spans: dict[str, dict[int, tuple[float, float]]] = {}
    for database in databases:
        answers += [(at, query, json.loads(ids)) for at, query, ids in database.live.answers(MOST_KEPT)]
        for lore_id, kind, at in database.run("SELECT id, kind, at FROM feedback"):
            _note(spans, lore_id, at)
            if kind == "helpful":
                found.helpful.add(lore_id)
    for at, query, ids in sorted(answers, key=lambda answer: -answer[0]):
        if query:
            found.queries.setdefault(query, set()).update(ids)
        for lore_id in ids:
            found.shown[lore_id] = found.shown.get(lore_id, 0) + 1
            _note(spans, lore_id, at)
    found.used.update({lore_id: sorted({*chain(*slots.values())}) for lore_id, slots in spans.items()})
    return found


def _note(spans: dict[str, dict[int, tuple[float, float]]], lore_id: str, at: float) -> None:
    """Note the first and last use in each span of 28 days, which covers every calendar month with a use."""
    found = spans.setdefault(lore_id, {})
    slot = int(at // _SPAN)
    first, last = found.get(slot, (at, at))
    found[slot] = (min(first, at), max(last, at))
