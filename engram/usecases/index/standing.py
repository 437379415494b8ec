"""What ranking looks at, from a line of the catalog."""

from __future__ import annotations

from engram.domain.recall import ranking
from engram.domain.recall.ranking import Standing
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.index.catalog import Hit


def standing(hit: Hit, rank: float | None = None) -> Standing:
    """What ranking looks at, from a catalog line; `rank` is how important the graph makes it, 0..1."""
    return Standing(
        hit.confidence,
        hit.type,
        hit.validation_count,
        hit.last_validated,
        hit.updated_at,
        ranking.importance_of(hit.importance, rank),
        bool(hit.pinned),
    )
