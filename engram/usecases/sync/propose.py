"""Proposals: what waits here is pushed to a branch of its own, for somebody to let into the branch of lore.

A proposal is an ordinary branch, `engram/proposals/NAME`: the branch of lore as it is here, and upon it a commit that names
the proposal. Whoever may push to the branch of lore merges it: entry by entry with `engram review --proposal`
(`engram.usecases.review.proposals`), or at the host as it is. In both cases our own commits are part of the branch of lore
afterwards, so that the next sync only moves ours forward. What was rejected is taken out again by a commit upon ours, whose
message has the reasons.
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


def propose(store: Store, title: str, options: Options, step: Step | None = None) -> Proposed:
    """Push what waits here to a proposal: the one that is open, else a new one. Judgements travel as with any sync.

    Raises UsageError where nothing waits, and for a store without a branch of its own; else as `sync`.
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
        if own != before and (left := own_proposal(store)) is not None and not left.tip:
            remember(store, before)
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
            _take_review(store, target, options)  # somebody reviewed it, and their commit is upon ours
            continue
        own = own._replace(title=title, tip=commit, base=theirs or "")
        remember(store, own)
        url = next((one.url for one in remotes.remotes(repo) if one.name == base.remote), "")
        address = pull_request_address(url, base.branch, target.branch)
        return Proposed(own.name, target.branch, base.remote, title, len(entries), address, commit)
    raise AssertionError("unreachable")


def push_proposal(
    store: Store, target: Counterpart, known: str | None, commit: str, options: Options, step: Step | None
) -> None:
    """Push a commit to a proposal's branch unless it holds a secret that `known` does not have. Raises as a sync."""
    vetted, quiet = network.Vetted({}, frozenset()), step is None
    with network.Background(
        lambda report: network.push(
            store, target, known, commit, vetted, options.timeout, report, quiet=quiet
        )
    ) as pushing:
        pushing.wait(step)


def _proposal_commit(store: Store, repo: Repository, own: Own, title: str, head: str) -> str:
    """Return a commit upon our head (and the proposal as it was) that names it; the proposal itself if nothing is new."""
    known = (head,) if not own.tip else (own.tip, head)
    if own.tip and title == own.title and head in merge_commit.bases(repo, own.tip, head):
        return own.tip
    text = f"{PROPOSED}{title}\n\n{PROPOSAL}: {own.name}\nEngram-Agent: {store.caller.who}\n"
    parents = [head, *(one for one in known if one not in (head, *merge_commit.bases(repo, one, head)))]
    moment = max(int(store.clock.now().timestamp()), *merge_commit.moments(repo, parents))
    return merge_commit.write_merge(repo, parents, {}, {}, moment, text, upon=head, person=author(repo))


def author(repo: Repository) -> str:
    """Return the author of a commit of the person here, `name <email>`."""
    return configuration.author_or(environment_author(), configuration.committer(repo))


def _take_review(store: Store, target: Counterpart, options: Options) -> None:
    theirs = remotes.fetch(store.repository, target, deadline=options.timeout)
    if theirs is not None:
        merge = merge_incoming(store, theirs)
        update_index(store, list(merge.changes) if merge else [])


def list_proposals(
    store: Store, *, fetch: bool = True, timeout: float = remotes.DEADLINE
) -> list[OpenProposal]:
    """Return the open proposals, newest first; with `fetch` as the remote has them now. Raises UsageError, RemoteError."""
    repo = own_repository(store)
    head = layout.read_head(repo)
    base = remotes.counterpart(repo, head.branch or "")
    if fetch:
        remotes.fetch_proposals(repo, base.remote, deadline=timeout)
    theirs, own = remotes.tracked_commit(repo, base), own_proposal(store)
    found = []
    for name, tip in remotes.proposals(repo, base.remote).items():
        paths, title, who, at = _content(repo, theirs, tip, name)
        if paths:
            branch = remotes.PROPOSALS + name
            is_own = own is not None and own.name == name
            count = len([path for path in paths if is_lore(path, store.places.folder)])
            found.append(OpenProposal(name, title, who, at, count, base.remote, branch, tip, is_own))
    return sorted(found, key=lambda one: (-one.at, one.name))


@lru_cache(maxsize=64)  # each look at what waits asks for it, and what is between two commits stays
def _content(
    repo: Repository, theirs: str | None, tip: str, name: str
) -> tuple[tuple[str, ...], str, str, int]:
    """Return the paths that a proposal changes, its title, who made it, and when (Unix seconds)."""
    paths = proposed_paths(repo, theirs, tip)
    return (tuple(paths), *_facts(repo, theirs, tip, name)) if paths else ((), "", "", 0)


def proposed_paths(repo: Repository, theirs: str | None, tip: str) -> list[str]:
    """Return the paths that a proposal changes and the commit `theirs` does not have so."""
    shared = merge_commit.bases(repo, theirs, tip) if theirs else ()
    if tip in shared:
        return []
    base = shared[0] if shared else None
    changed = differences(repo, base, tip)
    there = differences(repo, base, theirs) if theirs and theirs != base else {}
    return [path for path, one in changed.items() if path not in there or there[path].after != one.after]


def _facts(repo: Repository, theirs: str | None, tip: str, name: str) -> tuple[str, str, int]:
    """Return the title, author and time (Unix seconds) of a proposal, from the last commit that names it."""
    found = with_value(repo, tip, theirs or "", PROPOSAL, name)
    named = next((one for one in found if one.subject.startswith(PROPOSED)), None)
    if named is None:  # a branch that somebody made by hand
        last = commit_facts(repo, tip)
        return name, byline("", last.author), last.moment
    return named.subject.removeprefix(PROPOSED), byline("", named.author), named.moment
