"""The guard rails of `team.members` and `team.policies`: whether the store permits the caller an action."""

from __future__ import annotations

from engram.domain.admission.policy import why_not
from engram.domain.errors import EngramError, NotAllowedError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def check(store: Store, deed: str, category: str) -> None:
    """Raise NotAllowedError where the store's settings leave a deed (`record`, `judge`, `forget`) to somebody else.

    Without a category it is about what is not lore: agents, entities, settings.
    """
    who = store.caller.who
    policies = {
        _category(store, name): names for name, names in store.settings.table("team.policies").items()
    }
    why = why_not(store.settings.table("team.members"), policies, who, deed, category)
    if why:
        raise NotAllowedError(
            " ".join([who, "may not", deed, *([category] if category else []), f"in this store: {why}."]),
            "Ask somebody with that permission, or have the store's `.engram.toml` changed.",
        )


def _category(store: Store, name: str) -> str:
    try:
        return store.categories.parse(name)
    except EngramError:
        return name
