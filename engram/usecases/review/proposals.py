"""Review a proposal entry by entry: its changes, the decisions, and their merge into the branch of lore.

Decisions are noted privately until all are made, so that each can be changed. `finish` writes them as one commit upon the
proposal, which takes the rejected entries out again and has the reasons, pushes it, and merges it like any other commit of a
remote: whoever proposed gets it by their next sync, and their own commits stay part of the history.
"""

from __future__ import annotations

import contextlib
import json
import os

from engram.adapters.files.durable import atomic
from engram.adapters.git.read import objects
from engram.adapters.git.read.differences import blobs, differences
from engram.adapters.git.read.history import ID, OPERATION
from engram.adapters.git.read.operations import DEED, REVIEWED, SOURCE
from engram.adapters.git.remote import remotes
from engram.adapters.git.remote.remotes import Counterpart
from engram.adapters.git.run import layout
from engram.adapters.git.write import merge_commit
from engram.domain.entry.change_phrase import phrase
from engram.domain.entry.disputes import marked_differences
from engram.domain.entry.people import byline
from engram.domain.errors import EngramError, NotFoundError, RemoteError, UsageError
from engram.domain.sync.pull_request import pull_request_address
from engram.domain.sync.sync_plan import is_lore
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.store import sync_state
from engram.usecases.store.entry_writer import check_writable
from engram.usecases.store.people import with_authors
from engram.usecases.store.version_paths import read_lore
from engram.usecases.sync import propose
from engram.usecases.sync.incoming import merge_incoming, update_index
from engram.usecases.sync.own_proposal import PROPOSAL, REJECTED
from engram.usecases.sync.propose import OpenProposal, list_proposals
from engram.usecases.sync.sync import Options, own_repository, sync

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engram.adapters.git.read.objects import Entry
    from engram.domain.entry.lore import Lore
    from engram.usecases.store.store import Store
    from engram.usecases.sync.sync import Step

ACCEPT, REJECT = "accept", "reject"
ACCEPTED = "Engram-Accepted"
FILE = "file"  # a change of something that is no entry: an entity, an agent's profile, the settings
_STATE = "proposal-reviews.json"
_LONGEST_REASON = 500
_NO_REASON = "A rejected entry goes back with a reason."


class ProposedEntry(NamedTuple):
    """An entry that a proposal adds, changes or deletes; or another file.

    `id` is that of the entry (of a file: its path), `kind` a word of `engram.domain.entry.change_phrase` or FILE, `phrase`
    what is changed. `before` and `after` are None where there is no entry. `who` recorded it. `decision` is ACCEPT, REJECT
    or "" for none yet; `reason` belongs to a rejection. `paths` are those of its files in git.
    """

    id: str
    title: str
    kind: str
    phrase: str
    who: str
    before: Lore | None
    after: Lore | None
    paths: tuple[str, ...]
    mark: str
    decision: str = ""
    reason: str = ""

    def differences(self) -> list[str]:
        """Return the text as words that were removed `[-…-]` and added `{+…+}`; of a new entry the text."""
        if self.before is None or self.after is None:
            lore = self.after or self.before
            return lore.content.split("\n") if lore else []
        return list(marked_differences(self.before.content, self.after.content))


class Proposal(NamedTuple):
    """A proposal with its entries, and what was decided about them here."""

    about: OpenProposal
    entries: tuple[ProposedEntry, ...]

    @property
    def undecided(self) -> tuple[ProposedEntry, ...]:
        """The entries about which nothing was decided yet."""
        return tuple(one for one in self.entries if not one.decision)


class Finished(NamedTuple):
    """A review that was brought into the branch of lore: how many entries were accepted and rejected.

    `pushed` says that the remote has it. Where it declined that, `url` is where the reviewed branch can be merged ("" for a
    host that is not known) and `error` why. `held` counts entries that are in quarantine here until they are accepted.
    `deed` is by what `undo` takes the accepted entries out again.
    """

    name: str
    accepted: int
    rejected: int
    pushed: bool
    branch: str
    url: str = ""
    held: int = 0
    error: EngramError | None = None
    deed: str = ""


