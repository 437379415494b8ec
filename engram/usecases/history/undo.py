"""Undo and redo Engram's last operations with a new commit, so that pushed history stays intact.

Each file is merged (base: after the operation, ours: now, theirs: before it), so later changes stay. A judgement is
retracted by a line in the ledger, and so is a retraction. docs/merge-rules.md has the rules.
"""

from __future__ import annotations

from itertools import chain, groupby, islice

from engram.domain.errors import ConflictError, NotFoundError, StoreError, UsageError
from engram.domain.judgements.ledger import RETRACTED, LegacyAccount
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.store import damaged_ledgers, judgements
from engram.usecases.store.judgement_words import judged_subjects, kind_of
from engram.usecases.store.store import BY_ITSELF, Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engram.adapters.git.read.operations import OwnCommit
    from engram.adapters.git.run.layout import Repository
    from engram.usecases.history.reverse import Reversed

_TRIES = 5
_WAIT_SECONDS = 10.0


class Undone(NamedTuple):
    """The operations undone or redone: their subjects, and the ids and paths of the entries that changed.

    `kept` has a sentence for each file or field kept because it was changed or deleted since. `written` counts the commits
    and groups of ledger lines written: one `redo` reverts one of them.
    """

    operations: tuple[str, ...]
    lore: tuple[str, ...]
    paths: tuple[str, ...]
    kept: tuple[str, ...]
    written: int = 1


def undo(store: Store, count: int = 1, deed: str = "") -> Undone:
    """Undo this clone's last `count` operations that are not undone, or those of `deed`.

    Commits of the same deed are one operation. If undoing changes nothing, the operation before it is undone, too, and
    so on. Raises UsageError (invalid count), NotFoundError (fewer operations), StoreError if Engram does not commit
    here, GitError during a merge or rebase.
    """
    if count < 1:
        raise UsageError(f"The number of operations must be 1 or more, not {count}.")
    with store.lock:
        for _ in range(_TRIES):
            # A person does not mean background operations.
            own = (commit for commit in undoable(_own_operations(store)) if commit.session != BY_ITSELF)
            groups = _group_by_deed(_of_deed(own, deed, count) if deed else own)
            result = _undo(store, groups, 1 if deed else count)
            if result is not None:
                return result
        raise _busy_error()


def redo(store: Store) -> Undone:
    """Revert the last undo in effect. Raises NotFoundError, StoreError, GitError."""
    with store.lock:
        for _ in range(_TRIES):
            targets = last_undo(_own_operations(store))
            if not targets:
                raise NotFoundError(
                    "There is nothing to redo.", "Only what `engram undo` reverted can be redone."
                )
            result = _redo(store, targets)
            if result is not None:
                return result
        raise _busy_error()


def undoable(commits: Iterable[OwnCommit]) -> Iterator[OwnCommit]:
    """Return the operations that are not undone, newest first, as `commits` are."""
    redone: set[str] = set()
    undone: set[str] = set()
    for commit in commits:
        if commit.redoes:
            redone.update(commit.redoes)
        elif commit.undoes:
            # An operation may be undone, redone and undone again: a redone undo does not count.
            undone.update(() if commit.oid in redone else commit.undoes)
        elif commit.oid not in undone:
            yield commit


def _of_deed(commits: Iterator[OwnCommit], deed: str, count: int) -> Iterator[OwnCommit]:
    """Return the `count` commits of this deed, reading no further than the first of them."""
    return islice((commit for commit in commits if commit.deed == deed), count)


def _group_by_deed(commits: Iterable[OwnCommit]) -> Iterator[list[OwnCommit]]:
    """Group adjacent commits of one deed."""
    for _, group in groupby(commits, lambda commit: commit.deed or commit.oid):
        yield list(group)


def last_undo(commits: Iterable[OwnCommit]) -> list[OwnCommit]:
    """Return the last undo in effect: a commit, or the ledger lines written together; empty if there is none."""
    redone: set[str] = set()
    found: list[OwnCommit] = []
    for commit in commits:
        if found and commit.deed != found[0].deed:
            break
        redone.update(commit.redoes)
        if commit.undoes and commit.oid not in redone:
            found.append(commit)
            if not _is_line(commit):
                break
    return found


