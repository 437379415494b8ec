"""Finding lore in the past: where a lore stood in a commit, also one that was forgotten since."""

from __future__ import annotations

from engram.domain.entry import refs, ulid
from engram.domain.errors import AmbiguousError, NotFoundError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.lookup.resolve import resolve
from engram.usecases.store.lineage import in_git, read_lore, repository_of

if TYPE_CHECKING:
    from engram.usecases.store.store import Store


class Wanted(NamedTuple):
    """A lore that was named: its id, and its store path now ("" where it is gone)."""

    id: str
    path: str


def wanted(store: Store, name: str, commit: str) -> Wanted:
    """The lore that `name` means now, or meant at `commit`. Raises NotFoundError, AmbiguousError."""
    try:
        found = resolve(store, name)
        return Wanted(found.id, found.path)
    except NotFoundError:
        lore_id = _known_before(store, name.strip(), commit)
        if not lore_id:
            raise
        return Wanted(lore_id, "")


def path_at(store: Store, commit: str, lore_id: str, likely: str = "") -> str:
    """The path (as git knows it) of a lore in a commit; "" where it is not in it. `likely` is looked at first."""
    from engram.adapters.git.read.versions import names_at, read_objects
    from engram.adapters.git.read.word_search import files_with

    repository = repository_of(store)
    folder = in_git(store, store.places.folder)
    names = names_at(repository, commit, likely) if likely else []
    names += [name for name in names_at(repository, commit, folder) if lore_id in name]
    names += files_with(repository, commit, folder, f"id: {lore_id}")
    held = read_objects(repository, [f"{commit}:{name}" for name in names])
    for name, raw in zip(names, held, strict=True):
        file = read_lore(store, name, raw)
        if file is not None and file.lore.id == lore_id:
            return name
    return ""


def _known_before(store: Store, name: str, commit: str) -> str:
    """The id of a lore that is gone: by session ref, id, or the start of an id in a file's name."""
    number = refs.ref_number(name)
    if number is not None:
        surfaced = store.session_state.refs(store.caller.session)
        return next((ref.id for ref in surfaced if ref.number == number), "")
    prefix = name.upper()
    if ulid.is_valid(prefix):
        return prefix
    if len(prefix) < refs.MIN_PREFIX or not set(prefix) <= set(ulid.ALPHABET):
        return ""
    from engram.adapters.git.read.versions import names_at

    names = names_at(repository_of(store), commit, in_git(store, store.places.folder))
    endings = {name.removesuffix(".md").rpartition("--")[2] for name in names}
    found = sorted(lore_id for lore_id in endings if ulid.is_valid(lore_id) and lore_id.startswith(prefix))
    if len(found) > 1:
        message = f"'{name}' fits {len(found)} lore: {', '.join(found[:5])}."
        raise AmbiguousError(message, "Use the id of the one you mean.", tuple((one, "") for one in found))
    return found[0] if found else ""
