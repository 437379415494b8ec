"""Resolve a name (session ref, id, unique prefix of an id, name of a note, some words) to an entry and its file."""

from __future__ import annotations

from engram.adapters.index.damage import converting_damage
from engram.domain.entry import refs, ulid
from engram.domain.entry.refs import Seen
from engram.domain.errors import AmbiguousError, EngramError, NotFoundError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import query_index
from engram.usecases.opening import scopes
from engram.usecases.store import entry_writer, judgements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
    from engram.adapters.state.database import Ref
    from engram.usecases.store.store import Store


class Found(NamedTuple):
    """A resolved entry: its id, its path, its ref in this session ("" if it was not shown), and its store."""

    id: str
    path: str
    ref: str
    store: Store


def resolve(store: Store, name: str) -> Found:
    """Resolve a name in `store`, or in any store if the call named no scope. A ref has the store of its entry.

    Raises NotFoundError, AmbiguousError (with the candidates).
    """
    name = name.strip()
    if not name:
        raise NotFoundError(
            "No entry was named.", "Give a ref (L1), an id, the start of an id, or some of its words."
        )
    state, session = store.session_state, store.caller.session
    number = refs.ref_number(name)
    if number is not None:
        ref = state.ref(session, number=number) if number else None
        if ref is None:
            raise _no_such_ref(name, len(state.refs(session)))
        lore_id = ref.id
    else:
        lore_id = _by_id(store, name) or _by_note(store, name) or _by_words(store, name, state.refs(session))
        ref = state.ref(session, lore_id=lore_id)
    home = _store_of(store, ref) if ref else store
    path = _indexed_path(home, lore_id)
    if path:
        judgements.look(home)
        return Found(lore_id, path, ref.name if ref else "", home)
    return _locate(store, lore_id, ref)


def store_of_entry(store: Store, name: str) -> Store:
    """Return the store of the entry that `name` means, even if it was deleted but has a ref; else `store` itself."""
    try:
        return resolve(store, name).store
    except AmbiguousError:
        return store
    except NotFoundError:
        number = refs.ref_number(name)
        ref = store.session_state.ref(store.caller.session, number=number) if number else None
        return store if ref is None else _store_of(store, ref)


def hits_by_id(store: Store, lore_id: str) -> list[Hit]:
    """Return the catalog lines of an id, after a cheap refresh. If there are none, all files are checked first."""
    for thorough in (False, True):
        found = _select(store, lore_id, thorough=thorough)
        if found:
            return found
    return []


def _select(store: Store, lore_id: str, *, thorough: bool) -> list[Hit]:
    return query_index(
        store, lambda generation: generation.catalog.select("id = ?", [lore_id]), thorough=thorough
    )


def _locate(store: Store, lore_id: str, ref: Ref | None) -> Found:
    """Find an entry: first in the scope from which the session was shown it, then here, then elsewhere."""
    for thorough in (False, True):
        for candidate in _stores(store, ref):
            found = _select(candidate, lore_id, thorough=thorough)
            if found:
                return Found(lore_id, found[0].path, ref.name if ref else "", candidate)
    for candidate in _stores(store, ref):
        hit = _find_folded_into(candidate, lore_id)
        if hit is not None:
            return Found(hit.id, hit.path, "", candidate)
    raise NotFoundError(
        f"There is no entry {lore_id}.", "It may have been forgotten, or it is in another store."
    )


def _find_folded_into(store: Store, lore_id: str) -> Hit | None:
    """Find the entry into which another was folded. No index has that, so all files are read: 1 s for 100,000."""
    mark = lore_id.encode()
    for hit in query_index(store, lambda generation: generation.catalog.select("1")):
        try:
            raw = store.files.read(hit.path)
            if mark in raw and lore_id in entry_writer.load(store, hit.path).lore.merged_from:
                return hit
        except EngramError:
            continue
    return None


def _stores(store: Store, ref: Ref | None = None) -> Iterator[Store]:
    """Yield the stores to search, in order. Each is opened only if the entry was not in those before."""
    first = store if ref is None else _store_of(store, ref)
    yield first
    if first is not store:
        yield store
    for other in scopes.others(store):
        if other is not first:
            yield other


