"""Broken and ambiguous links of entries and entities."""

from __future__ import annotations

import os
from functools import cached_property

from engram.adapters.index.graph_rows import own_names
from engram.domain.entry.named_files import FOLDERS, file_name
from engram.domain.entry.note_markup import Named, follow_link, is_attachment, link_name, targets
from engram.domain.entry.refs import fold
from engram.domain.entry.text_links import TextLink, text_links
from engram.domain.errors import EngramError
from engram.domain.graph.entity import Entity, by_name
from engram.domain.graph.entity_rules import key_of, match_name
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.graph.entities import Entities, read_entities
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store


_MARKS = (b"[[", b"](", b"relations:", b"entities:")


class BadLink(NamedTuple):
    """A broken or ambiguous link: the store path and line where it stands, and what is wrong with it."""

    path: str
    line: int
    message: str


def bad_links(
    store: Store, generation: Generation, hits: Sequence[Hit], paths: Collection[str], gone: Collection[str]
) -> list[BadLink]:
    """Find the bad links of entries and entities at `paths`, and relations of other entries to the ids in `gone`.

    `hits` are those of all entries of the store.
    """
    ids, readable = {hit.id for hit in hits}, {hit.path for hit in hits}
    targets = _Targets(store, generation, hits, ids)
    found: list[BadLink] = []
    for path in sorted(readable & {*paths, *_naming(generation, hits, gone)}):
        try:
            if path in paths and not _may_link(store.files.read(path)):
                continue
            file = entry_writer.load(store, path)
        except EngramError:
            continue  # reported as unreadable elsewhere
        found += _relations(path, file, ids)
        if path in paths:
            found += _in_text(store, path, file.raw, targets)
            found += targets.ambiguous_entities(path, file)
    for entity in targets.entities.entities:
        path = targets.entities.paths[entity.slug]
        if path in paths:
            found += _of_entity(store, path, entity, targets)
    return found


def all_bad_links(store: Store, generation: Generation) -> list[BadLink]:
    """Find the bad links of all entries and entities."""
    hits = generation.catalog.select("1")
    paths = {*(hit.path for hit in hits), *read_entities(store).paths.values()}
    return bad_links(store, generation, hits, paths, ())


def _may_link(raw: bytes) -> bool:
    """Whether a file may contain links: a cheap test that spares parsing most files."""
    return any(mark in raw for mark in _MARKS)


def _in_text(store: Store, path: str, raw: bytes, targets: _Targets) -> Iterator[BadLink]:
    for link in text_links(raw.decode("utf-8", "replace")):
        wrong = targets.problem(link) if link.is_wiki else _file(store, path, link)
        if wrong and not (not link.is_wiki and targets.names_file(path, link)):
            yield BadLink(path, link.line, wrong)


def _of_entity(store: Store, path: str, entity: Entity, targets: _Targets) -> Iterator[BadLink]:
    """Check the links of an entity: its relationships, and those in its text."""
    gone = [way for way in entity.relationships if way.to not in targets.entities.paths]
    if not gone and not any(mark in entity.content for mark in ("[[", "](")):
        return
    raw = store.files.read_if_possible(path)
    if raw is None:
        return
    line = _line_of(raw, "relationships:")
    for way in gone:
        yield BadLink(path, line, f"broken link: no entity here is called {way.to} ({way.kind})")
    yield from _in_text(store, path, raw, targets)


def _line_of(raw: bytes, start: str) -> int:
    """Return the number of the first line that begins with `start`, counted from 1; 0 if there is none."""
    lines = raw.decode("utf-8", "replace").split("\n")
    return next((number for number, text in enumerate(lines, 1) if text.startswith(start)), 0)


def _naming(generation: Generation, hits: Sequence[Hit], ids: Collection[str]) -> set[str]:
    """Return the paths of entries with a relation to one of the ids."""
    asked = generation.catalog.where_in("SELECT row FROM row_relations", "id", sorted(ids))
    rows = {row for (row,) in asked}
    return {hit.path for hit in hits if hit.row in rows}


def _relations(path: str, file: LoreFile, known: Collection[str]) -> Iterator[BadLink]:
    lines = file.raw.decode("utf-8", "replace").split("\n")
    for kind, other in file.lore.relations:
        if other not in known:
            line = next((number for number, text in enumerate(lines, 1) if other in text), 0)
            yield BadLink(path, line, f"broken link: no entry here has the id {other} ({kind})")


