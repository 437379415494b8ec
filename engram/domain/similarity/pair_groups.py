"""Group entries that say the same, from pairs: connected, but not by chains that would join different ones."""

from __future__ import annotations

from engram.domain.similarity.equivalence import CONTRADICTION, DUPLICATE, SAME
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engram.domain.similarity.pairs import Pair


def group_pairs(pairs: Iterable[Pair]) -> list[tuple[str, ...]]:
    """Return disjoint groups of two or more ids, each oldest first, ordered by their oldest id.

    Entries that say the same are always in one group. Duplicates join their groups, the strongest first, if at least half
    of the pairs between the two groups are duplicates and none is a contradiction.
    """
    every = sorted(pairs, key=lambda pair: (pair.kind != SAME, -pair.strength, pair.one, pair.other))
    same = _DisjointSets()
    for pair in every:
        if pair.kind == SAME:
            same.join(pair.one, pair.other)
    classes = {lore_id: same.root(lore_id) for pair in every for lore_id in (pair.one, pair.other)}
    links = {kind: _links(every, kind, classes) for kind in (DUPLICATE, CONTRADICTION)}
    joined = _DisjointSets()
    for pair in every:
        if pair.kind == DUPLICATE:
            one, other = (joined.members(classes[lore_id]) for lore_id in (pair.one, pair.other))
            across = {frozenset((first, second)) for first in one for second in other}
            if 2 * len(across & links[DUPLICATE]) >= len(across) and not across & links[CONTRADICTION]:
                joined.join(classes[pair.one], classes[pair.other])
    found: dict[str, list[str]] = {}
    for lore_id, root in classes.items():
        found.setdefault(joined.root(root), []).append(lore_id)
    return sorted(tuple(sorted(members)) for members in found.values() if len(members) > 1)


class _DisjointSets:
    """Disjoint sets of ids; an id that was never joined is a set of its own."""

    def __init__(self) -> None:
        self._root: dict[str, str] = {}
        self._members: dict[str, list[str]] = {}

    def root(self, lore_id: str) -> str:
        return self._root.get(lore_id, lore_id)

    def members(self, lore_id: str) -> list[str]:
        root = self.root(lore_id)
        return self._members.get(root, [root])

    def join(self, one: str, other: str) -> None:
        first, second = self.root(one), self.root(other)
        if first != second:
            moved = self.members(second)
            self._members[first] = [*self.members(first), *moved]
            self._root.update(dict.fromkeys(moved, first))


def _links(pairs: Iterable[Pair], kind: str, classes: dict[str, str]) -> set[frozenset[str]]:
    return {frozenset((classes[pair.one], classes[pair.other])) for pair in pairs if pair.kind == kind}
