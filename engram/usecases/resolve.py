"""From what a caller calls a lore (session ref, id, unique id prefix, words of it) to the lore and its file."""

from __future__ import annotations

from engram.adapters.index.damage import DamagedIndexError, damage_noticed
from engram.domain import refs, ulid
from engram.domain.errors import AmbiguousError, EngramError, NotFoundError
from engram.domain.refs import Seen
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases import change
from engram.usecases.consult import consult

if TYPE_CHECKING:
    from engram.adapters.index.catalog import Hit
    from engram.usecases.store import Store


class Found(NamedTuple):
    """The lore that was meant: its id, its path, and its ref in this session ("" if it was not surfaced)."""

    id: str
    path: str
    ref: str


def resolve(store: Store, name: str) -> Found:
    """The lore that `name` means. Raises NotFoundError, AmbiguousError (with the candidates)."""
    name = name.strip()
    if not name:
        raise NotFoundError(
            "No lore was named.", "Give a ref (L1), an id, the start of an id, or some of its words."
        )
    known = {ref.id: ref for ref in store.state.refs(store.caller.session)}
    number = refs.ref_number(name)
    if number is not None:
        lore_id = next((ref.id for ref in known.values() if ref.number == number), "")
        if not lore_id:
            raise _no_such_ref(name, len(known))
        path = _known_place(store, lore_id)
        if path:
            return Found(lore_id, path, known[lore_id].name)
    else:
        lore_id = _by_id(store, name) or _by_words(store, name, list(known))
    return _locate(store, lore_id, known[lore_id].name if lore_id in known else "")


def hits_by_id(store: Store, lore_id: str) -> list[Hit]:
    """The catalog's lines of an id, after a cheap refresh; looks at every file before it says that there is none."""
    for thorough in (False, True):
        found = consult(
            store, lambda generation: generation.catalog.select("id = ?", [lore_id]), thorough=thorough
        )
        if found:
            return found
    return []


def _locate(store: Store, lore_id: str, ref: str) -> Found:
    found = hits_by_id(store, lore_id)
    if not found:
        raise NotFoundError(
            f"There is no lore {lore_id} (any more).", "It may have been forgotten, or be in another store."
        )
    return Found(lore_id, found[0].path, ref)


def _known_place(store: Store, lore_id: str) -> str:
    """Where the index saw a lore last, if its file is still there; "" means: look closer.

    Whoever names a ref was just shown the lore. In a program that goes on, bringing the index up to date
    before each vote would cost ten times the vote.
    """
    if store.index.generation is None:
        return ""
    try:
        with damage_noticed():
            known = store.index.generation.catalog.select("id = ?", [lore_id])
        still = len(known) == 1 and change.load(store, known[0].path).lore.id == lore_id
    except (EngramError, DamagedIndexError):
        return ""
    return known[0].path if still else ""


def _by_id(store: Store, name: str) -> str:
    """The id that `name` is or begins; "" if it does not look like one or nothing begins so."""
    prefix = name.upper()
    if ulid.is_valid(prefix):
        return prefix
    looks_like_id = len(prefix) >= refs.MIN_PREFIX and all(letter in ulid.ALPHABET for letter in prefix)
    if not looks_like_id:
        return ""
    found = consult(
        store,
        lambda generation: generation.catalog.select(
            "id >= ? AND id < ?", [prefix, prefix + "~"], "ORDER BY id LIMIT 20"
        ),
    )
    titles = {hit.id: hit.title for hit in found}
    if len(titles) > 1:
        raise _ambiguous(name, list(titles.items()))
    return found[0].id if found else ""


def _by_words(store: Store, name: str, surfaced: list[str]) -> str:
    matches = refs.match_snippet(name, _seen(store, surfaced))
    if len(matches) > 1:
        raise _ambiguous(name, [(lore.id, lore.title) for lore in matches])
    if not matches:
        raise NotFoundError(
            f"Nothing that this session saw fits '{name[:60]}'.",
            "Use a ref (see `engram session`), an id, or words of a lore that a query just showed.",
        )
    return matches[0].id


def _seen(store: Store, surfaced: list[str]) -> list[Seen]:
    found = []
    for lore_id in surfaced:
        try:
            lore = change.load(store, _locate(store, lore_id, "").path).lore
        except EngramError:
            continue
        found.append(Seen(lore.id, lore.title, lore.content))
    return found


def _no_such_ref(name: str, count: int) -> NotFoundError:
    range_ = f"L1 to L{count}" if count > 1 else "L1" if count else ""
    what = f"This session has {range_}." if range_ else "This session was not shown any lore yet."
    return NotFoundError(
        f"There is no {name.upper()} in this session.", f"{what} `engram session` lists them."
    )


def _ambiguous(name: str, candidates: list[tuple[str, str]]) -> AmbiguousError:
    shown = "; ".join(f"{lore_id} {title[:50]}" for lore_id, title in candidates[:5])
    return AmbiguousError(
        f"'{name[:60]}' fits {len(candidates)} lore: {shown}.",
        "Use the id of the one you mean.",
        tuple(candidates),
    )
