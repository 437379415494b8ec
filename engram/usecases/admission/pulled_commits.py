"""Quarantine of what came in by a person's own `git pull`: found when the index is next refreshed, before any answer.

How far the remote's branch was checked is recorded as a commit in the state folder. What was there before the setting is
not quarantined, so the watermark advances whether anything is to be quarantined or not.
"""

from __future__ import annotations

import contextlib

from engram.adapters.git.run import layout
from engram.domain.admission import trust
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import sync_state

if TYPE_CHECKING:
    from engram.adapters.git.remote.remotes import Counterpart
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store

_MARK = "weighed-up-to"


def quarantine_pulled(store: Store) -> int:
    """Quarantine what the settings say of what the person pulled; return how many entries. Errors are left to the next call."""
    repo = store.places.repository
    if repo is None or not store.places.owns_branch:
        return 0
    with contextlib.suppress(EngramError):
        other, known = _counterpart(repo), sync_state.read_watermark(store, _MARK)
        theirs = other and layout.read_ref(repo, other.ref)
        if not other or not theirs or theirs == known:
            return 0
        return _quarantine(store, repo, other, known, theirs)
    return 0


def mark_checked(store: Store, theirs: str) -> None:
    """Record that a commit of the remote, and all before it, was checked; a record that cannot be written is left out."""
    with contextlib.suppress(EngramError):
        sync_state.write_watermark(store, _MARK, theirs)


def _quarantine(store: Store, repo: Repository, other: Counterpart, known: str, theirs: str) -> int:
    from engram.adapters.git.read.differences import differences
    from engram.adapters.git.remote.remotes import fetched_since
    from engram.adapters.git.write import merging
    from engram.usecases.admission.incoming_quarantine import quarantine_incoming

    head = layout.read_head(repo).oid
    if head is None or theirs not in merging.bases(repo, head, theirs):
        return 0  # it was fetched and nothing else
    count = 0
    if known and store.settings.text("trust.hold") != trust.NONE:
        for old, new in fetched_since(repo, other, known, theirs):
            count += quarantine_incoming(store, old, new, differences(repo, old, head), {}, mixed=True)
    mark_checked(store, theirs)
    return count


def _counterpart(repo: Repository) -> Counterpart | None:
    from engram.adapters.git.remote import remotes

    branch = layout.read_head(repo).branch
    return remotes.counterpart(repo, branch) if branch else None
