"""Detectors of the review queue: one function for each kind of item, from the index and the files it points to."""

from __future__ import annotations

import hashlib
import json
import marshal
from datetime import UTC, datetime
from functools import lru_cache
from sys import intern

from engram.domain.admission.junk import DOUBTFUL_LETTERS, why_junk
from engram.domain.consolidation.usefulness import importance
from engram.domain.entry import times
from engram.domain.entry.confidence import two_decimals
from engram.domain.entry.disputes import difference_lines, names_of
from engram.domain.entry.people import byline
from engram.domain.recall.budget import tokens
from engram.domain.review import priority, review
from engram.domain.review.code_changes import CHANGED
from engram.domain.review.review import Item, describe_conflicts, item_id
from engram.domain.similarity.equivalence import CONTRADICTION, SAME, is_shown, may_merge
from engram.domain.similarity.pair_groups import group_pairs
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.admission import credit
from engram.usecases.graph.entities import read_entities
from engram.usecases.graph.entity_conflicts import find_entity_conflicts
from engram.usecases.lookup.hits import hits_of
from engram.usecases.review import trust
from engram.usecases.review.captured_items import find_captured
from engram.usecases.review.items import PackedItem
from engram.usecases.review.proposal_items import find_proposals
from engram.usecases.review.stale_code import MOST_LORE, Stale, stale_code
from engram.usecases.similarity.pairs import find_pairs
from engram.usecases.store import entry_writer, people
from engram.usecases.store.quarantine import without_quarantined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
    from engram.domain.entry.lore import Lore
    from engram.domain.similarity.pairs import Pair
    from engram.usecases.review.items import Maker
    from engram.usecases.store.store import Store

    Detector = Callable[[Store, Generation], Sequence[Item | PackedItem]]

UNUSED_SECONDS = 180 * 86_400
_DAY = 86_400
_LEAST_CONFIDENCE = 300  # thousandths; entries below it are not recalled by default
_SHORT, _LONG = 120, 600  # characters; texts of a length between are not checked for junk
_MOST_LISTED = 2000
_CLAIMING = (
    f"status = 'active' AND ({credit.CLAIMING}) AND (source_id IS NULL"  # noqa: S608 - no text of a user
    " OR source_id NOT IN (SELECT value FROM json_each(?)) OR id IN (SELECT value FROM json_each(?)))"
)
_EXPIRED = "status = 'active' AND expires_at IS NOT NULL AND expires_at < ?"
# The columns that an item about one entry is made from. `_WORTH` follows them; it computes the same as `priority.worth`.
_PACKED = (
    "path", "title", "updated_at", "status", "length", "agent", "author", "last_validated", "expires_at", "confidence",
    "created_at",
)  # fmt: skip
_AUTHOR = _PACKED.index("author")
_WORTH = (
    "CAST({least} + (1000 - {least}) * coalesce(importance, CASE WHEN pinned THEN 1.0"
    " ELSE round(validation_count * 0.5 / (validation_count * 0.5 + 1), 2) END) / 2 + 0.5 AS INTEGER)"
)
# An imported entry keeps its time of creation, but counts as updated by the import. A person's own note, whose id has time
# 0 and is made from its path, neither fades nor becomes stale: its age is unknown.
_OLD = (
    "status = 'active' AND pinned = 0 AND created_at < ? AND max(updated_at, coalesce(last_validated, 0)) < ?"
    " AND id >= '0000000001'"
)


def find_problems(store: Store, generation: Generation) -> list[Item]:
    """Find files that cannot be recalled, and unreadable entity files."""
    return [
        Item(
            item_id(review.PROBLEM, [problem.path]), review.PROBLEM, (), (problem.path,), problem.path,
            f"{problem.message}{f' (line {problem.line})' if problem.line else ''}.", review.EDIT,
            (problem.hint,) if problem.hint else (), mark=problem.message, titles=(problem.path,),
            worth=priority.LEAST_WORTH[review.PROBLEM], certainty=priority.CERTAINTY[review.PROBLEM],
        )
        for problem in [*generation.catalog.problems(), *read_entities(store).problems]
    ]  # fmt: skip


