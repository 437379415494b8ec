"""Create, change and relate entities, link entries to them, and undo any of that.

One call is one operation and one commit, whichever files it changes: the entity's, a new related one's, the entry's.
"""

from __future__ import annotations

from types import MappingProxyType

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.adapters.files.frontmatter import entity_file
from engram.domain.entry import times
from engram.domain.errors import ConflictError, NotFoundError, StoreError, UsageError, ValidationError
from engram.domain.graph.entity import Entity, Relationship
from engram.domain.graph.entity_rules import (
    DEFAULT_TYPE,
    RELATED,
    check_metadata_key,
    check_type,
    free_slug,
    match_name,
    slug_of,
    the_one,
)
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.graph.entities import folder_of, read_entities
from engram.usecases.lookup.resolve import Found, resolve
from engram.usecases.store import activity_log, entry_writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.usecases.store.store import Store

CREATED, CHANGED, UNCHANGED, REMOVED = "created", "changed", "unchanged", "removed"
NOTHING: Mapping[str, str] = MappingProxyType({})
_TRIES = 40


class LinkRequest(NamedTuple):
    """A change of an entity; empty fields change nothing. An empty `metadata` value removes that key.

    `to`, `kind` and `since` are a relationship to another entity, `lore` names an entry about this one. With `remove`,
    the given aliases, relationships, metadata and entry are removed; if none are given, the entity itself.
    """

    name: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    to: str = ""
    kind: str = ""
    since: str = ""
    lore: str = ""
    text: str = ""
    metadata: Mapping[str, str] = NOTHING
    remove: bool = False


class Linked(NamedTuple):
    """The entity afterwards, its file, and its status: `created`, `changed`, `unchanged`, `removed`.

    `other` is the slug of the related entity, `made_other` whether it is new; `lore` is the id of the entry.
    """

    entity: Entity
    path: str
    status: str
    other: str = ""
    made_other: bool = False
    lore: str = ""


def link_entity(store: Store, wanted: LinkRequest) -> Linked:
    """Carry out a request.

    Raises ValidationError, NotFoundError, AmbiguousError, UsageError, SecretFoundError, NotAllowedError, StoreError.
    """
    _check(store, wanted)
    with store.lock:
        found = resolve(store, wanted.lore) if wanted.lore else None
        where = found.store if found is not None else store
        entry_writer.check_allowed(where, "record", path=found.path if found is not None else "")
        for attempt in range(_TRIES):
            job = _Attempt(where, wanted, found)
            done = job.remove() if wanted.remove else job.add()
            try:
                job.write(done)
            except ConflictError:
                if attempt == _TRIES - 1:
                    raise
                continue
            activity_log.note(store, "link", query=done.entity.name, ids=[done.lore] if done.lore else [])
            return done
    raise AssertionError("unreachable")


def find_entity(store: Store, name: str) -> Entity | None:
    """Find an entity by slug, name or alias; None if there is none. Raises AmbiguousError."""
    return the_one(read_entities(store).entities, name.strip())


def _check(store: Store, wanted: LinkRequest) -> None:
    if not wanted.name.strip():
        raise ValidationError("name", "No entity was named.", "Give its name, its slug or an alias.")
    if wanted.type:
        check_type(wanted.type)
    if (wanted.kind or wanted.since) and not wanted.to:
        raise UsageError("A relationship needs two entities.", "Name the target entity.")
    for key in wanted.metadata:
        check_metadata_key(key)
    texts = (wanted.name, *wanted.aliases, wanted.to, wanted.text, *wanted.metadata.values())
    entry_writer.refuse_secrets(store, "the entity", *texts)


