"""The lines of the review screen. Everything that comes from a store passes the sanitiser here."""

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
    allowed,
)
from engram_tui.shell.sanitize import words
from engram_tui.widgets.entry_list import fitted
from engram_tui.widgets.rows import count

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
    """Which item of how many, of what kind, and how much is done."""
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
        found.append(f"   {words(item.title)}", "dim")
    return found


def kinds_line(queue: ReviewQueue, sought: Collection[str]) -> Text:
    """How many of each kind wait, the kind of the current item marked, and what is still being looked for."""
    found = Text()
    current = queue.current.kind if queue.current else ""
    for kind, number in queue.by_kind.items():
        found.append(
            f"▸{kind} {number:,}" if kind == current else f"{kind} {number:,}",
            "bold underline" if kind == current else "",
        )
        found.append("   ")
    missing = [kind for kind in KINDS if kind in sought]
    if missing:
        found.append(f"looking for {', '.join(missing)} …", "italic")
    elif not queue.items:
        found.append("no problem, no conflict, nothing pending, nothing twice", "italic")
    return found


def why_lines(
    item: Item, notes: Sequence[str], would: WouldAnswer | None = None, *, narrow: bool, cells: int
) -> list[str]:
    """Why the item is here, what speaks for it, what it would be good for, and what it costs; lines of so many cells."""
    told = [f"why  {words(item.why)}"]
    shown = [f"     {words(note)}" for note in notes[: 1 if narrow else EVIDENCE]]
    told += [fitted(note, cells).rstrip() for note in shown] if narrow else shown
    worth = [
        use_phrase(item, would) if would else "",
        f"costs about {count(item.cost)} tokens each time" if item.cost else "",
        f"by {words(item.agent)}" if item.agent and item.cost else "",
    ]
    if any(worth):
        told.append(f"     {' · '.join(part for part in worth if part)}")
    return [line for one in told for line in _hanging(one, cells)]


def use_phrase(item: Item, would: WouldAnswer) -> str:
    """How many of the past queries it answers, or would if it were let in; "" where nothing was asked yet."""
    if not would.asked:
        return ""
    does = "would have answered" if item.kind in (PENDING, FOREIGN) else "answers"
    last = "the last query" if would.asked == 1 else f"the last {count(would.asked)} queries"
    return (
        f"{does} {count(len(would.queries))} of {last}"
        if would.asked > 1 or not would.queries
        else f"{does} {last}"
    )


def _hanging(line: str, cells: int) -> list[str]:
    """A line that is too long goes on below, under its own beginning."""
    import textwrap

    return textwrap.wrap(line, max(20, cells), subsequent_indent=" " * 5, drop_whitespace=True) or [line]


def decisions_line(
    item: Item | None, queue: ReviewQueue, keys: Mapping[str, str], cells: int, *, narrow: bool
) -> Text:
    """What may be decided and what that does, in lines of so many cells; what is proposed stands first, marked.

    `narrow`: what it does only of what is proposed; `?` has the rest.
    """
    if item is None:
        return Text(f"{keys['undo']} takes the last decision back" if queue.decided else "", "dim")
    found, used = Text(), 0
    for name, meaning in _decisions(item):
        proposed = name == item.proposal
        key = keys[ACTION_OF[name]]
        part = Text()
        part.append(
            f" ● {key} {name} " if proposed else f"{key} {name}", "bold reverse" if proposed else "bold"
        )
        if proposed or not narrow:
            part.append(f" {meaning}{' (proposed)' if proposed else ''}", "" if proposed else "dim")
        if used and used + part.cell_len + 3 > cells:
            found.append("\n")
            used = 0
        elif used:
            found.append("   ")
        found.append_text(part)
        used += part.cell_len + 3
    return found


def _decisions(item: Item) -> list[tuple[str, str]]:
    """What may be decided, the proposed first, the two ways of making one of two among them."""
    possible = dict(allowed(item.kind))
    if item.kind in (CONFLICT, DUPLICATE):
        possible |= {BOTH: "both texts in one lore", MERGE: "they become one, paragraph by paragraph"}
    order = [item.proposal, *(name for name in possible if name not in (item.proposal, SNOOZE)), SNOOZE]
    return [(name, possible[name]) for name in dict.fromkeys(order) if name in possible]