def load_proposal(store: Store, name: str, *, fetch: bool = True) -> Proposal:
    """Return the open proposal of this name, or the only one that begins so. Raises NotFoundError, RemoteError, GitError."""
    found = list_proposals(store, fetch=fetch)
    fitting = [one for one in found if one.name == name] or [
        one for one in found if one.name.startswith(name)
    ]
    if len(fitting) != 1 or not name:
        raise NotFoundError(
            f"There is no open proposal '{name[:80]}'."
            if not fitting
            else f"Several proposals begin with '{name}'.",
            f"Open proposals: {', '.join(one.name for one in found) or 'none'} (engram propose --list).",
        )
    return Proposal(fitting[0], tuple(_with_decisions(store, fitting[0], _entries(store, fitting[0]))))


def decide(store: Store, name: str, decisions: Iterable[tuple[str, str, str]]) -> Proposal:
    """Note decisions about entries of a proposal: (id or the start of it, ACCEPT or REJECT or "" for none, reason).

    Nothing else changes until `finish`. Raises NotFoundError, UsageError for a rejection without a reason.
    """
    found = load_proposal(store, name, fetch=False)
    chosen: dict[str, tuple[str, str, str]] = {
        one.id: (one.decision, one.reason, one.mark) for one in found.entries if one.decision
    }
    for lore_id, decision, reason in decisions:
        entry, why = _find_proposed(found, lore_id), " ".join(reason.split())[:_LONGEST_REASON]
        if decision == REJECT and not why:
            raise UsageError(_NO_REASON, "Say why: --reason TEXT.")
        if decision:
            chosen[entry.id] = decision, why if decision == REJECT else "", entry.mark
        else:
            chosen.pop(entry.id, None)
    _remember(store, found.about.name, chosen)
    return load_proposal(store, found.about.name, fetch=False)


def finish(store: Store, name: str, options: Options, step: Step | None = None) -> Finished:
    """Bring what was decided about all entries of a proposal into the branch of lore, here and at the remote.

    Raises UsageError while an entry is undecided (somebody may have added one), else as `sync`.
    """
    repo = own_repository(store)
    check_writable(store)
    sync(store, options._replace(push=False), step)
    found = load_proposal(store, name)
    if found.undecided:
        raise UsageError(
            f"{len(found.undecided)} of {len(found.entries)} entries are undecided: {found.undecided[0].title}",
            f"engram review --proposal {found.about.name} accept --all (or reject --all --reason TEXT)",
        )
    about, target = found.about, Counterpart(found.about.remote, found.about.branch)
    deed = store.clock.new_id()
    review = _write_review(store, found, deed)
    base = remotes.counterpart(repo, layout.read_head(repo).branch or "", options.remote)
    propose.push_proposal(store, target, about.commit, review, options, step)
    merge = merge_incoming(store, review)
    update_index(store, list(merge.changes) if merge else [])
    rejected = sum(one.decision == REJECT for one in found.entries)
    done = Finished(
        about.name,
        len(found.entries) - rejected,
        rejected,
        True,
        about.branch,
        held=merge.held if merge else 0,
        deed=deed,
    )
    _remember(store, about.name, {})
    error = _push_lore(store, options, step)
    there = remotes.tracked_commit(repo, base)
    if there is None or review not in merge_commit.bases(repo, there, review):
        url = next((one.url for one in remotes.remotes(repo) if one.name == about.remote), "")
        return done._replace(
            pushed=False, error=error, url=pull_request_address(url, base.branch, about.branch)
        )
    with contextlib.suppress(RemoteError):  # it is in the branch of lore, and so is listed no more
        remotes.delete(repo, target, review, deadline=options.timeout)
    return done


def _push_lore(store: Store, options: Options, step: Step | None) -> EngramError | None:
    """Sync, so that the remote has the merge; return why it did not take it."""
    try:
        errors = sync(store, options, step).errors
    except RemoteError as error:
        return error
    return next((one for one in errors if isinstance(one, RemoteError)), None)


def _find_proposed(found: Proposal, lore_id: str) -> ProposedEntry:
    fitting = [one for one in found.entries if lore_id and one.id.startswith(lore_id)]
    if len(fitting) != 1:
        raise NotFoundError(
            f"'{lore_id[:80]}' names {'no' if not fitting else 'several'} entries of this proposal.",
            f"engram review --proposal {found.about.name}",
        )
    return fitting[0]