def find_conflicts(store: Store, generation: Generation) -> list[Item]:
    """Find entries with a version that lost a merge."""
    items = []
    for hit in generation.catalog.select("conflicts > 0", (), "ORDER BY updated_at DESC, id"):
        lore = _load(store, hit)
        if lore is None or not lore.conflicts:
            continue
        why, _ = describe_conflicts(lore.conflicts)
        evidence = difference_lines(lore)
        latest = max(lore.conflicts, key=lambda conflict: conflict.at)
        item = _item(review.CONFLICT, [hit], why, review.ACCEPT, evidence)
        sides = tuple(sorted(names_of(latest)))  # the same on every clone, whichever version it shows
        items.append(item._replace(sides=sides) if latest.kept_source else item)
    return items


def find_pending(store: Store, generation: Generation) -> list[Item]:
    """Find pending entries, then captured ones; obvious junk is proposed for rejection."""
    found = generation.catalog.select("status = 'pending'", (), "ORDER BY created_at DESC, id")
    found = people.with_authors(store, found)
    pending = [
        _pending_item(hit, why_junk(lore.content) if (lore := _load(store, hit)) else "") for hit in found
    ]
    return [*pending, *find_captured(store)]


def _pending_item(hit: Hit, junk_because: str) -> Item:
    who = f"Recorded by {byline(hit.agent, hit.author)}, pending approval"
    if junk_because:
        return _item(review.PENDING, [hit], f"{who}; looks like junk: {junk_because}.", review.REJECT)
    item = _item(review.PENDING, [hit], f"{who}.", review.ACCEPT)
    return item._replace(worth=priority.REPORT) if hit.category in priority.REPORTS else item


def find_stale(store: Store, generation: Generation) -> list[Item | PackedItem]:
    """Find active entries that expired, whose code changed, or that were neither used, changed nor confirmed for 180 days."""
    # Entries that name files are checked first, newest first.
    order = f"ORDER BY files = '', created_at DESC, id LIMIT {MOST_LORE}"
    active = generation.catalog.select("status = 'active'", (), order)
    changed = [_changed_item(one) for one in stale_code(store, active)]
    aged = find_aged(store, generation)
    expired = {one.entry_id for one in aged if one.make is _expired_item}
    changed = [item for item in changed if item.lore[0] not in expired]
    known = {item.lore[0] for item in changed}
    return [*changed, *(one for one in aged if one.entry_id not in known)]


def find_aged(store: Store, generation: Generation, first: int | None = None) -> list[PackedItem]:
    """Find stale entries without comparing them with code: those that expired, then unused ones.

    With `first`, only about that many of each, those worth most.
    """
    now = store.clock.now().timestamp()
    expired = _pack_items(generation, review.STALE, _EXPIRED, [now], "expires_at, id", _expired_item, first)
    known = {one.entry_id for one in expired} | _used_ids(store, now)
    unused = _pack_items(
        generation, review.STALE, _OLD, _long_ago(now), "created_at, id", _unused_item, first
    )
    return [*expired, *(one for one in unused if one.entry_id not in known)]


def _pack_items(
    generation: Generation,
    kind: str,
    condition: str,
    values: Sequence[object],
    order: str,
    make: Maker,
    first: int | None = None,
) -> list[PackedItem]:
    """Return an item for each entry that meets a condition; `make` makes it when it is read."""
    certainty, worth = _certainty(kind, make), _WORTH.format(least=priority.LEAST_WORTH[kind])
    tail = f"ORDER BY {order}" if first is None else f"ORDER BY {worth} DESC, {order} LIMIT {first}"
    ids, packed = generation.catalog.select_packed((*_PACKED, worth), condition, values, tail)
    found = []
    for entry_id, line in zip(ids, packed, strict=True):
        *_, created, entry_worth = columns = marshal.loads(line)  # noqa: S302 - packed just now
        score, author = entry_worth * certainty // 1000, intern(columns[_AUTHOR] or "")
        found.append(
            PackedItem(item_id(kind, (entry_id,)), kind, score, created, entry_id, line, make, author)
        )
    return found


def _certainty(kind: str, make: Maker) -> int:
    if make is _expired_item:
        return priority.EXPIRED
    return priority.UNUSED if make is _unused_item else priority.CERTAINTY[kind]