def _store_of(store: Store, ref: Ref) -> Store:
    """Return the store of a ref; `store` itself if the call named its scope, or if that store cannot be opened."""
    if store.stand.named and store.places.scope != store.stand.scope:
        return store
    try:
        return scopes.open_scope_of(store, ref.scope or store.stand.scope)
    except scopes.TROUBLE:
        return store


def _indexed_path(store: Store, lore_id: str) -> str:
    """Return the path of an entry in the index if its file is still there; "" if a closer look is needed.

    A caller that names a ref or an id was shown the entry before. In a long-running program, refreshing the index before
    each vote would cost ten times the vote.
    """
    if store.index.generation is None:
        return ""
    try:
        with converting_damage():
            hits = store.index.generation.catalog.select("id = ?", [lore_id])
        is_current = len(hits) == 1 and entry_writer.load(store, hits[0].path).lore.id == lore_id
    except EngramError:
        return ""
    return hits[0].path if is_current else ""


def _by_id(store: Store, name: str) -> str:
    """Return the id that equals or begins with `name`; "" if it does not look like an id or none begins so."""
    prefix = name.upper()
    if ulid.is_valid(prefix):
        return prefix
    looks_like_id = len(prefix) >= refs.MIN_PREFIX and all(letter in ulid.ALPHABET for letter in prefix)
    if not looks_like_id:
        return ""
    for candidate in _stores(store):
        found = query_index(
            candidate,
            lambda generation: generation.catalog.select(
                "id >= ? AND id < ?", [prefix, prefix + "~"], "ORDER BY id LIMIT 20"
            ),
        )
        titles = {hit.id: hit.title for hit in found}
        if len(titles) > 1:
            raise _ambiguous(name, list(titles.items()))
        if found:
            return found[0].id
    return ""


def _by_note(store: Store, name: str) -> str:
    """Return the id of the note in a vault to which a link with this name or path leads; "" if there is none."""
    if store.places.folder:
        return ""
    from engram.adapters.index import graph_rows
    from engram.domain.entry.note_markup import Named, follow_link, targets, wiki_name

    def find_note(generation: Generation) -> str:
        catalog = generation.catalog
        names = graph_rows.own_names(catalog)
        lore = graph_rows.all_lore(catalog, store.clock.now().timestamp())
        notes = [Named(row.id, row.path, row.title, names.get(row.row, ())) for row in lore]
        index = {key: ids[0] for key, ids in targets(notes, in_place=True).items()}
        return follow_link(index, wiki_name(name)) or ""

    return query_index(store, find_note)


def _by_words(store: Store, name: str, surfaced: list[Ref]) -> str:
    matches = refs.match_snippet(name, _load_shown(store, surfaced))
    if len(matches) > 1:
        raise _ambiguous(name, [(lore.id, lore.title) for lore in matches])
    if not matches:
        note = "" if store.places.folder else "the name of a note, "
        raise NotFoundError(
            f"No entry of this session matches '{name[:60]}'.",
            f"Use {note}a ref (see `engram session`), an id or four characters of its start, or words of an entry just shown.",
        )
    return matches[0].id


def _load_shown(store: Store, surfaced: list[Ref]) -> list[Seen]:
    found = []
    for ref in surfaced:
        try:
            location = _locate(store, ref.id, ref)
            lore = entry_writer.load(location.store, location.path).lore
        except EngramError:
            continue
        found.append(Seen(lore.id, lore.title, lore.content))
    return found


def _no_such_ref(name: str, count: int) -> NotFoundError:
    has = "not been shown any entry yet; a query shows some"
    if count:
        has = f"{f'L1 to L{count}' if count > 1 else 'L1'} (`engram session`)"
    return NotFoundError(f"There is no {name.upper()} in this session.", f"This session has {has}.")


def _ambiguous(name: str, candidates: list[tuple[str, str]]) -> AmbiguousError:
    shown = "; ".join(f"{lore_id} {title[:50]}" for lore_id, title in candidates[:5])
    return AmbiguousError(
        f"'{name[:60]}' matches {len(candidates)} entries: {shown}.",
        "Use the id of the one you mean.",
        tuple(candidates),
    )
