"""The lines of the review screen. Texts of the store are made safe here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from engram.domain.review.review import (
    ACCEPT,
    ARCHIVE,
    CONFLICT,
    DUPLICATE,
    EDIT,
    FOREIGN,
    KINDS,
    MERGE,
    PENDING,
    REJECT,
    SNOOZE,
    SUPERSEDE,
    TAKE,
)
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.entry_list import fitted
from engram_tui.widgets.format import count

if TYPE_CHECKING:
    from engram.domain.review.review import Item
    from engram.usecases.recall.recall_preview import WouldAnswer
    from engram_tui.review.queue import ReviewQueue

BAR = 10
EVIDENCE = 4
BOTH = "both"
# The action that carries a decision out.
ACTION_OF = {
    ACCEPT: "accept", TAKE: "take", EDIT: "edit_first", REJECT: "reject", MERGE: "merge", SUPERSEDE: "supersede",
    ARCHIVE: "put_away", SNOOZE: "snooze",
    BOTH: "both",
}  # fmt: skip


def progress_line(queue: ReviewQueue, *, searching: bool) -> Text:
    """Format which item of how many it is, of what kind, and how much is decided."""
    item = queue.current
    found = Text(no_wrap=True)
    if item is None:
        found.append("Nothing waits" if not searching else "Looking …", "bold")
    else:
        found.append(f"{queue.at + 1} of {count(len(queue.items))}", "bold")
        found.append(f" · {item.kind}", "bold")
    full = round(queue.share * BAR)
    decided = f"{count(len(queue.decided))} decided" if queue.decided else "none decided yet"
    if item is not None or queue.decided:
        found.append(f"   {'█' * full}{'░' * (BAR - full)} {queue.share:.0%} · {decided}")
    if item is not None:
        found.append(f"   {safe_line(item.title)}", "dim")
    return found


def kinds_line(queue: ReviewQueue, pending: Collection[str]) -> Text:
    """Format the number of items of each kind, the current kind marked, and what is still being looked for."""
    found = Text()
    current = queue.current.kind if queue.current else ""
    for kind, number in queue.by_kind.items():
        found.append(
            f"▸{kind} {number:,}" if kind == current else f"{kind} {number:,}",
            "bold underline" if kind == current else "",
        )
        found.append("   ")
    missing = [kind for kind in KINDS if kind in pending]
    if missing:
        found.append(f"looking for {', '.join(missing)} …", "italic")
    elif not queue.items:
        found.append("no problems, no conflicts, nothing pending, no duplicates", "italic")
    return found


def why_lines(
    item: Item, notes: Sequence[str], usefulness: WouldAnswer | None = None, *, narrow: bool, cells: int
) -> list[str]:
    """Format why the item is here, its evidence, its usefulness and its cost; lines of so many cells."""
    parts = [f"why  {safe_line(item.why)}"]
    shown = [f"     {safe_line(note)}" for note in notes[: 1 if narrow else EVIDENCE]]
    parts += [fitted(note, cells).rstrip() for note in shown] if narrow else shown
    use = [
        use_phrase(item, usefulness) if usefulness else "",
        f"costs about {count(item.cost)} tokens each time" if item.cost else "",
        f"by {safe_line(item.agent)}" if item.agent and item.cost else "",
    ]
    if any(use):
        parts.append(f"     {' · '.join(part for part in use if part)}")
    return [line for one in parts for line in _wrap(one, cells)]


def use_phrase(item: Item, would: WouldAnswer) -> str:
    """Say how many of the past queries it answers, or would if accepted; "" where there were none."""
    if not would.asked:
        return ""
    does = "would have answered" if item.kind in (PENDING, FOREIGN) and not item.claims else "answers"
    last = "the last query" if would.asked == 1 else f"the last {count(would.asked)} queries"
    return (
        f"{does} {count(len(would.queries))} of {last}"
        if would.asked > 1 or not would.queries
        else f"{does} {last}"
    )


def _wrap(line: str, cells: int) -> list[str]:
    """Wrap a line with a hanging indent."""
    import textwrap

    return textwrap.wrap(line, max(20, cells), subsequent_indent=" " * 5, drop_whitespace=True) or [line]


def decisions_line(
    item: Item | None, queue: ReviewQueue, keys: Mapping[str, str], cells: int, *, narrow: bool
) -> Text:
    """Format the possible decisions and their effects, in lines of so many cells; the proposed one first, marked.

    `narrow`: the effect of the proposed one only; `?` shows the rest.
    """
    if item is None:
        return Text(f"{keys['undo']} undoes the last decision" if queue.decided else "", "dim")
    found, used = Text(), 0
    for name, effect in _decisions(item):
        proposed = name == item.proposal
        key = keys[ACTION_OF[name]]
        part = Text()
        part.append(
            f" ● {key} {name} " if proposed else f"{key} {name}", "bold reverse" if proposed else "bold"
        )
        if proposed or not narrow:
            part.append(f" {effect}{' (proposed)' if proposed else ''}", "" if proposed else "dim")
        if used and used + part.cell_len + 3 > cells:
            found.append("\n")
            used = 0
        elif used:
            found.append("   ")
        found.append_text(part)
        used += part.cell_len + 3
    return found


def _decisions(item: Item) -> list[tuple[str, str]]:
    """Return the possible decisions with their effects, the proposed one first, snooze last."""
    possible = dict(item.decisions)
    if item.kind in (CONFLICT, DUPLICATE):
        possible |= {BOTH: "both texts in one entry", MERGE: "merge them, paragraph by paragraph"}
    order = [item.proposal, *(name for name in possible if name not in (item.proposal, SNOOZE)), SNOOZE]
    return [(name, possible[name]) for name in dict.fromkeys(order) if name in possible and name in ACTION_OF]