def _expired_item(entry_id: str, line: tuple[Any, ...]) -> Item:
    return _make_item(
        review.STALE, entry_id, line, _expired_reason(line[_PACKED.index("expires_at")]), _expired_item
    )


def _unused_item(entry_id: str, line: tuple[Any, ...]) -> Item:
    updated, validated = line[_PACKED.index("updated_at")], line[_PACKED.index("last_validated")]
    return _make_item(review.STALE, entry_id, line, _unused_reason(updated, validated), _unused_item)


def _weak_item(entry_id: str, line: tuple[Any, ...]) -> Item:
    why = f"Its confidence is {two_decimals(line[_PACKED.index('confidence')])}."
    return _make_item(review.WEAK, entry_id, line, why, _weak_item)


def _make_item(kind: str, entry_id: str, line: tuple[Any, ...], why: str, make: Maker) -> Item:
    """Make the item of one entry from its packed columns; archiving is proposed."""
    path, title, updated, status, length, agent, author, *_, created, worth = line
    digest = _mark([(entry_id, updated, status, length)])
    return Item(
        item_id(kind, (entry_id,)), kind, (entry_id,), (path,), title, why, review.ARCHIVE, (), tokens("x" * length),
        digest, agent or "", (), (title,), created, worth, _certainty(kind, make), author or "",
    )  # fmt: skip


def choose_to_archive(store: Store, generation: Generation, active: Iterable[Hit]) -> dict[str, str]:
    """Choose entries of `active` to archive: their ids with the reason. Entries whose code changed are left out."""
    now = store.clock.now().timestamp()
    rows, used = set(generation.catalog.select_rows(_OLD, _long_ago(now))), _used_ids(store, now)
    expired = [hit for hit in active if hit.expires_at is not None and hit.expires_at < now]
    unused = [hit for hit in active if hit.row in rows and hit.id not in used]
    found = {
        hit.id: _expired_reason(hit.expires_at)
        for hit in sorted(expired, key=lambda hit: (hit.expires_at, hit.id))
    }
    unused.sort(key=lambda hit: (hit.created_at, hit.id))
    changed = {one.hit.id for one in stale_code(store, unused)}
    return found | {
        hit.id: _unused_reason(hit.updated_at, hit.last_validated)
        for hit in unused
        if hit.id not in changed and hit.id not in found
    }


def _expired_reason(at: float | None) -> str:
    return f"It expired on {_day(at)}."


def _long_ago(now: float) -> list[object]:
    """Return the parameters of `_OLD`."""
    return [now - UNUSED_SECONDS] * 2


def _used_ids(store: Store, now: float) -> set[str]:
    """Return the ids of entries used within UNUSED_SECONDS."""
    return store.state.used_since(now - UNUSED_SECONDS)


def _unused_reason(updated: float, validated: float | None) -> str:
    return f"Neither recalled, changed nor confirmed since {_day(max(updated, validated or 0))}."


def _changed_item(stale: Stale) -> Item:
    """Make the item of an entry whose code changed; a person decides whether it is still valid."""
    first, *others = stale.findings
    more = f" (and {len(others)} more)" if others else ""
    why = f"Since {_day(stale.since)} {first.what}{more}."
    proposal = review.ACCEPT if first.grade == CHANGED else review.EDIT
    return _item(review.STALE, [stale.hit], why, proposal, [finding.difference for finding in stale.findings])


def find_weak(_store: Store, generation: Generation, first: int | None = None) -> list[PackedItem]:
    """Find active entries below the confidence of recall; with `first`, only that many, those worth most."""
    condition = "status = 'active' AND confidence < ?"
    return _pack_items(
        generation, review.WEAK, condition, [_LEAST_CONFIDENCE], "confidence, id", _weak_item, first
    )


