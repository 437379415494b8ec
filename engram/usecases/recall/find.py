"""Searching by structure: text, tags, category, agent, dates and scope together; without a text, the newest first."""

from __future__ import annotations

from datetime import timedelta

from engram.domain.entry import times
from engram.domain.entry.lore import ACTIVE
from engram.domain.errors import UsageError, ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.lookup.listing import Narrow, Shown, list_hits
from engram.usecases.opening import scopes
from engram.usecases.recall.query import MAX_RESULTS, Question, query
from engram.usecases.store.quarantine import loaded, without_quarantined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store

_FOREVER = float("inf")


class Found(NamedTuple):
    """Lore that fulfil every filter; `strength` says how well they answer the text ("" without one)."""

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
    """Active lore with all these tags, of these categories and agents, recorded from `since` to `until` (dates or times).

    A date as `until` is that whole day. With a text the best answers to it, else the newest; of `scope`, or of all.
    Raises UsageError, ValidationError, NotFoundError, StoreError.
    """
    if not 1 <= limit <= MAX_RESULTS:
        raise UsageError(f"The limit must be from 1 to {MAX_RESULTS}, not {limit}.")
    begin, end = _moment(since) if since else -_FOREVER, _moment(until, whole_day=True) if until else _FOREVER
    if text.strip():
        question = Question(
            text, limit, 0.0, tuple(categories), (), tuple(tags), scopes=(scope,) if scope else (),
            agents=tuple(agents), since=begin, until=end,
        )  # fmt: skip
        answer = query(store, question)
        shown = [Shown(hit.lore, hit.path, hit.ref, hit.scope) for hit in answer.lore]
        return Found(tuple(shown), answer.strength, answer.notes)
    narrow = Narrow(agents=tuple(agents), since=begin, until=min(end, 1e12))
    notes: list[str] = []
    with store.lock:
        found: dict[str, Shown] = {}
        for one in scopes.asked(store, (scope,) if scope else (), notes):
            for shown_one in _newest(one, limit, categories, tags, narrow, must=bool(scope)):
                found.setdefault(shown_one.lore.id, shown_one)
        order = sorted(found.values(), key=lambda one: (one.lore.created_at, one.lore.id), reverse=True)
        return Found(tuple(_surfaced(store, order[:limit])), "", tuple(notes))


def _newest(
    store: Store, limit: int, categories: Sequence[str], tags: Sequence[str], narrow: Narrow, *, must: bool
) -> list[Shown]:
    """The newest of one store; none where it has no such category, unless it `must` have."""
    filters = {"categories": categories, "status": ACTIVE, "tags": tags, "narrow": narrow}
    try:
        hits, total = list_hits(store, limit=2 * limit, **filters)  # type: ignore[arg-type]
        found = without_quarantined(store, hits)
        if len(found) < limit and len(hits) < total:
            found = without_quarantined(store, list_hits(store, limit=None, **filters)[0])  # type: ignore[arg-type]
    except ValidationError:
        if must:
            raise
        return []
    paths = [hit.path for hit in found if hit.created_at < narrow.until][: limit + 1]
    return [Shown(lore, path, "", store.places.scope) for path in paths for lore in loaded(store, [path])]


def _surfaced(store: Store, found: Sequence[Shown]) -> list[Shown]:
    if not found:
        return []
    elsewhere = {one.lore.id: one.scope for one in found if one.scope != store.stand.scope}
    pairs, now = [(one.lore.id, one.lore.title) for one in found], store.clock.now().timestamp()
    refs = store.session_state.surface(store.caller.session, pairs, now, elsewhere)
    return [one._replace(ref=refs[one.lore.id]) for one in found]


def _moment(text: str, *, whole_day: bool = False) -> float:
    try:
        moment = times.parse(text)
    except ValueError:
        raise UsageError(
            f"'{text[:60]}' is no date.", "For example: 2026-11-01, or 2026-11-01T09:30:00Z"
        ) from None
    return (moment + timedelta(days=1) if whole_day and len(text.strip()) <= 10 else moment).timestamp()
