"""The lines of a long list, each made when it is looked at: of 100,000 the whole would take seconds and 120 MB."""

from __future__ import annotations

import marshal
from collections.abc import Mapping, Sequence
from typing import overload

from engram_tui.widgets.rows import Row, worth_of

# What is kept of a line beside its id, in this order: `_row` below puts it back together.
COLUMNS = (
    "confidence", "category", "title", "created_at", "updated_at", "validation_count", "status", "agent", "pinned", "path",
    "importance",
)  # fmt: skip


class LazyRows(Sequence[Row]):
    """Lines by their ids and what `list_packed` said of each."""

    def __init__(
        self, ids: list[str], packed: list[bytes], refs: Mapping[str, str], scope: str = "",
        shown: Mapping[str, int] | None = None, changed: Mapping[str, Row] | None = None,
    ) -> None:  # fmt: skip
        """`refs` maps ids to their names in this session, `shown` to how many answers they were in.

        `changed` maps them to lines that are other ones by now.
        """
        self._ids, self._packed, self._refs, self._scope = ids, packed, refs, scope
        self._shown, self._changed = shown or {}, dict(changed or {})

    @property
    def have_refs(self) -> bool:
        """Whether any lore has a name in this session."""
        return bool(self._refs)

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if isinstance(index, slice):
            return self._with(self._ids[index], self._packed[index], self._changed)
        lore_id = self._ids[index]
        return self._changed.get(lore_id) or self._row(lore_id, self._packed[index])

    def ids(self) -> list[str]:
        """All ids, in order; not to be changed."""
        return self._ids

    def having(self, changed: Mapping[str, Row | None]) -> LazyRows:
        """The same lines with some changed or (None) gone."""
        gone = {lore_id for lore_id, row in changed.items() if row is None}
        kept = [at for at, lore_id in enumerate(self._ids) if lore_id not in gone] if gone else None
        ids, packed = self._ids, self._packed
        if kept is not None:
            ids, packed = [ids[at] for at in kept], [packed[at] for at in kept]
        others = {lore_id: row for lore_id, row in changed.items() if row is not None}
        return self._with(ids, packed, {**self._changed, **others})

    def by_worth(self) -> LazyRows:
        """The same lines, those worth most first."""
        order = sorted(range(len(self._ids)), key=lambda at: (-self[at].worth, self._ids[at]))
        return self._with([self._ids[at] for at in order], [self._packed[at] for at in order], self._changed)

    def _with(self, ids: list[str], packed: list[bytes], changed: Mapping[str, Row]) -> LazyRows:
        return LazyRows(ids, packed, self._refs, self._scope, self._shown, changed)

    def _row(self, lore_id: str, packed: bytes) -> Row:
        line = marshal.loads(packed)  # noqa: S302 - packed in this process, a moment ago
        confidence, category, title, created, updated, count, status, agent, pinned, path, given = line
        return Row(
            lore_id, self._refs.get(lore_id, ""), confidence, category, title, created, updated, count, status,
            "", agent or "", bool(pinned), path, self._scope,
            worth_of(lore_id, given, bool(pinned), count, self._shown),
        )  # fmt: skip
