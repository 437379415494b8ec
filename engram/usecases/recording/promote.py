"""Promoting: a copy of an entry in the store of another scope, under the same id, so that it stays one entry.

What was copied is remembered, and a later promotion merges by field what has changed on both sides since.
"""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.adapters.files.frontmatter import codec, origin
from engram.adapters.files.frontmatter.origin import Origin
from engram.adapters.files.merge.merge_file import merge_files
from engram.domain.admission.secrets import find_secrets, refuse
from engram.domain.entry.lore import NO_VOTES, Lore
from engram.domain.errors import ConflictError, LoreFileError, NotFoundError, UsageError
from engram.domain.scopes import SESSION, check_scope
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.lookup.resolve import Found, hits_by_id, resolve
from engram.usecases.opening import scopes
from engram.usecases.opening.remote_address import remote_of
from engram.usecases.store import entry_writer as change
from engram.usecases.store import judgements, quarantine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store

COPIED, MERGED, UNCHANGED = "copied", "merged", "unchanged"
_PROMOTED = "promoted"
_TRIES = 10


class Promoted(NamedTuple):
    """An entry in its new scope. `status` is copied, merged or unchanged, `fields` what differed before a merge.

    `conflicts` counts what both sides had changed; both versions are in the file then.
    """

    lore: Lore
    path: str
    came_from: str
    to: str
    status: str
    fields: tuple[str, ...] = ()
    conflicts: int = 0


class Step(NamedTuple):
    """What is to be written: the new bytes of the target's file (None: nothing), and what it then says."""

    promoted: Promoted
    source: bytes
    change: Change | None


def promote(store: Store, names: Sequence[str], to: str, *, dry_run: bool = False) -> list[Promoted]:
    """Copy the named lore into the scope `to`, or bring over what changed since they were. All or none is written.

    Votes stay where they were given: the copy begins with the confidence that the entry has now. `dry_run` writes
    nothing. Raises NotFoundError, AmbiguousError, UsageError, SecretFoundError, ValidationError (a category that
    the other store does not have), StoreError.
    """
    if check_scope(store.settings, to) == SESSION:
        raise UsageError("Lore is promoted out of a session, not into one.", "engram record --scope session")
    with store.lock:
        target = scopes.reach(store, to, make=True)
        change.check_writable(target)
        found = list(dict.fromkeys(_elsewhere(store, resolve(store, name), to) for name in names))
        for attempt in range(_TRIES):
            steps = [step_for(one, target) for one in found]
            if dry_run:
                break
            try:
                _write(target, steps)
                break
            except ConflictError:  # somebody changed one of them just now
                if attempt == _TRIES - 1:
                    raise
        return [step.promoted for step in steps]


def _elsewhere(store: Store, found: Found, to: str) -> Found:
    """Return the entry in a scope other than the target. Raises UsageError where it is only there."""
    if found.store.places.scope != to:
        return found
    for other in (store, *scopes.others(store)):
        if other.places.scope != to:
            hits = hits_by_id(other, found.id)
            if hits:
                return Found(found.id, hits[0].path, found.ref, other)
    raise UsageError(
        f"{found.ref or found.id} is already in {to} and nowhere else.",
        "`engram scope list` lists the scopes.",
    )


def step_for(found: Found, target: Store) -> Step:
    """Return what promoting one entry comes to, from its file and the target's as they are now."""
    ours = change.load(found.store, found.path).lore
    if quarantine.is_quarantined(found.store, ours):
        raise UsageError(
            f"{found.ref or found.id} is quarantined and cannot be promoted.",
            f"Review it, then accept it: engram trust accept {found.id}",
        )
    lore = _without_votes(ours)
    plain = codec.write_new(lore, target.categories)
    _refuse_secrets(target, plain)
    place = _origin(found.store, lore)
    there = hits_by_id(target, lore.id)
    if there:
        return _merge_copy(target, there[0].path, plain, place)
    path = change.new_path(target, lore)
    promoted = Promoted(lore, path, place.scope, target.places.scope, COPIED)
    return Step(promoted, plain, Change(path, origin.with_origin(plain, place), None))


