"""Import lore from other tools: markdown files and folders, JSON and JSON Lines. Importing again changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence

from engram.domain.entry import times
from engram.domain.entry.lore import RELATION_KINDS, Lore, Relation, check_fraction, check_words
from engram.domain.entry.refs import fold
from engram.domain.entry.text_links import text_links
from engram.domain.errors import EngramError, ValidationError
from engram.domain.scopes import USER
from engram.domain.similarity.equivalence import NEAR
from engram.domain.text.counted_nouns import entries
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.exchange.existing_entries import ORIGIN, EarlierVersion, ExistingEntries
from engram.usecases.exchange.import_entities import EntityImport
from engram.usecases.exchange.import_places import Found, sources
from engram.usecases.exchange.import_sources import MARKDOWN, Source
from engram.usecases.exchange.unmapped_fields import STAYS, LeftOut, find_unread_files
from engram.usecases.recording.record import check_status, prepare
from engram.usecases.similarity.near_duplicates import find_similar
from engram.usecases.store import activity_log, captured, entry_writer, people
from engram.usecases.store.gc_pause import no_collections
from engram.usecases.store.store import Deed, Store

if TYPE_CHECKING:
    from engram.adapters.files.durable.write import Change

NEW, CHANGED, KNOWN, ALIKE = "new", "changed", "known", "alike"
_BATCH = 500
_MAX_LINKS = 100  # frontmatter of 16 KiB holds about twice as many
# Engram's relations by the names in other tools; any other name becomes `see_also`, and stays in the text.
_RELATIONS = {
    **{kind: kind for kind in RELATION_KINDS},
    **dict.fromkeys(("extends", "elaborates", "improves", "specializes"), "refines"),
    **dict.fromkeys(("replaces", "obsoletes"), "supersedes"),
    **dict.fromkeys(("conflicts_with", "disagrees_with"), "contradicts"),
    **dict.fromkeys(("follows_from", "due_to", "resulted_from"), "caused_by"),
    **dict.fromkeys(("relates_to", "related_to", "see"), "see_also"),
}
Progress = Callable[[int, int], None]


class Seen(NamedTuple):
    """A document or row that an import read: its place, the kind of memory ("" if unspecific), its title and category.

    `parts` is the number of its entries. `verdict` is `new`, `known` (already here), `alike` (the entry `twin` says the
    same), or `changed`: some of it is here, and changed sections supersede earlier versions (the first is `twin`).
    """

    where: str
    kind: str
    title: str
    category: str
    parts: int
    verdict: str
    twin: str = ""


class Imported(NamedTuple):
    """The result of an import: the numbers of written entries, of split documents, and of documents already here.

    `problems` are {path, message, hint}; `redacted` counts masked secrets; `seen` are all documents and rows, in order;
    `superseded` are the ids of entries superseded by a newer version of the same section; `left_out` lists data that
    became no field of an entry, and where it went.
    """

    imported: int
    split: int
    skipped: int
    problems: tuple[dict[str, object], ...]
    redacted: int
    paths: tuple[str, ...]
    seen: tuple[Seen, ...] = ()
    superseded: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class Options(NamedTuple):
    """Options of an import. Empty values are guessed or left out; `dry_run` writes nothing."""

    category: str = ""
    tags: tuple[str, ...] = ()
    confidence: float | None = None
    status: str = ""
    redact: bool = False
    dry_run: bool = False
    kind: str = ""


@no_collections()
def import_lore(
    store: Store, path: str | Sequence[Found], options: Options, progress: Progress | None = None
) -> Imported:
    """Import a file or folder: markdown, JSON, JSON Lines, or memories of another tool (`options.kind`, else detected).

    Instead of a path, takes the result of `find_memories`. An invalid document is a problem and never stops the
    others. Raises NotFoundError, UsageError, ValidationError for an option that no entry can have.
    """
    options = _check_options(store, options)
    problems: list[dict[str, object]] = []
    places = [Found(options.kind, path)] if isinstance(path, str) else path
    own = store.places.scope == USER
    left_out: list[LeftOut] = []
    read = [
        sources(place.kind, place.path, store.categories, problems, left_out, own=own) for place in places
    ]
    found = [
        _name_by_place(source, place) for place, group in zip(places, read, strict=True) for source in group
    ]
    with store.lock:
        run = _Run(store, options, problems)
        run.linked = {
            fold(link.target) for source in found for part in source.parts for link in text_links(part)
        }
        run.left_out += left_out
        for place in places:
            run.left_out += find_unread_files(place.path, (*MARKDOWN, ".mdc"))
        for number, source in enumerate(found, 1):
            run.add(source)
            if progress is not None:
                progress(number, len(found))
        labels = [place.label or os.path.basename(os.path.abspath(place.path)) for place in places]
        return run.finish(", ".join(labels[:3]))


def _name_by_place(source: Source, place: Found) -> Source:
    """Return the source, with the label of its place in its name if there is one."""
    if not place.label:
        return source
    if os.path.isdir(place.path):
        return source._replace(where=f"{place.label}/{source.where}")
    return source._replace(where=place.label + source.where.removeprefix(os.path.basename(place.path)))


def _check_options(store: Store, options: Options) -> Options:
    """Return the options if they are valid for any document. Raises ValidationError once, not for each document."""
    if options.status:
        check_status(options.status)
    if options.confidence is not None:
        check_fraction("confidence", options.confidence)
    check_words("tags", options.tags)
    return options._replace(category=store.categories.parse(options.category) if options.category else "")


class _Run:
    """An import in progress: the documents read so far, and the entries to be written."""

    def __init__(self, store: Store, options: Options, problems: list[dict[str, object]]) -> None:
        self._store = store
        self._options = options
        self._problems = problems
        self._existing = ExistingEntries(store)
        self._author = people.published_name(store)
        self._superseded: list[str] = []
        self._new: list[tuple[Lore, tuple[Change, ...]]] = []
        self._split = 0
        self._skipped = 0
        self._redacted = 0
        self._seen: list[Seen] = []
        self._entities = EntityImport(store)
        self.left_out: list[LeftOut] = []
        self.linked: Collection[str] = ()  # folded names that are targets of links in the texts
        self._ids_by_name: dict[str, str] = {}  # by the folded names of the documents read
        # Sources with relations, by index in `_new`, with the keys of their files.
        self._related: list[tuple[int, Source, Mapping[str, str | tuple[str, ...]]]] = []

    def add(self, source: Source) -> None:
        """Turn one document or row into entries, or into a problem."""
        if source.entity is not None:
            self._entities.add(source.entity, source.where, source.kind)
            return
        before = self._redacted
        try:
            family = _link_parts([self._prepare(source, part) for part in range(len(source.parts))])
            existing = {lore.id: self._existing.find_id(lore) for lore in family}
            fresh = [_redirect_relations(lore, existing) for lore in family if not existing[lore.id]]
            versions = self._existing.find_earlier(fresh, family)
            keys = _file_keys(source, family, self.linked)
            new = [
                self._changes_for(
                    lore, versions.get(lore.id), keys if lore.id == family[0].id else {}, source.where
                )
                for lore in fresh
            ]
        except EngramError as error:
            self._redacted = before
            self._problems.append({"path": source.where, "message": error.message, "hint": error.hint})
            return
        self.left_out += source.left_out
        first, title = family[0], family[0].title
        for name in (*source.names, title):
            self._ids_by_name.setdefault(fold(name), existing[first.id] or first.id)
        repeated = [(existing[lore.id], lore) for lore in family if existing[lore.id] not in ("", lore.id)]
        verdict, twin = self._judge(family, fresh, [version.id for version in versions.values()])
        self._seen.append(Seen(source.where, source.kind, title, first.category, len(family), verdict, twin))
        repeated += [(twin, first)] if verdict == ALIKE else []
        if not self._options.dry_run:
            for lore_id, lore in repeated:
                self._existing.confirm(lore_id, lore)
        if verdict in (KNOWN, ALIKE):
            self._skipped += 1
            return
        self._split += len(family) > 1
        self._existing.add(fresh)
        self._superseded += [version.id for version in versions.values()]
        if source.related and new and new[0][0].id == first.id:
            self._related.append((len(self._new), source, keys))
        self._new += new

    def _changes_for(
        self,
        lore: Lore,
        earlier: EarlierVersion | None,
        keys: Mapping[str, str | tuple[str, ...]],
        where: str,
    ) -> tuple[Lore, tuple[Change, ...]]:
        """Return the change that writes an entry, and the one that supersedes its earlier version, if any."""
        if keys:
            try:
                entry_writer.new_file(self._store, lore, keys)
            except ValidationError as error:
                self.left_out.append(LeftOut(where, f"its properties: {error.message}", STAYS))
                keys = {name: value for name, value in keys.items() if name == "aliases"}
        if earlier is None:
            return lore, (entry_writer.new_file(self._store, lore, keys),)
        new = entry_writer.new_file(self._store, earlier.link_successor(lore), keys)
        return lore, (new, earlier.supersede(self._store))

    def _relate(self) -> None:
        """Add the typed relations between documents of this import, whose targets are given by name."""
        for index, source, keys in self._related:
            lore, changes = self._new[index]
            relations = list(lore.relations)
            for kind, name in source.related:
                other = self._ids_by_name.get(fold(name), "")
                if other and other != lore.id:
                    known = _RELATIONS.get(fold(kind).replace(" ", "_"), "")
                    relations.append(Relation(known or "see_also", other))
                    if not known:
                        what = f"the relation {kind} to {name}"
                        self.left_out.append(
                            LeftOut(source.where, what, "see_also, and its name in the text")
                        )
                elif not other:
                    what = f"the relation {kind} to {name}, which is not here"
                    self.left_out.append(LeftOut(source.where, what, "stays a link in the text"))
            related = lore._replace(relations=tuple(dict.fromkeys(relations))[:_MAX_LINKS])
            self._new[index] = related, (entry_writer.new_file(self._store, related, keys), *changes[1:])

    def finish(self, name: str) -> Imported:
        """Write all entries: as one deed, however many commits it takes."""
        for category in dict.fromkeys(lore.category for lore, _ in self._new):
            entry_writer.check_allowed(self._store, "record", category)
        self._relate()
        deed = self._store.deed
        if deed is None and (len(self._new) > _BATCH or self._entities.new):
            self._store.deed = Deed(self._store.clock.new_id(), {}, set())
        try:
            if not self._options.dry_run:
                self._problems += self._entities.write()
            paths = self._write(name)
        finally:
            self._store.deed = deed
        entities = self._entities.entities
        self._seen += [
            Seen(entity.where, entity.kind, entity.row.name, "ENTITY", 1, NEW if entity.is_new else KNOWN)
            for entity in entities
        ]
        imported = len(self._new) + len(self._entities.new)
        skipped = self._skipped + len(entities) - len(self._entities.new)
        if not self._options.dry_run:
            captured.drop_same(self._store, [lore for lore, _ in self._new])
            counts = {"imported": imported, "skipped": skipped, "problems": len(self._problems)}
            activity_log.note(self._store, "import", query=name, details=counts)
        return Imported(
            imported, self._split, skipped, tuple(self._problems), self._redacted, tuple(paths),
            tuple(self._seen), tuple(self._superseded), tuple(self.left_out),
        )  # fmt: skip

    def _write(self, name: str) -> list[str]:
        paths = list[str]()
        for start in range(0, len(self._new), _BATCH):
            part = self._new[start : start + _BATCH]
            paths += [changes[0].path for _, changes in part]
            if not self._options.dry_run:
                all_changes = [change for _, changes in part for change in changes]
                subject = f"import: {entries(len(part))} from {name}"
                operation = entry_writer.operation_for(self._store, part[0][0], subject, all_changes)
                entry_writer.write(self._store, [operation])
        return paths

    def _judge(self, family: list[Lore], fresh: list[Lore], earlier: list[str]) -> tuple[str, str]:
        """Return the verdict on a source and the id of its twin (see `Seen`)."""
        if not fresh:
            return KNOWN, ""
        if len(family) == 1 and self._existing.has_others:
            for twin in find_similar(self._store, family[0]._replace(context=())):
                if twin.similarity >= NEAR and self._existing.says_same(twin.path, family[0].content):
                    return ALIKE, twin.id
        if earlier or len(fresh) < len(family):
            return CHANGED, next(iter(earlier), "")
        return NEW, ""

    def _prepare(self, source: Source, part: int) -> Lore:
        options, draft = self._options, source.draft
        kind = self._store.categories.type_of(draft.category)
        wanted = draft._replace(
            content=source.parts[part],
            category=options.category or draft.category,
            type="" if options.category and draft.type == kind else draft.type,
            context=_with_origin(source),
            tags=tuple(dict.fromkeys([*draft.tags, *options.tags])),
            confidence=draft.confidence if options.confidence is None else options.confidence,
            status=options.status or draft.status,
            redact=options.redact,
        )
        lore_id = source.id if part == 0 and source.id not in self._existing.ids else ""
        lore_id = lore_id or source.new_id(self._store.clock.new_id())
        lore, redacted = prepare(self._store, wanted, lore_id, self._author)
        self._redacted += redacted
        if source.created is not None:  # imported today: the time before does not count for decay
            now = times.whole_seconds(self._store.clock.now())
            lore = lore._replace(updated_at=max(lore.created_at, now))
        return source.restore(lore, confidence_given=options.confidence is not None)


def _file_keys(
    source: Source, family: Sequence[Lore], linked: Collection[str]
) -> Mapping[str, str | tuple[str, ...]]:
    """Return the keys of the file of a document's first entry: its properties, and as aliases its names that are `linked`."""
    if not (source.keys or source.names):
        return source.keys
    own = {fold(family[0].title)}
    names = [name for name in source.names if fold(name) in linked]
    aliases = [name for name in (*source.keys.get("aliases", ()), *names) if fold(name) not in own]
    return {**source.keys, **({"aliases": tuple(dict.fromkeys(aliases))} if aliases else {})}


def _with_origin(source: Source) -> tuple[str, ...]:
    """Return the context of a source, with the tool and the file it comes from."""
    context = source.draft.context
    return (*context, f"{ORIGIN}{source.where} ({source.kind})") if source.kind else context


def _redirect_relations(lore: Lore, existing: dict[str, str]) -> Lore:
    """Return the entry with its relations to parts that are already in the store redirected to the existing entries."""
    if not lore.relations:
        return lore
    relations = tuple(Relation(kind, existing.get(other) or other) for kind, other in lore.relations)
    return lore._replace(relations=relations)


def _link_parts(family: list[Lore]) -> list[Lore]:
    """Return the parts of one document with relations: from the first to the next hundred, and from all to the first."""
    if len(family) < 2:
        return family
    first, rest = family[0], family[1:]
    links = tuple(Relation("see_also", lore.id) for lore in rest[:_MAX_LINKS])
    back = (Relation("see_also", first.id),)
    return [
        first._replace(relations=first.relations + links),
        *[lore._replace(relations=lore.relations + back) for lore in rest],
    ]
