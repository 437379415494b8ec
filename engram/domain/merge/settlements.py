"""Settlements: people's decisions on conflicts, and how these are merged.

A decision has to be recorded, since keeping the current text changes nothing that a merge could see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engram.domain.entry.lore import Conflict, Lore, Settlement
from engram.domain.merge.text_merge import NO_TEXT, common

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


KEPT, OTHER, BOTH = "kept", "other", "both"
_MAX_SETTLEMENTS = 32  # the latest ones that an entry keeps


class Clash(NamedTuple):
    """Two different settlements of a conflict; `winner` is that of the side that wins the merge."""

    field: str
    winner: Settlement
    loser: Settlement

    @property
    def winner_is_later(self) -> bool:
        """Whether the winner's settlement is the later one, which counts until the conflict is settled again."""
        return _order(self.winner) > _order(self.loser)

    def reopen(self, value: str) -> Conflict:
        """Return the choice of the earlier settlement as an entry of `conflicts`."""
        early, late = sorted((self.winner, self.loser), key=_order)
        return Conflict(self.field, value, early.by, early.at, late.by, late.at)


def conflict_key(conflict: Conflict) -> str:
    """Return the key of a conflict in settlements: its field and a digest of the losing version."""
    return f"{conflict.field}:{short_digest(conflict.value)}"


def short_digest(text: str) -> str:
    """Return a digest of a text, of 12 hexadecimal digits."""
    from hashlib import blake2b

    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def merge_settlements(
    base: Sequence[Settlement], winner: Sequence[Settlement], loser: Sequence[Settlement]
) -> tuple[tuple[Settlement, ...], tuple[Clash, ...]]:
    """Merge settlements by conflict; return those that agree, and the clashes."""
    before, one, other = ({item.of: item for item in side} for side in (base, winner, loser))
    merged: list[Settlement | None] = []
    clashes: list[Clash] = []
    for of in {**one, **other}:
        old, ours, theirs = before.get(of), one.get(of), other.get(of)
        if theirs in (ours, old):
            merged.append(ours)
        elif ours is None or ours == old:
            merged.append(theirs)
        elif theirs is None:
            merged.append(ours)
        elif ours.chose == theirs.chose:
            merged.append(min(ours, theirs, key=_order))
        else:
            clashes.append(Clash(of.partition(":")[0], ours, theirs))
    return latest([item for item in merged if item]), tuple(clashes)


def without_settled(base: Lore, clash: Clash) -> str:
    """Return the base's text with a placeholder line for each part that the settled conflict was about.

    Both sides differ from it there, so that the merge does not mistake a decision for an edit by one side.
    """
    found: list[str] = []
    for conflict in base.conflicts:
        if conflict_key(conflict) == clash.winner.of:
            lines, others = base.content.split("\n"), conflict.value.split("\n")
            at = other_at = 0
            for end, other_end in [*common(lines, others), (len(lines), len(others))]:
                found += [NO_TEXT] if (at, other_at) != (end, other_end) else []
                found += lines[end : end + 1]
                at, other_at = end + 1, other_end + 1
    return "\n".join(found) if found else NO_TEXT


def latest(settled: Iterable[Settlement]) -> tuple[Settlement, ...]:
    """Return the latest settlements, one for each conflict, in chronological order."""
    found = {item.of: item for item in sorted(settled, key=_order)}
    return tuple(sorted(found.values(), key=_order)[-_MAX_SETTLEMENTS:])


def open_conflicts(conflicts: Iterable[Conflict], settled: Sequence[Settlement]) -> tuple[Conflict, ...]:
    """Return the conflicts without a settlement; a conflict with a version written after its settlement is a new one."""
    if not settled:
        return tuple(conflicts)
    settled_at = {item.of: _sortable(item.at) for item in settled}

    def is_open(conflict: Conflict) -> bool:
        at = settled_at.get(conflict_key(conflict))
        return at is None or _sortable(conflict.at) > at

    return tuple(filter(is_open, conflicts))


def _sortable(at: str) -> str:
    # With the Z a time with milliseconds would sort before the whole second.
    return at.rstrip("Z")


def _order(item: Settlement) -> tuple[str, ...]:
    return _sortable(item.at), item.by, item.chose, item.of
