"""Proposals: what waits here is pushed to a branch of its own, for somebody to let into the branch of lore.

A proposal is an ordinary branch, `engram/proposals/NAME`: the branch of lore as it is here, and upon it a commit that names
the proposal. Whoever may push to the branch of lore merges it: entry by entry with `engram review --proposal`
(`engram.usecases.review.proposals`), or at the host as it is. In both cases our own commits are part of the branch of lore
afterwards, so that the next sync only moves ours forward. What was rejected is taken out again by a commit upon ours, whose
message has the reasons.
"""

from __future__ import annotations

import json
import os

from engram.adapters.files.durable import atomic
from engram.adapters.git.read.differences import blobs, differences
from engram.adapters.git.read.history import commit_facts, with_value
from engram.adapters.git.remote import remotes
from engram.adapters.git.remote.remotes import Counterpart
from engram.adapters.git.run import configuration, failures, layout
from engram.adapters.git.run.author import environment_author
from engram.adapters.git.write import merging
from engram.domain.entry.lore import slug
from engram.domain.entry.people import byline
from engram.domain.errors import EngramError, RemoteError, UsageError
from engram.domain.sync.pull_request import pull_request_address
from engram.domain.sync.sync_plan import is_lore
from engram.domain.text.counting import counted
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import people, sync_state
from engram.usecases.store.entry_writer import check_writable
from engram.usecases.store.lineage import read_lore
from engram.usecases.sync import network

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store
    from engram.usecases.sync.sync import Options, Step

PROPOSAL, ACCEPTED, REJECTED = "Engram-Proposal", "Engram-Accepted", "Engram-Rejected"
PROPOSED = "propose: "
_STATE = "proposal.json"
_TRIES = 3
_LONGEST_TITLE = 100


class Rejected(NamedTuple):
    """An entry that did not get in: its id, its title, why."""

    id: str
    title: str
    reason: str


