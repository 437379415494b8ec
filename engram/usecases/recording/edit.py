"""Edit an entry's fields or its whole file, by the rules of recording: validated, no secrets, no lost updates."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.adapters.files.frontmatter import codec
from engram.domain.entry import times
from engram.domain.entry.categories import parse_types
from engram.domain.entry.lore import Lore, Relation, check, check_fraction, limit_after
from engram.domain.entry.moments import parse_moments
from engram.domain.errors import LoreFileError, UsageError, ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.lookup.listing import Shown
from engram.usecases.lookup.resolve import Found, resolve
from engram.usecases.recording.admission_policy import admit_change, author_of
from engram.usecases.recording.record import normalize_content
from engram.usecases.store import activity_log, entry_writer, judgements

if TYPE_CHECKING:
    from datetime import datetime
    from typing import TypeVar

    from engram.usecases.store.store import Store

    T = TypeVar("T")

_LISTS = ("add_tags", "remove_tags", "add_when", "remove_when", "unset")  # for which () changes nothing


class Edit(NamedTuple):
    """The changes to make; None leaves a field as it is.

    `confidence` (0..1) replaces the stated confidence; judgements stay. `tags` and `when` replace the whole list before
    items are added and removed. `unset` may name `importance` and `expires_at`, which are removed.
    """

    content: str | None = None
    category: str | None = None
    context: tuple[str, ...] | None = None
    confidence: float | None = None
    status: str | None = None
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    files: tuple[str, ...] | None = None
    pinned: bool | None = None
    tags: tuple[str, ...] | None = None
    entities: tuple[str, ...] | None = None
    relations: tuple[tuple[str, str], ...] | None = None
    type: str | None = None
    importance: float | None = None
    expires_at: datetime | None = None
    unset: tuple[str, ...] = ()
    when: tuple[str, ...] | None = None
    add_when: tuple[str, ...] = ()
    remove_when: tuple[str, ...] = ()

    @property
    def fields(self) -> list[str]:
        """The names of the fields to change, sorted."""
        given = self._asdict().items()
        return sorted(
            name for name, value in given if value is not None and (value != () or name not in _LISTS)
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to change."""
        return not self.fields


def edit(store: Store, name: str, wanted: Edit, digest: str = "") -> Shown:
    """Change fields of an entry; with a `digest`, only if its file still has that.

    New claims pass the admission policy: `.pending` says why the entry now waits for review, if it does.
    Raises NotFoundError, ValidationError, SecretFoundError, UsageError, StaleError.
    """
    if wanted.is_empty:
        raise UsageError("No change was given.", "Give a field; with none, your editor opens at a terminal.")
    entry_writer.refuse_secrets(store, "the edited entry", *_texts(wanted))
    with store.lock:
        found = resolve(store, name)
        shown = edit_resolved(found, wanted, digest)
        activity_log.note(store, "edit", query=", ".join(wanted.fields), ids=[found.id])
        return shown


def edit_resolved(found: Found, wanted: Edit, digest: str = "", subject: str = "", agent: str = "") -> Shown:
    """Change fields of a resolved entry with texts already checked for secrets; the caller holds its store's lock.

    `subject` is that of the commit, by default the names of the fields; `agent` is the author, by default the caller.
    """
    subject = subject or f"edit: {', '.join(wanted.fields)} ({found.id})"
    store = found.store
    entry_writer.check_allowed(store, "record", path=found.path)
    if wanted.category is not None:
        entry_writer.check_allowed(store, "record", store.categories.parse(wanted.category))
    why = ""

    def change(lore: Lore) -> Lore:
        nonlocal why
        after = _apply_fields(store, lore, wanted)
        status, why = admit_change(store, lore, after, author_of(store, agent))
        return after._replace(status=status)

    done = entry_writer.update(store, found.path, found.id, change, subject, digest=digest)
    claims = (wanted.pinned, wanted.confidence, wanted.importance, wanted.when)
    is_claimed = any(value is not None for value in claims) or bool(wanted.add_when or wanted.remove_when)
    credit.confirm_by_edit(store, done.before, done.after, is_claimed=is_claimed)
    return Shown(done.after, found.path, found.ref, store.places.scope, done.digest, why)


