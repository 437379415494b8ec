"""Restore an entry as it was at a commit or date, by a new change, even if it was forgotten."""

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
from engram.usecases.lookup.resolve import home_of
from engram.usecases.store import entry_writer, judgements
from engram.usecases.store.version_paths import in_store, repository_of

if TYPE_CHECKING:
    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store

_WAIT_SECONDS = 10.0


class Restored(NamedTuple):
    """A restored entry: its present state, path, and the commit restored from; `changed` is False if it was equal."""

    lore: Lore
    path: str
    commit: str
    changed: bool


def restore(store: Store, name: str, at: str) -> Restored:
    """Restore the named entry as it was at a commit or date `at`.

    Votes and `merged_from` keep their present values, as they only grow. Raises NotFoundError (no such entry or commit, or
    not in it), AmbiguousError, LoreFileError (unreadable in that commit), SecretFoundError, StoreError, ConflictError.
    """
    from engram.adapters.git.read.revisions import resolve as resolve_revision
    from engram.adapters.git.read.versions import read_objects
    from engram.usecases.store.commit import commit_pending

    store = home_of(store, name)
    repository = repository_of(store)
    with store.lock:
        commit_pending(store, wait=_WAIT_SECONDS)
        commit = resolve_revision(repository, at)
        located = past_versions.locate(store, name, commit)
        then = past_versions.path_at(store, commit, located.id)
        if not then:
            raise NotFoundError(
                f"Entry {located.id} is not in {commit[:10]}.", "`engram log` or `git log` shows its commits."
            )
        raw = read_objects(repository, [f"{commit}:{then}"])[0] or b""
        path = located.path or in_store(store, then)
        return _restore(store, path, codec.read(raw, path, store.categories, store.clock.now()), commit)


def _restore(store: Store, path: str, then: LoreFile, commit: str) -> Restored:
    entry_writer.refuse_secrets(store, "that version of the entry", then.raw.decode())
    now = _current(store, path)
    judgements.keep_accounts(store, accounts_of(then.lore))
    lore = _with_merged(then.lore, now.lore if now else None)
    if now is not None and _words(lore)._replace(updated_at=now.lore.updated_at) == _words(now.lore):
        return Restored(now.lore, path, commit, False)
    if now is not None or lore != then.lore:
        previous = now.lore.updated_at if now else then.lore.updated_at
        lore = lore._replace(updated_at=times.after(store.clock.now(), previous))
    content = then.raw if lore == then.lore else entry_writer.rewrite(store, then, lore)
    edited = Change(path, content, atomic.digest(now.raw) if now else None)
    trailers = [("Engram-Restored-From", commit)]
    operation = entry_writer.operation_for(store, lore, f"restore: {lore.title}", [edited], trailers)
    entry_writer.write(store, [operation])
    return Restored(judgements.with_tally(store, lore), path, commit, True)


def _words(lore: Lore) -> Lore:
    """Return an entry without what others said of it."""
    return without_accounts(lore)._replace(tally=None)


def _current(store: Store, path: str) -> LoreFile | None:
    try:
        return entry_writer.load(store, path)
    except NotFoundError:
        return None


def _with_merged(then: Lore, now: Lore | None) -> Lore:
    """Return the old version with what was folded in since."""
    return then._replace(merged_from=union_of(then.merged_from, now.merged_from)) if now else then