def find_common_moments(store: Store, generation: Generation) -> list[Item]:
    """Find active entries with a moment that matches too many events, and is therefore not used."""
    from engram.adapters.state.moment_counts import TOO_COMMON, MomentCounts

    common = {one.line: one for one in MomentCounts(store.state).common()}
    if not common:
        return []
    items = []
    condition = "status = 'active' AND \"when\" != ''"
    for hit in generation.catalog.select(condition, (), "ORDER BY created_at DESC, id"):
        found = [common[line] for line in hit.when.split("\n") if line in common]
        if found:
            worst = max(found, key=lambda one: one.fitted / one.events)
            why = (
                f"Its moment `{worst.line}` fits {worst.fitted:,} of {worst.events:,} events here,"
                f" more than one in {TOO_COMMON}, so it is not used."
            )
            items.append(_item(review.MOMENT, [hit], why, review.EDIT))
    return items


def find_junk(store: Store, generation: Generation) -> list[Item]:
    """Find unconfirmed entries that look like junk."""
    condition = "status = 'active' AND pinned = 0 AND validation_count = 0 AND (length < ? OR length > ?)"
    items = []
    order = f"ORDER BY created_at DESC, id LIMIT {_MOST_LISTED}"
    for hit in generation.catalog.select(condition, [_SHORT, _LONG], order):
        lore = _load(store, hit)
        why = why_junk(lore.content, DOUBTFUL_LETTERS) if lore else ""
        if why:
            items.append(_item(review.JUNK, [hit], f"Looks like junk: {why}.", review.REJECT))
    return items


def find_quarantined(store: Store, generation: Generation) -> list[Item]:
    """Find quarantined entries from elsewhere (see `trust.hold`)."""
    items = []
    for entry in trust.list_quarantined(store):
        lore = entry.lore
        machine = people.known_machine(store, lore.source_id)
        source = [f"by {byline(lore.agent, lore.author)}{f', on {machine}' if machine else ''}"]
        source += [f"commit {entry.commit[:10]}"] if entry.commit else []
        hits = generation.catalog.select("id = ? AND path = ?", [lore.id, entry.path])
        why = f"In quarantine: {entry.why}."
        items += [_item(review.FOREIGN, [hit], why, review.ACCEPT, source) for hit in hits]
    return items


def find_foreign(store: Store, generation: Generation) -> list[Item]:
    """Find what came from elsewhere and is ignored until accepted: entries in quarantine, and claims about entries."""
    return [*find_quarantined(store, generation), *_find_claims(store, generation)]


def _find_claims(store: Store, generation: Generation) -> list[Item]:
    """Find entries about which another clone makes claims that nobody accepted here."""
    noted, own = credit.noted_ids(store), sorted(credit.own_sources(store, ("",)))
    values = [json.dumps(own), json.dumps(noted)]
    hits = generation.catalog.select(_CLAIMING, values, f"ORDER BY updated_at DESC, id LIMIT {_MOST_LISTED}")
    hits = people.with_authors(store, hits)
    items = []
    for hit, claims in credit.with_unaccepted_claims(store, without_quarantined(store, hits)):
        what = " and ".join(claims)
        why = f"Another clone made it {what}, which does not count here yet."
        item = _item(review.FOREIGN, [hit], why, review.ACCEPT, [f"by {byline(hit.agent, hit.author)}"])
        digest = hashlib.blake2b(f"{hit.text_digest} {what}".encode(), digest_size=8).hexdigest()
        items.append(
            item._replace(id=item_id(review.FOREIGN, [hit.id, "claims"]), mark=digest, claims=tuple(claims))
        )
    return items


def find_duplicates(store: Store, generation: Generation) -> list[Item]:
    """Find groups of duplicate entries, largest first."""
    found = [pair for pair in find_pairs(store) if pair.kind != CONTRADICTION]
    grouped = sorted(group_pairs(found), key=lambda group: (-len(group), group))
    hits = hits_of(generation, [lore_id for group in grouped for lore_id in group])
    pairs_by_ends = {frozenset((pair.one, pair.other)): pair for pair in found}
    items = []
    for group in grouped:
        if all(lore_id in hits for lore_id in group):
            inside = [pair for ends, pair in pairs_by_ends.items() if ends <= set(group)]
            is_complete = len(inside) == len(group) * (len(group) - 1) / 2
            proposal = review.MERGE if is_complete and _may_merge(store, hits, inside) else review.LOOK
            ends = [hits[lore_id] for lore_id in group]
            items.append(_pair_item(review.DUPLICATE, ends, inside, proposal))
    return items


