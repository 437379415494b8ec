"""Catalog lines of entries by id."""

from __future__ import annotations

import json

from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation


def hits_of(generation: Generation, ids: Sequence[str]) -> dict[str, Hit]:
    """Return the catalog lines of these entries by id."""
    condition = "id IN (SELECT value FROM json_each(?))"
    return {hit.id: hit for hit in generation.catalog.select(condition, [json.dumps(sorted(set(ids)))])}