class Own(NamedTuple):
    """The proposal of this clone that is open, or was last; `tip` is its commit, "" before it was pushed.

    `base` is the commit of the branch of lore that it was made upon ("" where the remote had none). It is `open` until it
    is in the branch of lore; then `accepted` counts its entries that are, `rejected` lists the others, `by` has the name of
    who decided ("" where it was merged as it was).
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
        """Return it as JSON."""
        return {**self._asdict(), "rejected": [one._asdict() for one in self.rejected]}

    def lines(self) -> list[str]:
        """Return what became of it, for people."""
        who = f"{self.by} reviewed" if self.by else "Merged:"
        said = f"{who} your proposal '{self.title}': {self.accepted:,} accepted, {len(self.rejected):,} rejected."
        return [
            said,
            *(
                f"Rejected: {one.title}: {one.reason} (engram restore {one.id} --at {self.tip[:10]})"
                for one in self.rejected
            ),
        ]


class Proposed(NamedTuple):
    """A proposal that was pushed: its name, branch, remote and title, how many entries it has.

    `url` is where a pull request can be opened, "" for a host that is not known. `notes` say what a review before said.
    """

    name: str
    branch: str
    remote: str
    title: str
    entries: int
    url: str
    commit: str
    notes: tuple[str, ...] = ()


class OpenProposal(NamedTuple):
    """A proposal that is not in the branch of lore yet, as it was last fetched; `at` in Unix seconds."""

    name: str
    title: str
    author: str
    at: int
    entries: int
    remote: str
    branch: str
    commit: str
    is_own: bool


def own_proposal(store: Store) -> Own | None:
    """Return the proposal of this clone that is open, or was last; None where there was none."""
    try:
        found = json.loads(atomic.read(os.path.join(store.places.state, _STATE)))
        rejected = tuple(Rejected(*map(str, one)) for one in found.pop("rejected"))
        return Own(**{**found, "rejected": rejected})
    except (EngramError, ValueError, KeyError, TypeError, AttributeError):
        return None


def is_open(store: Store) -> bool:
    """Return whether this clone has a proposal that waits: then a sync does not push to the branch of lore."""
    own = own_proposal(store)
    return own is not None and own.open


def _remember(store: Store, own: Own | None) -> None:
    path = os.path.join(store.places.state, _STATE)
    with store.files.lock():
        if own is None:
            atomic.discard(path)
        else:
            sync_state.replace(path, json.dumps(own._asdict(), ensure_ascii=False).encode())


def propose(store: Store, title: str, options: Options, step: Step | None = None) -> Proposed:
    """Push what waits here to a proposal: the one that is open, else a new one. Judgements travel as with any sync.

    Raises UsageError where nothing waits, and for a store without a branch of its own; else as `sync`.
    """
    from engram.usecases.sync.sync import own_repository, sync

    repo, title = own_repository(store), " ".join(title.split())[:_LONGEST_TITLE]
    check_writable(store)
    before = own_proposal(store)
    own = before if before is not None and before.open else _new(store, title)
    _remember(store, own)  # from now on the sync leaves the branch of lore alone
    try:
        notes = sync(store, options, step).notes
        after = own_proposal(store)
        if after is not None and not after.open:  # it was merged meanwhile
            own, before = _new(store, title), after
            _remember(store, own)
        return _push(store, repo, own, title, options, step)._replace(notes=notes)
    except BaseException:
        if own != before and (left := own_proposal(store)) is not None and not left.tip:
            _remember(store, before)
        raise


def _new(store: Store, title: str) -> Own:
    begin = slug(title) if title else slug(people.own_name(store) or "lore")
    return Own(f"{begin[:40].strip('-')}-{store.clock.new_id()[-4:].lower()}", title, "")


def _push(
    store: Store, repo: Repository, own: Own, title: str, options: Options, step: Step | None
) -> Proposed:
    for attempt in range(_TRIES):
        head = layout.read_head(repo)
        base = remotes.counterpart(repo, head.branch or "", options.remote)
        target = Counterpart(base.remote, remotes.PROPOSALS + own.name)
        theirs = remotes.tracked(repo, base)
        entries = _changed_entries(store, theirs, head.oid)
        if head.oid is None or not (entries or _differs(repo, theirs, head.oid)):
            raise UsageError(
                "Nothing waits here to be proposed.",
                "Record something first; `engram sync --dry-run` lists it.",
            )
        title = title or own.title or counted(len(entries), "entry", "entries")
        commit = _named(store, repo, own, title, head.oid)
        try:
            push_proposal(store, target, theirs, commit, options, step)
        except RemoteError as error:
            if error.kind != failures.REJECTED or attempt == _TRIES - 1:
                raise
            _take_review(store, target, options)  # somebody reviewed it, and their commit is upon ours
            continue
        own = own._replace(title=title, tip=commit, base=theirs or "")
        _remember(store, own)
        url = next((one.url for one in remotes.remotes(repo) if one.name == base.remote), "")
        address = pull_request_address(url, base.branch, target.branch)
        return Proposed(own.name, target.branch, base.remote, title, len(entries), address, commit)
    raise AssertionError("unreachable")


def push_proposal(
    store: Store, target: Counterpart, known: str | None, commit: str, options: Options, step: Step | None
) -> None:
    """Push a commit to a proposal's branch unless it holds a secret that `known` does not have. Raises as a sync."""
    vetted = network.Vetted({}, frozenset())
    with network.Background(
        lambda report: network.push(store, target, known, commit, vetted, options.timeout, report)
    ) as pushing:
        pushing.wait(step)


def _differs(repo: Repository, theirs: str | None, head: str) -> bool:
    return bool(differences(repo, theirs, head))


def _changed_entries(store: Store, theirs: str | None, head: str | None) -> list[str]:
    """Return the paths of the entries that our head has otherwise than the branch of lore."""
    if head is None:
        return []
    found = differences(store.repository, theirs, head)
    return [path for path in found if is_lore(path, store.places.folder)]


def _named(store: Store, repo: Repository, own: Own, title: str, head: str) -> str:
    """Return a commit upon our head (and the proposal as it was) that names it; the proposal itself if nothing is new."""
    known = (head,) if not own.tip else (own.tip, head)
    if own.tip and title == own.title and head in merging.bases(repo, own.tip, head):
        return own.tip
    text = f"{PROPOSED}{title}\n\n{PROPOSAL}: {own.name}\nEngram-Agent: {store.caller.who}\n"
    parents = [head, *(one for one in known if one not in (head, *merging.bases(repo, one, head)))]
    moment = max(int(store.clock.now().timestamp()), *merging.moments(repo, parents))
    return merging.write_merge(repo, parents, {}, {}, moment, text, upon=head, person=author(repo))


def author(repo: Repository) -> str:
    """Return the author of a commit of the person here, `name <email>`."""
    return configuration.author_or(environment_author(), configuration.committer(repo))


def _take_review(store: Store, target: Counterpart, options: Options) -> None:
    from engram.usecases.sync.sync import merge_incoming, update_index

    theirs = remotes.fetch(store.repository, target, deadline=options.timeout)
    if theirs is not None:
        merge = merge_incoming(store, theirs)
        update_index(store, list(merge.changes) if merge else [])


# What became of it


