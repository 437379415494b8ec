"""Reading lore without a query: one entry by name, or many by filter and order."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.domain.entry.lore import STATUSES, Lore
from engram.domain.entry.validation import MAX_ITEMS, MAX_WORD, check_text
from engram.domain.errors import EngramError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.index.index_query import consult
from engram.usecases.lookup.resolve import Found, resolve
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.generation import Generation
    from engram.usecases.store.store import Store

_LARGEST = (1 << 63) - 1  # for SQLite
_ALL = "1"  # the condition that everything fulfils
SORTS = {
    "created": "created_at DESC, id DESC",
    "updated": "updated_at DESC, id DESC",
    "confidence": "confidence DESC, id",
    "helpful": "validation_count DESC, id",
    "title": "title COLLATE NOCASE, id",
    "category": "category, title COLLATE NOCASE, id",
}


class Narrow(NamedTuple):
    """Further filters of a list: types and agents, confidence in thousandths, when it was made (Unix seconds)."""

    types: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    lowest: int = 0
    highest: int = 1000
    since: float = float("-inf")
    until: float = float(_LARGEST)

    @property
    def where(self) -> str:
        """The condition, with a `?` for each of `values`."""
        lists = [("type", self.types), ("coalesce(agent, '')", self.agents)]
        named = [f"{column} IN ({','.join('?' * len(found))})" for column, found in lists if found]
        return " AND ".join(["confidence BETWEEN ? AND ?", "created_at BETWEEN ? AND ?", *named])

    @property
    def values(self) -> tuple[object, ...]:
        """What stands for the `?`."""
        return (self.lowest, self.highest, self.since, self.until, *self.types, *self.agents)


class Shown(NamedTuple):
    """One entry with its place, its ref in this session ("" if it was not surfaced), its scope, its file's digest.

    `pending` says why a change has it wait for review, "" where it does not.
    """

    lore: Lore
    path: str
    ref: str = ""
    scope: str = ""
    digest: str = ""
    pending: str = ""


class Listing(NamedTuple):
    """Some entries, and how many match the filters in all."""

    lore: tuple[Shown, ...]
    total: int


def get(store: Store, name: str) -> Shown:
    """Return the lore that a ref, id, id prefix or some words name. Raises NotFoundError, AmbiguousError."""
    with store.lock:
        found = resolve(store, name)
        file = entry_writer.load(found.store, found.path)
        return Shown(file.lore, found.path, found.ref, found.store.places.scope, atomic.digest(file.raw))


def get_many(store: Store, names: Sequence[str]) -> list[Found]:
    """Resolve several names, each once, in order."""
    with store.lock:
        return list(dict.fromkeys(resolve(store, name) for name in names))


def list_hits(
    store: Store,
    *,
    limit: int | None = 20,
    categories: Sequence[str] = (),
    status: str = "",
    tags: Sequence[str] = (),
    sort: str = "created",
    narrow: Narrow | None = None,
    offset: int = 0,
) -> tuple[list[Hit], int]:
    """Return the catalog's lines that fulfil all filters, in order, after the first `offset`, and how many there are in all."""
    where, values, tail = _question(store, limit, categories, status, tags, sort, narrow, offset)

    def ask(generation: Generation) -> tuple[list[Hit], int]:
        return generation.catalog.select(where, values, tail), generation.catalog.count(where, values)

    with store.lock:
        return consult(store, ask)


def list_packed(
    store: Store,
    columns: Sequence[str],
    *,
    limit: int | None = None,
    categories: Sequence[str] = (),
    status: str = "",
    tags: Sequence[str] = (),
    sort: str = "created",
    narrow: Narrow | None = None,
) -> tuple[list[str], list[bytes], int]:
    """The same for very many entries: their ids, what stands in these columns of each (packed by `marshal`), and the number.

    The number of a part, without filters, is that of all texts: quick, but two files with one id count twice.
    """
    where, values, tail = _question(store, limit, categories, status, tags, sort, narrow, 0)

    def ask(generation: Generation) -> tuple[list[str], list[bytes], int]:
        catalog = generation.catalog
        ids, packed = catalog.select_packed(columns, where, values, tail)
        if limit is None or len(ids) < limit:
            return ids, packed, len(ids)
        return ids, packed, catalog.count(where, values) if where != _ALL else catalog.count_rows()

    with store.lock:
        return consult(store, ask)


def list_lore(store: Store, **options: object) -> Listing:
    """entries that match all filters, read from their files; options as `list_hits`."""
    hits, total = list_hits(store, **options)  # type: ignore[arg-type]
    shown = []
    for hit in hits:
        try:
            file = entry_writer.load(store, hit.path)
            shown.append(Shown(file.lore, hit.path, "", store.places.scope, atomic.digest(file.raw)))
        except EngramError:
            total -= 1
    return Listing(tuple(shown), total)


def _question(
    store: Store,
    limit: int | None,
    categories: Sequence[str],
    status: str,
    tags: Sequence[str],
    sort: str,
    narrow: Narrow | None,
    offset: int,
) -> tuple[str, list[object], str]:
    """Return the condition, its values, and the order with the limit, as the catalog is asked."""
    where, values = _conditions(store, categories, status, tags)
    if narrow is not None:
        where, values = f"{where} AND {narrow.where}", [*values, *narrow.values]
    if sort not in SORTS:
        raise UsageError(f"Lore cannot be sorted by '{sort}'.", f"Sort keys: {', '.join(SORTS)}.")
    if limit is not None and limit < 0:
        raise UsageError(f"The limit must not be negative, but is {limit}.")
    tail = f"ORDER BY {SORTS[sort]} LIMIT {-1 if limit is None else min(limit, _LARGEST)}"
    if not 0 <= offset <= _LARGEST:
        raise UsageError(f"The offset must not be negative, but is {offset}.")
    tail += f" OFFSET {offset}" if offset else ""
    return where, values, tail


def _conditions(
    store: Store, categories: Sequence[str], status: str, tags: Sequence[str]
) -> tuple[str, list[object]]:
    conditions, values = [_ALL], list[object]()
    if categories:
        conditions.append(f"category IN ({','.join('?' * len(categories))})")
        values += [store.categories.parse(name) for name in categories]
    if status:
        if status not in STATUSES:
            raise UsageError(f"'{status}' is not a status.", f"Valid: {', '.join(STATUSES)}.")
        conditions.append("status = ?")
        values.append(status)
    if len(tags) > MAX_ITEMS:
        raise UsageError(f"{len(tags):,} tags are too many to list by; at most {MAX_ITEMS} are looked at.")
    for tag in tags:
        check_text("tags", tag, MAX_WORD)
        conditions.append("row IN (SELECT row FROM row_tags WHERE tag = ?)")
        values.append(tag)
    return " AND ".join(conditions), values
