"""Review a proposal entry by entry: list its changes, note decisions, merge it into the branch of lore.

Decisions are private, and can be changed, until all are made. `finish` then writes one commit on top of the proposal that
removes the rejected entries and lists the reasons, pushes it, and merges it like any other commit of a remote: its author
gets it with the next sync, and their own commits remain part of the history.
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
FILE = "file"  # a change of a file other than an entry: an entity, an agent's profile, the settings
_STATE = "proposal-reviews.json"
_LONGEST_REASON = 500
_NO_REASON = "A rejected entry goes back with a reason."


class ProposedEntry(NamedTuple):
    """An entry that a proposal adds, changes or deletes; or another file.

    `id` is that of the entry, or the path of another file; `kind` is a kind of `engram.domain.entry.change_phrase` or FILE,
    `phrase` describes the change. `before` and `after` are None where the entry does not exist. `who` recorded it.
    `decision` is ACCEPT, REJECT or "" (undecided), `reason` that of a rejection. `paths` are the git paths of its files.
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
        """Return the text with removed words as `[-…-]` and added words as `{+…+}`; the plain text of a new entry."""
        if self.before is None or self.after is None:
            lore = self.after or self.before
            return lore.content.split("\n") if lore else []
        return list(marked_differences(self.before.content, self.after.content))


class Proposal(NamedTuple):
    """A proposal with its entries, and the decisions made here."""

    about: OpenProposal
    entries: tuple[ProposedEntry, ...]

    @property
    def undecided(self) -> tuple[ProposedEntry, ...]:
        """The entries without a decision."""
        return tuple(entry for entry in self.entries if not entry.decision)


class MergedReview(NamedTuple):
    """A review merged into the branch of lore: the numbers of accepted and rejected entries.

    `pushed` says whether the remote has it. If it declined the push, `error` is the reason and `url` the page where the
    reviewed branch can be merged ("" for an unknown host). `held` counts entries in quarantine here. `deed` is the id by
    which `undo` removes the accepted entries again.
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
    """Return the open proposal with this name, or the only one that starts with it.

    Raises NotFoundError, RemoteError, GitError.
    """
    found = list_proposals(store, fetch=fetch)
    matching = [one for one in found if one.name == name] or [
        one for one in found if one.name.startswith(name)
    ]
    if len(matching) != 1 or not name:
        raise NotFoundError(
            f"There is no open proposal '{name[:80]}'."
            if not matching
            else f"Several proposals begin with '{name}'.",
            f"Open proposals: {', '.join(one.name for one in found) or 'none'} (engram propose --list).",
        )
    return Proposal(matching[0], tuple(_with_decisions(store, matching[0])))


def decide(store: Store, name: str, decisions: Iterable[tuple[str, str, str]]) -> Proposal:
    """Note decisions about entries of a proposal: (id or prefix of it; ACCEPT, REJECT, or "" to withdraw; reason).

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
    _save_decisions(store, found.about.name, chosen)
    return load_proposal(store, found.about.name, fetch=False)


def finish(store: Store, name: str, options: Options, step: Step | None = None) -> MergedReview:
    """Merge a proposal, as decided about each entry, into the branch of lore, here and at the remote.

    Raises UsageError if an entry is undecided (its author may have added one), else as `sync`.
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
    accepted, held = len(found.entries) - rejected, merge.held if merge else 0
    done = MergedReview(about.name, accepted, rejected, True, about.branch, held=held, deed=deed)
    _save_decisions(store, about.name, {})
    error = _push_lore(store, options, step)
    pushed = remotes.tracked_commit(repo, base)
    if pushed is None or review not in merge_commit.bases(repo, pushed, review):
        url = next((one.url for one in remotes.remotes(repo) if one.name == about.remote), "")
        return done._replace(
            pushed=False, error=error, url=pull_request_address(url, base.branch, about.branch)
        )
    with contextlib.suppress(RemoteError):  # merged into the branch of lore, it is no longer listed
        remotes.delete(repo, target, review, deadline=options.timeout)
    return done


def _push_lore(store: Store, options: Options, step: Step | None) -> EngramError | None:
    """Sync to push the merge; return the remote's error, if any."""
    try:
        errors = sync(store, options, step).errors
    except RemoteError as error:
        return error
    return next((one for one in errors if isinstance(one, RemoteError)), None)


