"""What finds the items of the review queue that the index can tell: each kind has one function."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from engram.domain.admission.junk import DOUBTFUL_LETTERS, why_junk
from engram.domain.entry import times
from engram.domain.entry.confidence import two_decimals
from engram.domain.errors import EngramError
from engram.domain.recall.budget import tokens
from engram.domain.review import review
from engram.domain.review.code_changes import CHANGED
from engram.domain.review.review import Item, item_id, versions_told
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.graph.entities import known
from engram.usecases.graph.entity_conflicts import entity_conflicts
from engram.usecases.review import trust
from engram.usecases.review.mark import mark
from engram.usecases.review.pair_items import contradictions, duplicates
from engram.usecases.review.stale_code import MOST_LORE, stale_code
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.generation import Generation
    from engram.domain.entry.lore import Lore
    from engram.usecases.review.stale_code import Stale
    from engram.usecases.store.store import Store

    Detector = Callable[[Store, Generation], list[Item]]

UNUSED_SECONDS = 180 * 86_400
_DAY = 86_400
_COLD = 300  # thousandths: below it nothing is recalled by default
_SHORT, _LONG = 120, 600  # characters: what lies between is neither too short nor a dump
_LISTED = 2000
_OLD = (
    "status = 'active' AND pinned = 0 AND created_at < ? AND (last_validated IS NULL OR last_validated < ?)"
)


def problems(store: Store, generation: Generation) -> list[Item]:
    """Files that cannot be recalled, and those of entities that count for nothing."""
    return [
        Item(
            item_id(review.PROBLEM, [found.path]), review.PROBLEM, (), (found.path,), found.path,
            f"{found.message}{f' (line {found.line})' if found.line else ''}.", review.EDIT, (found.hint,) if found.hint else (),
            mark=found.message,
        )
        for found in [*generation.catalog.problems(), *known(store).problems]
    ]  # fmt: skip


def conflicts(store: Store, generation: Generation) -> list[Item]:
    """Lore with a version that lost a merge."""
    items = []
    for hit in generation.catalog.select("conflicts > 0", (), "ORDER BY updated_at DESC, id"):
        lore = _lore(store, hit)
        if lore is None or not lore.conflicts:
            continue
        why, evidence = versions_told(lore.conflicts)
        items.append(_item(review.CONFLICT, hit, why, review.ACCEPT, evidence))
    return items


def pending(store: Store, generation: Generation) -> list[Item]:
    """Lore that waits to be let in; what is plainly junk is proposed to go."""
    found = generation.catalog.select("status = 'pending'", (), "ORDER BY created_at DESC, id")
    return [_waiting(hit, why_junk(lore.content) if (lore := _lore(store, hit)) else "") for hit in found]


def _waiting(hit: Hit, junk_because: str) -> Item:
    who = f"Recorded by {hit.agent or 'unknown'}, waits to be let in"
    if junk_because:
        return _item(review.PENDING, hit, f"{who}; looks like junk: {junk_because}.", review.REJECT)
    return _item(review.PENDING, hit, f"{who}.", review.ACCEPT)


def stale(store: Store, generation: Generation) -> list[Item]:
    """Active lore that has expired, whose code has changed, or that nobody used or confirmed for half a year."""
    items = [
        _item(review.STALE, hit, _expired_why(hit), review.ARCHIVE) for hit in _expired(store, generation)
    ]
    known = {item.lore[0] for item in items}
    items += [_changed(one) for one in stale_code(store, _anchored(generation)) if one.hit.id not in known]
    known = {item.lore[0] for item in items}
    return items + [
        _item(review.STALE, hit, _unused_why(hit), review.ARCHIVE)
        for hit in _unused(store, generation)
        if hit.id not in known
    ]


def to_archive(store: Store, generation: Generation, active: Iterable[Hit]) -> dict[str, str]:
    """Those of `active` lore that are proposed to be archived, by id, and why: their code has not changed."""
    now = store.clock.now().timestamp()
    rows, used = set(generation.catalog.select_rows(_OLD, _long_ago(now))), _used(store, now)
    expired = [hit for hit in active if hit.expires_at is not None and hit.expires_at < now]
    unused = [hit for hit in active if hit.row in rows and hit.id not in used]
    found = {hit.id: _expired_why(hit) for hit in sorted(expired, key=lambda hit: (hit.expires_at, hit.id))}
    unused.sort(key=lambda hit: (hit.created_at, hit.id))
    changed = {one.hit.id for one in stale_code(store, unused)}
    return found | {
        hit.id: _unused_why(hit) for hit in unused if hit.id not in changed and hit.id not in found
    }


def _expired(store: Store, generation: Generation) -> list[Hit]:
    condition = "status = 'active' AND expires_at IS NOT NULL AND expires_at < ?"
    return generation.catalog.select(condition, [store.clock.now().timestamp()], "ORDER BY expires_at, id")


def _expired_why(hit: Hit) -> str:
    return f"It expired on {_day(hit.expires_at)}."


def _unused(store: Store, generation: Generation) -> list[Hit]:
    now = store.clock.now().timestamp()
    found, used = (
        generation.catalog.select(_OLD, _long_ago(now), "ORDER BY created_at, id"),
        _used(store, now),
    )
    return [hit for hit in found if hit.id not in used]


def _long_ago(now: float) -> list[object]:
    """The values of `_OLD`."""
    return [now - UNUSED_SECONDS] * 2


def _used(store: Store, now: float) -> set[str]:
    """The lore that were used since."""
    return store.state.used_since(now - UNUSED_SECONDS)


def _unused_why(hit: Hit) -> str:
    return f"Since {_day(hit.last_validated or hit.created_at)} nobody recalled or confirmed it."


def _anchored(generation: Generation) -> list[Hit]:
    """The active lore, those that name files first, the newest of each first."""
    order = f"ORDER BY files = '', created_at DESC, id LIMIT {MOST_LORE}"
    return generation.catalog.select("status = 'active'", (), order)


def _changed(one: Stale) -> Item:
    """The item of a lore whose code has changed: what of it and how; whether it still holds a person has to see."""
    first, *others = one.findings
    more = f" (and {len(others)} more)" if others else ""
    why = f"Since {_day(one.since)} {first.what}{more}."
    proposal = review.ACCEPT if first.grade == CHANGED else review.EDIT
    return _item(review.STALE, one.hit, why, proposal, [finding.difference for finding in one.findings])


def weak(_store: Store, generation: Generation) -> list[Item]:
    """Active lore whose confidence is cold."""
    found = generation.catalog.select(
        "status = 'active' AND confidence < ?", [_COLD], "ORDER BY confidence, id"
    )
    return [
        _item(review.WEAK, hit, f"Its confidence is {two_decimals(hit.confidence)}.", review.ARCHIVE)
        for hit in found
    ]


def junk(store: Store, generation: Generation) -> list[Item]:
    """Lore that nobody confirmed and that say nothing."""
    condition = "status = 'active' AND pinned = 0 AND validation_count = 0 AND (length < ? OR length > ?)"
    items = []
    for hit in generation.catalog.select(
        condition, [_SHORT, _LONG], f"ORDER BY created_at DESC, id LIMIT {_LISTED}"
    ):
        lore = _lore(store, hit)
        why = why_junk(lore.content, DOUBTFUL_LETTERS) if lore else ""
        if why:
            items.append(_item(review.JUNK, hit, f"Looks like junk: {why}.", review.REJECT))
    return items


def foreign(store: Store, generation: Generation) -> list[Item]:
    """Lore that came from elsewhere and waits until it is accepted, as `trust.hold` says."""
    items = []
    for one in trust.quarantined(store):
        lore = one.lore
        said = [f"by {lore.agent or 'unknown'}, clone {lore.source_id or 'unknown'}"]
        said += [f"commit {one.commit[:10]}"] if one.commit else []
        hits = generation.catalog.select("id = ? AND path = ?", [lore.id, one.path])
        items += [_item(review.FOREIGN, hit, f"It waits: {one.why}.", review.ACCEPT, said) for hit in hits]
    return items


DETECTORS: dict[str, Detector] = {
    review.PROBLEM: problems,
    review.CONFLICT: conflicts,
    review.ENTITY: entity_conflicts,
    review.FOREIGN: foreign,
    review.PENDING: pending,
    review.CONTRADICTION: contradictions,
    review.DUPLICATE: duplicates,
    review.JUNK: junk,
    review.STALE: stale,
    review.WEAK: weak,
}


def _item(kind: str, hit: Hit, why: str, proposal: str, evidence: Iterable[str] = ()) -> Item:
    return Item(
        item_id(kind, [hit.id]), kind, (hit.id,), (hit.path,), hit.title, why, proposal, tuple(evidence),
        tokens("x" * hit.length), mark([hit]), hit.agent or "",
    )  # fmt: skip


def _lore(store: Store, hit: Hit) -> Lore | None:
    try:
        return entry_writer.load(store, hit.path).lore
    except EngramError:
        return None


def _day(stamp: float | None) -> str:
    return _date((stamp or 0) // _DAY)


@lru_cache(4096)
def _date(day: float) -> str:
    """A day by its number: many lore are of one."""
    return times.render(datetime.fromtimestamp(day * _DAY, UTC))[:10]
