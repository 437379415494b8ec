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


_LINK_MARKS = (b"[[", b"](", b"relations:", b"entities:")


class BadLink(NamedTuple):
    """A broken or ambiguous link: the store path and line of the link, and its problem."""

    path: str
    line: int
    message: str


def bad_links(
    store: Store,
    generation: Generation,
    hits: Sequence[Hit],
    paths: Collection[str],
    gone: Collection[str],
) -> list[BadLink]:
    """Find the bad links of entries and entities at `paths`, and relations of other entries to the deleted ids `gone`.

    `hits` are all entries of the store.
    """
    ids, readable = {hit.id for hit in hits}, {hit.path for hit in hits}
    targets = _Targets(store, generation, hits, ids)
    found: list[BadLink] = []
    for path in sorted(readable & {*paths, *_paths_related_to(generation, hits, gone)}):
        try:
            if path in paths and not _may_link(store.files.read(path)):
                continue
            file = entry_writer.load(store, path)
        except EngramError:
            continue  # reported as unreadable elsewhere
        found += _bad_relations(path, file, ids)
        if path in paths:
            found += _bad_text_links(store, path, file.raw, targets)
            found += targets.ambiguous_entities(path, file)
    for entity in targets.entities.entities:
        path = targets.entities.paths[entity.slug]
        if path in paths:
            found += _bad_entity_links(store, path, entity, targets)
    return found


def all_bad_links(store: Store, generation: Generation) -> list[BadLink]:
    """Find the bad links of all entries and entities."""
    hits = generation.catalog.select("1")
    paths = {*(hit.path for hit in hits), *read_entities(store).paths.values()}
    return bad_links(store, generation, hits, paths, ())


def _may_link(raw: bytes) -> bool:
    """Whether a file may contain links: a cheap test that saves parsing most files."""
    return any(mark in raw for mark in _LINK_MARKS)


def _bad_text_links(store: Store, path: str, raw: bytes, targets: _Targets) -> Iterator[BadLink]:
    for link in text_links(raw.decode("utf-8", "replace")):
        problem = targets.problem(link) if link.is_wiki else _file_problem(store, path, link)
        if problem and (link.is_wiki or not targets.resolves_by_name(path, link)):
            yield BadLink(path, link.line, problem)


def _bad_entity_links(store: Store, path: str, entity: Entity, targets: _Targets) -> Iterator[BadLink]:
    """Check the links of an entity: its relationships, and those in its text."""
    broken = [link for link in entity.relationships if link.to not in targets.entities.paths]
    if not broken and not any(mark in entity.content for mark in ("[[", "](")):
        return
    raw = store.files.read_if_possible(path)
    if raw is None:
        return
    line = _line_of(raw, "relationships:")
    for link in broken:
        yield BadLink(path, line, f"broken link: no entity here is called {link.to} ({link.kind})")
    yield from _bad_text_links(store, path, raw, targets)


def _line_of(raw: bytes, start: str) -> int:
    """Return the number of the first line that begins with `start`, counted from 1; 0 if there is none."""
    lines = raw.decode("utf-8", "replace").split("\n")
    return next((number for number, text in enumerate(lines, 1) if text.startswith(start)), 0)


def _paths_related_to(generation: Generation, hits: Sequence[Hit], ids: Collection[str]) -> set[str]:
    """Return the paths of entries with a relation to one of the ids."""
    rows_found = generation.catalog.where_in("SELECT row FROM row_relations", "id", sorted(ids))
    rows = {row for (row,) in rows_found}
    return {hit.path for hit in hits if hit.row in rows}


def _bad_relations(path: str, file: LoreFile, known: Collection[str]) -> Iterator[BadLink]:
    lines = file.raw.decode("utf-8", "replace").split("\n")
    for kind, other in file.lore.relations:
        if other not in known:
            line = next((number for number, text in enumerate(lines, 1) if other in text), 0)
            yield BadLink(path, line, f"broken link: no entry here has the id {other} ({kind})")


