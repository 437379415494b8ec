"""Recording an entry: checked for secrets and rules, durable before it is acknowledged, with its near twins as advice."""

from __future__ import annotations

import os

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.domain.admission.secrets import find_secrets, redact, refuse
from engram.domain.entry import times, ulid
from engram.domain.entry.categories import parse_types
from engram.domain.entry.lore import (
    ACTIVE,
    MAX_WORD,
    STATUSES,
    Lore,
    Relation,
    check,
    check_content,
    check_fraction,
)
from engram.domain.entry.moments import stated
from engram.domain.errors import ConflictError, ValidationError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.recording.admission_policy import Admission, Contradiction, admit, speaker
from engram.usecases.similarity.near_duplicates import Similar, remember, similar
from engram.usecases.store import activity_log, entry_writer, judgements, people

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from engram.usecases.store.store import Store

# Detect known entities in the text of a new entry, and add them to those given; never creates an entity.

SETTING = "graph.detect"
_FOLDER = "entities"  # engram.domain.entry.named_files.ENTITIES, not imported here, to keep recording fast
_MOST = 200  # names in an entry: engram.domain.entry.lore.MAX_ITEMS


def with_mentioned(store: Store, content: str, given: Sequence[str]) -> tuple[str, ...]:
    """Return the given names without duplicates, followed by those of other entities that the text mentions."""
    given = tuple(dict.fromkeys(given))
    if not os.path.isdir(f"{store.places.root}/{store.places.folder}/{_FOLDER}"):
        return given
    if not store.settings.flag(SETTING):
        return given
    from engram.domain.graph.entity_rules import named
    from engram.usecases.graph.entities import names_to_detect

    ready = names_to_detect(store)
    slugs, entities = ready.names.found_in(content), ready.entities
    if not slugs:
        return given
    there = {slug for name in given for slug in named(entities, name)}
    names = {one.slug: one.name for one in entities if one.slug in slugs}
    found = [names[slug] for slug in slugs if slug not in there and slug in names]
    return (*given, *found)[: max(len(given), _MOST)]


