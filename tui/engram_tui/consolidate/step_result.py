"""The result of a consolidation step before it is applied: the resulting entry, and what changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from engram.domain.consolidation.plan import ARCHIVE, MERGE, SUPERSEDE, Difference, Plan, Step
from engram.domain.entry.people import byline
from engram.domain.errors import EngramError
from engram.domain.review.review import Item, merge_item
from engram.domain.text.counted_nouns import entries
from engram.domain.text.drawing import gauge
from engram_tui.shell.sanitize import safe_line, safe_lines
from engram_tui.widgets.format import fraction
from engram_tui.widgets.word_marks import are_similar, merge_marked

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram_tui.consolidate.plan_tree import PlanRow

_BECOMES = {ARCHIVE: "archived", SUPERSEDE: "superseded"}
_MAX_LISTED = 6  # values of a field


def read_result(store: Engram, row: PlanRow) -> Text:
    """Read the result of a line of the plan. Raises NotFoundError, StoreError."""
    if row.left is not None:
        return _format_disagreement(store, row.left.lore, row.left.why)
    step = row.step or (row.withheld.step if row.withheld else None)
    if step is None:
        return Text()
    found = Text()
    if row.withheld is not None:
        found.append(
            f"Left out: for “{safe_line(row.withheld.query)}” an entry that was judged helpful would be lost.\n\n"
        )
    if step.kind == MERGE and step.result is not None:
        return found.append_text(_format_merge(store, step, step.result))
    lore = step.result if step.result is not None else store.get(step.lore[0]).lore
    return found.append_text(_format_change(step, lore))


def item_of(store: Engram, row: PlanRow) -> Item | None:
    """Return the review item for merging the entries of a line; None if there is nothing to merge."""
    if row.step is not None and row.step.kind == MERGE:
        return merge_item(row.step.lore, row.step.paths, row.step.title, row.step.why)
    if row.left is None:
        return None
    paths = [store.get(entry_id).path for entry_id in row.left.lore]
    return merge_item(row.left.lore, paths, row.left.title, row.left.why)


def rehearsal_text(store: Engram, plan: Plan) -> Text:
    """Format the past queries whose answers would change, with the titles that they would lose and gain."""
    found = Text(f"{plan.rehearsal.sentence}\n")
    if plan.rehearsal.left_out:
        found.append(f"{plan.rehearsal.left_out:,} older queries were not replayed.\n")
    if not plan.rehearsal.differences:
        found.append("\nNo answer changes.")
    for difference in plan.rehearsal.differences:
        found.append(f"\n“{safe_line(difference.query)}”\n", "bold")
        found.append(_format_difference(store, plan, difference))
    return found


def _format_difference(store: Engram, plan: Plan, difference: Difference) -> str:
    before, after = difference.before, difference.after
    hosts = {other: step.lore[0] for step in plan.selected if step.kind == MERGE for other in step.lore[1:]}
    lost = [entry_id for entry_id in before if entry_id not in after]
    merged = [entry_id for entry_id in lost if hosts.get(entry_id) in after]
    parts = [f"  {len(before)} → {entries(len(after))}"]
    parts += [f"  merged into another: {_title(store, entry_id)}" for entry_id in merged]
    parts += [f"  no longer: {_title(store, entry_id)}" for entry_id in lost if entry_id not in merged]
    parts += [f"  new: {_title(store, entry_id)}" for entry_id in after if entry_id not in before]
    return "\n".join(parts) + "\n"


def _title(store: Engram, entry_id: str) -> str:
    try:
        return safe_line(store.get(entry_id).lore.title, 70)
    except EngramError:
        return entry_id


def _format_merge(store: Engram, step: Step, result: Lore) -> Text:
    found = Text()
    found.append(f"The entry that {len(step.lore)} become:\n", "bold")
    found.append_text(_format_entry(result, step.before, step.after))
    for entry_id in step.lore[1:]:
        other = store.get(entry_id).lore
        found.append(
            f"\n\nmerged in: by {safe_line(byline(other.agent, other.author))}, {fraction(other.thousandths)}\n",
            "bold",
        )
        found.append_text(_compare(result, other))
    return found


def _compare(result: Lore, other: Lore) -> Text:
    """Format the text of a merged entry, its own words reversed, those of the result underlined."""
    if result.content == other.content:
        return Text("the same text", "dim")
    return (
        merge_marked(result.content, other.content)
        if are_similar(result.content, other.content)
        else Text(safe_lines(other.content))
    )


def _format_change(step: Step, lore: Lore) -> Text:
    found = Text()
    found.append(f"{safe_line(step.why)}\n", "bold")
    if step.kind in _BECOMES:
        found.append(f"{lore.status} → {_BECOMES[step.kind]}; the file stays, queries do not show it.\n")
    if step.to:
        found.append(f"copied to {safe_line(step.to)}\n")
    found.append("\n")
    return found.append_text(_format_entry(lore, step.before, step.after))


def _format_disagreement(store: Engram, ids: tuple[str, ...], why: str) -> Text:
    older, newer = (store.get(entry_id).lore for entry_id in ids[:2])
    found = Text()
    found.append(f"Left to you: {safe_line(why)}\n\n", "bold")
    for lore, which in ((older, "the older, bold and underlined"), (newer, "the newer, reversed")):
        found.append(f"{safe_line(lore.title)}\n")
        found.append(f"{safe_line(byline(lore.agent, lore.author))}: {which}\n", "dim")
    found.append("\n")
    return found.append_text(merge_marked(older.content, newer.content))


def _format_entry(lore: Lore, before: int, after: int) -> Text:
    """Format an entry whose confidence changes, in thousandths."""
    change = f"{fraction(before)} → " if before != after else ""
    validated = f" · ✓{lore.validation_count}" if lore.validation_count else ""
    sources = f" · {len(lore.sources)} sources" if len(lore.sources) > 1 else ""
    found = Text()
    found.append(
        f"{lore.category} · {change}{gauge(after / 1000, 8)} {fraction(after)}{validated}{sources}\n", "dim"
    )
    for name in ("tags", "files", "context"):
        values = getattr(lore, name)
        if values:
            more = " …" if len(values) > _MAX_LISTED else ""
            found.append(f"{name} {safe_line(', '.join(values[:_MAX_LISTED]))}{more}\n", "dim")
    found.append(f"\n{safe_lines(lore.content)}")
    return found
