"""The guard rails of `team.members` and `team.policies`: whether the store permits the caller an action."""

from __future__ import annotations

from engram.domain.admission.policy import why_not
from engram.domain.errors import EngramError, NotAllowedError
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


def check(store: Store, deed: str, category: str) -> None:
    """Raise NotAllowedError where the store's settings leave a deed (`record`, `judge`, `forget`) to somebody else.

    Without a category it is about what is no lore: agents, entities, settings.
    """
    members, policies = _table(store, "team.members"), _table(store, "team.policies")
    who = store.caller.who
    named = {_category(store, name): names for name, names in policies.items()}
    why = why_not(members, named, who, deed, category)
    if why:
        raise NotAllowedError(
            " ".join([who, "may not", deed, *([category] if category else []), f"in this store: {why}."]),
            "Ask somebody with that permission, or have the store's `.engram.toml` changed.",
        )


def _table(store: Store, key: str) -> dict[str, list[str]]:
    found = store.settings.get(key)
    return found if isinstance(found, dict) else {}


def _category(store: Store, name: str) -> str:
    try:
        return store.categories.parse(name)
    except EngramError:
        return name
