"""The lines about an item in the Inbox. Texts of the store are made safe here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

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
    KINDS,
    LOOK,
    MERGE,
    PENDING,
    PROPOSAL,
    REJECT,
    SNOOZE,
    SUPERSEDE,
    TAKE,
)
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.entry_list import fitted
from engram_tui.widgets.format import count, fraction

if TYPE_CHECKING:
    from engram.domain.review.review import Item
    from engram.usecases.recall.recall_preview import WouldAnswer
    from engram_tui.inbox.queue import InboxQueue

BAR = 8
EVIDENCE = 3
PAIRS = (CONTRADICTION, DUPLICATE)
_CALLED = {CONFLICT: "disputes", ENTITY: "disputed entities", PROPOSAL: "proposals"}


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
            part for part in (wanted.kind, wanted.who, f"“{wanted.text}”" if wanted.text else "") if part
        ]
        if narrowed:
            found.append(f" {safe_line(', '.join(narrowed))}, of {count(number)}")
        found.append(f" · {queue.order}", "dim")
    if marked:
        found.append(f" · {count(marked)} marked", "bold")
    if queue.decided:
        full = round(queue.share * BAR)
        found.append(f" · {'█' * full}{'░' * (BAR - full)} {count(len(queue.decided))} decided")
    missing = [kind for kind in KINDS if kind in looking]
    if missing and number:
        found.append(f" · looking for {', '.join(missing[:3])} …", "italic")
    return found


def kinds_line(queue: InboxQueue) -> str:
    """Format the number of items of each kind."""
    return " · ".join(f"{_CALLED.get(kind, kind)} {number:,}" for kind, number in queue.by_kind.items())


def why_lines(
    item: Item, notes: Sequence[str], usefulness: WouldAnswer | None = None, *, narrow: bool, cells: int
) -> list[str]:
    """Format why the item is here, its evidence, its usefulness, its cost, and what is proposed; lines of so many cells."""
    parts = [f"why  {safe_line(item.why)}"]
    shown = [f"     {safe_line(note)}" for note in notes[: 1 if narrow else EVIDENCE]]
    parts += [fitted(note, cells).rstrip() for note in shown]
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

    return textwrap.wrap(line, max(20, cells), subsequent_indent=" " * 5, drop_whitespace=True) or [line]


def decisions_line(item: Item | None, keys: Mapping[str, str], cells: int, *, short: bool) -> Text:
    """Format the possible decisions and their effects, in lines of so many cells; the proposed one first, reversed.

    `short`: without effects; `?` shows them.
    """
    found, used = Text(), 0
    if item is None:
        return found
    for key, name, effect, proposed in _decisions(item, keys):
        part = Text()
        part.append(
            f" {key} {name} " if proposed else f"{key} {name}", "bold reverse" if proposed else "bold"
        )
        if not short and effect:
            part.append(f" {effect}", "dim")
        if used and used + part.cell_len + 3 > cells:
            found.append("\n")
            used = 0
        elif used:
            found.append("   ")
        found.append_text(part)
        used += part.cell_len + 3
    return found


def _decisions(item: Item, keys: Mapping[str, str]) -> list[tuple[str, str, str, bool]]:
    """Return key, name and effect of each possible decision, and whether it is the proposed one, which comes first."""
    found = []
    for action in ("accept", "take", "both", "merge", "edit_first", "put_away", "reject", "snooze"):
        decision = decision_of(item, action)
        if decision:
            name, effect = _named(item, action, decision)
            found.append((keys[action], name, effect, decision == item.proposal))
    proposed = [
        (keys["propose"], f"{name}, as proposed", effect, True) for _, name, effect, is_it in found if is_it
    ]
    return [*proposed, *(one for one in found if not one[3])]


def _named(item: Item, action: str, decision: str) -> tuple[str, str]:
    effect = item.decisions.get(decision, "")
    if item.kind in PAIRS:
        names = {"both": ("both stay", ""), "take": ("take the newer", "it supersedes the older"),
                 "merge": ("merge …", "by paragraph and field"), "reject": ("forget the newer", "")}  # fmt: skip
        return names.get(action, (decision, effect))
    if item.kind in (CONFLICT, ENTITY):
        names = {"accept": ("keep this", ""), "take": ("take the other", ""), "both": ("both texts", ""),
                 "merge": ("merge …", "")}  # fmt: skip
        return names.get(action, (decision, effect))
    names = {"accept": ("let it in" if item.kind in (PENDING, FOREIGN) else "keep it", effect),
             "reject": ("forget", ""), "put_away": ("archive", ""), "edit_first": ("edit …", "")}  # fmt: skip
    return names.get(action, (decision, effect))
