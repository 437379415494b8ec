"""Proposals: push local changes to a branch of their own, for somebody to merge into the branch of lore.

A proposal is an ordinary branch, `engram/proposals/NAME`: our branch of lore, and upon it a commit that names the proposal.
Somebody who may push to the branch of lore merges it: entry by entry with `engram review --proposal`
(`engram.usecases.review.proposals`), or unchanged at the host. In both cases our commits become part of the branch of lore,
so the next sync only fast-forwards ours. Rejected entries are removed by a commit upon ours, whose message has the reasons.
"""

from __future__ import annotations

from functools import lru_cache

from engram.adapters.git.read.differences import differences
from engram.adapters.git.read.history import commit_facts, with_value
from engram.adapters.git.remote import remotes
from engram.adapters.git.remote.remotes import Counterpart
from engram.adapters.git.run import configuration, failures, layout
from engram.adapters.git.run.author import environment_author
from engram.adapters.git.write import merge_commit
from engram.domain.entry.lore import slug
from engram.domain.entry.people import byline
from engram.domain.errors import RemoteError, UsageError
from engram.domain.sync.pull_request import pull_request_address
from engram.domain.sync.sync_plan import is_lore
from engram.domain.text.counted_nouns import counted
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import people
from engram.usecases.store.entry_writer import check_writable
from engram.usecases.sync import network
from engram.usecases.sync.incoming import merge_incoming, update_index
from engram.usecases.sync.own_proposal import PROPOSAL, PROPOSED, Own, changed_entries, own_proposal, remember
from engram.usecases.sync.sync import own_repository, sync

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.store.store import Store
    from engram.usecases.sync.sync import Options, Step

_TRIES = 3
_LONGEST_TITLE = 100


class Proposed(NamedTuple):
    """A pushed proposal: its name, branch, remote and title, and the number of its entries.

    `url` opens a pull request, "" for an unknown host. `notes` are those of the sync, such as the outcome of a review.
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
    """A proposal that is not merged yet, as last fetched; `at` is in Unix seconds."""

    name: str
    title: str
    author: str
    at: int
    entries: int
    remote: str
    branch: str
    commit: str
    is_own: bool


def propose(store: Store, title: str, options: Options, step: Step | None = None) -> Proposed:
    """Push local changes to the open proposal, else to a new one. Judgements travel as with any sync.

    Raises UsageError if there is nothing to propose, or for a store without a branch of its own; else as `sync`.
    """
    repo, title = own_repository(store), " ".join(title.split())[:_LONGEST_TITLE]
    check_writable(store)
    before = own_proposal(store)
    own = before if before is not None and before.open else _new(store, title)
    remember(store, own)  # from now on the sync leaves the branch of lore alone
    try:
        notes = sync(store, options, step).notes
        after = own_proposal(store)
        if after is not None and not after.open:  # it was merged meanwhile
            own, before = _new(store, title), after
            remember(store, own)
        return _push(store, repo, own, title, options, step)._replace(notes=notes)
    except BaseException:
        if own != before and (current := own_proposal(store)) is not None and not current.tip:
            remember(store, before)
        raise


def _new(store: Store, title: str) -> Own:
    prefix = slug(title or people.own_name(store) or "lore")
    return Own(f"{prefix[:40].strip('-')}-{store.clock.new_id()[-4:].lower()}", title, "")


def _push(
    store: Store, repo: Repository, own: Own, title: str, options: Options, step: Step | None
) -> Proposed:
    for attempt in range(_TRIES):
        head = layout.read_head(repo)
        base = remotes.counterpart(repo, head.branch or "", options.remote)
        target = Counterpart(base.remote, remotes.PROPOSALS + own.name)
        theirs = remotes.tracked_commit(repo, base)
        entries = changed_entries(store, theirs, head.oid)
        if head.oid is None or not (entries or differences(repo, theirs, head.oid)):
            raise UsageError(
                "There is nothing to propose here.",
                "Record something first; `engram sync --dry-run` lists unsent entries.",
            )
        title = title or own.title or counted(len(entries), "entry", "entries")
        commit = _proposal_commit(store, repo, own, title, head.oid)
        try:
            push_proposal(store, target, theirs, commit, options, step)
        except RemoteError as error:
            if error.kind != failures.REJECTED or attempt == _TRIES - 1:
                raise
            _merge_review(store, target, options)  # somebody reviewed it: their commit is upon ours
            continue
        own = own._replace(title=title, tip=commit, base=theirs or "")
        remember(store, own)
        url = next((remote.url for remote in remotes.remotes(repo) if remote.name == base.remote), "")
        address = pull_request_address(url, base.branch, target.branch)
        return Proposed(own.name, target.branch, base.remote, title, len(entries), address, commit)
    raise AssertionError("unreachable")


def push_proposal(
    store: Store, target: Counterpart, known: str | None, commit: str, options: Options, step: Step | None
) -> None:
    """Push a commit to a proposal's branch unless it adds a secret since the commit `known`. Raises as a sync."""
    vetted, quiet = network.Vetted({}, frozenset()), step is None
    with network.Background(
        lambda report: network.push(
            store, target, known, commit, vetted, options.timeout, report, quiet=quiet
        )
    ) as pushing:
        pushing.wait(step)


