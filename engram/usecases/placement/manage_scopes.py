"""List the scopes, and add and remove teams' stores."""

from __future__ import annotations

import os

from engram.adapters.files import config_file, places
from engram.adapters.git.run import failures
from engram.adapters.index.statistics import standing
from engram.domain.errors import EngramError, NotFoundError, StoreError, UsageError
from engram.domain.scopes import check_team_name, past_retention, scope_named
from engram.domain.settings import TEAM_KEYS, Settings, check
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import query_index
from engram.usecases.opening import scopes
from engram.usecases.opening.remote_address import remote_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from engram.usecases.store.store import Store


class Listed(NamedTuple):
    """A scope for people: `kind` is session, project, user or team; `here` is true for the scope of the caller's folder.

    `lore_count` and `past_retention` (entries that are no longer recalled) are 0 unless the store is on this machine
    (`exists`); `remote` has no credentials; `message` is the error of a store that cannot be used.
    """

    name: str
    kind: str
    path: str
    weight: float
    readonly: bool
    retention_days: int
    exists: bool
    here: bool
    lore_count: int = 0
    past_retention: int = 0
    remote: str = ""
    message: str = ""


class Added(NamedTuple):
    """An added team scope: the path of its clone, the number of entries cloned, and whether a clone existed."""

    name: str
    path: str
    lore: int
    empty: bool
    existed: bool


def list_scopes(store: Store) -> list[Listed]:
    """Return every scope that can be used from here, in the order session, project, user, teams."""
    with store.lock:
        return [_describe_scope(store, name) for name in scopes.reachable_scopes(store)]


def add_scope(
    name: str,
    url: str,
    *,
    path: str = "",
    weight: float | None = None,
    readonly: bool = False,
    retention_days: int | None = None,
    timeout: float = 120.0,
    step: Callable[[str], None] | None = None,
) -> Added:
    """Clone a team's store and add it to the user's own settings. An existing clone of it is used.

    Raises UsageError for a name that exists or is invalid, ConfigError, RemoteError, SyncBlockedError, StoreError.
    """
    settings = config_file.load(None)
    if check_team_name(name) in settings.teams():
        raise UsageError(
            f"There is a scope {name} already.", f"To replace it, remove it first: engram scope remove {name}"
        )
    path = os.path.abspath(os.path.expanduser(path)) if path else ""
    root = places.team_store(name, path)
    wanted = {
        "url": _address(url),
        "path": path or None,
        "weight": weight,
        "readonly": readonly or None,
        "retention_days": retention_days,
    }
    values = {f"scopes.{name}.{key}": value for key, value in wanted.items() if value is not None}
    for key, value in values.items():
        check(key, value)
    done = _clone(name, url, root, timeout, step)
    config_file.change_all(places.user_config_file(), values)
    return done


def team_clone(name: str) -> str:
    """Return the path of a team scope's clone. Raises NotFoundError if there is no such scope, ConfigError."""
    settings = config_file.load(None)
    if name not in settings.teams():
        raise NotFoundError(f"There is no team scope {name}.", "`engram scope list` lists the scopes.")
    return places.team_store(name, scope_named(settings, name).path)


def remove_scope(name: str, *, delete: bool = False) -> str:
    """Remove a team's scope from the user's own settings, with `delete` also its clone; return the path of the clone.

    Raises NotFoundError, ConfigError, and StoreError if the clone to delete may have changes that were not pushed.
    """
    root = team_clone(name)
    if delete and os.path.isdir(root):
        _delete(root)
    values = dict.fromkeys([key.name.replace("NAME", name) for key in TEAM_KEYS])
    config_file.change_all(places.user_config_file(), values)
    return root


def clone_missing(
    settings: Settings, name: str, *, timeout: float, step: Callable[[str], None] | None = None
) -> None:
    """Clone a configured team's store if it is not on this machine yet. Raises as `clone`."""
    scope = scope_named(settings, name)
    root = places.team_store(name, scope.path)
    if scope.url and not os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
        from engram.usecases.placement.clone import clone

        clone(scope.url, root, timeout=timeout, step=step)


def _describe_scope(store: Store, name: str) -> Listed:
    scope = scope_named(store.settings, name)
    found = Listed(
        name, scope.kind, scopes.root_of(store, name), scope.weight, scope.readonly, scope.retention_days,
        scopes.exists(store, name), name == store.stand.scope, remote=scope.url,
    )  # fmt: skip
    if not found.exists:
        return found
    try:
        other = scopes.open_scope_of(store, name)
        count, past = _count_entries(other)
        remote = remote_of(other)
    except scopes.TROUBLE as error:
        message = error.message if isinstance(error, EngramError) else str(error)
        return found._replace(message=message)
    return found._replace(lore_count=count, past_retention=past, remote=remote or scope.url)


def _count_entries(store: Store) -> tuple[int, int]:
    """Return the number of entries, and of those past the scope's retention."""
    horizon = store.scope.horizon(store.clock.now().timestamp())
    past = 0
    if horizon:
        old = query_index(store, lambda generation: generation.catalog.select("created_at < ?", [horizon]))
        past = sum(past_retention(h.created_at, h.last_validated, bool(h.pinned), horizon) for h in old)
    return query_index(store, lambda generation: standing(generation.catalog).total), past


def _clone(name: str, url: str, root: str, timeout: float, step: Callable[[str], None] | None) -> Added:
    from engram.usecases.placement.clone import absolute, clone

    if not os.path.isfile(os.path.join(root, places.CONFIG_NAME)):
        done = clone(url, root, timeout=timeout, step=step)
        return Added(name, done.root, done.lore, done.empty, existed=False)
    from engram.adapters.git.remote.remotes import remotes
    from engram.adapters.git.run.layout import find_repository

    repository = find_repository(root)
    wanted = failures.without_credentials(absolute(url))
    if repository is None or all(remote.url != wanted for remote in remotes(repository)):
        raise UsageError(
            f"{root} holds another store.", "Name another folder: engram scope add NAME URL --path PATH"
        )
    return Added(name, root, 0, empty=False, existed=True)


def _address(url: str) -> str:
    """Return the address for the settings: without a password, and unless over ssh without the user, which may be a token."""
    from engram.usecases.placement.clone import absolute

    scheme, separator, rest = absolute(url).partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if not separator or not at:
        return scheme + separator + rest
    kept = user.partition(":")[0] + "@" if scheme.endswith("ssh") else ""
    return f"{scheme}://{kept}{host}{slash}{path}"


def _delete(root: str) -> None:
    """Delete a clone. Raises StoreError if it may have changes that were not pushed."""
    import shutil

    if not scopes.is_empty(root) and not _is_pushed(root):
        raise StoreError(
            f"{root} may have lore that no remote has.",
            "Push it first: engram sync --scope NAME, or leave out --delete.",
        )
    shutil.rmtree(root, ignore_errors=True)


def _is_pushed(root: str) -> bool:
    """Return whether all files and commits of a clone are known to be on its remote."""
    from engram.adapters.git.remote import remotes
    from engram.adapters.git.run import layout
    from engram.adapters.git.run.runner import run

    repo = layout.find_repository(root)
    if repo is None or os.path.realpath(repo.worktree) != os.path.realpath(root):
        return False
    head = layout.read_head(repo)
    theirs = remotes.tracked_commit(repo, remotes.counterpart(repo, head.branch or ""))
    if theirs is None or head.oid is None or run(repo, "status", "--porcelain", "-uall").stdout:
        return False
    return not run(repo, "rev-list", "--max-count=1", f"{theirs}..{head.oid}").stdout
