"""What a step of consolidation comes to, before it happens: the lore as it will be, and what of it is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from engram.domain.consolidation.plan import ARCHIVE, DECAY, MERGE, SUPERSEDE
from engram.domain.errors import EngramError
from engram.domain.review.review import merge_item
from engram_tui.shell.sanitize import lines, words
from engram_tui.widgets.rows import bar, fraction
from engram_tui.widgets.word_marks import differ, inline

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.consolidation.plan import Difference, Plan, Step
    from engram.domain.entry.lore import Lore
    from engram.domain.review.review import Item
    from engram_tui.consolidate.plan_rows import PlanRow

_BECOMES = {ARCHIVE: "archived", SUPERSEDE: "superseded"}
_LISTED = 6


def read_result(store: Engram, row: PlanRow) -> Text:
    """What is to be seen about a line of the plan. Raises NotFoundError, StoreError."""
    if row.left is not None:
        return _apart(store, row.left.lore, row.left.why)
    step = row.step or (row.withheld.step if row.withheld else None)
    if step is None:
        return Text()
    found = Text()
    if row.withheld is not None:
        found.append(
            f"Left out: for “{words(row.withheld.query)}” a lore that was found helpful would be lost.\n\n"
        )
    if step.kind == MERGE and step.result is not None:
        return found.append_text(_merged(store, step, step.result))
    lore = step.result if step.result is not None else store.get(step.lore[0]).lore
    return found.append_text(_changed(step, lore))


def item_of(store: Engram, row: PlanRow) -> Item | None:
    """The review item that asks whether the lore of a line should become one; None for other lines."""
    if row.step is not None and row.step.kind == MERGE:
        return merge_item(row.step.lore, row.step.paths, row.step.title, row.step.why)
    if row.left is None:
        return None
    paths = [store.get(lore_id).path for lore_id in row.left.lore]
    return merge_item(row.left.lore, paths, row.left.title, row.left.why)


def rehearsed(store: Engram, plan: Plan) -> Text:
    """The past queries that would be answered otherwise, with the titles of what they lose and get."""
    found = Text(f"{plan.rehearsal.sentence}\n")
    if plan.rehearsal.left_out:
        found.append(f"{plan.rehearsal.left_out:,} older queries were not asked again.\n")
    if not plan.rehearsal.differences:
        found.append("\nNo answer changes.")
    for one in plan.rehearsal.differences:
        found.append(f"\n“{words(one.query)}”\n", "bold")
        found.append(_change(store, plan, one))
    return found


def _change(store: Engram, plan: Plan, one: Difference) -> str:
    hosts = {other: step.lore[0] for step in plan.selected if step.kind == MERGE for other in step.lore[1:]}
    gone = [lore_id for lore_id in one.before if lore_id not in one.after]
    folded = [lore_id for lore_id in gone if hosts.get(lore_id) in one.after]
    told = [f"  {len(one.before)} → {len(one.after)} lore"]
    told += [f"  folded into another: {_title(store, lore_id)}" for lore_id in folded]
    told += [f"  not any more: {_title(store, lore_id)}" for lore_id in gone if lore_id not in folded]
    told += [f"  new: {_title(store, lore_id)}" for lore_id in one.after if lore_id not in one.before]
    return "\n".join(told) + "\n"


def _title(store: Engram, lore_id: str) -> str:
    try:
        return words(store.get(lore_id).lore.title, 70)
    except EngramError:
        return lore_id


def _merged(store: Engram, step: Step, result: Lore) -> Text:
    found = Text()
    found.append(f"The one lore that {len(step.lore)} become:\n", "bold")
    found.append_text(_lore(result, step.before, step.after))
    for lore_id in step.lore[1:]:
        other = store.get(lore_id).lore
        found.append(
            f"\n\nfolded in: by {words(other.agent or 'a person')}, {fraction(other.thousandths)}\n", "bold"
        )
        found.append_text(_against(result, other))
    return found


def _against(kept: Lore, other: Lore) -> Text:
    """Another text beside the one that is kept: its own words reversed, those of the kept one underlined."""
    if kept.content == other.content:
        return Text("the same text", "dim")
    return (
        inline(kept.content, other.content)
        if differ(kept.content, other.content)
        else Text(lines(other.content))
    )


def _changed(step: Step, lore: Lore) -> Text:
    found = Text()
    found.append(f"{words(step.why)}\n", "bold")
    if step.kind in _BECOMES:
        found.append(f"{lore.status} → {_BECOMES[step.kind]}; the file stays, queries do not show it.\n")
    if step.kind == DECAY:
        found.append(
            f"{len(step.accounts)} months without use; a use gives none of it back, a judgement does.\n"
        )
    if step.to:
        found.append(f"copied to {words(step.to)}\n")
    found.append("\n")
    return found.append_text(_lore(lore, step.before, step.after))


def _apart(store: Engram, ids: tuple[str, ...], why: str) -> Text:
    one, other = (store.get(lore_id).lore for lore_id in ids[:2])
    found = Text()
    found.append(f"Left to you: {words(why)}\n\n", "bold")
    found.append("bold and underlined: the older; reversed: the newer\n\n", "dim")
    return found.append_text(inline(one.content, other.content))


def _lore(lore: Lore, before: int, after: int) -> Text:
    moved = f"{fraction(before)} → " if before != after else ""
    validated = f" · ✓{lore.validation_count}" if lore.validation_count else ""
    sources = f" · {len(lore.sources)} sources" if len(lore.sources) > 1 else ""
    found = Text()
    found.append(f"{lore.category} · {moved}{bar(after, 8)} {fraction(after)}{validated}{sources}\n", "dim")
    for name in ("tags", "files", "context"):
        values = getattr(lore, name)
        if values:
            more = " …" if len(values) > _LISTED else ""
            found.append(f"{name} {words(', '.join(values[:_LISTED]))}{more}\n", "dim")
    found.append(f"\n{lines(lore.content)}")
    return found
