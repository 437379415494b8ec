"""The two parts of a sync that wait for the network, each for a thread of its own: fetching, and pushing what holds no secret."""

from __future__ import annotations

from engram.adapters.git.remote import remotes
from engram.adapters.git.write import lore_branch
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission.outgoing_secrets import check_outgoing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from engram.adapters.git.remote.remotes import Counterpart
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store

    Hear = Callable[[str], None]

FETCHING, PUSHING, LOOKING = "fetching from {}", "pushing to {}", "looking for secrets"


class LookedAt(NamedTuple):
    """What need not be looked up in git for secrets: the merges of this sync (see `check_outgoing`), clean commits."""

    made: Mapping[str, Mapping[str, bytes]]
    clean: Collection[str]


def fetch(repo: Repository, other: Counterpart, timeout: float, hear: Hear) -> tuple[str, str | None]:
    """The remote's branch and its commit, None where it has none yet. Raises RemoteError, GitError."""
    tell = _telling(FETCHING.format(other.remote), hear)
    known = remotes.tracked(repo, other)
    theirs = remotes.fetch(repo, other, deadline=timeout, tell=tell)
    if theirs is None and known is None and other.branch != lore_branch.BRANCH:
        # A remote whose branch has another name; one that was deleted is made again by the push.
        name = remotes.default_branch(repo, other.remote, deadline=timeout)
        if name and name != other.branch:
            other = other._replace(branch=name)
            theirs = remotes.fetch(repo, other, deadline=timeout, tell=tell)
    return other.branch, theirs


def send(
    store: Store,
    other: Counterpart,
    theirs: str | None,
    commit: str,
    looked: LookedAt,
    timeout: float,
    hear: Hear,
) -> tuple[str, str | None]:
    """Push a commit to the remote, which has `theirs`; its branch and that commit. Raises SecretFoundError, RemoteError."""
    hear(LOOKING)
    check_outgoing(
        store,
        theirs,
        commit,
        lambda done, total: hear(f"{LOOKING}: {100 * done // total} %"),
        looked.made,
        looked.clean,
    )
    what = PUSHING.format(other.remote)
    hear(what)
    remotes.push(store.repository, other, commit, deadline=timeout, tell=_telling(what, hear))
    return other.branch, commit


def _telling(what: str, hear: Hear) -> Hear:
    """What is to hear how far git is."""
    return lambda progress: hear(f"{what}: {progress}" if progress else what)