class _Targets:
    """Possible targets of links: entries by id, title and file name, entities by slug, name and alias."""

    def __init__(
        self, store: Store, generation: Generation, hits: Sequence[Hit], ids: Collection[str]
    ) -> None:
        """Use all entries of the store; `ids` are those of `hits`."""
        self.entities: Entities = read_entities(store)
        self._store, self._generation, self._hits, self._ids = store, generation, hits, ids
        self._keys = by_name(self.entities.entities, key_of)
        self._paths_by_name: dict[str, set[str]] = {}

    def problem(self, link: TextLink) -> str:
        """Describe the problem of a wiki link; "" if it is fine."""
        if link.target.upper() in self._ids or self._is_entity(link.target):
            return ""
        if not self._store.places.folder and is_attachment(link.target):
            exists = link.target.rpartition("/")[2].lower() in self._attachments
            return "" if exists else f"broken link: there is no file {link.target}"
        paths = sorted(follow_link(self._names, link_name("", link)) or ())
        if not paths:
            return f"broken link: nothing here is called [[{link.target}]]"
        return _ambiguous(f"[[{link.target}]]", paths) if len(paths) > 1 else ""

    def resolves_by_name(self, path: str, link: TextLink) -> bool:
        """Whether a markdown link resolves by name where its path does not, as Obsidian writes them."""
        if self._store.places.folder or "\\" in link.target:
            return False
        name = link_name(path, link)
        if is_attachment(name):
            return name.rpartition("/")[2].rpartition("|")[2].lower() in self._attachments
        return follow_link(self._names, name) is not None

    def _is_entity(self, name: str) -> bool:
        """Whether a name means exactly one entity."""
        slugs = self._keys.get(key_of(name), ())
        return len(slugs) == 1 or (len(slugs) > 1 and len(match_name(self.entities.entities, name)) == 1)

    def ambiguous_entities(self, path: str, file: LoreFile) -> Iterator[BadLink]:
        """Find names in an entry's `entities` that several entities share."""
        for name in file.lore.entities:
            slugs = self._keys.get(key_of(name), ())
            if len(slugs) < 2 or self._is_entity(name):
                continue
            paths = [self.entities.paths[slug] for slug in slugs]
            yield BadLink(path, _line_of(file.raw, "entities:"), _ambiguous(name, paths))

    @cached_property
    def _attachments(self) -> set[str]:
        """The names of all files of the store, in lower case: an embed finds its file in any folder."""
        found = set[str]()
        for _, folders, names in os.walk(self._store.places.root):
            folders[:] = [name for name in folders if not name.startswith(".")]
            found.update(name.lower() for name in names)
        return found

    @property
    def _names(self) -> dict[str, set[str]]:
        """The targets of each name, folded; built on first use."""
        names = self._paths_by_name
        if names:
            return names
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


def _ambiguous(name: str, paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"ambiguous link: {name} may mean {', '.join(paths[:3])}{more}"


def _other_files(store: Store) -> Iterator[str]:
    """List the files in the reserved folders of the lore folder, readable or not."""
    for folder in sorted(FOLDERS):
        absolute = store.files.absolute(f"{store.places.home}/{folder}")
        if os.path.isdir(absolute) and not os.path.islink(absolute):
            names = sorted(name for name in os.listdir(absolute) if name.endswith(".md"))
            yield from (f"{store.places.home}/{folder}/{name}" for name in names)


def _file_problem(store: Store, path: str, link: TextLink) -> str:
    """Describe the problem of a link to a file; "" if it is fine. Paths outside the repository are not accessed."""
    from urllib.parse import unquote

    places = store.places
    top = os.path.realpath(places.repository.worktree if places.repository else places.root)
    target = unquote(link.target.partition("?")[0])
    missing = f"broken link: there is no file {link.target}"
    if "\0" in target or "\\" in target:
        return missing
    full = os.path.join(os.path.dirname(store.files.absolute(path)), *target.split("/"))
    try:
        real = os.path.realpath(full)
    except (OSError, ValueError):
        return missing
    if real != top and not real.startswith(top.rstrip(os.sep) + os.sep):
        return f"broken link: {link.target} leads out of the repository"
    return "" if os.path.exists(real) else missing