def _own_operations(store: Store) -> Iterable[OwnCommit]:
    """Return this clone's operations, newest first: commits, if Engram commits here, and lines of its ledger."""
    from heapq import merge

    lines = _own_judgements(store)
    if not store.places.owns_branch and lines:
        return lines
    from engram.adapters.git.read.operations import own_commits
    from engram.usecases.store.commit import commit_pending

    repository = _repository(store)
    commit_pending(store, wait=_WAIT_SECONDS)
    if not store.files.journal.is_empty():
        raise StoreError("Another process is committing.", "Nothing was undone; try again.")
    return merge(own_commits(repository, store.source), lines, key=lambda commit: commit.op, reverse=True)


def _own_judgements(store: Store) -> list[OwnCommit]:
    """Return the lines of this clone's ledger as operations, newest first."""
    from engram.adapters.git.read.operations import OwnCommit

    if damaged := damaged_ledgers.find_damaged(store):
        raise StoreError(
            f"A line of this clone's judgements in {damaged[0]} cannot be read: it may be the last operation.",
            "Run `engram doctor --fix`, then try again.",
        )
    lines = judgements.own_lines(store)
    subjects, deeds = judged_subjects(lines), judgements.deeds_of(lines)
    operations = []
    skipped = set[str]()
    for line in lines:
        if line.of in skipped or (line.of and line.kind != RETRACTED):
            skipped.add(line.id)  # part of an operation that is undone on its own
            continue
        subject = subjects[line.id]
        deed = store.deeds_of_lines.get(line.id, deeds[line.id])
        operation = OwnCommit(line.id, subject, (line.entry,), (), (), deed=deed, op=line.id)
        if subject.startswith("undo: "):
            operation = operation._replace(undoes=(line.of,))
        elif subject.startswith("redo: "):
            operation = operation._replace(redoes=(line.of,))
        operations.append(operation)
    return operations[::-1]


def _repository(store: Store) -> Repository:
    repository = store.places.repository
    if repository is None or not store.places.owns_branch:
        raise StoreError(
            "Engram does not commit here, so it has no operations to undo.",
            "Use git: `git log -p` shows what changed, `git restore` brings a file back."
            if repository is not None
            else "Without git there is no history; `git init` starts one.",
        )
    return repository


def _undo(store: Store, operations: Iterator[list[OwnCommit]], count: int) -> Undone | None:
    """Undo the next `count` operations; None if a file changed in between."""
    from engram.adapters.git.read.operations import UNDO

    groups = list(islice(operations, count))
    if len(groups) < count:
        raise _too_few_error(len(groups))
    targets = list(chain.from_iterable(groups))
    reversal = _reverse(store, targets)
    without_effect: list[OwnCommit] = []
    kept = reversal.kept
    while not reversal.changes and not any(map(_is_line, targets)):
        without_effect += targets
        targets = next(operations, [])
        if not targets:
            raise _nothing_left_error(f"undo: {_subject(without_effect)}", kept)
        reversal = _reverse(store, targets)
        kept += reversal.kept
    # Operations whose undoing changes nothing count as undone from now on.
    trailers = [(UNDO, target.oid) for target in (*without_effect, *targets) if not _is_line(target)]
    if reversal.changes and not _write(store, f"undo: {_subject(targets)}", trailers, reversal):
        return None
    judgements.take_back(store, [(target.oid, target.lore[0]) for target in targets if _is_line(target)])
    if reversal.changes:
        judgements.follow_fold(store, reversal.lore, is_undone=True)
    for target in (*without_effect, *targets):
        if _is_line(target) or kind_of(target.subject):
            credit.withdraw(store, target.lore)
        for lore_id in target.lore:
            store.state.forget_judgement(target.session, lore_id, kind_of(target.subject))
    return _undone(store, targets, reversal, kept)


def _is_line(operation: OwnCommit) -> bool:
    """Whether an operation is a line of the ledger rather than a commit."""
    return operation.oid == operation.op


