"""Steps of consolidation that time brings: lore that nobody uses lose confidence by the month, and are archived at last."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from engram.domain.consolidation.consolidation import ARCHIVE, DECAY, Step
from engram.domain.entry import decay, ulid
from engram.domain.entry.categories import SEMANTIC
from engram.domain.entry.confidence import FULL, Vote, clamp, two_decimals
from engram.domain.review.review import STALE, item_id
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.review import detectors
from engram.usecases.review.mark import mark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.index.catalog import Hit
    from engram.domain.entry.lore import Lore
    from engram.usecases.consolidation.survey import Look

_ACCOUNT = re.compile(rb"(idle\.\d{4}-\d\d): \{up: (\d+), down: (\d+), n: (\d+)\}")


def stale(look: Look) -> dict[str, str]:
    """Lore that expired, or that nobody used or validated for half a year, and why each is; not what was set aside.

    What is stale because its code changed may still hold: that is for a person to say.
    """
    long_ago = _moment(look.now.timestamp() - detectors.UNUSED_SECONDS)
    with look.store.lock:
        aside = look.store.state.set_aside(look.now.timestamp())
    active, found = look.hits.values(), {}
    for lore_id, why in detectors.to_archive(look.store, look.generation, active).items():
        hit = look.hits.get(lore_id)
        if hit is None or (aside and aside.get(item_id(STALE, [lore_id])) == mark([hit])):
            continue
        expired = hit.expires_at is not None and _moment(hit.expires_at) < look.now
        if expired or all(use < long_ago for use in look.uses(lore_id)):
            found[lore_id] = why[:1].lower() + why[1:].rstrip(".")
    return found


def archives(look: Look, old: Mapping[str, str]) -> list[Step]:
    """Steps for the lore that are stale, unless another step is about them."""
    wanted = [look.hits[lore_id] for lore_id in old if lore_id not in look.taken]
    look.taken.update(hit.id for hit in wanted)
    return [_step(look, ARCHIVE, hit, old[hit.id], hit.confidence) for hit in wanted]


def decays(look: Look) -> list[Step]:
    """Lore of a semantic type that lose 0.01 for each month in which nobody used or validated them."""
    steps = []
    for hit in look.hits.values():
        if hit.type != SEMANTIC or hit.pinned or hit.id in look.taken:
            continue
        known, total = _known(look, hit)
        accounts = _changes(look, hit, known, total)
        if accounts:
            after = clamp(total + decay.balance(known, accounts))
            steps.append(_step(look, DECAY, hit, _why(accounts), after, accounts))
    return steps


def faded(look: Look, lore: Lore, members: Sequence[str]) -> Lore:
    """A lore that others were folded into, without what it lost by time; a use of any of them was one of it."""
    if lore.type != SEMANTIC or lore.pinned:
        return lore
    uses = look.uses(*members) + [ulid.moment(one) for one in members[1:]]
    start = max(lore.created_at, lore.last_validated or lore.created_at)
    idle = decay.idle_months(start, uses, look.now)
    used = decay.used_months([*uses, lore.last_validated])
    return decay.decayed(lore, decay.account_changes(lore.votes, decay.total_of(lore), idle, used))


def _changes(look: Look, hit: Hit, known: Mapping[str, Vote], total: int) -> dict[str, Vote]:
    """The months to take off or to give back."""
    uses = look.uses(hit.id)
    start = max(hit.created_at, hit.last_validated or 0.0)
    idle = decay.idle_months(_moment(start), uses, look.now)
    if not idle and not known:
        return {}
    used = decay.used_months([*uses, *([_moment(hit.last_validated)] if hit.last_validated else [])])
    return decay.account_changes(known, total, idle, used)


def _known(look: Look, hit: Hit) -> tuple[Mapping[str, Vote], int]:
    """The accounts of idle months in a file, and its confidence before it is held within 0 and 1.

    At a glance where they are written as Engram does, and the confidence is not at one of its ends.
    """
    raw = look.raw.get(hit.id, b"")
    head = raw.partition(b"\n---")[0] if b"idle." in raw else b""
    found = {name.decode(): Vote(int(up), int(down), int(n)) for name, up, down, n in _ACCOUNT.findall(head)}
    if len(found) == head.count(b"idle.") and 0 < hit.confidence < FULL:
        return found, hit.confidence
    file = look.file(hit.id)
    return (file.lore.votes, decay.total_of(file.lore)) if file else ({}, hit.confidence)


def _why(accounts: Mapping[str, Vote]) -> str:
    taken = sum(vote.up < vote.down for vote in accounts.values())
    back = len(accounts) - taken
    parts = [f"{taken} month{'s' * (taken != 1)} neither used nor validated"] if taken else []
    parts += [f"{back} given back: used after all"] if back else []
    return ", ".join(parts)


def _step(
    look: Look, kind: str, hit: Hit, why: str, after: int, accounts: Mapping[str, Vote] | None = None
) -> Step:
    if kind == DECAY:
        why = f"{why}; confidence {two_decimals(hit.confidence)} → {two_decimals(after)}"
    return Step(
        item_id(kind, [hit.id]), kind, (hit.id,), (hit.path,), (look.digests[hit.id],), hit.title, why,
        hit.confidence, after, accounts=accounts or {},
    )  # fmt: skip


def _moment(stamp: float) -> datetime:
    return datetime.fromtimestamp(stamp, UTC)
