"""Importing what others wrote: markdown files and folders, JSON and JSON Lines; twice gives the same as once."""

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
from engram.usecases.exchange.existing_entries import ORIGIN, Earlier, Present
from engram.usecases.exchange.import_entities import Entities
from engram.usecases.exchange.import_places import Found, sources
from engram.usecases.exchange.import_sources import MARKDOWN, Source
from engram.usecases.exchange.unmapped_fields import STAYS, LeftOut, find_unread_files
from engram.usecases.recording.record import prepare, status_named
from engram.usecases.similarity.near_duplicates import similar
from engram.usecases.store import activity_log, captured, entry_writer, people
from engram.usecases.store.gc_pause import no_collections
from engram.usecases.store.store import Deed, Store

if TYPE_CHECKING:
    from engram.adapters.files.durable.write import Change

NEW, CHANGED, KNOWN, ALIKE = "new", "changed", "known", "alike"
_BATCH = 500
_MAX_LINKS = 100  # a frontmatter of 16 KiB holds about twice as many
# What other tools call the relations that Engram has; the rest is `see_also`, and keeps its name in the text.
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
    """One document or row that an import read: where, of which tool ("" for none in particular), as which entry.

    `parts` are how many entries it has. `verdict` is `new`, `known` (here already), `alike` (the entry `twin` says it), or
    `changed`: some of it is here, and what was changed since takes the place of what came before (first of `twin`).
    """

    where: str
    kind: str
    title: str
    category: str
    parts: int
    verdict: str
    twin: str = ""


