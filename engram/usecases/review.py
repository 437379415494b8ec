"""The review queue: everything that waits for a person, found anew each time, without what was set aside."""

from __future__ import annotations

from engram.domain.errors import AmbiguousError, NotFoundError
from engram.domain.review import FOREIGN, KINDS, Item, check_kinds
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.consult import consult
from engram.usecases.held import texts
from engram.usecases.review_detectors import DETECTORS, foreign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.generation import Generation
    from engram.usecases.store import Store


class Queue(NamedTuple):
    """Items, the most urgent kind first; `total` also counts those beyond the limit, `by_kind` all of these kinds."""

    items: tuple[Item, ...]
    total: int
    by_kind: dict[str, int]


def review(
    store: Store, *, kinds: Sequence[str] = (), agents: Sequence[str] = (), limit: int | None = None
) -> Queue:
    """What waits for a person, of these kinds and recorded by these agents (default: all).

    Raises UsageError for a kind that there is not, StoreError.
    """
    check_kinds(kinds)
    found = [item for item in _found(store, kinds or KINDS) if not agents or item.agent in agents]
    by_kind = {kind: sum(item.kind == kind for item in found) for kind in KINDS}
    return Queue(tuple(found[:limit]), len(found), {kind: count for kind, count in by_kind.items() if count})


def item_named(store: Store, name: str) -> Item:
    """The item of that id or start of an id. Raises NotFoundError, AmbiguousError."""
    wanted = name.strip().lower()
    fitting = [item for item in _found(store, KINDS) if wanted and item.id.startswith(wanted)]
    if not fitting:
        raise NotFoundError(
            f"Nothing in the review queue has the id '{name[:40]}'.", "`engram review` lists what is there."
        )
    if len(fitting) > 1:
        raise AmbiguousError(
            f"'{name}' begins {len(fitting)} ids of the review queue.",
            "Give more of it.",
            tuple((item.id, item.title) for item in fitting),
        )
    return fitting[0]


def _found(store: Store, kinds: Sequence[str]) -> list[Item]:
    with store.lock:
        aside = store.state.set_aside(store.clock.now().timestamp())
        items = consult(store, lambda generation: _detected(store, generation, kinds))
    return [item for item in items if aside.get(item.id) != item.mark]


def _detected(store: Store, generation: Generation, kinds: Sequence[str]) -> list[Item]:
    found = [item for kind in KINDS if kind in kinds for item in DETECTORS[kind](store, generation)]
    # What waits until it is accepted is one decision, not three: whether it is weak or junk comes after.
    held = texts(store)
    waiting = {item.lore[0] for item in foreign(store, generation)} if held else set()
    return [item for item in found if item.kind == FOREIGN or not waiting.intersection(item.lore)]
