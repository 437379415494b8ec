"""Settlements: what people decided about conflicts, and what becomes of these decisions when versions are merged.

A decision has to be written down: "keep what stands" leaves the text as it was, and a merge could not see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engram.domain.entry.lore import Conflict, Settlement

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
        return _order(self.winner) >= _order(self.loser)


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
    merged: list[Settlement] = []
    clashes: list[Clash] = []
    for of in {**one, **other}:
        was, mine, yours = before.get(of), one.get(of), other.get(of)
        if mine == yours or yours == was:
            chosen = mine
        elif mine == was or mine is None:
            chosen = yours
        elif yours is None:
            chosen = mine
        elif mine.chose == yours.chose:
            chosen = min(mine, yours, key=_order)
        else:
            clashes.append(Clash(of.partition(":")[0], mine, yours))
            continue
        if chosen is not None:
            merged.append(chosen)
    return latest(merged), tuple(clashes)


def latest(settled: Iterable[Settlement]) -> tuple[Settlement, ...]:
    """Return the latest settlements, one for each conflict, in the order in which they were made."""
    found = {item.of: item for item in sorted(settled, key=_order)}
    return tuple(sorted(found.values(), key=_order)[-MOST:])


def unsettled(conflicts: Iterable[Conflict], settled: Sequence[Settlement]) -> tuple[Conflict, ...]:
    """Return the conflicts that no settlement is about; one about a version that was written later is a new one."""
    by_key = {item.of: item.at.rstrip("Z") for item in settled}
    if not by_key:
        return tuple(conflicts)
    return tuple(
        [one for one in conflicts if (at := by_key.get(conflict_key(one))) is None or one.at.rstrip("Z") > at]
    )


def _order(item: Settlement) -> tuple[str, ...]:
    # Without its Z a time with milliseconds comes after the whole second.
    return item.at.rstrip("Z"), item.by, item.chose, item.of
