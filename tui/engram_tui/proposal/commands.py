"""Deciding about an entry of a proposal: a note in this clone, which can be undone until the review ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engram.domain.text.counted_nouns import entries
from engram.usecases.review.proposals import REJECT, ProposedEntry
from engram_tui.shell.command import Command
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.format import quote

if TYPE_CHECKING:
    from engram.app import Engram

ENTRY = "entry of a proposal"  # the target of these commands


class Note:
    """Notes decisions (id, decision, reason) about entries of a proposal."""

    def __init__(self, proposal: str, decisions: Sequence[tuple[str, str, str]]) -> None:
        self.proposal, self.decisions = proposal, decisions

    def __call__(self, store: Engram) -> bool:
        """Note them; returns that there was something to note."""
        store.decide_proposal(self.proposal, self.decisions)
        return True


def decide(
    name: str, about: Sequence[ProposedEntry], decision: str, reason: str = "", *, rest: bool = False
) -> Command:
    """Note a decision about these entries; undone, they have the one they had.

    Of the `rest` those are left out that were decided about since the screen was drawn.
    """
    wanted = [(one.id, decision, reason) for one in about]
    before = [(one.id, one.decision, one.reason) for one in about]
    note = Note(name, wanted)

    def execute(store: Engram, _ids: tuple[str, ...]) -> str:
        if rest:
            undecided = {one.id for one in store.proposal(name, fetch=False).undecided}
            wanted[:] = [one for one in wanted if one[0] in undecided]
            before[:] = [one for one in before if one[0] in undecided]
        note(store)
        what = quote(safe_line(about[0].title)) if len(about) == 1 else entries(len(wanted))
        verbs = ("goes back", "go back") if decision == REJECT else ("comes in", "come in")
        return f"{what}: {verbs[len(wanted) > 1]} when the review ends"

    because = f" --reason '{reason}'" if reason else ""
    return Command(
        "Reject" if decision == REJECT else "Accept",
        execute,
        f"engram review --proposal {name} {decision} {{}}{because}",
        repeats=False,
        target=ENTRY,
        undo=Note(name, before),
        redo=note,
    )
