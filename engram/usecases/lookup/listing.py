"""Read lore without a query: one entry by name, or many by filter and order."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.domain.entry.lore import MAX_ITEMS, MAX_WORD, STATUSES, Lore, check_text, lore_as_dict
from engram.domain.errors import EngramError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.index.index_query import query_index
from engram.usecases.lookup.filter import EVERY_ENTRY, Filter
from engram.usecases.lookup.resolve import Found, resolve
from engram.usecases.store import entry_writer
from engram.usecases.store.people import with_authors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
    from engram.domain.admission.credit import EffectiveValues
    from engram.usecases.store.store import Store

_MAX_INTEGER = (1 << 63) - 1  # for SQLite
SORTS = {
    "created": "created_at DESC, id DESC",
    "updated": "updated_at DESC, id DESC",
    "confidence": "confidence DESC, id",
    "helpful": "validation_count DESC, id",
    "title": "title COLLATE NOCASE, id",
    "category": "category, title COLLATE NOCASE, id",
}


_ANY = Filter()


class Shown(NamedTuple):
    """An entry with its path, its ref in this session ("" if it was not shown), its scope, and its file's digest.

    `pending` is the reason why a change of it waits for review ("": none). `counted` is the part of its claims that counts
    in this clone, if that was looked up.
    """

    lore: Lore
    path: str
    ref: str = ""
    scope: str = ""
    digest: str = ""
    pending: str = ""
    counted: EffectiveValues | None = None

    def as_dict(self) -> dict[str, object]:
        """Return all fields of the entry as JSON values, and the part of its claims that counts."""
        from engram.domain.admission.credit import as_dict

        if self.counted is None:
            return lore_as_dict(self.lore, self.path)
        return as_dict(self.lore, self.path, self.counted)


class Listing(NamedTuple):
    """A page of entries, and the number of all that meet the conditions."""

    lore: tuple[Shown, ...]
    total: int


def get(store: Store, name: str) -> Shown:
    """Return the entry named by a ref, id, id prefix or some words. Raises NotFoundError, AmbiguousError."""
    with store.lock:
        found = resolve(store, name)
        file = entry_writer.load(found.store, found.path)
        counted, scope = credit.of(found.store, file.lore), found.store.places.scope
        [lore] = with_authors(found.store, [file.lore])
        return Shown(lore, found.path, found.ref, scope, atomic.digest(file.raw), "", counted)


def get_many(store: Store, names: Sequence[str]) -> list[Found]:
    """Resolve several names, in order and without duplicates."""
    with store.lock:
        return list(dict.fromkeys(resolve(store, name) for name in names))


def list_hits(
    store: Store,
    *,
    limit: int | None = 20,
    categories: Sequence[str] = (),
    status: str = "",
    tags: Sequence[str] = (),
    when: str | None = None,
    sort: str = "created",
    where: Filter = _ANY,
    offset: int = 0,
) -> tuple[list[Hit], int]:
    """Return the catalog lines of the entries that meet all conditions, in order, and their total number.

    `categories`, `status` and `tags` are a caller's texts, which are checked and added to `where`. `when` is "" for all
    entries with a moment, or a command, file, tool or error that must match one of their moments.
    Raises UsageError, ValidationError, StoreError.
    """
    checked, tail = _add_conditions(store, where, categories, status, tags), _order(sort, limit, offset)

    def select(generation: Generation) -> tuple[list[Hit], int]:
        conditions = checked if when is None else checked._replace(ids=_with_moments(generation, when))
        condition, values = conditions.sql()
        return generation.catalog.select(condition, values, tail), generation.catalog.count(condition, values)

    with store.lock:
        return query_index(store, select)


def list_packed(
    store: Store,
    columns: Sequence[str],
    *,
    limit: int | None = None,
    categories: Sequence[str] = (),
    status: str = "",
    tags: Sequence[str] = (),
    sort: str = "created",
    where: Filter = _ANY,
) -> tuple[list[str], list[bytes], int]:
    """List very many entries: their ids, the values of `columns` for each (packed by `marshal`), and their total number.

    With a limit but no condition, the number of all texts is used: it is fast, but two files with the same id count twice.
    """
    condition, values = _add_conditions(store, where, categories, status, tags).sql()
    tail = _order(sort, limit, 0)

    def select(generation: Generation) -> tuple[list[str], list[bytes], int]:
        catalog = generation.catalog
        ids, packed = catalog.select_packed(columns, condition, values, tail)
        if limit is None or len(ids) < limit:
            return ids, packed, len(ids)
        is_filtered = condition != EVERY_ENTRY
        return ids, packed, catalog.count(condition, values) if is_filtered else catalog.count_rows()

    with store.lock:
        return query_index(store, select)


def list_lore(store: Store, **options: object) -> Listing:
    """Return the entries that meet all conditions, read from their files. Options are as for `list_hits`."""
    hits, total = list_hits(store, **options)  # type: ignore[arg-type]
    shown = []
    for hit in hits:
        try:
            file = entry_writer.load(store, hit.path)
            shown.append(Shown(file.lore, hit.path, "", store.places.scope, atomic.digest(file.raw)))
        except EngramError:
            total -= 1
    counts = credit.of_many(store, [entry.lore for entry in shown])
    credited = with_authors(store, [entry.lore for entry in shown])
    rows = zip(shown, credited, counts, strict=True)
    return Listing(tuple([entry._replace(lore=lore, counted=count) for entry, lore, count in rows]), total)


def _add_conditions(
    store: Store, where: Filter, categories: Sequence[str], status: str, tags: Sequence[str]
) -> Filter:
    """Add conditions given as texts to a filter. Raises UsageError, ValidationError."""
    if status and status not in STATUSES:
        raise UsageError(f"'{status}' is not a status.", f"Valid: {', '.join(STATUSES)}.")
    if len(tags) > MAX_ITEMS:
        raise UsageError(f"Too many tags: {len(tags):,} given, at most {MAX_ITEMS} allowed.")
    for tag in tags:
        check_text("tags", tag, MAX_WORD)
    parsed = tuple([store.categories.parse(name) for name in categories])
    return where._replace(
        categories=(*where.categories, *parsed), status=status or where.status, tags=(*where.tags, *tags)
    )


def _with_moments(generation: Generation, event: str) -> tuple[str, ...]:
    """Return the ids of entries with a moment; with an event, of those with a moment that matches it."""
    from engram.domain.agents.moment_match import match_moments, parse_event

    moment = parse_event(event) if event.strip() else None
    hits = generation.catalog.select("\"when\" != ''")
    return tuple(hit.id for hit in hits if moment is None or match_moments(moment, hit.when.split("\n")))


def _order(sort: str, limit: int | None, offset: int) -> str:
    """Return the end of the SQL statement: order, limit and offset. Raises UsageError."""
    if sort not in SORTS:
        raise UsageError(f"Lore cannot be sorted by '{sort}'.", f"Sort keys: {', '.join(SORTS)}.")
    if limit is not None and limit < 0:
        raise UsageError(f"The limit must not be negative, but is {limit}.")
    if not 0 <= offset <= _MAX_INTEGER:
        raise UsageError(f"The offset must not be negative, but is {offset}.")
    tail = f"ORDER BY {SORTS[sort]} LIMIT {-1 if limit is None else min(limit, _MAX_INTEGER)}"
    return f"{tail} OFFSET {offset}" if offset else tail
