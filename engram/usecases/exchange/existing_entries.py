"""Entries that a store already has of an import: with the same text, or an earlier version of the same section."""

from __future__ import annotations

import contextlib
from functools import lru_cache

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.adapters.files.frontmatter import codec
from engram.domain.entry import times
from engram.domain.entry.lore import ACTIVE, PENDING, SUPERSEDED, Lore, Relation, words_mark
from engram.domain.errors import EngramError
from engram.domain.similarity.equivalence import SAME, compare
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.file_scan import unread_files
from engram.usecases.index.refresh import refresh
from engram.usecases.store import entry_writer, judgements
from engram.usecases.store.quarantine import is_quarantined

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from engram.adapters.files.frontmatter.codec import LoreFile
    from engram.usecases.store.store import Store

ORIGIN = "Imported from "
_MARKS = 1000  # of the texts of one document; each is needed twice


class EarlierVersion(NamedTuple):
    """An earlier version of a section that is imported again."""

    path: str
    file: LoreFile

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.file.lore.id

    def link_successor(self, lore: Lore) -> Lore:
        """Return the newer version with a relation to this one, which it supersedes."""
        return lore._replace(relations=(*lore.relations, Relation("supersedes", self.id)))

    def supersede(self, store: Store) -> Change:
        """Return the change that marks its file as superseded."""
        stamp = times.after(store.clock.now(), self.file.lore.updated_at)
        lore = self.file.lore._replace(status=SUPERSEDED, updated_at=stamp)
        content = codec.rewrite(self.file, lore, store.categories)
        return Change(self.path, content, atomic.digest(self.file.raw))


class ExistingEntries:
    """The entries that the store already has, and those that this import adds."""

    def __init__(self, store: Store) -> None:
        """Refresh the index; read files that another process is indexing right now directly."""
        self._store = store
        self.ids: set[str] = set()
        self._by_mark: dict[int, str] = {}
        self._mark_of = lru_cache(maxsize=_MARKS)(words_mark)
        self._paths: dict[str, str] = {}
        self._by_title: dict[str, list[tuple[int, str]]] = {}  # the mark of the text, and the path
        is_complete = refresh(store).fresh
        generation = store.index.look()
        if generation is not None:
            query = "SELECT id, words_mark, title, path FROM files WHERE row IS NOT NULL ORDER BY status = 'active', id DESC"
            for row in generation.catalog.connection.execute(query):
                self._add_entry(*row)
        if not is_complete:
            indexed = {*self._paths.values()}
            for path in unread_files(store, generation, ""):
                if path not in indexed:
                    with contextlib.suppress(EngramError):
                        lore = entry_writer.load(store, path).lore
                        self._add_entry(lore.id, words_mark(lore.content), lore.title, path)
        # Whether there are entries that a new one may resemble.
        self.has_others = bool(self.ids or store.recent or store.files.journal.size())

    def _add_entry(self, lore_id: str, mark: int, title: str, path: str) -> None:
        self.ids.add(lore_id)
        self._by_mark[mark] = lore_id
        self._paths[lore_id] = path
        self._by_title.setdefault(title, []).append((mark, path))

    def find_id(self, lore: Lore) -> str:
        """Return the id of the entry that has its id or text, even if tags or context have changed; "" if there is none.

        A section that went back to an earlier text does not count: its latest version here says something else.
        """
        if lore.id in self.ids:
            return lore.id
        mark = self._mark_of(lore.content)
        found = self._by_mark.get(mark, "")
        matching = self._load(path for other, path in self._by_title.get(lore.title, ()) if other == mark)
        same = [file.lore for _, file in matching if file.lore.content == lore.content]
        if same and all(one.status == SUPERSEDED for one in same) and self._versions(lore, (lore.content,)):
            return ""
        return found or next((one.id for one in same), "")

    def find_earlier(self, fresh: Sequence[Lore], family: Sequence[Lore]) -> dict[str, EarlierVersion]:
        """Return the earlier version, from the same place, of the section of each new entry, by the entry's id.

        A section is recognised by its title. A section still in the same document is not an earlier version, and
        ambiguous ones are ignored.
        """
        texts, found = {lore.content for lore in family}, dict[str, EarlierVersion]()
        for lore in fresh:
            versions = self._versions(lore, texts)
            if len(versions) == 1 and versions[0].id not in {one.id for one in found.values()}:
                found[lore.id] = versions[0]
        return found

    def _versions(self, lore: Lore, excluded: Collection[str]) -> list[EarlierVersion]:
        """Return the entries in use from the same section of the same place, without those with the `excluded` texts."""
        origin = lore.context[-1] if lore.context else ""
        if not origin.startswith(ORIGIN):
            return []
        return [
            EarlierVersion(path, file)
            for path, file in self._load(path for _, path in self._by_title.get(lore.title, ()))
            if origin in file.lore.context
            and file.lore.status in (ACTIVE, PENDING)
            and file.lore.content not in excluded
        ]

    def add(self, family: Sequence[Lore]) -> None:
        """Add entries that are about to be written."""
        self.ids |= {lore.id for lore in family}
        self._by_mark |= {self._mark_of(lore.content): lore.id for lore in family}

    def confirm(self, lore_id: str, imported: Lore) -> None:
        """Confirm an existing entry that an import repeats, once for each agent."""
        with contextlib.suppress(EngramError):
            existing = entry_writer.load(self._store, self._paths.get(lore_id, "")).lore
            if existing.status == ACTIVE and not is_quarantined(self._store, existing):
                judgements.confirm(self._store, existing, imported.agent, once=True)

    def says_same(self, path: str, content: str) -> bool:
        """Return whether the entry at `path` says the same as a text."""
        file = entry_writer.load_readable(self._store, path)
        return file is not None and compare(content, file.lore.content).kind == SAME

    def _load(self, paths: Iterable[str]) -> Iterator[tuple[str, LoreFile]]:
        """Yield the readable entries at these paths."""
        for path in paths:
            with contextlib.suppress(EngramError):
                yield path, entry_writer.load(self._store, path)
