"""Lore that came in by a person's own `git pull`: found when the index next looks, before it answers anything.

How far the remote's branch was weighed is noted as a commit in the state folder. What was there before the setting
does not wait, so the note goes on whether anything is to be held or not.
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


def weigh_pulled(store: Store) -> int:
    """Hold what the settings say of what the person pulled; returns how many lore. Trouble is left for the next time."""
    repo = store.places.repository
    if repo is None or not store.places.owns_branch:
        return 0
    with contextlib.suppress(EngramError):
        theirs, known = _tracked(repo), watermarks.read(store, _MARK)
        if theirs is None or theirs == known:
            return 0
        return _weigh(store, repo, known, theirs)
    return 0


def weighed(store: Store, theirs: str) -> None:
    """Note that a commit of the remote, and all before it, was weighed; where that cannot be written it is left out."""
    with contextlib.suppress(EngramError):
        watermarks.write(store, _MARK, theirs)


def _weigh(store: Store, repo: Repository, known: str, theirs: str) -> int:
    from engram.adapters.git.read.differences import differences
    from engram.adapters.git.run import layout
    from engram.adapters.git.write import merging
    from engram.usecases.admission.incoming_quarantine import weigh

    head = layout.read_head(repo).oid
    if head is None or theirs not in merging.bases(repo, head, theirs):
        return 0  # it was fetched and nothing else
    held = 0
    if known and store.settings.text("trust.hold") != trust.NONE:
        held = weigh(store, known, theirs, differences(repo, known, head), {}, mixed=True)
    weighed(store, theirs)
    return held


def _tracked(repo: Repository) -> str | None:
    from engram.adapters.git.remote import remotes
    from engram.adapters.git.run import layout

    branch = layout.read_head(repo).branch
    return remotes.tracked(repo, remotes.counterpart(repo, branch)) if branch else None
