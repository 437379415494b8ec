"""Record an entry: check it, write it durably before it is acknowledged, and report similar entries."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from engram.adapters.files.durable.lock import FileLock
from engram.domain.admission.secrets import find_secrets, redact, refuse
from engram.domain.entry import times, ulid
from engram.domain.entry.categories import parse_types
from engram.domain.entry.lore import (
    ACTIVE,
    MAX_WORD,
    PENDING,
    STATUSES,
    Lore,
    Relation,
    check,
    check_content,
    check_fraction,
    title_of,
)
from engram.domain.entry.moments import parse_moments
from engram.domain.errors import UsageError, ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.opening import scopes
from engram.usecases.recording.admission_policy import Contradiction, admit, author_of
from engram.usecases.recording.existing_entry import confirm
from engram.usecases.similarity.near_duplicates import (
    ExistingEntry,
    Similar,
    find_same,
    find_similar,
    remember,
)
from engram.usecases.store import activity_log, captured, entry_writer, judgements, people

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from engram.adapters.files.durable.write import Change
    from engram.usecases.store.store import Store

_ENTITIES = "entities"  # engram.domain.entry.named_files.ENTITIES, not imported here, to keep recording fast
_MAX_CLOCK_SKEW = timedelta(days=1)
_MAX_NAMES = 200  # engram.domain.entry.lore.MAX_ITEMS


class Draft(NamedTuple):
    """An entry to record. `confidence` is 0..1; empty values take their defaults.

    `keys` are further keys of its file; an entry with some is recorded even if it exists. `supersedes` names the entries
    that it replaces, `same_as` an entry that says it in other words, `scope` the target store. `client` is the source that
    a client of a server names; the client may set `id` (a ULID) and `created_at`.
    """

    content: str
    category: str = ""
    context: tuple[str, ...] = ()
    confidence: float | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    type: str = ""
    status: str = ACTIVE
    agent: str = ""
    importance: float | None = None
    pinned: bool = False
    expires_at: datetime | None = None
    redact: bool = False
    keys: Mapping[str, str | tuple[str, ...]] = {}
    when: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    same_as: str = ""
    scope: str = ""
    id: str = ""
    created_at: datetime | None = None
    client: str = ""


RECORDED, KNOWN = "recorded", "known"


class Recorded(NamedTuple):
    """The entry as written, its path, similar entries, and the number of masked secrets.

    `status` is "recorded", or "known" if an existing entry, `lore`, says the same: then `confirmed` says whether that
    counted as a confirmation, `was` in which status it was out of use, `replaced_by` the id of the entry that superseded it.
    `why` says why the entry is pending rather than active; `contradictions` are trusted entries that contradict it.
    """

    lore: Lore
    path: str
    similar: tuple[Similar, ...]
    status: str
    redacted: int
    why: str = ""
    contradictions: tuple[Contradiction, ...] = ()
    confirmed: bool = False
    was: str = ""
    replaced_by: str = ""
    scope: str = ""


class RecordPreview(NamedTuple):
    """The result that recording a draft would have: as `Recorded`; `known` is an existing entry that says the same."""

    lore: Lore
    similar: tuple[Similar, ...]
    known: Lore | None
    why: str
    contradictions: tuple[Contradiction, ...]


def preview(store: Store, draft: Draft) -> RecordPreview:
    """Return the result that `record` would have, without writing. Raises ValidationError, SecretFoundError."""
    lore, _ = prepare(store, draft)
    with store.lock:
        near = find_similar(store, lore, assessed=True)
        existing = _find_existing(store, draft, lore, near)
        admission = admit(store, lore, near)
    lore = lore._replace(status=admission.status)
    known = existing.lore if existing else None
    twins = _select_twins(near, [known.id] if known else [])
    return RecordPreview(lore, twins, known, admission.why, admission.contradictions)


def record(store: Store, draft: Draft, lore_id: str = "", *, again: bool = False) -> Recorded:
    """Write a new entry, or confirm an existing one that says the same, unless `again`. A given `lore_id` must be unused.

    Raises ValidationError, SecretFoundError, NotAllowedError, StoreError, and for named scopes or entries NotFoundError,
    AmbiguousError and UsageError; then nothing was written.
    """
    began = store.clock.nanoseconds()
    store = scopes.open_scope_of(store, draft.scope, make=True)
    entry_writer.check_writable(store)
    draft, replaced, same = _resolve_named(store, draft)
    lore, redacted = prepare(store, draft, lore_id)
    if lore_id or draft.id or draft.created_at:  # the id may be of any date
        lore = lore._replace(updated_at=max(lore.created_at, times.whole_seconds(store.clock.now())))
    with store.lock, FileLock(os.path.join(store.places.state, "record.lock")):
        near = find_similar(store, lore, assessed=True)
        admission = admit(store, lore, near)
        lore = lore._replace(status=admission.status)
        entry_writer.check_allowed(store, "record", lore.category)
        existing = None if again else _find_existing(store, draft, lore, near)
        if same is not None:
            existing = _choose_same(store, same, existing)
        if existing is not None:
            return _confirm_existing(store, draft, lore, existing, replaced, near, redacted, began)
        path, operation = entry_writer.create(store, lore, f"record: {lore.title}", keys=draft.keys)
        if lore.status == ACTIVE:
            operation = operation._replace(changes=(*operation.changes, *_mark_superseded(store, replaced)))
        entry_writer.write(store, [operation])
        remember(store, lore, path)
        captured.drop_same(store, [lore])
        _log(store, lore, began, known=0)
    lore = judgements.with_tally(store, lore)
    twins = _select_twins(near, [entry.lore.id for entry in replaced])
    return Recorded(
        lore, path, twins, RECORDED, redacted, admission.why, admission.contradictions, scope=store.places.scope
    )  # fmt: skip


def _resolve_named(store: Store, draft: Draft) -> tuple[Draft, list[ExistingEntry], ExistingEntry | None]:
    """Return the draft with its relations, the entries that it supersedes, and the one that it repeats (`same_as`)."""
    if not (draft.supersedes or draft.same_as):
        return draft, [], None
    from engram.usecases.recording.duplicate_choices import refuse_contradiction, resolve_entries

    if draft.supersedes and draft.same_as:
        raise UsageError(
            "An entry cannot both repeat another (same_as) and supersede it.", "Give one of the two."
        )
    replaced = resolve_entries(store, draft.supersedes)
    links = tuple(("supersedes", entry.lore.id) for entry in replaced)
    draft = draft._replace(relations=tuple(dict.fromkeys([*draft.relations, *links])))
    if not draft.same_as:
        return draft, replaced, None
    (same,) = resolve_entries(store, [draft.same_as])
    refuse_contradiction(prepare(store, draft)[0], same.lore)
    return draft, replaced, same


def _choose_same(store: Store, same: ExistingEntry, existing: ExistingEntry | None) -> ExistingEntry:
    """Return the entry named as the same; fold an existing one into it that this clone recorded with these words."""
    if existing is None or existing.lore.id == same.lore.id or existing.lore.source_id != store.source_id:
        return same
    from engram.usecases.recording.duplicate_choices import fold_into

    return fold_into(store, same, existing)


def _mark_superseded(store: Store, replaced: Sequence[ExistingEntry]) -> list[Change]:
    if not replaced:
        return []
    from engram.usecases.recording.duplicate_choices import mark_superseded

    return mark_superseded(store, replaced)


def _confirm_existing(
    store: Store, draft: Draft, lore: Lore, existing: ExistingEntry, replaced: Sequence[ExistingEntry], near: Sequence[Similar],
    redacted: int, began: int,
) -> Recorded:  # fmt: skip
    """Confirm the entry that says the same, and let it supersede those that the new one was to supersede."""
    superseded = [entry.lore.id for entry in replaced]
    if existing.lore.id in superseded:
        raise UsageError(
            f"{existing.lore.id} has the same text, so the new entry cannot supersede it.",
            "Record it without supersedes.",
        )
    again = lore._replace(entities=draft.entities)
    found = confirm(store, existing, again, superseded, is_named=bool(draft.id))
    if replaced and found.lore.status == ACTIVE:
        changes = _mark_superseded(store, replaced)
        subject = f"record: {found.lore.title} (supersedes {', '.join(superseded)})"
        entry_writer.write(store, [entry_writer.operation_for(store, found.lore, subject, changes)])
    _log(store, found.lore, began, known=1)
    twins = _select_twins(near, [found.lore.id, *superseded])
    return Recorded(
        found.lore, found.path, twins, KNOWN, redacted, confirmed=found.confirmed, was=found.was,
        replaced_by=found.replaced_by.id if found.replaced_by else "", scope=store.places.scope,
    )  # fmt: skip


def _select_twins(near: Sequence[Similar], but: Sequence[str]) -> tuple[Similar, ...]:
    """Return the similar entries that are in use, without the ids `but`; first those that probably say the same."""
    found = [entry for entry in near if entry.status in (ACTIVE, PENDING) and entry.id not in but]
    return tuple(sorted(found, key=lambda entry: -entry.certainty))


def _find_existing(store: Store, draft: Draft, lore: Lore, twins: Sequence[Similar]) -> ExistingEntry | None:
    return None if draft.keys else find_same(store, lore, [twin.path for twin in twins])


def describe_known(done: Recorded) -> str:
    """Return sentences on what recording a known entry did; "" if nothing."""
    if done.replaced_by:
        return f"{done.replaced_by} superseded it; if it holds again, record it as what supersedes that."
    parts = [f"It was {done.was} and is in use again."] if done.was and done.lore.status == ACTIVE else []
    parts += ["It waits for review."] if done.lore.status == PENDING else []
    return " ".join([*parts, *(["Saying it again counts as a confirmation."] if done.confirmed else [])])


def _log(store: Store, lore: Lore, began: int, *, known: int) -> None:
    took_ms = activity_log.milliseconds_since(store, began)
    activity_log.note(
        store, "record", query=lore.title, ids=[lore.id], took_ms=took_ms, details={"known": known}
    )


def prepare(store: Store, draft: Draft, lore_id: str = "", author: str | None = None) -> tuple[Lore, int]:
    """Return a draft as a checked entry, and the number of secrets masked in it. Writes nothing.

    `author` is `people.published_name`, given by callers that prepare many.
    """
    content = normalize_content(draft.content)
    check_content(content)
    draft = draft if content == draft.content else draft._replace(content=content)
    draft, redacted = _without_secrets(store, draft)
    category = _choose_category(store, draft)
    lore_id = lore_id or (check_id(store, draft.id) if draft.id else store.clock.new_id())
    created = _creation_time(store, draft) if draft.created_at else times.whole_seconds(ulid.moment(lore_id))
    prior = store.settings.number("record.confidence") if draft.confidence is None else draft.confidence
    lore = Lore(
        id=lore_id,
        content=draft.content,
        category=category,
        created_at=created,
        updated_at=created,
        type=parse_types([draft.type])[0] if draft.type else store.categories.type_of(category),
        status=check_status(draft.status),
        prior=round(check_fraction("confidence", prior) * 1000),
        context=tuple(text.strip() for text in draft.context if text.strip()),
        tags=tuple(dict.fromkeys(tag.strip() for tag in draft.tags)),
        files=tuple(dict.fromkeys(draft.files)),
        entities=_with_mentioned(store, draft.content, draft.entities),
        relations=tuple(Relation(kind, other) for kind, other in draft.relations),
        importance=draft.importance,
        pinned=draft.pinned,
        expires_at=draft.expires_at,
        agent=author_of(store, draft.agent),
        source_id=store.source_id,
        sources=(draft.client,) if draft.client else (),
        when=parse_moments(draft.when) if draft.when else (),
        author=(people.published_name(store) if author is None else author)[:MAX_WORD],
    )
    check(lore, store.categories)
    return lore, redacted


def _with_mentioned(store: Store, content: str, given: Sequence[str]) -> tuple[str, ...]:
    """Return the given names without duplicates, then those of other known entities that the text mentions."""
    given = tuple(dict.fromkeys(given))
    if not os.path.isdir(f"{store.places.root}/{store.places.home}/{_ENTITIES}"):
        return given
    if not store.settings.flag("graph.detect"):
        return given
    from engram.domain.graph.entity_rules import match_name
    from engram.usecases.graph.entities import names_to_detect

    detector = names_to_detect(store)
    slugs, entities = detector.names.found_in(content), detector.entities
    if not slugs:
        return given
    given_slugs = {slug for name in given for slug in match_name(entities, name)}
    names = {entity.slug: entity.name for entity in entities if entity.slug in slugs}
    found = [names[slug] for slug in slugs if slug not in given_slugs and slug in names]
    return (*given, *found)[: max(len(given), _MAX_NAMES)]


def check_id(store: Store, lore_id: str) -> str:
    """Return a caller's id in capitals. Raises ValidationError if it is not a ULID, or from the future."""
    name = lore_id.upper()
    if not ulid.is_valid(name):
        raise ValidationError(
            "id",
            f"'{lore_id[:40]}' is not an entry id (a ULID of 26 characters).",
            "Make one with a ULID library.",
        )
    if ulid.moment(name) > store.clock.now() + _MAX_CLOCK_SKEW:
        raise ValidationError("id", f"The id {name} is dated {ulid.moment(name):%Y-%m-%d}, in the future.")
    return name