def find_contradictions(store: Store, generation: Generation) -> list[Item]:
    """Find pairs of entries that contradict each other, strongest first."""
    found = [
        pair for pair in find_pairs(store)
        if pair.kind == CONTRADICTION and is_shown(pair.kind, pair.strength, pair.cosine)
    ]  # fmt: skip
    hits = hits_of(generation, [lore_id for pair in found for lore_id in (pair.one, pair.other)])
    return [
        _pair_item(review.CONTRADICTION, [hits[pair.one], hits[pair.other]], [pair], review.LOOK)
        for pair in found
        if pair.one in hits and pair.other in hits
    ]


def _may_merge(store: Store, hits: Mapping[str, Hit], found: Iterable[Pair]) -> bool:
    """Return whether merging all of these pairs may be proposed."""
    for pair in found:
        one, other = _load(store, hits[pair.one]), _load(store, hits[pair.other])
        if not (one and other and may_merge(pair.kind, pair.strength, one.content, other.content)):
            return False
    return True


def _pair_item(kind: str, hits: Sequence[Hit], found: Sequence[Pair], proposal: str) -> Item:
    strongest = max(found, key=lambda pair: (pair.strength, pair.one, pair.other))
    what = "Says the same as" if strongest.kind == SAME else "May say the same as"
    what = "May contradict" if kind == review.CONTRADICTION else what
    others = f"{len(hits) - 1} others" if len(hits) > 2 else f"'{hits[1].title}'"
    why = f"{what} {others}: {strongest.why} (strength {strongest.strength:.2f}, cosine {strongest.cosine:.2f})."
    item = _item(kind, hits, why, proposal, [f"{hit.id} {hit.title}" for hit in hits])
    return item._replace(certainty=round(strongest.strength * 1000))


def _item(kind: str, hits: Sequence[Hit], why: str, proposal: str, evidence: Iterable[str] = ()) -> Item:
    """Make an item about these entries, of which the last is the newest."""
    ids, paths = tuple(hit.id for hit in hits), tuple(hit.path for hit in hits)
    cost = sum(tokens("x" * hit.length) for hit in hits)
    return Item(
        item_id(kind, ids), kind, ids, paths, hits[0].title, why, proposal, tuple(evidence), cost, mark(hits),
        hits[-1].agent or "", (), tuple(hit.title for hit in hits), hits[-1].created_at,
        priority.worth(kind, max(map(_importance, hits))), priority.CERTAINTY.get(kind, 0), hits[-1].author or "",
    )  # fmt: skip


def _importance(hit: Hit) -> float:
    return importance(hit.importance, pinned=bool(hit.pinned), helpful=hit.validation_count, shown=0)


def _load(store: Store, hit: Hit) -> Lore | None:
    file = entry_writer.load_readable(store, hit.path)
    return file.lore if file else None


def _day(stamp: float | None) -> str:
    return _date((stamp or 0) // _DAY)


@lru_cache(4096)
def _date(day: float) -> str:
    """Format a day by its number; cached, since many entries share one."""
    return times.render(datetime.fromtimestamp(day * _DAY, UTC))[:10]


def mark(hits: Iterable[Hit]) -> str:
    """Return a digest that changes when one of these entries is edited, but not when its confidence decays."""
    return _mark([(hit.id, hit.updated_at, hit.status, hit.length) for hit in hits])


def _mark(facts: Sequence[tuple[object, ...]]) -> str:
    return hashlib.blake2b(repr(facts).encode(), digest_size=8).hexdigest()


DETECTORS: dict[str, Detector] = {
    review.PROBLEM: find_problems,
    review.CONFLICT: find_conflicts,
    review.ENTITY: find_entity_conflicts,
    review.PROPOSAL: find_proposals,
    review.FOREIGN: find_foreign,
    review.PENDING: find_pending,
    review.CONTRADICTION: find_contradictions,
    review.DUPLICATE: find_duplicates,
    review.JUNK: find_junk,
    review.STALE: find_stale,
    review.WEAK: find_weak,
    review.MOMENT: find_common_moments,
}
