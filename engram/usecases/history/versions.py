"""One lore as it was at a commit."""

from __future__ import annotations

from engram.domain.errors import NotFoundError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.history import past
from engram.usecases.lookup.resolve import home_of
from engram.usecases.store.lineage import in_store, read_lore, repository_of

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store


def version(store: Store, name: str, at: str) -> Lore:
    """The named lore as it was at a commit or date `at`, also one that is gone.

    Raises NotFoundError (no such lore or commit, it was not in it, or could not be read), AmbiguousError, StoreError, GitError.
    """
    from engram.adapters.git.read.revisions import resolve as resolve_revision
    from engram.adapters.git.read.versions import read_objects
    from engram.usecases.store.lineage import in_git

    store = home_of(store, name)
    repository = repository_of(store)
    with store.lock:
        commit = resolve_revision(repository, at)
        wanted = past.wanted(store, name, commit)
    likely = in_git(store, wanted.path) if wanted.path else ""
    path = past.path_at(store, commit, wanted.id, likely)
    raw = read_objects(repository, [f"{commit}:{path}"])[0] if path else None
    file = read_lore(store, in_store(store, path), raw) if path else None
    if file is None:
        raise NotFoundError(
            f"The lore {wanted.id} is not in {commit[:10]}, or cannot be read there.",
            "`engram log` shows its commits.",
        )
    return file.lore
