"""The number of review items by kind as last computed, so that it can be shown without computing the queue again."""

from __future__ import annotations

import contextlib
import json
import os

from engram.adapters.files.durable import atomic
from engram.domain.errors import EngramError
from engram.domain.review import review
from engram.domain.review.review import KINDS
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engram.usecases.store.store import Store

QUICK_KINDS = (
    review.PROBLEM, review.CONFLICT, review.ENTITY, review.PROPOSAL, review.FOREIGN, review.PENDING,
)  # fmt: skip
_NAME = "review.json"
_MOST_BYTES = 4096


def noted_counts(store: Store) -> dict[str, int]:
    """Return the numbers as last noted, by kind; empty if there are none yet."""
    with contextlib.suppress(OSError, ValueError, RecursionError), open(_path(store), "rb") as file:
        found = json.loads(file.read(_MOST_BYTES))
        if isinstance(found, dict):
            return {kind: found[kind] for kind in KINDS if isinstance(found.get(kind), int)}
    return {}


def note_counts(store: Store, counts: Mapping[str, int]) -> None:
    """Note the numbers of items of these kinds. A folder that cannot be written to is no error."""
    noted = noted_counts(store)
    if any(noted.get(kind) != number for kind, number in counts.items()):
        with contextlib.suppress(OSError, EngramError):
            atomic.write(_path(store), json.dumps({**noted, **counts}).encode(), "review", 0o600)


def _path(store: Store) -> str:
    return os.path.join(store.places.state, _NAME)
