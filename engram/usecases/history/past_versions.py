"""Find entries in past commits: their path and content, even if they were forgotten since."""

from __future__ import annotations

from engram.domain.entry import refs, ulid
from engram.domain.errors import AmbiguousError, NotFoundError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.lookup.resolve import resolve, store_of_entry
from engram.usecases.store.version_paths import in_git, in_store, read_lore, repository_of

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store


class Located(NamedTuple):
    """A named entry: its id, and its current store path ("" if it was deleted)."""

    id: str
    path: str


def locate(store: Store, name: str, commit: str) -> Located:
    """Find an entry by its name now, else by its name at `commit`. Raises NotFoundError, AmbiguousError."""
    try:
        found = resolve(store, name)
        return Located(found.id, found.path)
    except NotFoundError:
        lore_id = _forgotten_id(store, name.strip(), commit)
        if not lore_id:
            raise
        return Located(lore_id, "")


def path_at(store: Store, commit: str, lore_id: str, likely: str = "") -> str:
    """Return the git path of an entry in a commit; "" if it has none. The path `likely` is tried first."""
    from engram.adapters.git.read.versions import names_at, read_objects
    from engram.adapters.git.read.word_search import files_with

    repository = repository_of(store)
    folder = in_git(store, store.places.folder)
    names = names_at(repository, commit, likely) if likely else []
    names += [name for name in names_at(repository, commit, folder) if lore_id in name]
    names += files_with(repository, commit, folder, f"id: {lore_id}")
    contents = read_objects(repository, [f"{commit}:{name}" for name in names])
    for name, raw in zip(names, contents, strict=True):
        file = read_lore(store, name, raw)
        if file is not None and file.lore.id == lore_id:
            return name
    return ""


def _forgotten_id(store: Store, name: str, commit: str) -> str:
    """Return the id of a forgotten entry: by session ref, id, or prefix of an id in a file name."""
    number = refs.ref_number(name)
    if number is not None:
        shown = store.session_state.refs(store.caller.session)
        return next((ref.id for ref in shown if ref.number == number), "")
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
        message = f"'{name}' matches {len(found)} entries: {', '.join(found[:5])}."
        candidates = tuple((lore_id, "") for lore_id in found)
        raise AmbiguousError(message, "Use the id of the one you mean.", candidates)
    return found[0] if found else ""


def read_version(store: Store, name: str, at: str) -> Lore:
    """Read the named entry as it was at a commit or date `at`, even if it was deleted.

    Raises NotFoundError (no such entry or commit, not in it, or unreadable), AmbiguousError, StoreError, GitError.
    """
    from engram.adapters.git.read.revisions import resolve as resolve_revision
    from engram.adapters.git.read.versions import read_objects

    store = store_of_entry(store, name)
    repository = repository_of(store)
    with store.lock:
        commit = resolve_revision(repository, at)
        located = locate(store, name, commit)
    likely = in_git(store, located.path) if located.path else ""
    path = path_at(store, commit, located.id, likely)
    raw = read_objects(repository, [f"{commit}:{path}"])[0] if path else None
    file = read_lore(store, in_store(store, path), raw) if path else None
    if file is None:
        raise NotFoundError(
            f"Entry {located.id} is not in {commit[:10]}, or cannot be read there.",
            "`engram log` shows its commits.",
        )
    return file.lore