def _entries(store: Store, about: OpenProposal) -> list[ProposedEntry]:
    """Return what a proposal changes and our head has otherwise."""
    commit = about.commit
    repo = store.repository
    head = layout.read_head(repo).oid
    paths = set(propose.proposed_paths(repo, head, commit))
    shared = merge_commit.bases(repo, head, commit) if head else ()
    changed = differences(repo, shared[0] if shared else None, commit)
    contents = blobs(repo, [entry.oid for path in paths for entry in changed[path] if entry])
    grouped: dict[str, list[tuple[str, Lore | None, Lore | None]]] = {}
    for path in sorted(paths, key=lambda path: (path.rpartition("/")[2], path)):  # by title, not by the day
        before, after = (
            _lore(store, path, contents[entry.oid]) if entry else None for entry in changed[path]
        )
        lore = after or before
        grouped.setdefault(lore.id if lore else path, []).append((path, before, after))
    found = [_entry(store, about, lore_id, versions) for lore_id, versions in grouped.items()]
    marks = {path: entry.oid if (entry := changed[path].after) else "" for path in paths}
    return [one._replace(mark=" ".join(marks[path] for path in one.paths)) for one in found]


def _entry(
    store: Store, about: OpenProposal, lore_id: str, versions: Sequence[tuple[str, Lore | None, Lore | None]]
) -> ProposedEntry:
    paths = tuple(path for path, _, _ in versions)
    before = next((one for _, one, _ in versions if one), None)
    after = next((one for _, _, one in versions if one), None)
    lore = after or before
    if lore is None:
        return ProposedEntry(lore_id, lore_id, FILE, "a file that is no entry", "", None, None, paths, "")
    change = phrase([before] if before else [], after)
    [named] = (
        [lore._replace(author=lore.author or about.author)] if before is None else with_authors(store, [lore])
    )
    who = byline(lore.agent, named.author)
    return ProposedEntry(lore.id, lore.title, change.kind, change.words, who, before, after, paths, "")


def _lore(store: Store, path: str, raw: bytes) -> Lore | None:
    file = read_lore(store, path, raw) if is_lore(path, store.places.folder) else None
    return file.lore if file else None


def _write_review(store: Store, found: Proposal, deed: str) -> str:
    """Return a commit upon the proposal that has the decisions, and of each rejected entry what our branch has."""
    repo, about = store.repository, found.about
    out = [one for one in found.entries if one.decision == REJECT]
    paths = [path for one in out for path in one.paths]
    head = layout.read_head(repo).oid
    here: Mapping[str, Entry] = objects.entries(repo, head, paths)
    edits: dict[str, Entry | None] = {path: here.get(path) for path in paths}
    lines = [f"{PROPOSAL}: {about.name}", f"Engram-Agent: {store.caller.who}"]
    lines += [f"{ACCEPTED}: {len(found.entries) - len(out)}"]
    lines += [f"{REJECTED}: {one.id} {one.reason}" for one in out]
    base = merge_commit.bases(repo, head, about.commit) if head else ()
    if base:  # else it is all of the lore, and no operation of ours upon it
        lines += [f"{REVIEWED}: {base[0]}", f"{OPERATION}: {deed}", f"{ID}: {deed}", f"{DEED}: {deed}"]
        lines += [f"{SOURCE}: {store.source}"]
    text = f"review: {about.title}\n\n" + "\n".join(lines) + "\n"
    moment = max(int(store.clock.now().timestamp()), *merge_commit.moments(repo, [about.commit]))
    return merge_commit.write_merge(
        repo, [about.commit], edits, {}, moment, text, person=propose.author(repo)
    )


def _with_decisions(
    store: Store, about: OpenProposal, entries: Iterable[ProposedEntry]
) -> Iterable[ProposedEntry]:
    """Yield the entries with what was decided about them, as long as they are what was decided about."""
    known = _reviews(store).get(about.name, {})
    for one in entries:
        decision, reason, mark = known.get(one.id, ("", "", ""))
        yield one._replace(decision=decision, reason=reason) if mark == one.mark else one


def _reviews(store: Store) -> dict[str, dict[str, tuple[str, str, str]]]:
    try:
        found = json.loads(atomic.read(os.path.join(store.places.state, _STATE)))
        return {
            str(name): {str(key): tuple(map(str, value)) for key, value in reasons.items()}  # type: ignore[misc]
            for name, reasons in found.items()
        }
    except (EngramError, ValueError, TypeError, AttributeError):
        return {}


def _remember(store: Store, name: str, decisions: Mapping[str, tuple[str, str, str]]) -> None:
    with store.files.lock():
        known = {key: value for key, value in _reviews(store).items() if key != name}
        if decisions:
            known[name] = dict(decisions)
        raw = json.dumps(known, ensure_ascii=False).encode()
        sync_state.replace(os.path.join(store.places.state, _STATE), raw)
