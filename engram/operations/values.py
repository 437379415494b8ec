"""Completion: the values of a kind in a store that begin with a text."""

from __future__ import annotations

from engram.domain.entry.categories import TYPES
from engram.domain.typed import TYPE_CHECKING
from engram.operations.description import CATEGORY, ENTITY, REF, SCOPE, TAG, TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from engram.usecases.store.store import Store

_MOST = 101  # one more than MCP allows in an answer, so that it can say that there are more
_RECENT = 50


def values(store: Store, kind: str, prefix: str = "") -> list[str]:
    """Return the values of a kind that begin with `prefix`, ignoring case, the most likely first; [] for an unknown kind.

    Raises StoreError.
    """
    source = _SOURCES.get(kind)
    folded = prefix.casefold().replace("-", "_") if kind == CATEGORY else prefix.casefold()
    found = dict.fromkeys(source(store, prefix)) if source else ()
    return [value for value in found if value.casefold().startswith(folded)]


def _categories(store: Store, _prefix: str) -> Iterable[str]:
    return store.categories.names


def _types(_store: Store, _prefix: str) -> Iterable[str]:
    return TYPES


def _tags(store: Store, prefix: str) -> Iterable[str]:
    from engram.usecases.index.vocabulary import tags

    return tags(store, prefix, _MOST)


def _refs(store: Store, _prefix: str) -> Iterable[str]:
    """Return the refs of this session, then the ids of those entries and of the newest ones."""
    from engram.usecases.lookup.listing import list_lore

    shown = store.session_state.refs(store.caller.session)
    newest = list_lore(store, limit=_RECENT).lore
    return [ref.name for ref in shown] + [ref.id for ref in shown] + [entry.lore.id for entry in newest]


def _scopes(store: Store, _prefix: str) -> Iterable[str]:
    from engram.usecases.opening.scopes import reachable_scopes

    return reachable_scopes(store)


def _entities(store: Store, _prefix: str) -> Iterable[str]:
    from engram.usecases.graph.entities import read_entities

    return [entity.slug for entity in read_entities(store).entities]


_SOURCES: dict[str, Callable[[Store, str], Iterable[str]]] = {
    CATEGORY: _categories,
    TYPE: _types,
    TAG: _tags,
    REF: _refs,
    SCOPE: _scopes,
    ENTITY: _entities,
}