def rewrite(store: Store, path: str, lore_id: str, before: bytes, after: bytes) -> Shown:
    """Replace an entry's whole file by an edited text, if the file still is `before`.

    `lore_id` is "" if `before` cannot be read as lore. Raises ValidationError for a text that is not lore, ConflictError,
    SecretFoundError.
    """
    try:
        file = codec.read(after, path, store.categories, store.clock.now(), first_seen=store.first_seen(path))
    except LoreFileError as error:
        where = f"line {error.line} of it: " if error.line else ""
        raise ValidationError(
            "file", f"The edited text is not a valid entry: {where}{error.reason}.", error.hint
        ) from None
    is_known, old = bool(lore_id), entry_writer.parse(store, before, path)
    lore_id = lore_id or file.lore.id
    if (file.adopted or (old and old.adopted)) and file.lore.id != lore_id:
        raise ValidationError("id", "The id of an entry never changes.", f"Put `id: {lore_id}` back.")
    entry_writer.refuse_secrets(store, "the edited entry", after.decode())
    with store.lock:
        if is_known:
            entry_writer.check_allowed(store, "record", path=path)
        entry_writer.check_allowed(store, "record", file.lore.category)
        stamp = times.after(store.clock.now(), file.lore.updated_at)
        lore = file.lore._replace(id=lore_id, updated_at=stamp)
        content = entry_writer.rewrite(store, file, lore)
        edited = Change(path, content, atomic.digest(before))
        entry_writer.write(store, [entry_writer.operation_for(store, lore, f"edit: {lore.title}", [edited])])
        if is_known and old is not None:
            is_claimed = _claims(old.lore) != _claims(lore)
            credit.confirm_by_edit(store, old.lore, lore, is_claimed=is_claimed)
    return Shown(judgements.with_tally(store, lore), path, "", store.places.scope)


def _apply_fields(store: Store, lore: Lore, wanted: Edit) -> Lore:
    most = limit_after(lore.content)
    if wanted.content is not None:
        lore = lore._replace(content=normalize_content(wanted.content))
    if wanted.category is not None:
        category = store.categories.parse(wanted.category)
        own_type = lore.type != store.categories.type_of(lore.category)
        lore = lore._replace(
            category=category, type=lore.type if own_type else store.categories.type_of(category)
        )
    if wanted.context is not None:
        lore = lore._replace(context=tuple(text for text in wanted.context if text.strip()))
    if wanted.confidence is not None:
        lore = lore._replace(prior=round(check_fraction("confidence", wanted.confidence) * 1000))
    if wanted.type is not None:
        lore = lore._replace(type=parse_types([wanted.type])[0])
    tags = tuple(dict.fromkeys([*(lore.tags if wanted.tags is None else wanted.tags), *wanted.add_tags]))
    lore = lore._replace(tags=tuple(tag for tag in tags if tag not in wanted.remove_tags))
    if wanted.when is not None or wanted.add_when or wanted.remove_when:
        lore = lore._replace(when=_moments(lore, wanted))
    if wanted.entities is not None:
        lore = lore._replace(entities=tuple(dict.fromkeys(wanted.entities)))
    if wanted.relations is not None:
        lore = lore._replace(relations=tuple(Relation(*pair) for pair in dict.fromkeys(wanted.relations)))
    lore = lore._replace(
        status=lore.status if wanted.status is None else wanted.status,
        files=lore.files if wanted.files is None else wanted.files,
        pinned=lore.pinned if wanted.pinned is None else wanted.pinned,
        importance=_new_value(wanted, "importance", lore.importance),
        expires_at=_new_value(wanted, "expires_at", lore.expires_at),
    )
    check(lore, store.categories, most)
    return lore


def _moments(lore: Lore, wanted: Edit) -> tuple[str, ...]:
    """Return the moments after the edit; those of a kind unknown to this version stay as they are."""
    lines = lore.when if wanted.when is None else wanted.when
    found: dict[str, None] = {}
    for line in (*lines, *wanted.add_when):
        found |= dict.fromkeys([line] if line in lore.when else parse_moments([line]))
    removed = [
        line
        for given in wanted.remove_when
        for line in ([given] if given in found else parse_moments([given]))
    ]
    return tuple(line for line in found if line not in removed)


def _claims(lore: Lore) -> tuple[object, ...]:
    return lore.pinned, lore.prior, lore.importance, lore.when


def _new_value(wanted: Edit, field: str, current: T) -> T | None:
    """Return a field's value after the edit: None if unset, the given value, or the current one."""
    given = getattr(wanted, field)
    return None if field in wanted.unset else current if given is None else given


def _texts(wanted: Edit) -> list[str]:
    """Return every text of the edit."""
    lists = (
        wanted.context, wanted.add_tags, wanted.files, wanted.tags, wanted.entities, wanted.when, wanted.add_when,
    )  # fmt: skip
    return [wanted.content or "", *[text for texts in lists for text in texts or ()]]
