"""Create, change, relate and remove entities, and link entries to them.

One call is one operation and one commit for all files it changes: the entity's, that of a new related one, the entry's.
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
    find_by_name,
    free_slug,
    match_name,
    slug_of,
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

    `to`, `kind` and `since` describe a relationship to another entity; `lore` names an entry about this one. With `remove`,
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
    """The entity after a request, its file, and its status: `created`, `changed`, `unchanged`, `removed`.

    `other` is the slug of the related entity, `made_other` whether it is new; `lore` is the id of the entry.
    """

    entity: Entity
    path: str
    status: str
    other: str = ""
    made_other: bool = False
    lore: str = ""


def link_entity(store: Store, request: LinkRequest) -> Linked:
    """Carry out a request as one commit.

    Raises ValidationError, NotFoundError, AmbiguousError, UsageError, SecretFoundError, NotAllowedError, StoreError.
    """
    _check(store, request)
    with store.lock:
        found = resolve(store, request.lore) if request.lore else None
        target = found.store if found is not None else store
        entry_writer.check_allowed(target, "record", path=found.path if found is not None else "")
        for attempt in range(_TRIES):
            job = _Attempt(target, request, found)
            result = job.remove() if request.remove else job.add()
            try:
                job.write(result)
            except ConflictError:
                if attempt == _TRIES - 1:
                    raise
                continue
            ids = [result.lore] if result.lore else []
            activity_log.note(store, "link", query=result.entity.name, ids=ids)
            return result
    raise AssertionError("unreachable")


def find_entity(store: Store, name: str) -> Entity | None:
    """Find an entity by slug, name or alias; None if there is none. Raises AmbiguousError."""
    return find_by_name(read_entities(store).entities, name.strip())


def _check(store: Store, request: LinkRequest) -> None:
    if not request.name.strip():
        raise ValidationError("name", "No entity was named.", "Give its name, its slug or an alias.")
    if request.type:
        check_type(request.type)
    if (request.kind or request.since) and not request.to:
        raise UsageError("A relationship needs two entities.", "Name the target entity.")
    for key in request.metadata:
        check_metadata_key(key)
    texts = (request.name, *request.aliases, request.to, request.text, *request.metadata.values())
    entry_writer.refuse_secrets(store, "the entity", *texts)


class _Attempt:
    """One attempt at a request: the files as read, and the changes to write."""

    def __init__(self, store: Store, request: LinkRequest, found: Found | None) -> None:
        self._store, self._request, self._found = store, request, found
        self._known = read_entities(store)
        self._changes: list[Change] = []
        self._slugs: list[str] = []
        self._used_slugs = {known.slug for known in self._known.entities}
        self._used_slugs |= {path.rpartition("/")[2].removesuffix(".md") for path, *_ in self._known.problems}

    def add(self) -> Linked:
        """Add to the entity, creating it if it is new."""
        request = self._request
        related, is_new = self._related()
        before = find_by_name(self._known.entities, request.name.strip())
        start = before or self._new(request.name, request.type)
        after = start._replace(
            type=request.type or start.type,
            aliases=_with_aliases(start, request.aliases),
            relationships=_with_relationship(start, related, request),
            metadata=_with_metadata(start, request.metadata),
            content=request.text.strip() or start.content,
        )
        if related and related == after.slug:
            raise UsageError("An entity cannot be related to itself.", "Name two different entities.")
        path, status = self._queue_change(before, after)
        lore_id = self._link_entry(after, remove=False)
        status = CHANGED if status == UNCHANGED and self._changes else status
        return Linked(after, path, status, related, is_new, lore_id)

    def remove(self) -> Linked:
        """Remove parts of the entity, or the entity itself."""
        request = self._request
        entity = self._existing(request.name)
        related = self._existing(request.to).slug if request.to else ""
        if not (request.aliases or request.to or request.metadata or self._found is not None):
            return self._delete(entity)
        links = entity.relationships
        removed = [link for link in links if link.to == related and request.kind in ("", link.kind)]
        after = entity._replace(
            aliases=tuple([alias for alias in entity.aliases if alias not in request.aliases]),
            relationships=tuple([link for link in links if link not in removed]),
            metadata=tuple([pair for pair in entity.metadata if pair[0] not in request.metadata]),
        )
        path, status = self._queue_change(entity, after)
        lore_id = self._link_entry(after, remove=True)
        return Linked(after, path, CHANGED if self._changes else status, related, False, lore_id)

    def write(self, result: Linked) -> None:
        """Write the changes as one operation. Raises ConflictError if a file changed since it was read."""
        if not self._changes:
            return
        verb = "unlink" if self._request.remove else "link"
        names = [*self._slugs, result.other if result.other not in self._slugs else "", result.lore]
        subject = f"{verb}: {', '.join([name for name in names if name]) or result.entity.slug}"
        about = [*[("Engram-Entity", slug) for slug in self._slugs], ("Engram-Lore", result.lore)]
        entry_writer.write(self._store, [entry_writer.operation(self._store, subject, self._changes, about)])

    def _existing(self, name: str) -> Entity:
        found = find_by_name(self._known.entities, name.strip())
        if found is None:
            raise NotFoundError(f"No entity is called '{name[:80]}'.", "`engram link` lists them.")
        return found

    def _new(self, name: str, kind: str = "") -> Entity:
        """Make a new entity. Raises StoreError if a file of that name exists but cannot be read."""
        name = " ".join(name.split())
        for problem in self._known.problems:
            if slug_of(name) == slug_of(problem.path.rpartition("/")[2].removesuffix(".md")):
                raise StoreError(f"{problem.path} cannot be read: {problem.message}.", problem.hint)
        slug = free_slug(name, self._used_slugs)
        self._used_slugs.add(slug)
        return Entity(slug, name, kind or DEFAULT_TYPE)

    def _related(self) -> tuple[str, bool]:
        """Return the slug of the related entity, creating it if needed, and whether it was created."""
        if not self._request.to:
            return "", False
        found = find_by_name(self._known.entities, self._request.to.strip())
        if found is not None:
            return found.slug, False
        if self._request.to.strip() == self._request.name.strip():
            raise UsageError("An entity cannot be related to itself.", "Name two different entities.")
        made = self._new(self._request.to)
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

    def _delete(self, entity: Entity) -> Linked:
        path = self._known.paths[entity.slug]
        self._queue(entity.slug, Change(path, None, atomic.digest(self._store.files.read(path))))
        return Linked(entity, path, REMOVED)

    def _queue(self, slug: str, change: Change) -> None:
        self._slugs.append(slug)
        self._changes.append(change)

    def _link_entry(self, entity: Entity, *, remove: bool) -> str:
        """Add the entity to the entry of the request, or remove it; returns the entry's id ("" without one)."""
        if self._found is None:
            return ""
        file = entry_writer.load(self._store, self._found.path)
        if file.lore.id != self._found.id:
            raise NotFoundError(f"{self._found.path} now holds another entry.", "Query again.")
        others = [known for known in self._known.entities if known.slug != entity.slug]
        matching = [name for name in file.lore.entities if entity.slug in match_name([*others, entity], name)]
        if remove:
            names = tuple([name for name in file.lore.entities if name not in matching])
        else:
            names = file.lore.entities if matching else (*file.lore.entities, entity.name)
        if names != file.lore.entities:
            stamp = times.after(self._store.clock.now(), file.lore.updated_at)
            after = file.lore._replace(entities=names, updated_at=stamp)
            content = entry_writer.rewrite(self._store, file, after)
            self._changes.append(Change(self._found.path, content, atomic.digest(file.raw)))
        return self._found.id


def _with_aliases(entity: Entity, added: Sequence[str]) -> tuple[str, ...]:
    known = (entity.name, *entity.aliases)
    normalized = [" ".join(alias.split()) for alias in added]
    return (*entity.aliases, *dict.fromkeys([alias for alias in normalized if alias not in known]))


def _with_relationship(entity: Entity, other: str, request: LinkRequest) -> tuple[Relationship, ...]:
    """Add the new relationship, or set the date of an existing one of the same kind and target."""
    if not other:
        return entity.relationships
    kind = "_".join((request.kind or RELATED).lower().replace("-", " ").split())
    new = Relationship(kind, other, request.since.strip())
    existing = [link for link in entity.relationships if (link.kind, link.to) == (kind, other)]
    if not existing:
        return (*entity.relationships, new)
    if not new.since:
        return entity.relationships
    return tuple([new if link == existing[0] else link for link in entity.relationships])


def _with_metadata(entity: Entity, added: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    merged = {**dict(entity.metadata), **added}
    return tuple([(key, value) for key, value in merged.items() if value])
