"""The proposal of this clone: its recorded state, and its outcome. `engram.usecases.sync.propose` makes one."""

from __future__ import annotations

import json
import os

from engram.adapters.files.durable import atomic
from engram.adapters.git.read.differences import blobs, differences
from engram.adapters.git.read.history import with_value
from engram.adapters.git.run import layout
from engram.adapters.git.write import merge_commit
from engram.domain.entry.people import byline
from engram.domain.errors import EngramError
from engram.domain.sync.sync_plan import is_lore
from engram.domain.text.counted_nouns import counted
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import sync_state
from engram.usecases.store.version_paths import read_lore

if TYPE_CHECKING:
    from engram.usecases.store.store import Store

PROPOSAL, REJECTED = "Engram-Proposal", "Engram-Rejected"
PROPOSED = "propose: "
_STATE = "proposal.json"


class Rejected(NamedTuple):
    """A rejected entry: its id, its title, and the reason."""

    id: str
    title: str
    reason: str


class Own(NamedTuple):
    """The open proposal of this clone, or its last one; `tip` is its commit, "" before it is pushed.

    `base` is the commit of the branch of lore that it was made upon ("" if the remote had none). It is `open` until it has
    been merged into the branch of lore; then `accepted` counts the accepted entries, `rejected` lists the others, and `by`
    names the reviewer ("" if it was merged unchanged).
    """

    name: str
    title: str
    tip: str
    base: str = ""
    open: bool = True
    accepted: int = 0
    rejected: tuple[Rejected, ...] = ()
    by: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return the proposal as JSON values."""
        return {**self._asdict(), "rejected": [entry._asdict() for entry in self.rejected]}

    def lines(self) -> list[str]:
        """Return lines for people on the outcome."""
        who = f"{self.by} reviewed" if self.by else "Merged:"
        text = f"{who} your proposal '{self.title}': {self.accepted:,} accepted, {len(self.rejected):,} rejected."
        return [
            text,
            *(
                f"Rejected '{entry.title}': {entry.reason} (engram restore {entry.id} --at {self.tip[:10]})"
                for entry in self.rejected
            ),
        ]


def own_proposal(store: Store) -> Own | None:
    """Return the open proposal of this clone, or its last one, or None."""
    try:
        found = json.loads(atomic.read(os.path.join(store.places.state, _STATE)))
        rejected = tuple(Rejected(*map(str, entry)) for entry in found.pop("rejected"))
        return Own(**{**found, "rejected": rejected})
    except (EngramError, ValueError, KeyError, TypeError, AttributeError):
        return None


def is_open(store: Store) -> bool:
    """Return whether this clone has an open proposal: then a sync does not push to the branch of lore."""
    own = own_proposal(store)
    return own is not None and own.open


def remember(store: Store, own: Own | None) -> None:
    """Store the proposal of this clone, or that there is none. Raises StoreError."""
    path = os.path.join(store.places.state, _STATE)
    with store.files.lock():
        if own is None:
            atomic.discard(path)
        else:
            sync_state.replace(path, json.dumps(own._asdict(), ensure_ascii=False).encode())


def close_if_merged(store: Store, theirs: str | None) -> list[str]:
    """Close our proposal if it is in the branch of lore, now at `theirs`; return lines for people on the outcome, else none.

    It also counts as merged when the branch has all of our changes, as after squashing. Raises GitError.
    """
    own, repo = own_proposal(store), store.repository
    if own is None or not own.open or not own.tip or theirs is None:
        return []
    head = layout.read_head(repo).oid
    is_merged = own.tip in merge_commit.bases(repo, own.tip, theirs)
    if not is_merged and (head is None or differences(repo, theirs, head)):
        return []
    proposed = _titles(store, own)
    accepted, rejected, by = len(proposed), dict[str, Rejected](), ""
    for review in reversed(with_value(repo, theirs, own.tip, PROPOSAL, own.name)):
        if review.subject.startswith(PROPOSED):
            continue
        by = byline("", review.author)
        for line in review.trailers.get(REJECTED, ()):
            lore_id, _, reason = line.partition(" ")
            rejected[lore_id] = Rejected(lore_id, proposed.get(lore_id, lore_id), reason)
    own = own._replace(
        open=False, accepted=max(0, accepted - len(rejected)), rejected=tuple(rejected.values()), by=by
    )
    remember(store, own)
    return own.lines()


def describe_unproposed(store: Store, theirs: str | None) -> list[str]:
    """Return a line for people if entries wait here that our open proposal does not include. Raises GitError."""
    own, head = own_proposal(store), layout.read_head(store.repository).oid
    if own is None or not own.open or not own.tip or head is None:
        return []
    newer = set(changed_entries(store, own.tip, head)) & set(changed_entries(store, theirs, head))
    if not newer:
        return []
    entries = counted(len(newer), "entry waits", "entries wait")
    return [f"{entries} that your proposal {own.name} does not have yet: engram propose"]


def _titles(store: Store, own: Own) -> dict[str, str]:
    """Return the titles of the entries that our proposal changed, by id; a deleted one has its path for both."""
    repo, found = store.repository, dict[str, str]()
    changed = differences(repo, own.base or None, own.tip)
    entries = {path: change.after for path, change in changed.items() if is_lore(path, store.places.folder)}
    contents = blobs(repo, [entry.oid for entry in entries.values() if entry])
    for path, entry in entries.items():
        file = read_lore(store, path, contents[entry.oid]) if entry else None
        if file is not None:
            found[file.lore.id] = file.lore.title
        elif not any(lore_id in path for lore_id in found):
            found[path] = path
    return found


def changed_entries(store: Store, theirs: str | None, head: str | None) -> list[str]:
    """Return the paths of the entries that differ between our head and the branch of lore, at `theirs`."""
    if head is None:
        return []
    changed = differences(store.repository, theirs, head)
    return [path for path in changed if is_lore(path, store.places.folder)]
