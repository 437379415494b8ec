"""Merge ranked lists of entries from different queries by reciprocal rank fusion."""

from __future__ import annotations

from engram.domain.entry.refs import ref_number
from engram.domain.errors import NotFoundError, UsageError
from engram.domain.explore.tables import Table
from engram.domain.recall import fusion
from engram.domain.typed import TYPE_CHECKING
from engram.usecases.explore.explore import LIMITS
from engram.usecases.explore.sql_query import open_guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.usecases.store.store import Store

MOST_LISTS, LONGEST = 20, 200
MOST_K = 1000


def aggregate(
    store: Store, lists: Sequence[Sequence[str]], *, k: int = fusion.K, limit: int = 20, waiting: bool = True
) -> Table:
    """Fuse lists of ids and session refs; return id, score, number of lists, and title if known, best first.

    Raises UsageError, NotFoundError for a ref unknown to this session, StoreError.
    """
    if not 1 <= len(lists) <= MOST_LISTS or any(len(names) > LONGEST for names in lists):
        raise UsageError(f"1 to {MOST_LISTS} lists of at most {LONGEST} names each can be merged.")
    if not 1 <= k <= MOST_K or not 1 <= limit <= LONGEST:
        raise UsageError(f"k must be from 1 to {MOST_K}, the limit from 1 to {LONGEST}.")
    refs = {ref.number: ref.id for ref in store.session_state.refs(store.caller.session)}
    fused = fusion.fuse([[_resolve(name, refs) for name in names] for names in lists], k)
    best = fused[:limit]
    titles = _read_titles(store, [one.name for one in best], waiting=waiting)
    rows = tuple((one.name, round(one.score, 5), one.lists, titles.get(one.name, "")) for one in best)
    return Table("aggregate", ("id", "score", "lists", "title"), rows, truncated=len(fused) > limit)


def names_in(text: str, source: str) -> list[str]:
    """Extract names from a text: one per line, or the JSON of `query`, `list` or `sql`, which may have none.

    Raises UsageError for any other text without names.
    """
    import json

    value = None
    try:
        value = json.loads(text)
        found = _extract_from_json(value)
    except ValueError:
        found = [line.split()[0] for line in text.splitlines() if line.strip()]
    if not found and not (isinstance(value, dict) and value.keys() & {"lore", "rows"}):
        raise UsageError(
            f"{source} names no entries.",
            "Give one ref or id per line, or the JSON of `engram query`, `list` or `sql`.",
        )
    return found


def _extract_from_json(value: object) -> list[str]:
    rows = value.get("lore", []) if isinstance(value, dict) else value
    if isinstance(value, dict) and "columns" in value:
        columns = list(value["columns"])
        index = columns.index("id") if "id" in columns else 0
        rows = [row[index] for row in value["rows"]]
    if not isinstance(rows, list):
        rows = [rows]
    names = [row.get("id", "") if isinstance(row, dict) else row for row in rows]
    return [str(name) for name in names if name]


def _resolve(name: str, refs: dict[int, str]) -> str:
    """Resolve a session ref to an id; return anything else as an id."""
    name = name.strip().upper()
    number = ref_number(name)
    if number is None:
        return name
    if number not in refs:
        raise NotFoundError(f"There is no {name} in this session.", "`engram session` lists its refs.")
    return refs[number]


def _read_titles(store: Store, ids: Sequence[str], *, waiting: bool) -> dict[str, str]:
    import json

    with open_guarded(store, "", waiting=waiting) as guarded:
        query = "SELECT id, title FROM lore WHERE id IN (SELECT value FROM json_each(:ids))"
        rows = guarded.ask("titles", query, {"ids": json.dumps(ids)}, LIMITS).rows
    return {str(lore_id): str(title) for lore_id, title in rows}
