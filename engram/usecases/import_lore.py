"""Importing what others wrote: markdown files and folders, JSON and JSON Lines; twice gives the same as once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from engram.domain.errors import EngramError, NotFoundError, UsageError
from engram.domain.lore import Lore, Relation
from engram.usecases import change
from engram.usecases.import_sources import Source, markdown_sources, row_sources
from engram.usecases.indexing import text_digest
from engram.usecases.record import prepare
from engram.usecases.refresh import refresh

if TYPE_CHECKING:
    from engram.usecases.store import Store

_BATCH = 500
Progress = Callable[[int, int], None]


class Imported(NamedTuple):
    """What an import did: lore written, documents that were split, what was skipped as already there.

    `problems` are {path, message, hint}; `redacted` counts masked secrets.
    """

    imported: int
    split: int
    skipped: int
    problems: tuple[dict[str, object], ...]
    redacted: int
    paths: tuple[str, ...]


class Options(NamedTuple):
    """How to import. Empty values: guessed or left out; `dry_run` writes nothing."""

    category: str = ""
    tags: tuple[str, ...] = ()
    confidence: float | None = None
    status: str = ""
    redact: bool = False
    dry_run: bool = False


def import_lore(store: Store, path: str, options: Options, progress: Progress | None = None) -> Imported:
    """Import a folder of markdown, a markdown file, or a JSON or JSON Lines file.

    A document that breaks a rule is a problem and never stops the others. Raises NotFoundError, UsageError.
    """
    problems: list[dict[str, object]] = []
    sources = list(_sources(path, problems))
    with store.lock:
        run = _Run(store, options, problems)
        for number, source in enumerate(sources):
            run.take(source)
            if progress is not None:
                progress(number + 1, len(sources))
        return run.finish(os.path.basename(os.path.abspath(path)))


def _sources(path: str, problems: list[dict[str, object]]) -> Iterator[Source]:
    if not os.path.exists(path):
        raise NotFoundError(
            f"There is nothing at {path}.", "Name a folder or file of markdown, JSON or JSON Lines."
        )
    kind = os.path.splitext(path)[1].lower()
    if os.path.isdir(path) or kind in {".md", ".markdown", ".mdx"}:
        return markdown_sources(path, problems)
    if kind in {".json", ".jsonl", ".ndjson"}:
        return row_sources(path, problems)
    raise UsageError(
        f"{path} is neither markdown nor JSON.",
        "Import .md, .json or .jsonl files, or a folder of .md files.",
    )


class _Run:
    """One import under way: what was seen, and the lore to be written."""

    def __init__(self, store: Store, options: Options, problems: list[dict[str, object]]) -> None:
        self._store = store
        self._options = options
        self._problems = problems
        self._ids, self._digests = _present(store)
        self._new: list[Lore] = []
        self._split = 0
        self._skipped = 0
        self._redacted = 0

    def take(self, source: Source) -> None:
        """Turn one document or row into lore, or into a problem."""
        before = self._redacted
        try:
            family = [self._prepare(source, part) for part in range(len(source.parts))]
        except EngramError as error:
            self._redacted = before
            self._problems.append({"path": source.where, "message": error.message, "hint": error.hint})
            return
        if all(text_digest(lore) in self._digests or lore.id in self._ids for lore in family):
            self._skipped += 1
            return
        self._split += len(family) > 1
        self._digests |= {text_digest(lore) for lore in family}
        self._ids |= {lore.id for lore in family}
        self._new += _linked(family)

    def finish(self, name: str) -> Imported:
        """Write everything that was taken."""
        paths = []
        for start in range(0, len(self._new), _BATCH):
            part = self._new[start : start + _BATCH]
            made = [change.create(self._store, lore, "") for lore in part]
            paths += [path for path, _ in made]
            if not self._options.dry_run:
                changes = [item for _, operation in made for item in operation.changes]
                subject = f"import: {len(part)} lore from {name}"
                change.write(self._store, [change.operation_for(self._store, part[0], subject, changes)])
        return Imported(
            len(self._new), self._split, self._skipped, tuple(self._problems), self._redacted, tuple(paths)
        )

    def _prepare(self, source: Source, part: int) -> Lore:
        options, draft = self._options, source.draft
        wanted = draft._replace(
            content=source.parts[part],
            category=options.category or draft.category,
            tags=tuple(dict.fromkeys([*draft.tags, *options.tags])),
            confidence=draft.confidence if options.confidence is None else options.confidence,
            status=options.status or draft.status,
            redact=options.redact,
        )
        lore_id = source.id if part == 0 and source.id and source.id not in self._ids else ""
        lore, redacted = prepare(self._store, wanted, lore_id or source.new_id(self._store.clock.new_id()))
        self._redacted += redacted
        return source.restored(lore)


def _present(store: Store) -> tuple[set[str], set[str]]:
    """Ids and text digests of the lore that the store has."""
    refresh(store)
    generation = store.index.look()
    if generation is None:
        return set(), set()
    rows = generation.catalog.connection.execute(
        "SELECT id, text_digest FROM files WHERE row IS NOT NULL"
    ).fetchall()
    return {row[0] for row in rows}, {row[1] for row in rows}


def _linked(family: list[Lore]) -> list[Lore]:
    """The parts of one document, each pointing to the others: the first to all, the others to the first."""
    if len(family) < 2:
        return family
    first, rest = family[0], family[1:]
    links = tuple(Relation("see_also", lore.id) for lore in rest)
    back = (Relation("see_also", first.id),)
    return [
        first._replace(relations=first.relations + links),
        *[lore._replace(relations=lore.relations + back) for lore in rest],
    ]
