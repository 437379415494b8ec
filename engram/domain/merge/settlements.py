"""Settlements: what people decided about conflicts, and what becomes of these decisions when versions are merged.

A decision has to be written down: "keep what stands" leaves the text as it was, and a merge could not see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engram.domain.entry.lore import Conflict, Lore, Settlement
from engram.domain.merge.text_merge import NO_TEXT, common

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


KEPT, OTHER, BOTH = "kept", "other", "both"
MOST = 32  # settlements that an entry keeps, the latest ones


class Clash(NamedTuple):
    """Two settlements of one conflict that chose differently; `winner` is that of the side that wins the merge."""

    field: str
    winner: Settlement
    loser: Settlement

    @property
    def winner_is_later(self) -> bool:
        """Whether the winner's settlement is the one that stands until somebody settles it again."""
        return _order(self.winner) > _order(self.loser)

    def reopen(self, value: str) -> Conflict:
        """Return the value that the earlier settlement chose, as an entry of `conflicts`."""
        early, late = sorted((self.winner, self.loser), key=_order)
        return Conflict(self.field, value, early.by, early.at, late.by, late.at)


def conflict_key(conflict: Conflict) -> str:
    """Return what a settlement names a conflict by: its field and a digest of the version that lost."""
    return f"{conflict.field}:{short_digest(conflict.value)}"


def short_digest(text: str) -> str:
    """Return 12 hexadecimal digits that stand for a text."""
    from hashlib import blake2b

    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def merge_settlements(
    base: Sequence[Settlement], winner: Sequence[Settlement], loser: Sequence[Settlement]
) -> tuple[tuple[Settlement, ...], tuple[Clash, ...]]:
    """Merge settlements by the conflict that they settle; those that chose differently are not among the result."""
    before, one, other = ({item.of: item for item in side} for side in (base, winner, loser))
    merged: list[Settlement | None] = []
    clashes: list[Clash] = []
    for of in {**one, **other}:
        was, mine, yours = before.get(of), one.get(of), other.get(of)
        if yours in (mine, was):
            merged.append(mine)
        elif mine is None or mine == was:
            merged.append(yours)
        elif yours is None:
            merged.append(mine)
        elif mine.chose == yours.chose:
            merged.append(min(mine, yours, key=_order))
        else:
            clashes.append(Clash(of.partition(":")[0], mine, yours))
    return latest([item for item in merged if item]), tuple(clashes)


def without_settled(base: Lore, clash: Clash) -> str:
    """Return the base's text with a line of its own for each part that the settled conflict was about.

    Both sides differ from it there, so that the merge takes no side's decision for an edit of its own.
    """
    found: list[str] = []
    for conflict in base.conflicts:
        if conflict_key(conflict) == clash.winner.of:
            lines, others = base.content.split("\n"), conflict.value.split("\n")
            at = there = 0
            for mine, yours in [*common(lines, others), (len(lines), len(others))]:
                found += [NO_TEXT] if (at, there) != (mine, yours) else []
                found += lines[mine : mine + 1]
                at, there = mine + 1, yours + 1
    return "\n".join(found) if found else NO_TEXT


def latest(settled: Iterable[Settlement]) -> tuple[Settlement, ...]:
    """Return the latest settlements, one for each conflict, in the order in which they were made."""
    found = {item.of: item for item in sorted(settled, key=_order)}
    return tuple(sorted(found.values(), key=_order)[-MOST:])


def open_conflicts(conflicts: Iterable[Conflict], settled: Sequence[Settlement]) -> tuple[Conflict, ...]:
    """Return the conflicts that no settlement is about; one about a version that was written later is a new one."""
    if not settled:
        return tuple(conflicts)
    settled_at = {item.of: _sortable(item.at) for item in settled}

    def is_open(conflict: Conflict) -> bool:
        at = settled_at.get(conflict_key(conflict))
        return at is None or _sortable(conflict.at) > at

    return tuple(filter(is_open, conflicts))


def _sortable(at: str) -> str:
    # Without its Z a time with milliseconds comes after the whole second.
    return at.rstrip("Z")


def _order(item: Settlement) -> tuple[str, ...]:
    return _sortable(item.at), item.by, item.chose, item.of