class _Attempt:
    """One attempt at a request: the files as they are now, and their changes."""

    def __init__(self, store: Store, wanted: LinkRequest, found: Found | None) -> None:
        self._store, self._wanted, self._found = store, wanted, found
        self._known = read_entities(store)
        self._changes: list[Change] = []
        self._slugs: list[str] = []
        self._taken = {one.slug for one in self._known.entities}
        self._taken |= {path.rpartition("/")[2].removesuffix(".md") for path, *_ in self._known.problems}

    def add(self) -> Linked:
        """Add to the entity, creating it if it is new."""
        wanted = self._wanted
        other, made_other = self._other()
        before = the_one(self._known.entities, wanted.name.strip())
        start = before or self._new(wanted.name, wanted.type)
        after = start._replace(
            type=wanted.type or start.type,
            aliases=_with_aliases(start, wanted.aliases),
            relationships=_with_relationship(start, other, wanted),
            metadata=_with_metadata(start, wanted.metadata),
            content=wanted.text.strip() or start.content,
        )
        if other and other == after.slug:
            raise UsageError("An entity cannot be related to itself.", "Name two different entities.")
        path, status = self._queue_change(before, after)
        lore_id = self._lore(after, remove=False)
        status = CHANGED if status == UNCHANGED and self._changes else status
        return Linked(after, path, status, other, made_other, lore_id)

    def remove(self) -> Linked:
        """Remove from the entity, or remove it."""
        wanted = self._wanted
        before = self._existing(wanted.name)
        other = self._existing(wanted.to).slug if wanted.to else ""
        if not (wanted.aliases or wanted.to or wanted.metadata or self._found is not None):
            return self._deletion(before)
        gone = [way for way in before.relationships if other == way.to and wanted.kind in ("", way.kind)]
        after = before._replace(
            aliases=tuple([alias for alias in before.aliases if alias not in wanted.aliases]),
            relationships=tuple([way for way in before.relationships if way not in gone]),
            metadata=tuple([pair for pair in before.metadata if pair[0] not in wanted.metadata]),
        )
        path, status = self._queue_change(before, after)
        lore_id = self._lore(after, remove=True)
        return Linked(after, path, CHANGED if self._changes else status, other, False, lore_id)

    def write(self, done: Linked) -> None:
        """Write the changes as one operation. Raises ConflictError if a file changed meanwhile."""
        if not self._changes:
            return
        verb = "unlink" if self._wanted.remove else "link"
        names = [*self._slugs, done.other if done.other not in self._slugs else "", done.lore]
        subject = f"{verb}: {', '.join([one for one in names if one]) or done.entity.slug}"
        about = [*[("Engram-Entity", slug) for slug in self._slugs], ("Engram-Lore", done.lore)]
        entry_writer.write(self._store, [entry_writer.operation(self._store, subject, self._changes, about)])

    def _existing(self, name: str) -> Entity:
        found = the_one(self._known.entities, name.strip())
        if found is None:
            raise NotFoundError(f"No entity is called '{name[:80]}'.", "`engram link` lists them.")
        return found

    def _new(self, name: str, kind: str = "") -> Entity:
        """Make a new entity. Raises StoreError if a file of that name exists but cannot be read."""
        name = " ".join(name.split())
        for problem in self._known.problems:
            if slug_of(name) == slug_of(problem.path.rpartition("/")[2].removesuffix(".md")):
                raise StoreError(f"{problem.path} cannot be read: {problem.message}.", problem.hint)
        slug = free_slug(name, self._taken)
        self._taken.add(slug)
        return Entity(slug, name, kind or DEFAULT_TYPE)

    def _other(self) -> tuple[str, bool]:
        """Return the slug of the related entity, creating it if needed, and whether it was created."""
        if not self._wanted.to:
            return "", False
        found = the_one(self._known.entities, self._wanted.to.strip())
        if found is not None:
            return found.slug, False
        if self._wanted.to.strip() == self._wanted.name.strip():
            raise UsageError("An entity cannot be related to itself.", "Name two different entities.")
        made = self._new(self._wanted.to)
        self._queue_change(None, made)
        return made.slug, True

    def _queue_change(self, before: Entity | None, after: Entity) -> tuple[str, str]:
        """Queue the change of an entity's file; returns its path and status."""
        now = self._store.clock.now()
        if before is None:
            path = f"{folder_of(self._store)}/{after.slug}.md"
            content = entity_file.write_new(after, times.whole_seconds(now))
            self._queue(after.slug, Change(path, content, None))
            return path, CREATED
        path = self._known.paths[before.slug]
        if after == before:
            return path, UNCHANGED
        raw = self._store.files.read(path)
        file = entity_file.read(raw, path)
        if after.relationships == before.relationships:
            after = after._replace(relationships=file.record.relationships)
        content = entity_file.rewrite(raw, path, file.changed(after, now))
        self._queue(after.slug, Change(path, content, atomic.digest(raw)))
        return path, CHANGED

    def _deletion(self, before: Entity) -> Linked:
        path = self._known.paths[before.slug]
        self._queue(before.slug, Change(path, None, atomic.digest(self._store.files.read(path))))
        return Linked(before, path, REMOVED)

    def _queue(self, slug: str, changed: Change) -> None:
        self._slugs.append(slug)
        self._changes.append(changed)

    def _lore(self, entity: Entity, *, remove: bool) -> str:
        """Add the entity to the entry, or remove it; returns the id of the entry."""
        if self._found is None:
            return ""
        file = entry_writer.load(self._store, self._found.path)
        if file.lore.id != self._found.id:
            raise NotFoundError(f"{self._found.path} now holds another entry.", "Query again.")
        own = [one for one in self._known.entities if one.slug != entity.slug]
        naming = [name for name in file.lore.entities if entity.slug in match_name([*own, entity], name)]
        if remove:
            names = tuple([name for name in file.lore.entities if name not in naming])
        else:
            names = file.lore.entities if naming else (*file.lore.entities, entity.name)
        if names != file.lore.entities:
            stamp = times.after(self._store.clock.now(), file.lore.updated_at)
            after = file.lore._replace(entities=names, updated_at=stamp)
            content = entry_writer.rewrite(self._store, file, after)
            self._changes.append(Change(self._found.path, content, atomic.digest(file.raw)))
        return self._found.id


def _with_aliases(entity: Entity, new: Sequence[str]) -> tuple[str, ...]:
    known = (entity.name, *entity.aliases)
    clean = [" ".join(alias.split()) for alias in new]
    return (*entity.aliases, *dict.fromkeys([alias for alias in clean if alias not in known]))


def _with_relationship(entity: Entity, other: str, wanted: LinkRequest) -> tuple[Relationship, ...]:
    """Add the new relationship; an existing one of the same kind and target takes its date."""
    if not other:
        return entity.relationships
    kind = "_".join((wanted.kind or RELATED).lower().replace("-", " ").split())
    new = Relationship(kind, other, wanted.since.strip())
    found = [way for way in entity.relationships if (way.kind, way.to) == (kind, other)]
    if not found:
        return (*entity.relationships, new)
    if not new.since:
        return entity.relationships
    return tuple([new if way == found[0] else way for way in entity.relationships])


def _with_metadata(entity: Entity, new: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    merged = {**dict(entity.metadata), **new}
    return tuple([(key, value) for key, value in merged.items() if value])