class _Targets:
    """The targets of links: entries by id, title and file name, entities by slug, name and alias."""

    def __init__(
        self, store: Store, generation: Generation, hits: Sequence[Hit], ids: Collection[str]
    ) -> None:
        """Use all entries of the store; `ids` are those of `hits`."""
        self.entities: Entities = read_entities(store)
        self._store, self._generation, self._hits, self._ids = store, generation, hits, ids
        self._keys = by_name(self.entities.entities, key_of)
        self._made: dict[str, set[str]] = {}

    def problem(self, link: TextLink) -> str:
        """Describe what is wrong with a wiki link; "" if nothing is."""
        if link.target.upper() in self._ids or self._is_entity(link.target):
            return ""
        if not self._store.places.folder and is_attachment(link.target):
            there = link.target.rpartition("/")[2].lower() in self._attachments
            return "" if there else f"broken link: there is no file {link.target}"
        leads = sorted(follow_link(self._names, link_name("", link)) or ())
        if not leads:
            return f"broken link: nothing here is called [[{link.target}]]"
        return _ambiguous(f"[[{link.target}]]", leads) if len(leads) > 1 else ""

    def names_file(self, path: str, link: TextLink) -> bool:
        """Return whether a markdown link that leads to no file by its path does by a name, as Obsidian writes them."""
        if self._store.places.folder or "\\" in link.target:
            return False
        way = link_name(path, link)
        if is_attachment(way):
            return way.rpartition("/")[2].rpartition("|")[2].lower() in self._attachments
        return follow_link(self._names, way) is not None

    def _is_entity(self, name: str) -> bool:
        """Whether a name means exactly one entity."""
        slugs = self._keys.get(key_of(name), ())
        return len(slugs) == 1 or (len(slugs) > 1 and len(match_name(self.entities.entities, name)) == 1)

    def ambiguous_entities(self, path: str, file: LoreFile) -> Iterator[BadLink]:
        """Find names in the `entities` of an entry that several entities share."""
        for name in file.lore.entities:
            slugs = self._keys.get(key_of(name), ())
            if len(slugs) < 2 or self._is_entity(name):
                continue
            leads = [self.entities.paths[slug] for slug in slugs]
            yield BadLink(path, _line_of(file.raw, "entities:"), _ambiguous(name, leads))

    @cached_property
    def _attachments(self) -> set[str]:
        """The names of all files of the store, in lower case: an embed finds its file wherever that is."""
        found = set[str]()
        for _, folders, names in os.walk(self._store.places.root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            found.update(name.lower() for name in names)
        return found

    @property
    def _names(self) -> dict[str, set[str]]:
        """The targets of each name, folded; built on first use."""
        if self._made:
            return self._made
        names = self._made
        aliases, in_place = own_names(self._generation.catalog), not self._store.places.folder
        notes = [Named(hit.path, hit.path, hit.title, aliases.get(hit.row, ())) for hit in self._hits]
        for name, paths in targets(notes, in_place=in_place).items():
            names.setdefault(name, set()).update(paths)
        for path in _other_files(self._store):
            names.setdefault(fold(file_name(path)), set()).add(path)
        for entity in self.entities.entities:
            for name in (entity.slug, entity.name, *entity.aliases):
                names.setdefault(fold(name), set()).add(self.entities.paths[entity.slug])
        query = "SELECT DISTINCT entity FROM row_entities"
        for (name,) in self._generation.catalog.connection.execute(query):
            names.setdefault(fold(name), {name})
        return names


def _ambiguous(name: str, leads: Sequence[str]) -> str:
    more = f" and {len(leads) - 3} more" if len(leads) > 3 else ""
    return f"ambiguous link: {name} may mean {', '.join(leads[:3])}{more}"


def _other_files(store: Store) -> Iterator[str]:
    """List the files in the reserved folders of the lore folder, readable or not."""
    for folder in sorted(FOLDERS):
        absolute = store.files.absolute(f"{store.places.home}/{folder}")
        if os.path.isdir(absolute) and not os.path.islink(absolute):
            names = sorted(name for name in os.listdir(absolute) if name.endswith(".md"))
            yield from (f"{store.places.home}/{folder}/{name}" for name in names)


def _file(store: Store, path: str, link: TextLink) -> str:
    """Describe what is wrong with a link to a file; "" if nothing is. Paths outside the repository are not touched."""
    from urllib.parse import unquote

    places = store.places
    top = os.path.realpath(places.repository.worktree if places.repository else places.root)
    target = unquote(link.target.partition("?")[0])
    wrong = f"broken link: there is no file {link.target}"
    if "\0" in target or "\\" in target:
        return wrong
    full = os.path.join(os.path.dirname(store.files.absolute(path)), *target.split("/"))
    try:
        real = os.path.realpath(full)
    except (OSError, ValueError):
        return wrong
    if real != top and not real.startswith(top.rstrip(os.sep) + os.sep):
        return f"broken link: {link.target} leads out of the repository"
    return "" if os.path.exists(real) else wrong
