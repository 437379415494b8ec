"""An entry as a row of a list, and lists of rows: in memory, or with each row made when it is needed."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from engram.domain.consolidation.usefulness import importance
from engram.usecases.lookup.listing import Shown
from engram_tui.widgets.format import fraction

if TYPE_CHECKING:
    from engram.usecases.recall.query import Recalled

    AuthorsOf = Callable[[Sequence[str]], Mapping[str, str]]

BEST = "best"
AUTHORS_BATCH = 64  # entries whose authors are looked up in the history together
SORT_NAMES = {
    BEST: "best first",
    "created": "newest first",
    "updated": "last changed first",
    "confidence": "by confidence",
    "helpful": "most helpful first",
    "title": "by title",
    "category": "by category",
    "worth": "by worth",
}
# The packed columns of a row, in the order in which `LazyRows._row` unpacks them.
COLUMNS = (
    "confidence", "category", "title", "created_at", "updated_at", "validation_count", "status", "agent", "pinned", "path",
    "importance", "conflicts", "author",
)  # fmt: skip


class Row(NamedTuple):
    """A row. Times are in Unix seconds, `confidence` and `usefulness` in thousandths; `why` says why a search found it."""

    id: str
    ref: str
    confidence: int
    category: str
    title: str
    created_at: float
    updated_at: float
    validation_count: int
    status: str
    why: str = ""
    agent: str = ""
    pinned: bool = False
    path: str = ""
    scope: str = ""
    usefulness: int = 0
    disputed: bool = False
    author: str = ""


def row_of_shown(shown: Shown, why: str = "", times: int = 0) -> Row:
    """Make the row of an entry that was read from its file; `times` is the number of answers it was in."""
    lore = shown.lore
    usefulness = importance(lore.importance, pinned=lore.pinned, helpful=lore.validation_count, shown=times)
    return Row(
        lore.id, shown.ref, lore.thousandths, lore.category, lore.title, lore.created_at.timestamp(),
        lore.updated_at.timestamp(), lore.validation_count, lore.status, why,
        lore.agent or "", lore.pinned, shown.path, shown.scope, round(usefulness * 1000),
        bool(lore.conflicts), lore.author,
    )  # fmt: skip


def row_of_recalled(recalled: Recalled, refs: Mapping[str, str], shown: Mapping[str, int]) -> Row:
    """Make the row of an entry that a search found; `shown` has the number of answers each id was in."""
    lore, score = recalled.lore, recalled.score
    meaning = "" if score.cosine is None else f" · meaning {fraction(round(score.cosine * 1000))}"
    why = f"words {fraction(round(score.words * 1000))}{meaning}"
    found = Shown(lore, recalled.path, refs.get(lore.id, ""), recalled.scope)
    return row_of_shown(found, why, shown.get(lore.id, 0))


class LazyRows(Sequence[Row]):
    """Rows made on demand from what `list_packed` returned: 100,000 of them would take seconds and 120 MB."""

    def __init__(
        self, ids: list[str], packed: list[bytes], refs: Mapping[str, str], scope: str, authors: AuthorsOf,
        shown: Mapping[str, int] | None = None, changed: Mapping[str, Row] | None = None,
    ) -> None:  # fmt: skip
        """`refs` maps ids to their refs in this session, `shown` to the number of answers they were in.

        `changed` maps ids to rows that replace the packed ones; `authors` finds who added entries without an author.
        """
        self._ids, self._packed, self._refs, self._scope = ids, packed, refs, scope
        self._authors = authors
        self._shown, self._changed = shown or {}, dict(changed or {})

    @property
    def have_refs(self) -> bool:
        """Whether any entry has a ref in this session."""
        return bool(self._refs)

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        if isinstance(index, slice):
            return self._copy(self._ids[index], self._packed[index], self._changed)
        entry_id = self._ids[index]
        row = self._changed.get(entry_id) or self._row(entry_id, self._packed[index])
        if row.author:
            return row
        start = (
            index % len(self._ids) // AUTHORS_BATCH * AUTHORS_BATCH
        )  # rows nearby are likely to be drawn, too
        return row._replace(author=self._authors(self._ids[start : start + AUTHORS_BATCH]).get(entry_id, ""))

    def ids(self) -> list[str]:
        """Return all ids, in order. Do not change the list."""
        return self._ids

    def replace(self, changed: Mapping[str, Row | None]) -> LazyRows:
        """Return these rows with some replaced or (None) removed."""
        removed = {entry_id for entry_id, row in changed.items() if row is None}
        ids, packed = self._ids, self._packed
        if removed:
            indexes = [index for index, entry_id in enumerate(ids) if entry_id not in removed]
            ids, packed = [ids[index] for index in indexes], [packed[index] for index in indexes]
        replaced = {entry_id: row for entry_id, row in changed.items() if row is not None}
        return self._copy(ids, packed, {**self._changed, **replaced})

    def by_usefulness(self) -> LazyRows:
        """Return these rows, the most useful first."""
        ids, packed = self._ids, self._packed
        worth = [
            (self._changed.get(entry_id) or self._row(entry_id, columns)).usefulness
            for entry_id, columns in zip(ids, packed, strict=True)
        ]
        order = sorted(range(len(ids)), key=lambda index: (-worth[index], ids[index]))
        return self._copy([ids[index] for index in order], [packed[index] for index in order], self._changed)

    def _copy(self, ids: list[str], packed: list[bytes], changed: Mapping[str, Row]) -> LazyRows:
        return LazyRows(ids, packed, self._refs, self._scope, self._authors, self._shown, changed)

    def _row(self, entry_id: str, packed: bytes) -> Row:
        line = marshal.loads(packed)  # noqa: S302 - packed in this process, a moment ago
        confidence, category, title, created, updated, helpful, status, agent, pinned, path, *rest = line
        given, conflicts, author = rest
        usefulness = importance(
            given, pinned=bool(pinned), helpful=helpful, shown=self._shown.get(entry_id, 0)
        )
        return Row(
            entry_id, self._refs.get(entry_id, ""), confidence, category, title, created, updated, helpful, status,
            "", agent or "", bool(pinned), path, self._scope, round(usefulness * 1000),
            bool(conflicts), author or "",
        )  # fmt: skip


def ids_of(rows: Sequence[Row]) -> list[str]:
    """Return the ids of these rows, in order."""
    ids = getattr(rows, "ids", None)  # of rows that are made on demand
    return ids() if ids else [row.id for row in rows]


def index_of(rows: Sequence[Row], row_id: str) -> int | None:
    """Return the index of the row with this id, or None."""
    if hasattr(rows, "place_of"):  # of rows that are made on demand
        return rows.place_of(row_id)  # type: ignore[no-any-return]
    ids = ids_of(rows)
    return ids.index(row_id) if row_id in ids else None


def replace_rows(rows: Sequence[Row], changed: Mapping[str, Row | None]) -> Sequence[Row]:
    """Return these rows with some replaced or (None) removed, in the same order."""
    ids = ids_of(rows)
    if not any(entry_id in changed for entry_id in ids):
        return rows
    if isinstance(rows, LazyRows):
        return rows.replace(changed)
    found = [changed.get(entry_id, rows[index]) for index, entry_id in enumerate(ids)]
    return [row for row in found if row is not None]


def have_refs(rows: Sequence[Row]) -> bool:
    """Return whether any of these entries has a ref in this session."""
    return rows.have_refs if isinstance(rows, LazyRows) else any(row.ref for row in rows)


def sort_rows(rows: Sequence[Row], order: str) -> list[Row]:
    """Sort rows that a search found; `best` is the order in which it found them."""
    keys: dict[str, Callable[[Row], tuple[object, ...]]] = {
        "created": lambda row: (-row.created_at, row.id),
        "updated": lambda row: (-row.updated_at, row.id),
        "confidence": lambda row: (-row.confidence, row.id),
        "helpful": lambda row: (-row.validation_count, row.id),
        "title": lambda row: (row.title.casefold(), row.id),
        "category": lambda row: (row.category, row.title.casefold(), row.id),
        "worth": lambda row: (-row.usefulness, row.id),
    }
    return sorted(rows, key=keys[order]) if order in keys else list(rows)
