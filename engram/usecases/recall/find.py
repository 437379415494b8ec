"""Search by text, tags, category, agent, dates and scope; without a text, list the newest entries first."""

from __future__ import annotations

from datetime import timedelta

from engram.domain.entry import times
from engram.domain.entry.lore import ACTIVE
from engram.domain.errors import UsageError, ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.lookup.filter import Filter
from engram.usecases.lookup.listing import Shown, list_hits
from engram.usecases.opening import scopes
from engram.usecases.recall.query import query
from engram.usecases.recall.question import MAX_RESULTS, Question
from engram.usecases.store.people import with_authors
from engram.usecases.store.quarantine import load_active, without_quarantined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.catalog import Hit
    from engram.usecases.store.store import Store

_FOREVER = float("inf")


class Found(NamedTuple):
    """The entries that meet all conditions; `strength` is that of the answer to the text ("" without one)."""

    lore: tuple[Shown, ...]
    strength: str = ""
    notes: tuple[str, ...] = ()


def find(
    store: Store,
    text: str = "",
    *,
    tags: Sequence[str] = (),
    categories: Sequence[str] = (),
    agents: Sequence[str] = (),
    since: str = "",
    until: str = "",
    scope: str = "",
    limit: int = 10,
) -> Found:
    """Return active entries with all these tags, of these categories and agents, recorded from `since` to `until`.

    Both are dates or times; a date as `until` includes that day. With a text the best answers to it come first, else
    the newest entries; from `scope`, or from all scopes.
    Raises UsageError, ValidationError, NotFoundError, StoreError.
    """
    if not 1 <= limit <= MAX_RESULTS:
        raise UsageError(f"The limit must be from 1 to {MAX_RESULTS}, not {limit}.")
    begin, end = (
        _parse_time(since) if since else -_FOREVER,
        _parse_time(until, whole_day=True) if until else _FOREVER,
    )
    if text.strip():
        question = Question(
            text, limit, 0.0, tuple(categories), (), tuple(tags), scopes=(scope,) if scope else (),
            agents=tuple(agents), since=begin, until=end,
        )  # fmt: skip
        answer = query(store, question)
        lore = [Shown(hit.lore, hit.path, hit.ref, hit.scope, counted=hit.counted) for hit in answer.lore]
        return Found(tuple(lore), answer.strength, answer.notes)
    where = Filter(agents=tuple(agents), status=ACTIVE, since=begin, until=end)
    notes: list[str] = []
    with store.lock:
        found: dict[str, Shown] = {}
        for one in scopes.stores_to_search(store, (scope,) if scope else (), notes):
            for shown in _newest(one, limit, categories, tags, where, must=bool(scope)):
                found.setdefault(shown.lore.id, shown)
        order = sorted(found.values(), key=lambda one: (one.lore.created_at, one.lore.id), reverse=True)
        return Found(tuple(_assign_refs(store, order[:limit])), "", tuple(notes))


def _newest(
    store: Store, limit: int, categories: Sequence[str], tags: Sequence[str], where: Filter, *, must: bool
) -> list[Shown]:
    """Return the newest entries of one store; none if it lacks a category, unless it `must` have it."""

    def select(most: int | None) -> tuple[list[Hit], bool]:
        hits, total = list_hits(store, limit=most, categories=categories, tags=tags, where=where)
        return without_quarantined(store, hits), len(hits) == total

    try:
        found, is_all = select(2 * limit)
        if len(found) < limit and not is_all:
            found, _ = select(None)
    except ValidationError:
        if must:
            raise
        return []
    paths = [hit.path for hit in found][: limit + 1]
    return [
        Shown(lore, path, "", store.places.scope, counted=credit.of(store, lore))
        for path in paths
        for lore in with_authors(store, [*load_active(store, [path])])
    ]


def _assign_refs(store: Store, found: Sequence[Shown]) -> list[Shown]:
    if not found:
        return []
    elsewhere = {one.lore.id: one.scope for one in found if one.scope != store.stand.scope}
    pairs, now = [(one.lore.id, one.lore.title) for one in found], store.clock.now().timestamp()
    refs = store.session_state.surface(store.caller.session, pairs, now, elsewhere)
    return [one._replace(ref=refs[one.lore.id]) for one in found]


def _parse_time(text: str, *, whole_day: bool = False) -> float:
    try:
        moment = times.parse(text)
    except ValueError:
        raise UsageError(
            f"'{text[:60]}' is not a date.", "For example: 2026-11-01, or 2026-11-01T09:30:00Z"
        ) from None
    return (moment + timedelta(days=1) if whole_day and len(text.strip()) <= 10 else moment).timestamp()
