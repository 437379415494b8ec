"""The part of the Python API about git: sync, history, undo, scopes and placements."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Sequence

from engram.api.api_base import Part
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.git.remote.remotes import Remote
    from engram.domain.entry.lore import Lore
    from engram.usecases.history.blame import Blamed
    from engram.usecases.history.log import Event, Operation
    from engram.usecases.history.restore import Restored
    from engram.usecases.history.undo import Undone
    from engram.usecases.placement.manage_scopes import Listed
    from engram.usecases.placement.move import Plan
    from engram.usecases.placement.sync_all import SyncedScope
    from engram.usecases.recording.promote import Promoted
    from engram.usecases.sync.sync import Planned, Synced
    from engram.usecases.sync.traffic import Exchange, LoreChange


class Sharing(Part):
    """The history of an open store, and its exchange with other stores; part of `engram.app.Engram`."""

    def sync(
        self,
        remote: str = "",
        *,
        pull: bool = True,
        push: bool = True,
        timeout: float = 120.0,
        step: Callable[[str], None] | None = None,
    ) -> Synced:
        """Commit local changes, fetch, merge by field, push; `timeout` in seconds for each command that uses the network.

        `step` gets the current step, several times a second during network access; an exception from it stops the sync
        and git, with nothing half done. Raises UsageError (no repository of its own), RemoteError, SyncBlockedError;
        errors after a partial sync are in `.errors`.
        """
        from engram.usecases.sync.sync import Options, sync

        return sync(self.store, Options(remote, pull, push, timeout), step)

    def sync_plan(
        self, remote: str = "", *, timeout: float = 120.0, step: Callable[[str], None] | None = None
    ) -> Planned:
        """Fetch, and return the paths that a sync would change, without changing anything here. Raises as `sync`."""
        from engram.usecases.sync.sync import Options, preview

        return preview(self.store, Options(remote, timeout=timeout), step)

    def exchange(self, limit: int = 200) -> Exchange:
        """Return the entries that wait to be pushed and pulled, with a phrase for each change; the remote as last fetched.

        Raises UsageError (no branch of its own), StoreError, GitError.
        """
        from engram.usecases.sync.traffic import preview_exchange

        return preview_exchange(self.store, limit)

    def came_in(self, limit: int = 50, *, since: str = "") -> Sequence[LoreChange]:
        """Return changes by other clones, newest first; only those since a commit `since`. Raises StoreError, GitError."""
        from engram.usecases.sync.traffic import list_incoming_changes

        return list_incoming_changes(self.store, limit, since)

    def remotes(self) -> Sequence[Remote]:
        """Return the remotes of this store: `.name` and `.url`, without credentials."""
        from engram.usecases.store.remote import list_remotes

        return list_remotes(self.store)

    def add_remote(self, name: str, url: str) -> None:
        """Add a remote. Raises UsageError if the name is taken, the address unsupported, or the store has no git of its own."""
        from engram.usecases.store.remote import add

        add(self.store, name, url)

    def remove_remote(self, name: str) -> None:
        """Remove a remote from the configuration. Raises UsageError."""
        from engram.usecases.store.remote import remove

        remove(self.store, name)

    def session_sync(self) -> bool:
        """Start a sync in a separate process at the start or end of a session, if automatic sync is on and allowed."""
        from engram.usecases.sync.auto_sync import start_session_sync

        return start_session_sync(self.store)

    def history(self, name: str, limit: int = 50) -> Sequence[Event]:
        """Return the history of an entry, newest first: commit, time, agent, fields, confidence before and after.

        Raises NotFoundError, AmbiguousError, UsageError, StoreError (no git), GitError.
        """
        from engram.usecases.history.log import history

        return history(self.store, name, limit)[1]

    def log(self, limit: int = 50, *, agent: str = "", since: str = "") -> Sequence[Operation]:
        """Return the last commits that changed lore, newest first, by agent and since a date. Raises as `history`."""
        from engram.usecases.history.log import recent

        return recent(self.store, limit, agent, since)

    def blame(self, name: str) -> Sequence[Blamed]:
        """Return each field and line of an entry's file with the commit and agent that last changed it. Raises as `history`."""
        from engram.usecases.history.blame import blame

        return blame(self.store, name)[1]

    def version(self, name: str, at: str) -> Lore:
        """Return an entry as it was at a commit or date. Raises NotFoundError, AmbiguousError, StoreError, GitError."""
        from engram.usecases.history.past_versions import read_version

        return read_version(self.store, name, at)

    def sync_all(self, *, timeout: float = 120.0) -> Sequence[SyncedScope]:
        """Sync every scope that has a remote; errors of one are in its `.done.errors` and do not stop the others."""
        from engram.usecases.placement.sync_all import sync_all
        from engram.usecases.sync.sync import Options

        return sync_all(self.store, Options(timeout=timeout))

    def scopes(self) -> Sequence[Listed]:
        """Return all scopes, existing or not: the session's, the project's, the user's, the teams'."""
        from engram.usecases.placement.manage_scopes import list_scopes

        return list_scopes(self.store)

    def promote(self, *names: str, to: str, dry_run: bool = False) -> Sequence[Promoted]:
        """Copy entries to the scope `to`, with their origin; for earlier copies, merge later changes by field.

        Raises NotFoundError, AmbiguousError, UsageError, SecretFoundError, ValidationError, StoreError.
        """
        from engram.usecases.recording.promote import promote

        return self._written(promote(self.store, names, to, dry_run=dry_run))

    def move(self, placement: str, path: str = "", *, dry_run: bool = False) -> Plan:
        """Move the store to `placement` (dedicated, branch or in-tree) at `path`, with its history.

        Afterwards it is closed; open it again at the `.end.path` of the returned plan. `dry_run` only returns the plan.
        Raises UsageError, StoreError, GitError, SyncBlockedError; then the store has not been moved.
        """
        from engram.usecases.placement.move import move, plan

        found = plan(self.store, placement, os.path.expanduser(path))
        if not dry_run:
            self._stop_committers()
            move(self.store, found)
            self.store.close()
        return found

    def undo(self, count: int = 1, *, deed: str = "", scope: str = "") -> Undone:
        """Undo this clone's last `count` operations with a new commit; later changes by others stay.

        With `deed`, undo the operations with that `Engram-Deed` trailer. `scope` names another store.
        Raises NotFoundError (fewer operations), UsageError, StoreError (Engram does not commit here), GitError.
        """
        from engram.usecases.history.undo import undo
        from engram.usecases.opening.scopes import open_scope_of

        return self._written(undo(open_scope_of(self.store, scope), count, deed))

    def redo(self, *, scope: str = "") -> Undone:
        """Redo what the last undo took back. Raises NotFoundError, StoreError, GitError."""
        from engram.usecases.history.undo import redo
        from engram.usecases.opening.scopes import open_scope_of

        return self._written(redo(open_scope_of(self.store, scope)))

    def restore(self, name: str, at: str) -> Restored:
        """Restore an entry, even a deleted one, as it was at a commit or date; later votes stay.

        Raises NotFoundError, AmbiguousError, SecretFoundError, LoreFileError, StoreError, GitError.
        """
        from engram.usecases.history.restore import restore

        return self._written(restore(self.store, name, at))

    @abstractmethod
    def _stop_committers(self, patience: float = 60.0) -> None:
        """Commit what waits within about `patience` seconds, and stop the committer threads."""