def close_if_merged(store: Store, theirs: str | None) -> list[str]:
    """Close our proposal if the branch of lore, now at `theirs`, has it; what became of it as lines for people, else none.

    Merged as it was, or squashed, it is there as soon as nothing of ours is missing there. Raises GitError.
    """
    own, repo = own_proposal(store), store.repository
    if own is None or not own.open or not own.tip or theirs is None:
        return []
    head = layout.read_head(repo).oid
    is_merged = own.tip in merging.bases(repo, own.tip, theirs)
    if not is_merged and (head is None or _differs(repo, theirs, head)):
        return []
    proposed = _titles(store, own)
    accepted, rejected, by = len(proposed), dict[str, Rejected](), ""
    for review in reversed(with_value(repo, theirs, own.tip, PROPOSAL, own.name)):
        if review.subject.startswith(PROPOSED):
            continue
        by = byline("", review.author)
        for said in review.trailers.get(REJECTED, ()):
            name, _, reason = said.partition(" ")
            rejected[name] = Rejected(name, proposed.get(name, name), reason)
    own = own._replace(
        open=False, accepted=max(0, accepted - len(rejected)), rejected=tuple(rejected.values()), by=by
    )
    _remember(store, own)
    return own.lines()


def not_proposed_yet(store: Store, theirs: str | None) -> list[str]:
    """Return a line for people where entries wait here that our open proposal does not have. Raises GitError."""
    own, head = own_proposal(store), layout.read_head(store.repository).oid
    if own is None or not own.open or not own.tip or head is None:
        return []
    newer = set(_changed_entries(store, own.tip, head)) & set(_changed_entries(store, theirs, head))
    if not newer:
        return []
    some = counted(len(newer), "entry waits", "entries wait")
    return [f"{some} that your proposal {own.name} does not have yet: engram propose"]


def _titles(store: Store, own: Own) -> dict[str, str]:
    """Return the titles of the entries that our proposal changed, by id; those that it deleted, by path."""
    repo, found = store.repository, dict[str, str]()
    changed = differences(repo, own.base or None, own.tip)
    entries = {path: one.after for path, one in changed.items() if is_lore(path, store.places.folder)}
    contents = blobs(repo, [entry.oid for entry in entries.values() if entry])
    for path, entry in entries.items():
        file = read_lore(store, path, contents[entry.oid]) if entry else None
        if file is not None:
            found[file.lore.id] = file.lore.title
        elif not any(lore_id in path for lore_id in found):
            found[path] = path
    return found


# Those of others


def list_proposals(
    store: Store, *, fetch: bool = True, timeout: float = remotes.DEADLINE
) -> list[OpenProposal]:
    """Return the open proposals, newest first; with `fetch` as the remote has them now. Raises UsageError, RemoteError."""
    from engram.usecases.sync.sync import own_repository

    repo = own_repository(store)
    head = layout.read_head(repo)
    base = remotes.counterpart(repo, head.branch or "")
    if fetch:
        remotes.fetch_proposals(repo, base.remote, deadline=timeout)
    theirs, own = remotes.tracked(repo, base), own_proposal(store)
    found = []
    for name, tip in remotes.proposals(repo, base.remote).items():
        entries = proposed_paths(store, theirs, tip)
        if entries:
            title, who, at = _facts(repo, theirs, tip, name)
            branch = remotes.PROPOSALS + name
            is_own = own is not None and own.name == name
            count = len([path for path in entries if is_lore(path, store.places.folder)])
            found.append(OpenProposal(name, title, who, at, count, base.remote, branch, tip, is_own))
    return sorted(found, key=lambda one: (-one.at, one.name))


def proposed_paths(store: Store, theirs: str | None, tip: str) -> list[str]:
    """Return the paths that a proposal changes and the commit `theirs` does not have so."""
    repo = store.repository
    shared = merging.bases(repo, theirs, tip) if theirs else ()
    if tip in shared:
        return []
    base = shared[0] if shared else None
    changed = differences(repo, base, tip)
    there = differences(repo, base, theirs) if theirs and theirs != base else {}
    return [path for path, one in changed.items() if path not in there or there[path].after != one.after]


def _facts(repo: Repository, theirs: str | None, tip: str, name: str) -> tuple[str, str, int]:
    """Return the title of a proposal, who made it, and when (Unix seconds): as its last commit that names it says."""
    found = with_value(repo, tip, theirs or "", PROPOSAL, name)
    named = next((one for one in found if one.subject.startswith(PROPOSED)), None)
    if named is None:  # a branch that somebody made by hand
        last = commit_facts(repo, tip)
        return name, byline("", last.author), last.moment
    return named.subject.removeprefix(PROPOSED), byline("", named.author), named.moment