class Draft(NamedTuple):
    """What a caller wants to record. `confidence` 0..1; empty values take their defaults.

    `keys` are for its file and no fields of lore; an entry that has some is never taken into another.
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


class Recorded(NamedTuple):
    """The lore as written, its path, entries that say nearly the same, and how many secrets were masked.

    `status` is "recorded", or "merged" where `lore` is an older one of another clone that took in the new one;
    `why` says why it is pending though it was to be active; `contradictions` are trusted entries that say otherwise.
    """

    lore: Lore
    path: str
    similar: tuple[Similar, ...]
    status: str
    redacted: int
    why: str = ""
    contradictions: tuple[Contradiction, ...] = ()


class Weighed(NamedTuple):
    """What recording a draft would answer: as `Recorded`; `merged_into` is the lore that would take it in, or None."""

    lore: Lore
    similar: tuple[Similar, ...]
    merged_into: Lore | None
    why: str
    contradictions: tuple[Contradiction, ...]


def weigh(store: Store, draft: Draft) -> Weighed:
    """Return what `record` would make of a draft; writes nothing. Raises ValidationError, SecretFoundError."""
    lore, _ = prepare(store, draft)
    with store.lock:
        twins = tuple(similar(store, lore))
        admission = admit(store, lore, twins)
    host = admission.host.lore if admission.host is not None and admission.folded is not None else None
    lore = lore._replace(status=admission.status)
    return Weighed(lore, twins, host, admission.why, admission.contradictions)


def record(store: Store, draft: Draft, lore_id: str = "", *, fold: bool = True) -> Recorded:
    """Write a new entry, with an id that is free where one is given; without `fold` no other lore takes it in.

    Raises ValidationError, SecretFoundError, NotAllowedError, StoreError; then nothing was written.
    """
    began = store.clock.nanoseconds()
    lore, redacted = prepare(store, draft, lore_id)
    if lore_id:  # whenever the id is from
        lore = lore._replace(updated_at=max(lore.created_at, times.whole_seconds(store.clock.now())))
    with store.lock:
        twins = tuple(similar(store, lore))
        admission = admit(store, lore, twins)
        entry_writer.check_allowed(store, "record", lore.category)
        merged = _merge(store, lore, admission) if fold and not draft.keys else None
        if merged is not None:
            _note(store, merged, began, merged=1)
            return Recorded(merged, admission.path, twins, "merged", redacted)
        lore = lore._replace(status=admission.status)
        path, operation = entry_writer.create(store, lore, f"record: {lore.title}", keys=draft.keys)
        entry_writer.write(store, [operation])
        remember(store, lore, path)
        _note(store, lore, began, merged=0)
    lore = judgements.with_tally(store, lore)
    return Recorded(lore, path, twins, "recorded", redacted, admission.why, admission.contradictions)


def _note(store: Store, lore: Lore, began: int, *, merged: int) -> None:
    took = activity_log.milliseconds_since(store, began)
    activity_log.note(
        store, "record", query=lore.title, ids=[lore.id], took_ms=took, details={"merged": merged}
    )


def _merge(store: Store, lore: Lore, admission: Admission) -> Lore | None:
    """Return the lore that took in the new one; None where none does, or somebody is changing it just now."""
    if admission.host is None or admission.folded is None:
        return None
    file, host = admission.host, admission.folded
    content = entry_writer.rewritten(store, file, host)
    details = [("Engram-Folded", lore.id)]
    subject = f"record: {lore.title} (the same as {host.id})"
    operation = entry_writer.operation_for(
        store, host, subject, [Change(admission.path, content, atomic.digest(file.raw))], details
    )
    try:
        entry_writer.write(store, [operation])
    except ConflictError:
        return None
    judgements.say_again(store, host, lore.id)
    return judgements.with_tally(store, host)


def prepare(store: Store, draft: Draft, lore_id: str = "") -> tuple[Lore, int]:
    """Return the lore a draft becomes, checked, and how many secrets were masked in it. Writes nothing."""
    content = tidy(draft.content)
    check_content(content)
    draft, redacted = _without_secrets(store, draft._replace(content=content))
    category = _category(store, draft)
    lore_id = lore_id or store.clock.new_id()
    created = times.whole_seconds(ulid.moment(lore_id))
    prior = store.settings.number("record.confidence") if draft.confidence is None else draft.confidence
    lore = Lore(
        id=lore_id,
        content=draft.content,
        category=category,
        created_at=created,
        updated_at=created,
        type=parse_types([draft.type])[0] if draft.type else store.categories.type_of(category),
        status=status_named(draft.status),
        prior=round(check_fraction("confidence", prior) * 1000),
        context=tuple(text.strip() for text in draft.context if text.strip()),
        tags=tuple(dict.fromkeys(tag.strip() for tag in draft.tags)),
        files=tuple(dict.fromkeys(draft.files)),
        entities=with_mentioned(store, draft.content, draft.entities),
        relations=tuple(Relation(kind, other) for kind, other in draft.relations),
        importance=draft.importance,
        pinned=draft.pinned,
        expires_at=draft.expires_at,
        agent=speaker(store, draft.agent),
        source_id=store.source_id,
        when=stated(draft.when) if draft.when else (),
        author=people.published_name(store)[:MAX_WORD],
    )
    check(lore, store.categories)
    return lore, redacted


def tidy(content: str) -> str:
    """Return the content with line feeds only and without blank lines around it."""
    return content.replace("\r\n", "\n").replace("\r", "\n").strip("\n").rstrip()


def _category(store: Store, draft: Draft) -> str:
    """Return the category of a draft: as given, as configured, else as its text suggests. Raises ValidationError."""
    category = draft.category or store.settings.text("record.category")
    if category:
        return store.categories.parse(category)
    from engram.domain.entry.lore import title_of
    from engram.domain.exchange.classify import guess_category

    return guess_category(title_of(draft.content), draft.content)[0]


def status_named(given: str) -> str:
    """Return the status, if it is one. Raises ValidationError."""
    if given not in STATUSES:
        raise ValidationError(
            "status", f"status cannot be '{given}'.", f"Valid values: {', '.join(STATUSES)}."
        )
    return given


def _without_secrets(store: Store, draft: Draft) -> tuple[Draft, int]:
    """Return the draft with secrets masked if it asks for that; raises SecretFoundError otherwise."""
    count = 0
    allowed = store.allowed_secrets
    clean: dict[str, Any] = {}
    for field in ("content", "context", "tags", "files", "entities", "when", "agent"):
        value = getattr(draft, field)
        cleaned = []
        for text in [value] if isinstance(value, str) else value:
            findings = find_secrets(text, allowed)
            if findings and not draft.redact:
                raise refuse(findings, f"the {field}")
            count += len(findings)
            cleaned.append(redact(text, findings))
        clean[field] = cleaned[0] if isinstance(value, str) else tuple(cleaned)
    return draft._replace(**clean), count
