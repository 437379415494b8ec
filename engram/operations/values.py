"""The values that an argument may begin to name, as far as the open store knows them."""

from __future__ import annotations

from engram.domain.entry.categories import TYPES
from engram.domain.typed import TYPE_CHECKING
from engram.operations.description import CATEGORY, ENTITY, REF, SCOPE, TAG, TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from engram.usecases.store.store import Store

_MOST = 101  # one more than MCP lets a server answer, so that it can say that there are more
_RECENT = 50


def values(store: Store, kind: str, begun: str = "") -> list[str]:
    """Return the values of a kind that begin so, whatever their case, the most likely first; none for an unknown kind.

    Raises StoreError.
    """
    source = _SOURCES.get(kind)
    wanted = begun.casefold().replace("-", "_") if kind == CATEGORY else begun.casefold()
    found = dict.fromkeys(source(store, begun)) if source else ()
    return [value for value in found if value.casefold().startswith(wanted)]


def _categories(store: Store, _begun: str) -> Iterable[str]:
    return store.categories.names


def _types(_store: Store, _begun: str) -> Iterable[str]:
    return TYPES


def _tags(store: Store, begun: str) -> Iterable[str]:
    from engram.usecases.index.vocabulary import tags

    return tags(store, begun, _MOST)


def _refs(store: Store, _begun: str) -> Iterable[str]:
    """The refs of this session, then ids of entries that it was shown or that are new."""
    from engram.usecases.lookup.listing import list_lore

    shown = store.session_state.refs(store.caller.session)
    newest = list_lore(store, limit=_RECENT).lore
    return [ref.name for ref in shown] + [ref.id for ref in shown] + [one.lore.id for one in newest]


def _scopes(store: Store, _begun: str) -> Iterable[str]:
    from engram.usecases.opening.scopes import reachable_scopes

    return reachable_scopes(store)


def _entities(store: Store, _begun: str) -> Iterable[str]:
    from engram.usecases.graph.entities import read_entities

    return [one.slug for one in read_entities(store).entities]


_SOURCES: dict[str, Callable[[Store, str], Iterable[str]]] = {
    CATEGORY: _categories,
    TYPE: _types,
    TAG: _tags,
    REF: _refs,
    SCOPE: _scopes,
    ENTITY: _entities,
}