def _reverse(store: Store, targets: Sequence[OwnCommit]) -> Reversed:
    """Compute the changes that revert the operations that are commits."""
    from engram.usecases.history.reverse import Reversed, reverse

    commits = [target.oid for target in targets if not _is_line(target)]
    if not commits:
        return Reversed(
            (), tuple(dict.fromkeys(chain.from_iterable(target.lore for target in targets))), {}, ()
        )
    reviews = {target.oid: target.since for target in targets if target.since}
    reversal = reverse(store, _repository(store), commits, _exact_commits(targets), reviews)
    judged = chain.from_iterable(target.lore for target in targets if _is_line(target))
    return reversal._replace(lore=tuple(dict.fromkeys([*reversal.lore, *judged])))


def _redo(store: Store, targets: Sequence[OwnCommit]) -> Undone | None:
    """Revert an undo; None if a file changed in between."""
    from engram.adapters.git.read.operations import REDO

    reversal, subject = _reverse(store, targets), f"redo: {_subject(targets)}"
    if _is_line(targets[0]):
        judgements.take_back(store, [(target.oid, target.lore[0]) for target in targets])
    elif not reversal.changes:
        raise _nothing_left_error(subject, reversal.kept)
    elif not _write(store, subject, [(REDO, target.oid) for target in targets], reversal):
        return None
    else:
        judgements.follow_fold(store, reversal.lore, is_undone=False)
    now, undone = store.clock.now().timestamp(), {oid for target in targets for oid in target.undoes}
    for operation in _own_operations(store):
        kind = kind_of(operation.subject) if operation.oid in undone else ""
        for lore_id in operation.lore if kind else ():
            store.state.record_feedback(operation.session or store.caller.session, lore_id, kind, now)
    return _undone(store, targets, reversal, reversal.kept)


def _exact_commits(targets: Sequence[OwnCommit]) -> set[str]:
    """Return the commits to revert byte for byte: consolidations, which change many entries but no votes."""
    return {one.oid for one in targets if one.subject.removeprefix("undo: ").startswith("consolidate: ")}


def _undone(store: Store, targets: Sequence[OwnCommit], reversal: Reversed, kept: tuple[str, ...]) -> Undone:
    from engram.usecases.lookup.resolve import hits_by_id

    subjects = tuple(target.subject.removeprefix("undo: ") for target in targets)
    judged = chain.from_iterable(target.lore for target in targets if _is_line(target))
    paths = [
        *(change.path for change in reversal.changes),
        *(hit.path for lore_id in judged for hit in hits_by_id(store, lore_id)),
    ]
    written = any(map(_is_line, targets)) + bool(reversal.changes)
    return Undone(subjects, reversal.lore, tuple(dict.fromkeys(paths)), kept, written)


def _write(store: Store, subject: str, trailers: Sequence[tuple[str, str]], reversal: Reversed) -> bool:
    """Write the reversal; False if a file changed in between."""
    from engram.usecases.store import entry_writer as change

    lines = [("Engram-Lore", lore_id) for lore_id in reversal.lore]
    try:
        change.write(store, [change.operation(store, subject, reversal.changes, lines, trailers)])
    except ConflictError:
        return False
    accounts = [LegacyAccount(lore_id, store.source, vote) for lore_id, vote in reversal.accounts.items()]
    judgements.keep_accounts(store, accounts)
    return True


def _nothing_left_error(subject: str, kept: Sequence[str]) -> NotFoundError:
    return NotFoundError(
        f"'{subject}' would change nothing: {' '.join(kept) or 'everything is as it was.'}",
        "`engram log` lists the operations; `engram restore REF --at REV` goes back further.",
    )


def _subject(targets: Sequence[OwnCommit]) -> str:
    first = targets[0].subject
    return first.removeprefix("undo: ") if len(targets) == 1 else f"{len(targets)} operations"


def _too_few_error(count: int) -> NotFoundError:
    from engram.domain.text.counted_nouns import counted

    message = f"Only {counted(count, 'operation')} can be undone." if count else "There is nothing to undo."
    return NotFoundError(
        message, "`engram log` lists the operations; `engram restore REF --at REV` goes back further."
    )


def _busy_error() -> ConflictError:
    return ConflictError(
        "The files kept changing during the operation.", "Nothing was overwritten; try again."
    )
