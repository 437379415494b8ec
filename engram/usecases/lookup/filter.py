"""Conditions that select entries: as SQL for the catalog, and as tests of a catalog line or an entry."""

from __future__ import annotations

import json

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.adapters.index.catalog import Hit
    from engram.domain.entry.lore import Lore

EVERY_ENTRY = "1"
"""The SQL condition that all entries meet."""


class Filter(NamedTuple):
    """Conditions that an entry must meet; by default, all entries do.

    `categories`, `types` and `agents` list alternatives; an entry needs all `tags`. Confidences are in thousandths and
    inclusive. The entry was recorded at `since` or later, and before `until` (Unix seconds). `ids` are the ids accepted,
    None for any.
    """

    categories: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    status: str = ""
    min_confidence: int = 0
    max_confidence: int = 1000
    since: float = float("-inf")
    until: float = float("inf")
    ids: tuple[str, ...] | None = None

    def sql(self) -> tuple[str, list[object]]:
        """Return the condition for `Catalog.select` and the values of its placeholders."""
        conditions, values = list[str](), list[object]()
        lists = (("category", self.categories), ("type", self.types), ("agent", self.agents))
        for column, alternatives in lists:
            if alternatives:
                conditions.append(f"{column} IN ({','.join('?' * len(alternatives))})")
                values += alternatives
        for tag in self.tags:
            conditions.append("row IN (SELECT row FROM row_tags WHERE tag = ?)")
            values.append(tag)
        if self.ids is not None:
            conditions.append("id IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(self.ids))
        bounds: tuple[tuple[str, object, object], ...] = (
            ("status = ?", self.status, ""),
            ("confidence >= ?", self.min_confidence, 0),
            ("confidence <= ?", self.max_confidence, 1000),
            ("created_at >= ?", self.since, float("-inf")),
            ("created_at < ?", self.until, float("inf")),
        )
        for condition, value, default in bounds:
            if value != default:
                conditions.append(condition)
                values.append(value)
        return " AND ".join(conditions) or EVERY_ENTRY, values

    def accepts_hit(self, hit: Hit) -> bool:
        """Test a catalog line. It has no tags: if the filter has some, select its row by `sql`."""
        return self._accepts(hit, hit.confidence, hit.created_at)

    def accepts(self, lore: Lore) -> bool:
        """Test an entry."""
        accepted = self._accepts(lore, lore.thousandths, lore.created_at.timestamp())
        return accepted and set(self.tags) <= set(lore.tags)

    def _accepts(self, entry: Hit | Lore, thousandths: int, created: float) -> bool:
        return (
            (not self.status or entry.status == self.status)
            and self.min_confidence <= thousandths <= self.max_confidence
            and (not self.categories or entry.category in self.categories)
            and (not self.types or entry.type in self.types)
            and (not self.agents or entry.agent in self.agents)
            and self.since <= created < self.until
            and (self.ids is None or entry.id in self.ids)
        )