def _creation_time(store: Store, draft: Draft) -> datetime:
    assert draft.created_at is not None
    if draft.created_at > store.clock.now() + _MAX_CLOCK_SKEW:
        raise ValidationError("created_at", f"created_at is {draft.created_at:%Y-%m-%d}, in the future.")
    return times.whole_seconds(draft.created_at)


def normalize_content(content: str) -> str:
    """Return the content with line feeds only, and without blank lines around it."""
    return content.replace("\r\n", "\n").replace("\r", "\n").strip("\n").rstrip()


def _choose_category(store: Store, draft: Draft) -> str:
    """Return the category of a draft: as given, as configured, else as its text suggests. Raises ValidationError."""
    category = draft.category or store.settings.text("record.category")
    if category:
        return store.categories.parse(category)
    from engram.domain.exchange.classify import guess_category

    return guess_category(title_of(draft.content), draft.content)


def check_status(given: str) -> str:
    """Return `given` if it is a status, else raise ValidationError."""
    if given not in STATUSES:
        raise ValidationError(
            "status", f"status cannot be '{given}'.", f"Valid values: {', '.join(STATUSES)}."
        )
    return given


def _without_secrets(store: Store, draft: Draft) -> tuple[Draft, int]:
    """Return the draft with secrets masked if it asks for that, and their number. Otherwise raises SecretFoundError."""
    count = 0
    allowed = store.allowed_secrets
    clean: dict[str, Any] = {}
    for field in ("content", "context", "tags", "files", "entities", "when", "agent"):
        value = getattr(draft, field)
        texts = (value,) if isinstance(value, str) else value
        found = [find_secrets(text, allowed) for text in texts]
        first = next(filter(None, found), None)
        if first is None:
            continue
        if not draft.redact:
            raise refuse(first, f"the {field}")
        count += sum(map(len, found))
        masked = tuple(map(redact, texts, found))
        clean[field] = masked[0] if isinstance(value, str) else masked
    return draft._replace(**clean), count
