"""What a store has already of what is imported: the same text, or an earlier version of the same section."""

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
_MARKS = 1000  # of the texts of one document; each is asked for twice


class Earlier(NamedTuple):
    """An earlier version of a section that is imported again."""

    path: str
    file: LoreFile

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.file.lore.id

    def followed_by(self, lore: Lore) -> Lore:
        """Return the newer version, which says whose place it takes."""
        return lore._replace(relations=(*lore.relations, Relation("supersedes", self.id)))

    def superseded(self, store: Store) -> Change:
        """Return what its file becomes."""
        stamp = times.after(store.clock.now(), self.file.lore.updated_at)
        after = self.file.lore._replace(status=SUPERSEDED, updated_at=stamp)
        content = codec.rewrite(self.file, after, store.categories)
        return Change(self.path, content, atomic.digest(self.file.raw))


class Present:
    """What the store has already, and what this import adds to it."""

    def __init__(self, store: Store) -> None:
        """Bring the index up to date; read the files themselves that another process is just indexing."""
        self._store = store
        self.ids: set[str] = set()
        self._by_mark: dict[int, str] = {}
        self._mark_of = lru_cache(maxsize=_MARKS)(words_mark)
        self._paths: dict[str, str] = {}
        self._titled: dict[str, list[tuple[int, str]]] = {}  # by title: the mark of the text, and the path
        self.has_others = True  # entries that something new may be alike
        is_complete = refresh(store).fresh
        generation = store.index.look()
        if generation is not None:
            query = "SELECT id, words_mark, title, path FROM files WHERE row IS NOT NULL ORDER BY status = 'active', id DESC"
            for row in generation.catalog.connection.execute(query):
                self._note(*row)
        if not is_complete:
            indexed = {*self._paths.values()}
            for path in unread_files(store, generation, ""):
                if path not in indexed:
                    with contextlib.suppress(EngramError):
                        lore = entry_writer.load(store, path).lore
                        self._note(lore.id, words_mark(lore.content), lore.title, path)
        self.has_others = bool(self.ids or store.recent or store.files.journal.size())

    def _note(self, lore_id: str, mark: int, title: str, path: str) -> None:
        self.ids.add(lore_id)
        self._by_mark[mark] = lore_id
        self._paths[lore_id] = path
        self._titled.setdefault(title, []).append((mark, path))

    def id_of(self, lore: Lore) -> str:
        """Return the entry here that has its id or text, also where tags or context were changed since; "" for none.

        A section that was put back to what it said before is none of those: its latest version here says something else.
        """
        if lore.id in self.ids:
            return lore.id
        mark = self._mark_of(lore.content)
        found = self._by_mark.get(mark, "")
        named = self._load(path for other, path in self._titled.get(lore.title, ()) if other == mark)
        same = [file.lore for _, file in named if file.lore.content == lore.content]
        if same and all(one.status == SUPERSEDED for one in same) and self._versions(lore, (lore.content,)):
            return ""
        return found or next((one.id for one in same), "")

    def earlier(self, fresh: Sequence[Lore], family: Sequence[Lore]) -> dict[str, Earlier]:
        """Return by id of a new entry: the one version of its section that came from the same place before.

        A section is known by its title. One that still stands in the same document is no earlier version, and
        where several could be meant none is.
        """
        texts, found = {lore.content for lore in family}, dict[str, Earlier]()
        for lore in fresh:
            versions = self._versions(lore, texts)
            if len(versions) == 1 and versions[0].id not in {one.id for one in found.values()}:
                found[lore.id] = versions[0]
        return found

    def _versions(self, lore: Lore, but: Collection[str]) -> list[Earlier]:
        """Return the entries in use that are of the same section of the same place, and say none of these texts."""
        origin = lore.context[-1] if lore.context else ""
        if not origin.startswith(ORIGIN):
            return []
        return [
            Earlier(path, file)
            for path, file in self._load(path for _, path in self._titled.get(lore.title, ()))
            if origin in file.lore.context
            and file.lore.status in (ACTIVE, PENDING)
            and file.lore.content not in but
        ]

    def add(self, family: Sequence[Lore]) -> None:
        """Remember what is about to be written."""
        self.ids |= {lore.id for lore in family}
        self._by_mark |= {self._mark_of(lore.content): lore.id for lore in family}

    def confirm(self, lore_id: str, again: Lore) -> None:
        """Count that what is imported says what an entry here says, unless somebody here said so before."""
        with contextlib.suppress(EngramError):
            there = entry_writer.load(self._store, self._paths.get(lore_id, "")).lore
            if there.status == ACTIVE and not is_quarantined(self._store, there):
                judgements.confirm(self._store, there, again.agent, once=True)

    def says(self, path: str, content: str) -> bool:
        """Return whether the entry at `path` says the same as a text."""
        file = entry_writer.load_readable(self._store, path)
        return file is not None and compare(content, file.lore.content).kind == SAME

    def _load(self, paths: Iterable[str]) -> Iterator[tuple[str, LoreFile]]:
        """Yield the entries at these paths that can be read."""
        for path in paths:
            with contextlib.suppress(EngramError):
                yield path, entry_writer.load(self._store, path)