def _find_proposed(found: Proposal, lore_id: str) -> ProposedEntry:
    matching = [one for one in found.entries if lore_id and one.id.startswith(lore_id)]
    if len(matching) != 1:
        raise NotFoundError(
            f"'{lore_id[:80]}' names {'no' if not matching else 'several'} entries of this proposal.",
            f"engram review --proposal {found.about.name}",
        )
    return matching[0]


def _list_changes(store: Store, about: OpenProposal) -> list[ProposedEntry]:
    """Return the entries and files of a proposal that differ from our head."""
    commit = about.commit
    repo = store.repository
    head = layout.read_head(repo).oid
    paths = set(propose.proposed_paths(repo, head, commit))
    bases = merge_commit.bases(repo, head, commit) if head else ()
    changed = differences(repo, bases[0] if bases else None, commit)
    contents = blobs(repo, [entry.oid for path in paths for entry in changed[path] if entry])
    grouped: dict[str, list[tuple[str, Lore | None, Lore | None]]] = {}
    for path in sorted(paths, key=lambda path: (path.rpartition("/")[2], path)):  # by title, not by day
        before, after = (
            _parse_lore(store, path, contents[entry.oid]) if entry else None for entry in changed[path]
        )
        lore = after or before
        grouped.setdefault(lore.id if lore else path, []).append((path, before, after))
    found = [_make_entry(store, about, lore_id, versions) for lore_id, versions in grouped.items()]
    marks = {path: entry.oid if (entry := changed[path].after) else "" for path in paths}
    return [one._replace(mark=" ".join(marks[path] for path in one.paths)) for one in found]


def _make_entry(
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


def _parse_lore(store: Store, path: str, raw: bytes) -> Lore | None:
    file = read_lore(store, path, raw) if is_lore(path, store.places.folder) else None
    return file.lore if file else None


def _write_review(store: Store, found: Proposal, deed: str) -> str:
    """Write a commit on top of the proposal: the decisions, and our branch's version of each rejected entry."""
    repo, about = store.repository, found.about
    rejected = [one for one in found.entries if one.decision == REJECT]
    paths = [path for one in rejected for path in one.paths]
    head = layout.read_head(repo).oid
    own: Mapping[str, Entry] = objects.entries(repo, head, paths)
    edits: dict[str, Entry | None] = {path: own.get(path) for path in paths}
    lines = [f"{PROPOSAL}: {about.name}", f"Engram-Agent: {store.caller.who}"]
    lines += [f"{ACCEPTED}: {len(found.entries) - len(rejected)}"]
    lines += [f"{REJECTED}: {one.id} {one.reason}" for one in rejected]
    base = merge_commit.bases(repo, head, about.commit) if head else ()
    if base:  # without a common ancestor, the proposal is not a change of our lore that can be undone
        lines += [f"{REVIEWED}: {base[0]}", f"{OPERATION}: {deed}", f"{ID}: {deed}", f"{DEED}: {deed}"]
        lines += [f"{SOURCE}: {store.source}"]
    text = f"review: {about.title}\n\n" + "\n".join(lines) + "\n"
    moment = max(int(store.clock.now().timestamp()), *merge_commit.moments(repo, [about.commit]))
    return merge_commit.write_merge(
        repo, [about.commit], edits, {}, moment, text, person=propose.author(repo)
    )


def _with_decisions(store: Store, about: OpenProposal) -> Iterable[ProposedEntry]:
    """Yield the entries of a proposal, with the decisions about those that did not change since."""
    known = _load_decisions(store).get(about.name, {})
    for entry in _list_changes(store, about):
        decision, reason, mark = known.get(entry.id, ("", "", ""))
        yield entry._replace(decision=decision, reason=reason) if mark == entry.mark else entry


def _load_decisions(store: Store) -> dict[str, dict[str, tuple[str, str, str]]]:
    try:
        found = json.loads(atomic.read(os.path.join(store.places.state, _STATE)))
        return {
            str(name): {str(key): tuple(map(str, value)) for key, value in reasons.items()}  # type: ignore[misc]
            for name, reasons in found.items()
        }
    except (EngramError, ValueError, TypeError, AttributeError):
        return {}


def _save_decisions(store: Store, name: str, decisions: Mapping[str, tuple[str, str, str]]) -> None:
    with store.files.lock():
        known = {key: value for key, value in _load_decisions(store).items() if key != name}
        if decisions:
            known[name] = dict(decisions)
        raw = json.dumps(known, ensure_ascii=False).encode()
        sync_state.replace(os.path.join(store.places.state, _STATE), raw)
