"""The facts about an entry used in ranking, from a line of the catalog."""

from __future__ import annotations

from engram.domain.recall import ranking
from engram.domain.recall.ranking import Standing
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.index.catalog import Hit


def standing(hit: Hit, rank: float | None = None) -> Standing:
    """Return the facts used in ranking; `rank` is the importance of the entry in the graph, 0..1."""
    return Standing(
        hit.confidence,
        hit.type,
        hit.validation_count,
        hit.last_validated,
        hit.updated_at,
        ranking.importance_of(hit.importance, rank),
        bool(hit.pinned),
    )
