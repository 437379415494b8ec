"""Check the permissions set by `team.members` and `team.policies`."""

from __future__ import annotations

from engram.domain.admission.policy import denial_reason
from engram.domain.errors import EngramError, NotAllowedError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def check(store: Store, action: str, category: str) -> None:
    """Raise NotAllowedError if the store's settings do not permit the caller an action (`record`, `judge`, `forget`).

    The category "" stands for anything but entries: agents, entities, settings.
    """
    who = store.caller.who
    policies = {
        _category(store, name): names for name, names in store.settings.table("team.policies").items()
    }
    why = denial_reason(store.settings.table("team.members"), policies, who, action, category)
    if why:
        raise NotAllowedError(
            " ".join([who, "may not", action, *([category] if category else []), f"in this store: {why}."]),
            "Ask somebody with that permission, or have the store's `.engram.toml` changed.",
        )


def _category(store: Store, name: str) -> str:
    try:
        return store.categories.parse(name)
    except EngramError:
        return name
