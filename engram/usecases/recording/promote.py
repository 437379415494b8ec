"""Promote entries: copy them to the store of another scope under the same id, so that each stays one entry.

The copied text is remembered, and a later promotion merges by field the changes of both sides since.
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
    """An entry in its new scope. `status` is copied, merged or unchanged, `fields` are those that a merge changed.

    `conflicts` counts fields that both sides had changed; then both versions are in the file.
    """

    lore: Lore
    path: str
    came_from: str
    to: str
    status: str
    fields: tuple[str, ...] = ()
    conflicts: int = 0


class PromotionStep(NamedTuple):
    """A promotion to carry out: its result, the promoted bytes, and the change of the target's file, or None."""

    promoted: Promoted
    source: bytes
    change: Change | None


def promote(store: Store, names: Sequence[str], to: str, *, dry_run: bool = False) -> list[Promoted]:
    """Copy the named entries to the scope `to`, or bring earlier copies up to date. Writes all or nothing.

    Votes stay where they were given: the copy begins with the current confidence of the entry. `dry_run` writes nothing.
    Raises NotFoundError, AmbiguousError, UsageError, SecretFoundError, ValidationError (for a category that the other
    store does not have), StoreError.
    """
    if check_scope(store.settings, to) == SESSION:
        raise UsageError("Lore is promoted out of a session, not into one.", "engram record --scope session")
    with store.lock:
        target = scopes.open_scope_of(store, to, make=True)
        change.check_writable(target)
        found = list(dict.fromkeys(_find_source(store, resolve(store, name), to) for name in names))
        for attempt in range(_TRIES):
            steps = [plan_promotion(one, target) for one in found]
            if dry_run:
                break
            try:
                _write(target, steps)
                break
            except ConflictError:  # somebody has just changed one of them
                if attempt == _TRIES - 1:
                    raise
        return [step.promoted for step in steps]


def _find_source(store: Store, found: Found, to: str) -> Found:
    """Return the entry in a scope other than the target. Raises UsageError if it is only in the target."""
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


def plan_promotion(found: Found, target: Store) -> PromotionStep:
    """Return the step that promotes an entry, from its current file and the target's."""
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
    copies = hits_by_id(target, lore.id)
    if copies:
        return _merge_copy(target, copies[0].path, plain, place)
    path = change.new_path(target, lore)
    promoted = Promoted(lore, path, place.scope, target.places.scope, COPIED)
    return PromotionStep(promoted, plain, Change(path, origin.with_origin(plain, place), None))


def _merge_copy(target: Store, path: str, plain: bytes, place: Origin) -> PromotionStep:
    """Return the step that merges the promoted entry (`plain`) into its copy in the target, at `path`."""
    categories, now = target.categories, target.clock.now()
    ours = target.files.read(path)
    without_origin = _without_origin(ours)
    merged = merge_files(_find_base(target, place.id, ours), without_origin, plain, path, categories, now)
    assert merged.content is not None
    status = UNCHANGED if merged.content == without_origin else MERGED
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
    return PromotionStep(
        promoted, plain, Change(path, content, atomic.digest(ours)) if status == MERGED else None
    )


def _without_votes(lore: Lore) -> Lore:
    """Return the entry without votes, which belong to the clones of its store, and with their result as stated confidence."""
    return lore._replace(votes=NO_VOTES, prior=round(lore.confidence * 1000), tally=None, last_validated=None)


def _refuse_secrets(target: Store, raw: bytes) -> None:
    findings = find_secrets(raw.decode(), target.allowed_secrets)
    if findings:
        error = refuse(findings, "the entry")
        error.hint = "Take it out first: engram edit"
        raise error


def _origin(source: Store, lore: Lore) -> Origin:
    """Return the origin that the copy names: the same for all clones of the source."""
    remote = remote_of(source)
    path = (remote or source.places.root).replace("\\", "/").rstrip("/")
    name = path.rpartition("/")[2].rpartition(":")[2].removesuffix(".git")
    if source.places.scope == SESSION:
        name = SESSION
    return Origin(source.places.scope, name, remote, lore.id, _digest(source, lore))


def _find_base(target: Store, lore_id: str, ours: bytes) -> bytes | None:
    """Return the merge base: the last copy made here, or the target's file if it still is that copy, else None."""
    try:
        return atomic.read(_last_copy_path(target, lore_id))
    except NotFoundError:
        pass
    known = origin.origin_of(ours)
    lore = codec.read(ours, "", target.categories, target.clock.now()).lore
    is_copy = known is not None and known.digest == _digest(target, lore)
    return codec.write_new(lore._replace(votes=NO_VOTES), target.categories) if is_copy else None


def _digest(store: Store, lore: Lore) -> str:
    """Return the digest of the copied fields: without votes and the dates that these change."""
    bare = lore._replace(votes=NO_VOTES, last_validated=None, updated_at=lore.created_at)
    return atomic.digest(codec.write_new(bare, store.categories))


def _without_origin(raw: bytes) -> bytes:
    """Return a file without its origin, which is not merged: the latest promotion sets it."""
    try:
        return origin.without_origin(raw)
    except ValueError:
        return raw


def _with_origin(target: Store, raw: bytes, place: Origin) -> bytes:
    """Return the merged file with its origin, or unchanged if its frontmatter cannot take another line."""
    try:
        content = origin.with_origin(raw, place)
        codec.read(content, "", target.categories, target.clock.now())
    except (ValueError, LoreFileError):
        return raw
    return content


def _write(target: Store, steps: Sequence[PromotionStep]) -> None:
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


def remember(target: Store, steps: Sequence[PromotionStep]) -> None:
    """Store the copied bytes as merge bases for the next promotion of these entries."""
    for step in steps:
        path = _last_copy_path(target, step.promoted.lore.id)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        atomic.write(path, step.source, _PROMOTED)


def _last_copy_path(target: Store, lore_id: str) -> str:
    """Return the path of the last copy, in the private state of this clone."""
    return os.path.join(target.places.state, _PROMOTED, f"{lore_id}.md")
