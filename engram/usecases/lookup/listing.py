"""Reading lore without a query: one entry by name, or many by filter and order."""

from __future__ import annotations

from engram.adapters.files.durable import atomic
from engram.domain.entry.lore import MAX_ITEMS, MAX_WORD, STATUSES, Lore, check_text, lore_as_dict
from engram.domain.errors import EngramError, UsageError
from engram.domain.typed import TYPE_CHECKING, NamedTuple
from engram.usecases.admission import credit
from engram.usecases.index.index_query import consult
from engram.usecases.lookup.filter import EVERY_ENTRY, Filter
from engram.usecases.lookup.resolve import Found, resolve
from engram.usecases.store import entry_writer
from engram.usecases.store.people import with_authors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.index.catalog import Hit
    from engram.adapters.index.index import Generation
    from engram.domain.admission.credit import Counted
    from engram.usecases.store.store import Store

_LARGEST = (1 << 63) - 1  # for SQLite
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
    """One entry with its place, its ref in this session ("" if it was not surfaced), its scope, its file's digest.

    `pending` says why a change has it wait for review, "" where it does not, `counted` what it counts as in this clone,
    where it was looked up to be shown.
    """

    lore: Lore
    path: str
    ref: str = ""
    scope: str = ""
    digest: str = ""
    pending: str = ""
    counted: Counted | None = None

    def as_dict(self) -> dict[str, object]:
        """Return every field of the entry as JSON values, and what it counts as."""
        from engram.domain.admission.credit import as_dict

        return (
            lore_as_dict(self.lore, self.path) if self.counted is None else as_dict(*self[:2], self.counted)
        )


class Listing(NamedTuple):
    """A page of entries and how many meet the conditions in all."""

    lore: tuple[Shown, ...]
    total: int


def get(store: Store, name: str) -> Shown:
    """Return the entry that a ref, id, id prefix or some words name. Raises NotFoundError, AmbiguousError."""
    with store.lock:
        found = resolve(store, name)
        file = entry_writer.load(found.store, found.path)
        counted, scope = credit.of(found.store, file.lore), found.store.places.scope
        [lore] = with_authors(found.store, [file.lore])
        return Shown(lore, found.path, found.ref, scope, atomic.digest(file.raw), "", counted)


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
    when: str | None = None,
    sort: str = "created",
    where: Filter = _ANY,
    offset: int = 0,
) -> tuple[list[Hit], int]:
    """Return the catalog lines of the entries that meet all conditions, in order, and how many there are in all.

    `categories`, `status` and `tags` are words of a caller: they are checked and added to `where`. `when` is "" for
    entries with a moment, or a command, file, tool or error that one of them fits.
    Raises UsageError, ValidationError, StoreError.
    """
    checked, tail = _add_conditions(store, where, categories, status, tags), _order(sort, limit, offset)

    def ask(generation: Generation) -> tuple[list[Hit], int]:
        found = checked if when is None else checked._replace(ids=_with_moments(generation, when))
        condition, values = found.sql()
        return generation.catalog.select(condition, values, tail), generation.catalog.count(condition, values)

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
    where: Filter = _ANY,
) -> tuple[list[str], list[bytes], int]:
    """List very many entries: their ids, the values of `columns` for each (packed by `marshal`), and their number.

    With a limit and without any condition the number is that of all texts: quick, but two files with the same id count
    twice.
    """
    condition, values = _add_conditions(store, where, categories, status, tags).sql()
    tail = _order(sort, limit, 0)

    def ask(generation: Generation) -> tuple[list[str], list[bytes], int]:
        catalog = generation.catalog
        ids, packed = catalog.select_packed(columns, condition, values, tail)
        if limit is None or len(ids) < limit:
            return ids, packed, len(ids)
        return (
            ids,
            packed,
            catalog.count(condition, values) if condition != EVERY_ENTRY else catalog.count_rows(),
        )

    with store.lock:
        return consult(store, ask)


def list_lore(store: Store, **options: object) -> Listing:
    """Return the entries that meet all conditions, read from their files; options as for `list_hits`."""
    hits, total = list_hits(store, **options)  # type: ignore[arg-type]
    shown = []
    for hit in hits:
        try:
            file = entry_writer.load(store, hit.path)
            shown.append(Shown(file.lore, hit.path, "", store.places.scope, atomic.digest(file.raw)))
        except EngramError:
            total -= 1
    counts = credit.of_many(store, [one.lore for one in shown])
    named = with_authors(store, [one.lore for one in shown])
    each = zip(shown, named, counts, strict=True)
    return Listing(tuple([one._replace(lore=lore, counted=what) for one, lore, what in each]), total)


def _add_conditions(
    store: Store, where: Filter, categories: Sequence[str], status: str, tags: Sequence[str]
) -> Filter:
    """Add conditions given as words to a filter. Raises UsageError, ValidationError."""
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
    """Return the ids of entries with a moment; with a text those with a moment that it is as a command, file, tool or error."""
    from engram.domain.agents.moment_match import fitting, parse_event

    moment = parse_event(event) if event.strip() else None
    hits = generation.catalog.select("\"when\" != ''")
    return tuple(hit.id for hit in hits if moment is None or fitting(moment, hit.when.split("\n")))


def _order(sort: str, limit: int | None, offset: int) -> str:
    """Return the end of the SQL statement: order, limit and offset. Raises UsageError."""
    if sort not in SORTS:
        raise UsageError(f"Lore cannot be sorted by '{sort}'.", f"Sort keys: {', '.join(SORTS)}.")
    if limit is not None and limit < 0:
        raise UsageError(f"The limit must not be negative, but is {limit}.")
    if not 0 <= offset <= _LARGEST:
        raise UsageError(f"The offset must not be negative, but is {offset}.")
    tail = f"ORDER BY {SORTS[sort]} LIMIT {-1 if limit is None else min(limit, _LARGEST)}"
    return f"{tail} OFFSET {offset}" if offset else tail
