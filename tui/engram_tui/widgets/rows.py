"""One lore as a line of a list: what the line knows, and how each part of it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from engram.domain.consolidation.usefulness import importance
from engram.usecases.lookup.listing import Shown

if TYPE_CHECKING:
    from engram.usecases.recall.query import Recalled

BEST = "best"
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
NO_REF = "·"
CATEGORY_CELLS = 11

_SHORT_CATEGORIES = {
    "ARCHITECTURAL_DECISION": "DECISION",
    "PATTERN_OUTCOME": "PATTERN",
    "INTERFACE_LESSON": "INTERFACE",
    "EDGE_CASE_DISCOVERY": "EDGE CASE",
    "IMPLEMENTATION_FRICTION": "FRICTION",
    "TESTING_STRATEGY": "TESTING",
    "DEPENDENCY_BEHAVIOR": "DEPENDENCY",
    "PERFORMANCE_INSIGHT": "PERFORMANCE",
    "SESSION_SUMMARY": "SESSION",
    "CONTEXT_NOTE": "NOTE",
}
_AGES = (
    (365 * 86_400, "y"),
    (30 * 86_400, "mo"),
    (7 * 86_400, "w"),
    (86_400, "d"),
    (3_600, "h"),
    (60, "min"),
)


class Row(NamedTuple):
    """A line of the list. Times in Unix seconds, `confidence` and `worth` (its importance, from use) in thousandths;
    `why` says why a search found it.
    """

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
    worth: int = 0


def worth_of(
    lore_id: str,
    given: float | None,
    pinned: bool,
    helpful: int,
    shown: Mapping[str, int],
) -> int:
    """The worth of a lore, in thousandths; `shown` counts by id the answers it was in."""
    return round(importance(given, pinned=pinned, helpful=helpful, shown=shown.get(lore_id, 0)) * 1000)


def row_of_shown(shown: Shown, why: str = "", times: int = 0) -> Row:
    """The line of a lore that was read from its file; `why` a search found it, `times` it was in an answer."""
    lore = shown.lore
    worth = importance(lore.importance, pinned=lore.pinned, helpful=lore.validation_count, shown=times)
    return Row(
        lore.id, shown.ref, lore.thousandths, lore.category, lore.title, lore.created_at.timestamp(),
        lore.updated_at.timestamp(), lore.validation_count, lore.status, why,
        lore.agent or "", lore.pinned, shown.path, shown.scope, round(worth * 1000),
    )  # fmt: skip


def row_of_recalled(recalled: Recalled, refs: Mapping[str, str], shown: Mapping[str, int]) -> Row:
    """The line of a lore that a search found."""
    lore, score = recalled.lore, recalled.score
    meaning = "" if score.cosine is None else f" · meaning {fraction(round(score.cosine * 1000))}"
    why = f"words {fraction(round(score.words * 1000))}{meaning}"
    found = Shown(lore, recalled.path, refs.get(lore.id, ""), recalled.scope)
    return row_of_shown(found, why, shown.get(lore.id, 0))


def ids_of(rows: Sequence[Row]) -> list[str]:
    """The ids of these rows, in order."""
    from engram_tui.widgets.lazy_rows import LazyRows

    return rows.ids() if isinstance(rows, LazyRows) else [row.id for row in rows]


def with_rows(rows: Sequence[Row], changed: Mapping[str, Row | None]) -> Sequence[Row]:
    """The same list with some rows changed or (None) gone, in the order it had."""
    from engram_tui.widgets.lazy_rows import LazyRows

    ids = ids_of(rows)
    if not any(lore_id in changed for lore_id in ids):
        return rows
    if isinstance(rows, LazyRows):
        return rows.having(changed)
    found = [
        (changed.get(lore_id, rows[at]) if lore_id in changed else rows[at]) for at, lore_id in enumerate(ids)
    ]
    return [row for row in found if row is not None]


def have_refs(rows: Sequence[Row]) -> bool:
    """Whether any of these lore has a name in this session."""
    from engram_tui.widgets.lazy_rows import LazyRows

    return rows.have_refs if isinstance(rows, LazyRows) else any(row.ref for row in rows)


def fraction(thousandths: int) -> str:
    """A value from 0 to 1 without its leading zero: `.83`, `1.0`; always three characters."""
    hundredths = max(0, min(100, (thousandths + 5) // 10))
    return "1.0" if hundredths == 100 else f".{hundredths:02d}"


def bar(thousandths: int, cells: int) -> str:
    """A confidence as a drawing `cells` wide."""
    full = max(0, min(cells, round(thousandths * cells / 1000)))
    return "▆" * full + "▁" * (cells - full)


def age(seconds: float) -> str:
    """How long ago, in its largest unit: `now`, `5 min`, `3 w`, `2 y`."""
    for length, unit in _AGES:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return "now"


def short_category(category: str) -> str:
    """A category that fits its column as far as it can."""
    return _SHORT_CATEGORIES.get(category, category.replace("_", " "))


def count(number: int, noun: str = "") -> str:
    """A number with separators: `10,412 lore`."""
    return f"{number:,} {noun}".rstrip()


def sorted_rows(rows: Sequence[Row], order: str) -> list[Row]:
    """Found rows in another order; `best` is the order they were found in."""
    keys: dict[str, Callable[[Row], tuple[object, ...]]] = {
        "created": lambda row: (-row.created_at, row.id),
        "updated": lambda row: (-row.updated_at, row.id),
        "confidence": lambda row: (-row.confidence, row.id),
        "helpful": lambda row: (-row.validation_count, row.id),
        "title": lambda row: (row.title.casefold(), row.id),
        "category": lambda row: (row.category, row.title.casefold(), row.id),
        "worth": lambda row: (-row.worth, row.id),
    }
    return sorted(rows, key=keys[order]) if order in keys else list(rows)
