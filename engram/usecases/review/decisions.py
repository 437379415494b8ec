"""Decide about items of the review queue; a decision that changes an entry is one operation, which `undo` reverts."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.domain.entry import times
from engram.domain.entry.lore import ACTIVE, ARCHIVED, SUPERSEDED, Lore, Relation, check, limit_after
from engram.domain.errors import ConflictError, EngramError, UsageError
from engram.domain.judgements.ledger import CONFIRMED
from engram.domain.merge.settlements import BOTH, KEPT, OTHER
from engram.domain.review import review
from engram.domain.review.review import Item, check_decision
from engram.domain.similarity.deduplicate import fold
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.graph import entity_conflicts
from engram.usecases.recording.edited_result import apply_result, refuse_secrets
from engram.usecases.recording.resolve_conflict import (
    choose_side,
    join_versions,
    settle_conflicts,
    take_version,
)
from engram.usecases.review import trust
from engram.usecases.review.captured_items import decide_captured, decided_entry, is_captured
from engram.usecases.store import entry_writer, judgements
from engram.usecases.store.store import Deed, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.adapters.state.trust_tables import QuarantinedText
    from engram.domain.graph.entity import Entity

    _Files = dict[str, tuple[str, LoreFile]]  # path and file of each entry, by id
    _Entries = dict[str, Lore | None]  # the entries to write, by id; None: to forget

SNOOZE_DAYS = 7.0
_DAY = 86_400.0
NOTHING: Mapping[str, Entity | None] = MappingProxyType({})


class Decided(NamedTuple):
    """The result of a decision: the entries it changed, by id (None: forgotten); empty if the item was only set aside.

    `released` are texts released from quarantine, `entities` the changed ones by slug (None: deleted).
    """

    item: Item
    decision: str
    lore: dict[str, Lore | None]
    released: tuple[QuarantinedText, ...] = ()
    entities: Mapping[str, Entity | None] = NOTHING

    @property
    def wrote(self) -> bool:
        """Whether files or judgements changed, so that `undo` reverts it."""
        return bool(self.lore or self.entities)


def preview(store: Store, item: Item, decision: str) -> Decided:
    """Return what `decide` would do, without writing. Raises as `decide`."""
    check_decision(item, decision)
    if item.kind == review.ENTITY and decision != review.SNOOZE:
        return Decided(item, decision, {}, entities=entity_conflicts.preview_decision(store, item, decision))
    if is_captured(item) and decision != review.SNOOZE:
        entry = decided_entry(store, item, decision)
        return Decided(item, decision, {entry.id: entry} if entry is not None else {})
    has_rule = decision in _RULES and not _is_about_trust(item, decision)
    wanted = _RULES[decision](store, item, _load_files(store, item)) if has_rule else {}
    return Decided(item, decision, wanted)


def decide(
    store: Store, item: Item, decision: str, *, days: float = SNOOZE_DAYS, result: Lore | None = None
) -> Decided:
    """Carry out a decision. `days` is how long a snooze lasts.

    `result` is the remaining entry (of several the oldest; of a supersession the newest) as edited by a person: its text
    and fields are written in the same commit, except those that only votes, merges and the clock change.

    Raises UsageError for a decision not allowed for this kind of item, ConflictError if the entry was changed
    meanwhile, ValidationError, SecretFoundError, StoreError.
    """
    check_decision(item, decision)
    if result is not None:
        refuse_secrets(store, result)
    with store.lock:
        if decision == review.SNOOZE:
            until = store.clock.now().timestamp() + days * _DAY
            store.state.put_aside(item.id, item.mark, until)
            return Decided(item, decision, {})
        if item.kind == review.ENTITY:
            return Decided(
                item, decision, {}, entities=entity_conflicts.apply_decision(store, item, decision)
            )
        if is_captured(item):
            return Decided(item, decision, decide_captured(store, item, decision, result))
        files = _load_files(store, item)
        if _is_about_trust(item, decision):
            return _decide_trust(store, item, decision, files)
        wanted = _RULES[decision](store, item, files)
        if result is not None:
            edited = apply_result(wanted, result, {one: file.lore for one, (_, file) in files.items()})
            wanted = (
                _settle_edited(store, item, files, wanted, edited) if item.kind == review.CONFLICT else edited
            )
        if item.kind == review.STALE and decision == review.ACCEPT:
            _confirm(store, item, files, wanted)
        elif wanted:
            _write(store, item, decision, files, wanted)
        else:
            store.state.put_aside(item.id, item.mark, None)
        if decision == review.ACCEPT and len(item.lore) == 1:
            accepted = wanted.get(item.lore[0]) or files[item.lore[0]][1].lore
            credit.confirm(store, accepted)
        return Decided(item, decision, wanted)


def reopen(store: Store, done: Decided) -> None:
    """Take back a decision that changed no entry, so that the item is in the queue again; `undo` reverts other decisions."""
    with store.lock:
        if done.decision == review.ACCEPT:
            credit.withdraw(store, done.item.lore, done.item.claims)
        if done.released:
            store.state.trust.quarantine(done.released)
        elif not done.wrote:
            store.state.put_aside(done.item.id, done.item.mark, store.clock.now().timestamp())


def _load_files(store: Store, item: Item) -> _Files:
    """Load the files of the item. Raises ConflictError if one now holds another entry."""
    found = {}
    for lore_id, path in zip(item.lore, item.paths, strict=False):
        file = entry_writer.load(store, path)
        if file.lore.id != lore_id:
            raise ConflictError(f"{path} now holds another entry.", "Reload the review queue.")
        found[lore_id] = (path, file)
    return found


def _is_about_trust(item: Item, decision: str) -> bool:
    """Return whether a decision is about what this clone accepts, and changes no file."""
    if item.claims:
        return decision in (review.ACCEPT, review.REJECT)
    return item.kind == review.FOREIGN and decision == review.ACCEPT


def _decide_trust(store: Store, item: Item, decision: str, files: _Files) -> Decided:
    """Release an entry from quarantine, or accept claims about one, or set those aside for good."""
    quarantined: tuple[QuarantinedText, ...] = ()
    if decision == review.REJECT:
        store.state.put_aside(item.id, item.mark, None)
    elif item.claims:
        credit.confirm(store, files[item.lore[0]][1].lore)
    else:
        quarantined = tuple(row for row in store.state.trust.rows() if row.id in item.lore)
        trust.accept(store, item.lore)
    return Decided(item, decision, {}, quarantined)


def _write(
    store: Store,
    item: Item,
    decision: str,
    files: _Files,
    wanted: _Entries,
) -> None:
    changes = []
    for lore_id, lore in wanted.items():
        path, file = files[lore_id]
        content = None
        if lore is not None:
            stamp = times.after(store.clock.now(), file.lore.updated_at)
            dated = lore._replace(updated_at=stamp)
            check(dated, store.categories, limit_after(dated.content))
            content = entry_writer.rewrite(store, file, dated)
            wanted[lore_id] = judgements.with_tally(store, dated)
        changes.append(Change(path, content, atomic.digest(file.raw)))
    first = files[item.lore[0]][1].lore
    details = [("Engram-Lore", lore_id) for lore_id in item.lore[1:]]
    details += [("Engram-Decision", f"{item.kind} {decision}")]
    subject = f"review: {decision} {item.kind}: {item.title}"
    entry_writer.write(store, [entry_writer.operation_for(store, first, subject, changes, details)])
    if decision == review.MERGE:
        judgements.confirm_own(store, [lore for lore in wanted.values() if lore is not None])


def _confirm(store: Store, item: Item, files: _Files, wanted: _Entries) -> None:
    """Note that an entry is still valid, and rewrite its file if it had expired or its text was edited."""
    ((lore_id, lore),) = wanted.items()
    assert lore is not None
    entry_writer.check_writable(store)
    (line,) = judgements.judge(store, [(lore, CONFIRMED)])
    if lore == files[lore_id][1].lore:
        wanted[lore_id] = judgements.with_tally(store, lore)
        return
    deed = store.deed
    store.deed = deed or Deed(line.id, {}, set())  # `undo` reverts both together
    try:
        _write(store, item, review.ACCEPT, files, wanted)
    except EngramError:
        judgements.take_back(store, [(line.id, lore_id)])
        raise
    finally:
        store.deed = deed


def _accept(store: Store, item: Item, files: _Files) -> _Entries:
    lore = files[item.lore[0]][1].lore if item.lore else None
    if lore is None:
        return {}
    if item.kind == review.CONFLICT:
        return {lore.id: settle_conflicts(store, lore, lore, KEPT)}
    if item.kind == review.STALE:
        return {lore.id: lore._replace(expires_at=None)}
    if item.kind in (review.PENDING, review.JUNK) and lore.status != ACTIVE:
        return {lore.id: lore._replace(status=ACTIVE)}
    return {}


def _reject(_store: Store, item: Item, _files: _Files) -> _Entries:
    """Forget the entry, or the newest of several."""
    return {item.lore[-1]: None}


def _archive(_store: Store, item: Item, files: _Files) -> _Entries:
    return {lore_id: files[lore_id][1].lore._replace(status=ARCHIVED) for lore_id in item.lore}


def _supersede(_store: Store, item: Item, files: _Files) -> _Entries:
    """Let the newest supersede the others."""
    *older, newest = (files[lore_id][1].lore for lore_id in item.lore)
    links = [Relation("supersedes", lore.id) for lore in older]
    relations = tuple(dict.fromkeys([*newest.relations, *links]))
    superseded = {lore.id: lore._replace(status=SUPERSEDED) for lore in older}
    return {**superseded, newest.id: newest._replace(relations=relations)}


def _merge(_store: Store, item: Item, files: _Files) -> _Entries:
    """Fold the others into the oldest."""
    entries = [files[lore_id][1].lore for lore_id in item.lore]
    merged: Lore | None = entries[0]
    for other in entries[1:]:
        merged = fold(merged, other) if merged else None
    if merged is None:
        raise UsageError(
            "The merged lists are too long for one file.",
            "Shorten the tags or contexts of one, or supersede the older.",
        )
    return {entries[0].id: merged, **{other.id: None for other in entries[1:]}}


def _take(store: Store, item: Item, files: _Files) -> _Entries:
    lore = files[item.lore[0]][1].lore
    other = take_version(lore, store.categories)
    return {lore.id: other and settle_conflicts(store, lore, other, OTHER)}


def _choose(store: Store, item: Item, files: _Files, *, mine: bool) -> _Entries:
    """Keep one's own version of a conflict, or that of the others."""
    side = choose_side(store, files[item.lore[0]][1].lore, mine=mine)
    return (_accept if side == KEPT else _take)(store, item, files)


