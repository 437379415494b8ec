"""Quarantine of what came in by a person's own `git pull`: found when the index is next refreshed, before any answer.

How far the remote's branch was checked is recorded as a commit in the state folder. What was there before the setting is
not quarantined, so the watermark advances whether anything is to be quarantined or not.
"""

from __future__ import annotations

import contextlib

from engram.domain.admission import trust
from engram.domain.errors import EngramError
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.store import watermarks

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store

_MARK = "weighed-up-to"


def quarantine_pulled(store: Store) -> int:
    """Quarantine what the settings say of what the person pulled; return how many entries. Errors are left to the next call."""
    repo = store.places.repository
    if repo is None or not store.places.owns_branch:
        return 0
    with contextlib.suppress(EngramError):
        theirs, known = _tracked(repo), watermarks.noted(store, _MARK)
        if theirs is None or theirs == known:
            return 0
        return _quarantine(store, repo, known, theirs)
    return 0


def mark_checked(store: Store, theirs: str) -> None:
    """Record that a commit of the remote, and all before it, was checked; a record that cannot be written is left out."""
    with contextlib.suppress(EngramError):
        watermarks.note(store, _MARK, theirs)


def _quarantine(store: Store, repo: Repository, known: str, theirs: str) -> int:
    from engram.adapters.git.read.differences import differences
    from engram.adapters.git.run import layout
    from engram.adapters.git.write import merging
    from engram.usecases.admission.incoming_quarantine import quarantine_incoming

    head = layout.read_head(repo).oid
    if head is None or theirs not in merging.bases(repo, head, theirs):
        return 0  # it was fetched and nothing else
    count = 0
    if known and store.settings.text("trust.hold") != trust.NONE:
        count = quarantine_incoming(store, known, theirs, differences(repo, known, head), {}, mixed=True)
    mark_checked(store, theirs)
    return count


def _tracked(repo: Repository) -> str | None:
    from engram.adapters.git.remote import remotes
    from engram.adapters.git.run import layout

    branch = layout.read_head(repo).branch
    return remotes.tracked(repo, remotes.counterpart(repo, branch)) if branch else None