def _merge_copy(target: Store, path: str, plain: bytes, place: Origin) -> Step:
    """Return the entry that the target has at `path`, merged with what is promoted (`plain`)."""
    categories, now = target.categories, target.clock.now()
    ours = target.files.read(path)
    bare = _bare(ours)
    merged = merge_files(_base(target, place.id, ours), bare, plain, path, categories, now)
    assert merged.content is not None
    status = UNCHANGED if merged.content == bare else MERGED
    content = ours if status == UNCHANGED else _with_origin(target, merged.content, place)
    promoted = Promoted(
        judgements.with_tally(target, codec.read(content, path, categories, now).lore),
        path,
        place.scope,
        target.places.scope,
        status,
        merged.fields if status == MERGED else (),
        len(merged.conflicts),
    )
    return Step(promoted, plain, Change(path, content, atomic.digest(ours)) if status == MERGED else None)


def _without_votes(lore: Lore) -> Lore:
    """Return the entry as a store begins with it: judgements are of a store's own clones, so it states what they came to."""
    return lore._replace(votes=NO_VOTES, prior=round(lore.confidence * 1000), tally=None, last_validated=None)


def _refuse_secrets(target: Store, raw: bytes) -> None:
    findings = find_secrets(raw.decode(), target.allowed_secrets)
    if findings:
        error = refuse(findings, "the entry")
        error.hint = "Take it out first: engram edit"
        raise error


def _origin(source: Store, lore: Lore) -> Origin:
    """Return where the copy says that it is from: the same for all who have a clone of the source."""
    remote = remote_of(source)
    path = (remote or source.places.root).replace("\\", "/").rstrip("/")
    name = path.rpartition("/")[2].rpartition(":")[2].removesuffix(".git")
    if source.places.scope == SESSION:
        name = SESSION
    return Origin(source.places.scope, name, remote, lore.id, _digest(source, lore))


def _base(target: Store, lore_id: str, ours: bytes) -> bytes | None:
    """Return what both sides had: the last copy, if it was made here, or the target's file where it still is that copy."""
    try:
        return atomic.read(_last_copy_path(target, lore_id))
    except NotFoundError:
        pass
    known = origin.origin_of(ours)
    lore = codec.read(ours, "", target.categories, target.clock.now()).lore
    is_copy = known is not None and known.digest == _digest(target, lore)
    return codec.write_new(lore._replace(votes=NO_VOTES), target.categories) if is_copy else None


def _digest(store: Store, lore: Lore) -> str:
    """Return the digest of what an entry says that is copied; votes come later, and change no more than dates."""
    bare = lore._replace(votes=NO_VOTES, last_validated=None, updated_at=lore.created_at)
    return atomic.digest(codec.write_new(bare, store.categories))


def _bare(raw: bytes) -> bytes:
    """Return a file without its origin, which is not merged: the latest promotion says it."""
    try:
        return origin.without_origin(raw)
    except ValueError:
        return raw


def _with_origin(target: Store, raw: bytes, place: Origin) -> bytes:
    """Return the merged file with its origin, where the form in which somebody left it takes one more line."""
    try:
        found = origin.with_origin(raw, place)
        codec.read(found, "", target.categories, target.clock.now())
    except (ValueError, LoreFileError):
        return raw
    return found


def _write(target: Store, steps: Sequence[Step]) -> None:
    operations = []
    for step in steps:
        lore, came_from = step.promoted.lore, step.promoted.came_from
        if step.change is not None:
            change.check_allowed(target, "record", lore.category)
            subject = f"promote: {lore.title} (from {came_from})"
            operations.append(
                change.operation_for(target, lore, subject, [step.change], [("Engram-Origin", came_from)])
            )
    change.write(target, operations)
    remember(target, steps)


def remember(target: Store, steps: Sequence[Step]) -> None:
    """Remember what was copied, for the next promotion of these entries."""
    for step in steps:
        path = _last_copy_path(target, step.promoted.lore.id)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        atomic.write(path, step.source, _PROMOTED)


def _last_copy_path(target: Store, lore_id: str) -> str:
    """Return where the last copy is remembered: private to this clone."""
    return os.path.join(target.places.state, _PROMOTED, f"{lore_id}.md")
