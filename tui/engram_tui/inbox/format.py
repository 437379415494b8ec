"""Format the lines of the Inbox. Text from the store is sanitized here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from engram.domain.review.review import (
    ACCEPT,
    ARCHIVE,
    BOTH,
    CONFLICT,
    CONTRADICTION,
    DUPLICATE,
    EDIT,
    ENTITY,
    FOREIGN,
    LOOK,
    MERGE,
    PENDING,
    PROPOSAL,
    REJECT,
    SNOOZE,
    SUPERSEDE,
    TAKE,
    Item,
)
from engram_tui.inbox.queue import InboxQueue, kind_name
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.entry_list import fit
from engram_tui.widgets.format import count, fraction

if TYPE_CHECKING:
    from engram.usecases.recall.recall_preview import WouldAnswer

BAR_CELLS = 8
# Shorter than the item's own descriptions, as both texts are in view.
_EFFECTS = {SUPERSEDE: "it supersedes the older", TAKE: "it takes its place", BOTH: "one after the other"}
MAX_NOTES = 3
HANGING_INDENT = 5  # cells
PAIRS = (CONTRADICTION, DUPLICATE)
# The actions that decide, in the order in which they are shown.
DECIDING = ("accept", "take", "both", "merge", "edit_first", "put_away", "reject", "snooze")


def decision_of(item: Item, action: str) -> str:
    """Return the decision that an action makes about an item; "" if it makes none."""
    decisions = {
        "accept": "" if item.kind in PAIRS else ACCEPT,
        "take": SUPERSEDE if item.kind in PAIRS else TAKE,
        "both": ACCEPT if item.kind in PAIRS else BOTH,
        "merge": MERGE if item.kind in (DUPLICATE, CONFLICT) else "",
        "edit_first": EDIT,
        "put_away": ARCHIVE,
        "reject": REJECT,
        "snooze": SNOOZE,
    }
    decision = decisions[action]
    return decision if decision in item.decisions or (action == "merge" and decision) else ""


def progress_line(queue: InboxQueue, cursor: int, marked: int, searching: bool) -> Text:
    """Format the number of items, the filter and the order, and how many are marked and decided."""
    found = Text(no_wrap=True)
    number, listed = len(queue.items), len(queue.listed)
    if not number:
        found.append("Looking …" if searching else "Nothing waits", "bold")
    else:
        found.append(f"{count(min(cursor + 1, listed))} of {count(listed)}", "bold")
        text, kind, who = queue.filter
        filters = [part for part in (kind_name(kind), who, f"“{text}”" if text else "") if part]
        if filters:
            found.append(f" {safe_line(', '.join(filters))}, of {count(number)}")
        found.append(f" · {queue.order}", "dim")
    if marked:
        found.append(f" · {count(marked)} marked", "bold")
    if queue.decided:
        full = round(queue.share * BAR_CELLS)
        found.append(f" · {'█' * full}{'░' * (BAR_CELLS - full)} {count(len(queue.decided))} decided")
    if searching and number:
        found.append(" · still looking …", "italic")
    return found


def kinds_line(queue: InboxQueue) -> str:
    """Format the number of items of each kind."""
    return " · ".join(f"{kind_name(kind)} {number:,}" for kind, number in queue.by_kind.items())


def why_lines(
    item: Item, notes: Sequence[str], usefulness: WouldAnswer | None = None, *, narrow: bool, cells: int
) -> list[str]:
    """Format why the item is here, its evidence, usefulness and cost, and the proposal, in lines of this width."""
    parts = [f"why  {safe_line(item.why)}"]
    shown = [f"     {safe_line(note)}" for note in notes[: 1 if narrow else MAX_NOTES]]
    parts += [fit(note, 2 * cells - HANGING_INDENT).rstrip() for note in shown]
    value = [
        describe_usefulness(item, usefulness) if usefulness else "",
        f"costs about {count(item.cost)} tokens each time" if item.cost else "",
        f"worth {fraction(item.worth)} × {fraction(item.certainty)} certain",
    ]
    parts.append(f"     {' · '.join(part for part in value if part)}")
    if item.kind == PROPOSAL:
        proposed = "enter opens it: accept or reject each of its entries"
    elif item.proposal == LOOK:
        proposed = "look at both; Engram cannot tell which is right"
    else:
        proposed = f"proposed: {item.proposal}, {item.decisions.get(item.proposal, '')}"
    parts.append(f"→    {proposed}")
    return [line for part in parts for line in _wrap(part, cells)]


def describe_usefulness(item: Item, usefulness: WouldAnswer) -> str:
    """Say how many past queries an item answers, or would if accepted; "" if there were none."""
    if not usefulness.asked:
        return ""
    does = "would have answered" if item.kind in (PENDING, FOREIGN) and not item.claims else "answers"
    last = "the last query" if usefulness.asked == 1 else f"the last {count(usefulness.asked)} queries"
    return (
        f"{does} {count(len(usefulness.queries))} of {last}"
        if usefulness.asked > 1 or not usefulness.queries
        else f"{does} {last}"
    )


def _wrap(line: str, cells: int) -> list[str]:
    """Wrap a line with a hanging indent."""
    import textwrap

    return textwrap.wrap(line, max(20, cells), subsequent_indent=" " * HANGING_INDENT) or [line]


def decisions_line(
    item: Item | None, actions: Mapping[str, tuple[str, str]], cells: int, *, short: bool, brief: bool
) -> Text:
    """Format the possible decisions with their effects, a line each; the proposed one comes first, reversed.

    `actions` maps the names of actions to keys and titles. If `short`, effects are left out, and each line has as many
    decisions as fit into `cells`; if `brief`, even more fit.
    """
    parts = _decisions(item, actions, brief=brief) if item is not None else []
    if not short:
        longest = max((name.cell_len for name, effect in parts if effect), default=0)
        lines = []
        for name, effect in parts:
            room = cells - max(longest, name.cell_len) - 2
            line = name + Text(" " * max(0, longest - name.cell_len))
            lines.append(line.append(f"  {effect}", "dim") if effect and cell_len(effect) <= room else name)
        return Text("\n").join(lines)
    found, used, gap = Text(), 0, "  " if brief else "   "
    for name, _ in parts:
        if used and used + name.cell_len + len(gap) > cells:
            found.append("\n")
            used = 0
        elif used:
            found.append(gap)
        found.append_text(name)
        used += name.cell_len + len(gap)
    return found


def _decisions(item: Item, actions: Mapping[str, tuple[str, str]], *, brief: bool) -> list[tuple[Text, str]]:
    """Return each possible decision with its key, and its effect; the proposed one comes first, without an effect."""
    found: list[tuple[Text, str]] = []
    for action in DECIDING:
        decision = decision_of(item, action)
        key, title = actions[action]
        if decision and decision == item.proposal:
            key, proposed = actions["propose"][0], "" if brief else ", as proposed"
            found.insert(0, (Text.assemble((f" {key} {title}{proposed} ", "bold reverse")), ""))
        elif decision:
            effect = _EFFECTS.get(decision, item.decisions.get(decision, ""))
            found.append((Text.assemble((f"{key} {title}", "bold")), "" if effect == title else effect))
    return found


def decision_name(item: Item, action: str) -> str:
    """Return the name of a decision about an item if it differs from the title of its action, else ""."""
    if item.kind in PAIRS:
        return {"take": "take newer", "both": "both stay", "reject": "forget newer"}.get(action, "")
    if action == "accept" and item.kind not in (PENDING, FOREIGN):
        return "keep this" if item.kind in (CONFLICT, ENTITY) else "keep it"
    return ""