def _join(store: Store, item: Item, files: _Files) -> _Entries:
    lore = files[item.lore[0]][1].lore
    return {lore.id: settle_conflicts(store, lore, join_versions(lore), BOTH)}


def _settle_edited(
    store: Store,
    item: Item,
    files: _Files,
    wanted: _Entries,
    edited: _Entries,
) -> _Entries:
    """Return the entry to write for a conflict whose text a person edited: the settlement names that text."""
    (lore_id,) = item.lore
    planned, after = wanted[lore_id], edited[lore_id]
    if planned is None or after is None or planned.content == after.content:
        return edited
    before = files[lore_id][1].lore
    return {
        lore_id: settle_conflicts(store, before, after._replace(settled=before.settled), KEPT, after.content)
    }


_RULES: dict[str, Callable[[Store, Item, _Files], _Entries]] = {
    review.ACCEPT: _accept,
    review.REJECT: _reject,
    review.ARCHIVE: _archive,
    review.SUPERSEDE: _supersede,
    review.MERGE: _merge,
    review.TAKE: _take,
    review.MINE: partial(_choose, mine=True),
    review.THEIRS: partial(_choose, mine=False),
    review.BOTH: _join,
}


def decide_all(
    store: Store, items: Sequence[Item], decision: str, *, days: float = SNOOZE_DAYS
) -> list[Decided]:
    """Make one decision about many items, all checked before the first is carried out. Raises as `decide`."""
    for item in items:
        check_decision(item, decision)
    return [decide(store, item, decision, days=days) for item in items]
