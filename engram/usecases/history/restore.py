"""Restore an entry from a commit or date with a new change, even if it was forgotten."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.adapters.files.frontmatter import codec
from engram.domain.entry import times
from engram.domain.errors import NotFoundError
from engram.domain.judgements.tally import accounts_of, without_accounts
from engram.domain.merge.merge import union_of
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.history import past_versions
from engram.usecases.lookup.resolve import store_of_entry
from engram.usecases.store import entry_writer, judgements
from engram.usecases.store.version_paths import in_store, repository_of

if TYPE_CHECKING:
    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

_WAIT_SECONDS = 10.0


class Restored(NamedTuple):
    """A restored entry: its current state and path, and the commit restored from; `changed` is False if it was equal."""

    lore: Lore
    path: str
    commit: str
    changed: bool


def restore(store: Store, name: str, at: str) -> Restored:
    """Restore the named entry as it was at a commit or date `at`.

    Votes and `merged_from` keep their current values, as they only grow. Raises NotFoundError (no such entry or commit, or
    not in it), AmbiguousError, LoreFileError (unreadable in that commit), SecretFoundError, StoreError, ConflictError.
    """
    from engram.adapters.git.read.revisions import resolve as resolve_revision
    from engram.adapters.git.read.versions import read_objects
    from engram.usecases.store.commit import commit_pending

    store = store_of_entry(store, name)
    repository = repository_of(store)
    with store.lock:
        commit_pending(store, wait=_WAIT_SECONDS)
        commit = resolve_revision(repository, at)
        located = past_versions.locate(store, name, commit)
        past_path = past_versions.path_at(store, commit, located.id)
        if not past_path:
            raise NotFoundError(
                f"Entry {located.id} is not in {commit[:10]}.", "`engram log` or `git log` shows its commits."
            )
        raw = read_objects(repository, [f"{commit}:{past_path}"])[0] or b""
        path = located.path or in_store(store, past_path)
        return _restore(store, path, codec.read(raw, path, store.categories, store.clock.now()), commit)


def _restore(store: Store, path: str, past: LoreFile, commit: str) -> Restored:
    entry_writer.refuse_secrets(store, "that version of the entry", past.raw.decode())
    current = _current(store, path)
    judgements.keep_accounts(store, accounts_of(past.lore))
    lore = _with_merged(past.lore, current.lore if current else None)
    previous = current.lore.updated_at if current else past.lore.updated_at
    if current is not None and _words(lore)._replace(updated_at=previous) == _words(current.lore):
        return Restored(current.lore, path, commit, False)
    if current is not None or lore != past.lore:
        lore = lore._replace(updated_at=times.after(store.clock.now(), previous))
    content = past.raw if lore == past.lore else entry_writer.rewrite(store, past, lore)
    change = Change(path, content, atomic.digest(current.raw) if current else None)
    trailers = [("Engram-Restored-From", commit)]
    operation = entry_writer.operation_for(store, lore, f"restore: {lore.title}", [change], trailers)
    entry_writer.write(store, [operation])
    return Restored(judgements.with_tally(store, lore), path, commit, True)


def _words(lore: Lore) -> Lore:
    """Return an entry without judgements."""
    return without_accounts(lore)._replace(tally=None)


def _current(store: Store, path: str) -> LoreFile | None:
    try:
        return entry_writer.load(store, path)
    except NotFoundError:
        return None


def _with_merged(past: Lore, current: Lore | None) -> Lore:
    """Return the past version with the ids folded into the entry since."""
    return past._replace(merged_from=union_of(past.merged_from, current.merged_from)) if current else past