class Imported(NamedTuple):
    """What an import did: lore written, documents that were split, what was skipped as already there.

    `problems` are {path, message, hint}; `redacted` counts masked secrets; `seen` are all documents and rows, in order;
    `superseded` are the ids of entries whose place was taken by a newer version of the same section; `left_out` says what
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
    """How to import. Empty values: guessed or left out; `dry_run` writes nothing."""

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
    """Import what lies at a path: markdown, JSON, JSON Lines, or memories of another tool (`options.kind`, else told).

    Instead of a path: what `find_memories` found. A document that breaks a rule is a problem and never stops the
    others. Raises NotFoundError, UsageError, ValidationError for an option that no entry can have.
    """
    options = _check_options(store, options)
    problems: list[dict[str, object]] = []
    places = [Found(options.kind, path)] if isinstance(path, str) else path
    own = store.places.scope == USER
    left: list[LeftOut] = []
    read = [sources(one.kind, one.path, store.categories, problems, left, own=own) for one in places]
    found = [
        _name_by_place(source, place) for place, some in zip(places, read, strict=True) for source in some
    ]
    with store.lock:
        run = _Run(store, options, problems)
        run.linked = {fold(link.target) for one in found for part in one.parts for link in text_links(part)}
        run.left += left
        for one in places:
            run.left += find_unread_files(one.path, (*MARKDOWN, ".mdc"))
        for number, source in enumerate(found):
            run.take(source)
            if progress is not None:
                progress(number + 1, len(found))
        return run.finish(
            ", ".join([one.label or os.path.basename(os.path.abspath(one.path)) for one in places][:3])
        )


def _name_by_place(source: Source, place: Found) -> Source:
    """Return the source; of a place that was found, with that place in its name."""
    if not place.label:
        return source
    inside = (
        source.where if os.path.isdir(place.path) else source.where.removeprefix(os.path.basename(place.path))
    )
    return source._replace(
        where=f"{place.label}/{inside}" if os.path.isdir(place.path) else place.label + inside
    )


def _check_options(store: Store, options: Options) -> Options:
    """Return the options, where they hold for any document. Raises ValidationError: once, not for each document."""
    if options.status:
        status_named(options.status)
    if options.confidence is not None:
        check_fraction("confidence", options.confidence)
    check_words("tags", options.tags)
    return options._replace(category=store.categories.parse(options.category) if options.category else "")


class _Run:
    """One import under way: what was seen, and the entries to be written."""

    def __init__(self, store: Store, options: Options, problems: list[dict[str, object]]) -> None:
        self._store = store
        self._options = options
        self._problems = problems
        self._present = Present(store)
        self._author = people.published_name(store)
        self._superseded: list[str] = []
        self._new: list[tuple[Lore, tuple[Change, ...]]] = []
        self._split = 0
        self._skipped = 0
        self._redacted = 0
        self._seen: list[Seen] = []
        self._entities = Entities(store)
        self.left: list[LeftOut] = []
        self.linked: Collection[str] = ()  # folded names that links in the texts lead to
        self._called: dict[str, str] = {}  # ids by the folded names of what was read
        # By place in `_new`.
        self._related: list[tuple[int, Source, Mapping[str, str | tuple[str, ...]]]] = []

    def take(self, source: Source) -> None:
        """Turn one document or row into lore, or into a problem."""
        if source.entity is not None:
            self._entities.take(source.entity, source.where, source.kind)
            return
        before = self._redacted
        try:
            family = _link_parts([self._prepare(source, part) for part in range(len(source.parts))])
            here = {lore.id: self._present.id_of(lore) for lore in family}
            fresh = [_pointing(lore, here) for lore in family if not here[lore.id]]
            versions = self._present.earlier(fresh, family)
            keys = _keys_of(source, family, self.linked)
            made = [
                self._changes_for(
                    lore, versions.get(lore.id), keys if lore.id == family[0].id else {}, source.where
                )
                for lore in fresh
            ]
        except EngramError as error:
            self._redacted = before
            self._problems.append({"path": source.where, "message": error.message, "hint": error.hint})
            return
        self.left += source.left
        first, title = family[0], family[0].title
        for name in (*source.names, title):
            self._called.setdefault(fold(name), here[first.id] or first.id)
        again = [(here[lore.id], lore) for lore in family if here[lore.id] not in ("", lore.id)]
        verdict, twin = self._verdict(family, fresh, [one.id for one in versions.values()])
        self._seen.append(Seen(source.where, source.kind, title, first.category, len(family), verdict, twin))
        again += [(twin, first)] if verdict == ALIKE else []
        if not self._options.dry_run:
            for lore_id, lore in again:
                self._present.confirm(lore_id, lore)
        if verdict in (KNOWN, ALIKE):
            self._skipped += 1
            return
        self._split += len(family) > 1
        self._present.add(fresh)
        self._superseded += [one.id for one in versions.values()]
        if source.related and made and made[0][0].id == first.id:
            self._related.append((len(self._new), source, keys))
        self._new += made

    def _changes_for(
        self, lore: Lore, earlier: Earlier | None, keys: Mapping[str, str | tuple[str, ...]], where: str
    ) -> tuple[Lore, tuple[Change, ...]]:
        """Return what writes an entry; where it is a newer version of one, also what that one becomes."""
        if keys:
            try:
                entry_writer.new_file(self._store, lore, keys)
            except ValidationError as error:
                self.left.append(LeftOut(where, f"its properties: {error.message}", STAYS))
                keys = {name: said for name, said in keys.items() if name == "aliases"}
        if earlier is None:
            return lore, (entry_writer.new_file(self._store, lore, keys),)
        written = entry_writer.new_file(self._store, earlier.followed_by(lore), keys)
        return lore, (written, earlier.superseded(self._store))

    def _relate(self) -> None:
        """Give entries the typed relations to others that were read, by the names that these have."""
        for place, source, keys in self._related:
            lore, changes = self._new[place]
            found = list(lore.relations)
            for kind, name in source.related:
                other = self._called.get(fold(name), "")
                if other and other != lore.id:
                    known = _RELATIONS.get(fold(kind).replace(" ", "_"), "")
                    found.append(Relation(known or "see_also", other))
                    if not known:
                        what = f"the relation {kind} to {name}"
                        self.left.append(LeftOut(source.where, what, "see_also, and its name in the text"))
                elif not other:
                    what = f"the relation {kind} to {name}, which is not here"
                    self.left.append(LeftOut(source.where, what, "stays a link in the text"))
            after = lore._replace(relations=tuple(dict.fromkeys(found))[:_MAX_LINKS])
            self._new[place] = after, (entry_writer.new_file(self._store, after, keys), *changes[1:])

    def finish(self, name: str) -> Imported:
        """Write everything that was taken: as one deed, however many commits it takes."""
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
        self._seen += [
            Seen(one.where, one.kind, one.row.name, "ENTITY", 1, NEW if one.is_new else KNOWN)
            for one in self._entities.taken
        ]
        made = len(self._entities.new)
        known = len(self._entities.taken) - made
        if not self._options.dry_run:
            captured.drop_same(self._store, [lore for lore, _ in self._new])
            counts = {
                "imported": len(self._new) + made,
                "skipped": self._skipped + known,
                "problems": len(self._problems),
            }
            activity_log.note(self._store, "import", query=name, details=counts)
        return Imported(
            len(self._new) + made, self._split, self._skipped + known, tuple(self._problems), self._redacted, tuple(paths),
            tuple(self._seen), tuple(self._superseded), tuple(self.left),
        )  # fmt: skip

    def _write(self, name: str) -> list[str]:
        paths = list[str]()
        for start in range(0, len(self._new), _BATCH):
            part = self._new[start : start + _BATCH]
            paths += [changes[0].path for _, changes in part]
            if not self._options.dry_run:
                every = [change for _, changes in part for change in changes]
                subject = f"import: {entries(len(part))} from {name}"
                entry_writer.write(
                    self._store, [entry_writer.operation_for(self._store, part[0][0], subject, every)]
                )
        return paths

    def _verdict(self, family: list[Lore], fresh: list[Lore], earlier: list[str]) -> tuple[str, str]:
        """Return whether a source is new here, or known in other words."""
        if not fresh:
            return KNOWN, ""
        if len(family) == 1 and self._present.has_others:
            for twin in similar(self._store, family[0]._replace(context=())):
                if twin.similarity >= NEAR and self._present.says(twin.path, family[0].content):
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
        lore_id = source.id if part == 0 and source.id not in self._present.ids else ""
        lore_id = lore_id or source.new_id(self._store.clock.new_id())
        lore, redacted = prepare(self._store, wanted, lore_id, self._author)
        self._redacted += redacted
        if source.created is not None:  # taken over today: it does not fade for the time before
            now = times.whole_seconds(self._store.clock.now())
            lore = lore._replace(updated_at=max(lore.created_at, now))
        return source.restored(lore, confidence_given=options.confidence is not None)


def _keys_of(
    source: Source, family: Sequence[Lore], linked: Collection[str]
) -> Mapping[str, str | tuple[str, ...]]:
    """Return the keys of the file of a document's first entry: its properties, its aliases, and names `linked` to."""
    if not (source.keys or source.names):
        return source.keys
    own = {fold(family[0].title)}
    names = [name for name in source.names if fold(name) in linked]
    aliases = [name for name in (*source.keys.get("aliases", ()), *names) if fold(name) not in own]
    return {**source.keys, **({"aliases": tuple(dict.fromkeys(aliases))} if aliases else {})}


def _with_origin(source: Source) -> tuple[str, ...]:
    """Return the context of a source, with the tool and the file that it is from."""
    context = source.draft.context
    return (*context, f"{ORIGIN}{source.where} ({source.kind})") if source.kind else context


def _pointing(lore: Lore, here: dict[str, str]) -> Lore:
    """Return the entry, pointing to what is in the store already where it would point to another copy of that."""
    if not lore.relations:
        return lore
    relations = tuple(Relation(one.kind, here.get(one.id) or one.id) for one in lore.relations)
    return lore._replace(relations=relations)


def _link_parts(family: list[Lore]) -> list[Lore]:
    """Return the parts of one document, pointing to each other: the first to the next hundred, all of them to the first."""
    if len(family) < 2:
        return family
    first, rest = family[0], family[1:]
    links = tuple(Relation("see_also", lore.id) for lore in rest[:_MAX_LINKS])
    back = (Relation("see_also", first.id),)
    return [
        first._replace(relations=first.relations + links),
        *[lore._replace(relations=lore.relations + back) for lore in rest],
    ]
