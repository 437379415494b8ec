"""Decide about entries of a proposal. A decision is a note in this clone, which can be undone until the review ends."""

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
    """A call of it notes decisions (id, decision, reason) about entries of a proposal."""

    def __init__(self, proposal: str, decisions: Sequence[tuple[str, str, str]]) -> None:
        self.proposal, self.decisions = proposal, decisions

    def __call__(self, store: Engram) -> bool:
        """Note the decisions; returns True."""
        store.decide_proposal(self.proposal, self.decisions)
        return True


def decide(
    name: str, about: Sequence[ProposedEntry], decision: str, reason: str = "", *, rest: bool = False
) -> Command:
    """Note a decision about these entries; undo restores their former decisions.

    With `rest`, entries that were decided about since the screen was drawn are left out.
    """
    after = [(entry.id, decision, reason) for entry in about]
    before = [(entry.id, entry.decision, entry.reason) for entry in about]
    note = Note(name, after)

    def execute(store: Engram, _ids: tuple[str, ...]) -> str:
        if rest:
            undecided = {entry.id for entry in store.proposal(name, fetch=False).undecided}
            for decisions in (after, before):
                decisions[:] = [noted for noted in decisions if noted[0] in undecided]
        note(store)
        what = quote(safe_line(about[0].title)) if len(about) == 1 else entries(len(after))
        verbs = ("goes back", "go back") if decision == REJECT else ("comes in", "come in")
        return f"{what}: {verbs[len(after) > 1]} when the review ends"

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
