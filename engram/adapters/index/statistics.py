"""The counts of `status`, made in one pass over an index that covers them."""

from __future__ import annotations

from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engram.adapters.index.catalog import Catalog

_QUERY = (
    "SELECT category, status, adopted, conflicts > 0, count(*) FROM files"
    " WHERE row IS NOT NULL AND shadowed = 0 GROUP BY category, status, adopted, conflicts"
)


class Standing(NamedTuple):
    """Numbers of entries: in total, by category and by status (highest first), not adopted, with conflicts."""

    total: int
    by_category: dict[str, int]
    by_status: dict[str, int]
    unadopted: int
    conflicts: int


def standing(catalog: Catalog) -> Standing:
    """Count the entries."""
    categories, statuses, unadopted, conflicts = dict[str, int](), dict[str, int](), 0, 0
    for category, status, adopted, has_conflicts, count in catalog.connection.execute(_QUERY):
        categories[category] = categories.get(category, 0) + count
        statuses[status] = statuses.get(status, 0) + count
        unadopted += 0 if adopted else count
        conflicts += count if has_conflicts else 0
    by_category, by_status = (
        dict(sorted(counts.items(), key=lambda item: -item[1])) for counts in (categories, statuses)
    )
    return Standing(sum(by_status.values()), by_category, by_status, unadopted, conflicts)
