"""The part of the Python API that is about git: sync, history, taking back, scopes and placements."""

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
    """What an open store does with its history and with other stores; `engram.app.Engram` has all of it."""

    def sync(
        self,
        remote: str = "",
        *,
        pull: bool = True,
        push: bool = True,
        timeout: float = 120.0,
        step: Callable[[str], None] | None = None,
    ) -> Synced:
        """Commit what waits, fetch, merge by field, push; `timeout` in seconds for each command that uses the network.

        `step` hears what is being done, several times a second while the network is waited for; what it raises ends
        the sync, and its git, with nothing half done. Raises UsageError (no repository of its own), RemoteError, SyncBlockedError;
        what goes wrong after something was done is in the answer's `.errors`.
        """
        from engram.usecases.sync.sync import Options, sync

        return sync(self.store, Options(remote, pull, push, timeout), step)

    def sync_plan(
        self, remote: str = "", *, timeout: float = 120.0, step: Callable[[str], None] | None = None
    ) -> Planned:
        """Ask the remote what is new there, and change nothing here: the paths that a sync would change. Raises as `sync`."""
        from engram.usecases.sync.sync import Options, preview

        return preview(self.store, Options(remote, timeout=timeout), step)

    def exchange(self, limit: int = 200) -> Exchange:
        """What waits to go out and to come in, each entry with its change in a phrase; the remote as it was last seen.

        Raises UsageError (no branch of its own), StoreError, GitError.
        """
        from engram.usecases.sync.traffic import exchange

        return exchange(self.store, limit)

    def came_in(self, limit: int = 50, *, since: str = "") -> Sequence[LoreChange]:
        """What other clones did to the lore here, newest first; `since` a commit: what is new. Raises StoreError, GitError."""
        from engram.usecases.sync.traffic import came_in

        return came_in(self.store, limit, since)

    def remotes(self) -> Sequence[Remote]:
        """What this store can be synced with: `.name` and `.url` of each, without credentials."""
        from engram.usecases.store.remote import list_remotes

        return list_remotes(self.store)

    def add_remote(self, name: str, url: str) -> None:
        """Add a remote. Raises UsageError for a name that is taken, an address of an unknown kind, a store without its own git."""
        from engram.usecases.store.remote import add

        add(self.store, name, url)

    def remove_remote(self, name: str) -> None:
        """Forget a remote, not what is there. Raises UsageError."""
        from engram.usecases.store.remote import remove

        remove(self.store, name)

    def session_sync(self) -> bool:
        """At the start or end of a session: start a sync in a process of its own, where `sync.auto` is on and allowed."""
        from engram.usecases.sync.auto_sync import session_sync

        return session_sync(self.store)

    def history(self, name: str, limit: int = 50) -> Sequence[Event]:
        """What happened to an entry, newest first: commit, time, agent, fields, confidence before and after.

        Raises NotFoundError, AmbiguousError, UsageError, StoreError (no git), GitError.
        """
        from engram.usecases.history.log import history

        return history(self.store, name, limit)[1]

    def log(self, limit: int = 50, *, agent: str = "", since: str = "") -> Sequence[Operation]:
        """The last commits that touched lore, newest first; of an agent, since a date. Raises as `history`."""
        from engram.usecases.history.log import recent

        return recent(self.store, limit, agent, since)

    def blame(self, name: str) -> Sequence[Blamed]:
        """Each field and line of an entry as it stands in its file, and which commit and agent gave it. Raises as `history`."""
        from engram.usecases.history.blame import blame

        return blame(self.store, name)[1]

    def version(self, name: str, at: str) -> Lore:
        """An entry as it was at a commit or date. Raises NotFoundError, AmbiguousError, StoreError, GitError."""
        from engram.usecases.history.past_versions import read_version

        return read_version(self.store, name, at)

    def sync_all(self, *, timeout: float = 120.0) -> Sequence[SyncedScope]:
        """Sync every scope that has a remote; what fails for one is in its `.done.errors` and stops no other."""
        from engram.usecases.placement.sync_all import sync_all
        from engram.usecases.sync.sync import Options

        return sync_all(self.store, Options(timeout=timeout))

    def scopes(self) -> Sequence[Listed]:
        """Every scope that there could be from here: the session's, the project's, the user's, the teams'."""
        from engram.usecases.placement.manage_scopes import list_scopes

        return list_scopes(self.store)

    def promote(self, *names: str, to: str, dry_run: bool = False) -> Sequence[Promoted]:
        """Copy entries into the scope `to`, with their origin; again: merge by field what changed since.

        Raises NotFoundError, AmbiguousError, UsageError, SecretFoundError, ValidationError, StoreError.
        """
        from engram.usecases.recording.promote import promote

        return self._written(promote(self.store, names, to, dry_run=dry_run))

    def move(self, placement: str, path: str = "", *, dry_run: bool = False) -> Plan:
        """Move the store to `placement` (dedicated, branch or in-tree) at `path`, with its history; what was done.

        It is closed then; open it again at the answer's `.end.path`. `dry_run` only says what would be done.
        Raises UsageError, StoreError, GitError, SyncBlockedError where it cannot be done; then it is where it was.
        """
        from engram.usecases.placement.move import move, plan

        found = plan(self.store, placement, os.path.expanduser(path))
        if not dry_run:
            self._stop_committers()
            move(self.store, found)
            self.store.close()
        return found

    def undo(self, count: int = 1, *, deed: str = "", scope: str = "") -> Undone:
        """Take back this clone's last `count` operations by a new commit; what others changed since stays.

        `deed`: those that have this in common (`Engram-Deed` in their commits). `scope` names another store.
        Raises NotFoundError (there are not so many), UsageError, StoreError (Engram does not commit here), GitError.
        """
        from engram.usecases.history.undo import undo
        from engram.usecases.opening.scopes import reach

        return self._written(undo(reach(self.store, scope), count, deed))

    def redo(self, *, scope: str = "") -> Undone:
        """Bring back what the last undo took back. Raises NotFoundError, StoreError, GitError."""
        from engram.usecases.history.undo import redo
        from engram.usecases.opening.scopes import reach

        return self._written(redo(reach(self.store, scope)))

    def restore(self, name: str, at: str) -> Restored:
        """Bring an entry back as it was at a commit or date, also one that was forgotten; votes since then stay.

        Raises NotFoundError, AmbiguousError, SecretFoundError, LoreFileError, StoreError, GitError.
        """
        from engram.usecases.history.restore import restore

        return self._written(restore(self.store, name, at))

    @abstractmethod
    def _stop_committers(self, patience: float = 60.0) -> None:
        """Commit what waits, in about `patience` seconds, and end the threads that do it."""
