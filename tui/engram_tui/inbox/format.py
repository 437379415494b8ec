"""The lines about an item in the Inbox. Texts of the store are made safe here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
from engram_tui.inbox.queue import InboxQueue, called
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.entry_list import fit
from engram_tui.widgets.format import count, fraction

if TYPE_CHECKING:
    from engram.usecases.recall.recall_preview import WouldAnswer

BAR = 8
# Shorter than for those who do not see the two texts.
_EFFECTS = {SUPERSEDE: "it supersedes the older", TAKE: "it takes its place", BOTH: "one after the other"}
EVIDENCE, HANGING = 3, 5  # notes, and cells that a further line of a text begins with
PAIRS = (CONTRADICTION, DUPLICATE)
# The actions, in this order.
DECIDING = ("accept", "take", "both", "merge", "edit_first", "put_away", "reject", "snooze")


def decision_of(item: Item, action: str) -> str:
    """Return the decision that an action makes about an item; "" where it makes none."""
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


def progress_line(queue: InboxQueue, at: int, marked: int, looking: Collection[str]) -> Text:
    """Format how much waits, in which order, what is filtered, marked and decided, and what is still being looked for."""
    found = Text(no_wrap=True)
    number, listed = len(queue.every), len(queue.listed)
    if not number:
        found.append("Looking …" if looking else "Nothing waits", "bold")
    else:
        found.append(f"{count(min(at + 1, listed))} of {count(listed)}", "bold")
        wanted = queue.wanted
        narrowed = [
            part
            for part in (called(wanted.kind), wanted.who, f"“{wanted.text}”" if wanted.text else "")
            if part
        ]
        if narrowed:
            found.append(f" {safe_line(', '.join(narrowed))}, of {count(number)}")
        found.append(f" · {queue.order}", "dim")
    if marked:
        found.append(f" · {count(marked)} marked", "bold")
    if queue.decided:
        full = round(queue.share * BAR)
        found.append(f" · {'█' * full}{'░' * (BAR - full)} {count(len(queue.decided))} decided")
    if looking and number:
        found.append(" · still looking …", "italic")
    return found


def kinds_line(queue: InboxQueue) -> str:
    """Format the number of items of each kind."""
    return " · ".join(f"{called(kind)} {number:,}" for kind, number in queue.by_kind.items())


def why_lines(
    item: Item, notes: Sequence[str], usefulness: WouldAnswer | None = None, *, narrow: bool, cells: int
) -> list[str]:
    """Format why the item is here, its evidence, its usefulness, its cost, and what is proposed; lines of so many cells."""
    parts = [f"why  {safe_line(item.why)}"]
    shown = [f"     {safe_line(note)}" for note in notes[: 1 if narrow else EVIDENCE]]
    parts += [fit(note, 2 * cells - HANGING).rstrip() for note in shown]
    use = [
        use_phrase(item, usefulness) if usefulness else "",
        f"costs about {count(item.cost)} tokens each time" if item.cost else "",
        f"worth {fraction(item.worth)} × {fraction(item.certainty)} certain",
    ]
    parts.append(f"     {' · '.join(part for part in use if part)}")
    proposed = "look at both; Engram cannot tell which is right" if item.proposal == LOOK else _effect(item)
    if item.kind == PROPOSAL:
        proposed = "enter opens it: accept or reject each of its entries"
    parts.append(f"→    {proposed}")
    return [line for one in parts for line in _wrap(one, cells)]


def _effect(item: Item) -> str:
    return f"proposed: {item.proposal}, {item.decisions.get(item.proposal, '')}"


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

    return textwrap.wrap(line, max(20, cells), subsequent_indent=" " * HANGING, drop_whitespace=True) or [
        line
    ]


def decisions_line(
    item: Item | None, actions: Mapping[str, tuple[str, str]], cells: int, *, short: bool, brief: bool
) -> Text:
    """Format the possible decisions, of which the proposed one comes first, reversed, each with its effect in a line.

    `actions` are keys and titles. `short`: as many in a line as fit into so many cells; `brief`: so that the most fit.
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
    """Return each possible decision with its key, and its effect; the proposed one, whose effect is known, first."""
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
    """Return what a decision about an item is called, where the title of its action does not say it; "" else."""
    if item.kind in PAIRS:
        return {"take": "take newer", "both": "both stay", "reject": "forget newer"}.get(action, "")
    if action == "accept" and item.kind not in (PENDING, FOREIGN):
        return "keep this" if item.kind in (CONFLICT, ENTITY) else "keep it"
    return ""