def _proposal_commit(store: Store, repo: Repository, own: Own, title: str, head: str) -> str:
    """Return a commit upon our head (and the proposal's last commit) that names it; that last commit if nothing is new."""
    if own.tip and title == own.title and head in merge_commit.bases(repo, own.tip, head):
        return own.tip
    text = f"{PROPOSED}{title}\n\n{PROPOSAL}: {own.name}\nEngram-Agent: {store.caller.who}\n"
    in_head = not own.tip or own.tip in (head, *merge_commit.bases(repo, own.tip, head))
    parents = [head] if in_head else [head, own.tip]
    moment = max(int(store.clock.now().timestamp()), *merge_commit.moments(repo, parents))
    return merge_commit.write_merge(repo, parents, {}, {}, moment, text, upon=head, person=author(repo))


def author(repo: Repository) -> str:
    """Return the author for commits of the person here, `name <email>`."""
    return configuration.author_or(environment_author(), configuration.committer(repo))


def _merge_review(store: Store, target: Counterpart, options: Options) -> None:
    theirs = remotes.fetch(store.repository, target, deadline=options.timeout)
    if theirs is not None:
        merge = merge_incoming(store, theirs)
        update_index(store, list(merge.changes) if merge else [])


def list_proposals(
    store: Store, *, fetch: bool = True, timeout: float = remotes.DEADLINE
) -> list[OpenProposal]:
    """Return the open proposals, newest first; with `fetch`, fetch them first. Raises UsageError, RemoteError."""
    repo = own_repository(store)
    head = layout.read_head(repo)
    base = remotes.counterpart(repo, head.branch or "")
    if fetch:
        remotes.fetch_proposals(repo, base.remote, deadline=timeout)
    theirs, own = remotes.tracked_commit(repo, base), own_proposal(store)
    found = []
    for name, tip in remotes.proposals(repo, base.remote).items():
        paths, title, by, at = _content(repo, theirs, tip, name)
        if paths:
            branch = remotes.PROPOSALS + name
            is_own = own is not None and own.name == name
            count = len([path for path in paths if is_lore(path, store.places.folder)])
            found.append(OpenProposal(name, title, by, at, count, base.remote, branch, tip, is_own))
    return sorted(found, key=lambda proposal: (-proposal.at, proposal.name))


@lru_cache(maxsize=64)  # asked for by each look at the queue; the difference of two commits never changes
def _content(
    repo: Repository, theirs: str | None, tip: str, name: str
) -> tuple[tuple[str, ...], str, str, int]:
    """Return the paths that a proposal changes, its title, author and time (Unix seconds)."""
    paths = proposed_paths(repo, theirs, tip)
    return (tuple(paths), *_facts(repo, theirs, tip, name)) if paths else ((), "", "", 0)


def proposed_paths(repo: Repository, theirs: str | None, tip: str) -> list[str]:
    """Return the paths that a proposal changes and that differ from the commit `theirs`."""
    shared = merge_commit.bases(repo, theirs, tip) if theirs else ()
    if tip in shared:
        return []
    base = shared[0] if shared else None
    changed = differences(repo, base, tip)
    in_theirs = differences(repo, base, theirs) if theirs and theirs != base else {}
    return [
        path
        for path, change in changed.items()
        if path not in in_theirs or in_theirs[path].after != change.after
    ]


def _facts(repo: Repository, theirs: str | None, tip: str, name: str) -> tuple[str, str, int]:
    """Return the title, author and time (Unix seconds) of a proposal, from the last commit that names it."""
    commits = with_value(repo, tip, theirs or "", PROPOSAL, name)
    commit = next((commit for commit in commits if commit.subject.startswith(PROPOSED)), None)
    if commit is None:  # a branch that somebody made by hand
        last = commit_facts(repo, tip)
        return name, byline("", last.author), last.moment
    return commit.subject.removeprefix(PROPOSED), byline("", commit.author), commit.moment
