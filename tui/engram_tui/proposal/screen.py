"""The screen of a proposal: its entries, the change of the one under the cursor, and the end of the review.

It lies over the Inbox. Decisions are only noted until the review ends; then accepted entries go to the branch of lore.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on
from textual.containers import Container, Vertical, VerticalScroll

from engram.domain.text.counted_nouns import counted, elapsed, entries
from engram.usecases.review.proposals import ACCEPT, REJECT, MergedReview, Proposal, ProposedEntry
from engram_tui.proposal import commands
from engram_tui.proposal.actions import ACTIONS
from engram_tui.shell.errors import describe_error
from engram_tui.shell.sanitize import safe_line, safe_lines
from engram_tui.shell.screen import ShellScreen
from engram_tui.widgets.entry_list import EntryList
from engram_tui.widgets.line_list import BAD, GOOD, QUIET, Line, LineList, Part
from engram_tui.widgets.option_lines import StatusText
from engram_tui.widgets.word_marks import merge_marked

if TYPE_CHECKING:
    from textual.widget import Widget

    from engram.app import Engram

STATE_CELLS, KIND_CELLS, WHO_CELLS = 11, 10, 18
SIGN_CELLS, WITH_KIND = 2, 60  # cells of the list from which state and kind fit as words
WITH_WHO = 100  # cells of the list from which the name of who recorded it fits
_STATES = {ACCEPT: ("✓ accepted", GOOD), REJECT: ("✗ rejected", BAD), "": ("· open", "")}


class ProposalScreen(ShellScreen):
    """Accept or reject the entries of a proposal one by one."""

    SCREEN = "proposal"
    OVERLAY = True
    AUTO_FOCUS = "LineList"
    SELECTS = commands.ENTRY
    DEFAULT_CSS = """
    ProposalScreen {
        & #about { height: 1; padding: 0 1; background: $surface; text-wrap: nowrap; text-overflow: ellipsis; }
        & #panes { height: 1fr; layout: horizontal; }
        & #left { width: 3fr; }
        & LineList { height: 1fr; }
        & #change { width: 2fr; border-left: solid $primary 40%; padding: 0 1; scrollbar-size-vertical: 1; }
        & #change StatusText { height: auto; }
        & #facts { color: $text-muted; }
        & ToastRack { margin-bottom: 1; }
        &.-narrow #panes { layout: vertical; }
        &.-narrow #left { width: 1fr; height: 2fr; }
        &.-narrow #change { width: 1fr; height: 3fr; border-left: none; border-top: solid $primary 40%; }
    }
    """
    OWN_ACTIONS = ACTIONS

    def __init__(self, store: Engram, name: str) -> None:
        super().__init__(store)
        self.proposal_name = name
        self.proposal: Proposal | None = None
        self.finishing = False

    def compose_body(self) -> Iterator[Widget]:
        """Yield the facts of the proposal, its entries, and the change of one of them."""
        yield StatusText("opening …", id="about")
        with Container(id="panes"):
            with Vertical(id="left"):
                yield LineList(id="lines")
            with VerticalScroll(id="change", can_focus=False):
                yield StatusText(id="facts")
                yield StatusText(id="text")

    def on_mount(self) -> None:
        """Read the proposal."""
        self.store_changed()

    # Conditions of the actions

    def has_entry(self) -> bool:
        """Return whether there is an entry to decide about."""
        return self.entry is not None and not self.finishing

    def has_undecided(self) -> bool:
        """Return whether any entry is still undecided."""
        return self.proposal is not None and bool(self.proposal.undecided) and not self.finishing

    def is_decided(self) -> bool:
        """Return whether every entry is decided."""
        return self.proposal is not None and not self.proposal.undecided and not self.finishing

    def selected_ids(self) -> tuple[str, ...]:
        """Return the id of the entry under the cursor."""
        return (self.entry.id,) if self.entry else ()

    @property
    def line_list(self) -> LineList:
        """The list of entries."""
        return self.query_one(LineList)

    @property
    def entry(self) -> ProposedEntry | None:
        """The entry under the cursor; None also before the screen is drawn, and once it is closed."""
        line = self.line_list.line if self.query(LineList) else None
        found = self.proposal.entries if self.proposal else ()
        return next((entry for entry in found if line is not None and entry.id == line.id), None)

    # Showing

    def store_changed(self) -> None:
        """Read the proposal and the decisions about it."""
        if not self.finishing:
            self.ask("proposal", lambda store: store.proposal(self.proposal_name, fetch=False), self._receive)

    def _receive(self, found: Proposal) -> None:
        if not self.query(LineList):
            return
        before, self.proposal = self.proposal, found
        keep = self.entry.id if self.entry else ""
        if before is not None and len(found.undecided) < len(before.undecided):
            keep = self._next_undecided(found, keep)
        self.line_list.show_lines([self._line(entry) for entry in found.entries], keep=keep)
        self._show_about()
        self.show_entry()

    @staticmethod
    def _next_undecided(found: Proposal, current_id: str) -> str:
        """Return the id of the next undecided entry, else the current id."""
        ids = [entry.id for entry in found.entries]
        start = ids.index(current_id) if current_id in ids else 0
        following = [*found.entries[start:], *found.entries[:start]]
        return next((entry.id for entry in following if not entry.decision), current_id)

    def _line(self, entry: ProposedEntry) -> Line:
        state, style = _STATES[entry.decision]
        width = self.app.size.width if self.is_narrow else self.app.size.width * 3 // 5
        if width < WITH_KIND:  # only the sign of the state; the pane of the change has the kind
            parts = [Part(state[0], style, SIGN_CELLS)]
        else:
            parts = [Part(state, style, STATE_CELLS), Part(entry.kind, QUIET, KIND_CELLS)]
        parts.append(Part(safe_line(entry.title)))
        if width >= WITH_WHO:
            parts.append(Part(safe_line(entry.who), QUIET, WHO_CELLS))
        return Line(entry.id, tuple(parts))

    def _show_about(self, step: str = "") -> None:
        found = self.proposal
        if found is None:
            return
        left = len(found.undecided)
        about = found.about
        parts = [about.title, f"by {about.author}", elapsed(self.now() - about.at)]
        state = step or (
            f"{left} of {len(found.entries)} undecided" if left else "all decided: i brings them in"
        )
        line = Text(safe_line(state), "bold", no_wrap=True)
        line.append(safe_line(f" · {' · '.join(parts)}"), "not bold")
        self.query_one("#about", StatusText).show(line)
        self.refresh_bindings()

    @on(EntryList.Highlighted)
    def show_entry(self) -> None:
        """Show the change of the entry under the cursor."""
        if self.entry is None:
            facts, text = "", Text("This proposal no longer changes anything.")
        else:
            facts, text = _format_change(self.entry)
        self.query_one("#facts", StatusText).show(facts)
        self.query_one("#text", StatusText).show(text)
        self.query_one("#change", VerticalScroll).scroll_home(animate=False)
        self.refresh_bindings()

    @on(EntryList.Opened)
    def action_difference(self) -> None:
        """Show the whole change as one text."""
        from engram_tui.shell.text_screen import DifferenceScreen

        if self.entry is not None:
            facts, text = _format_change(self.entry)
            self.app.push_screen(DifferenceScreen(self.entry.title, Text(f"{facts}\n\n").append_text(text)))

    def on_resize(self) -> None:
        """Redraw the lines for the new width."""
        if self.proposal is not None:
            self.call_after_refresh(self._receive, self.proposal)

    # Deciding

    def _decide(
        self, about: Sequence[ProposedEntry], decision: str, reason: str = "", *, rest: bool = False
    ) -> None:
        self.execute(
            commands.decide(self.proposal_name, about, decision, reason, rest=rest),
            tuple(entry.id for entry in about),
        )

    def action_accept_entry(self) -> None:
        """Accept the entry under the cursor."""
        if self.entry is not None:
            self._decide([self.entry], ACCEPT)

    def action_accept_rest(self) -> None:
        """Accept all that are undecided."""
        if self.proposal is not None:
            self._decide(self.proposal.undecided, ACCEPT, rest=True)

    def action_reject_entry(self) -> None:
        """Ask for the reason, then reject."""
        entry = self.entry
        if entry is None:
            return

        def reject(reason: str) -> None:
            if reason.strip():
                self._decide([entry], REJECT, reason)
            else:
                self.toast("Reject", "Rejecting an entry needs a reason: nothing was decided.")

        explain = f"Why reject “{entry.title}”? Whoever proposed it will read this."
        self.prompt("Reject", reject, entry.reason, hint="the reason", explain=explain)

    def action_bring_in(self) -> None:
        """Ask, then end the review, which pushes the accepted entries."""
        if self.proposal is None:
            return
        found = self.proposal
        rejected = sum(entry.decision == REJECT for entry in found.entries)
        back = f", {counted(rejected, 'goes', 'go')} back with the reason" if rejected else ""
        question = (
            f"{counted(len(found.entries) - rejected, 'entry comes', 'entries come')} into the lore{back}."
            f" It is pushed to {found.about.remote}; u removes the accepted entries again, by a new commit."
        )
        self.confirm("End the review", question, self._finish)

    def _finish(self) -> None:
        self.finishing = True
        self._show_about("syncing …")
        self.shell.log_command(f"engram review --proposal {self.proposal_name}", ())

        def step(text: str) -> None:
            self.call_later(self._show_about, f"{text} …")

        self.ask(
            "finish",
            lambda store: store.finish_proposal(self.proposal_name, step=step),
            self._handle_finish,
            failed=self._handle_failure,
            exclusive=False,
            own_store=True,  # nobody waits for the network
        )

    def _handle_failure(self, line: str) -> None:
        self.finishing = False
        self.show_error(line)
        self.store_changed()

    def _handle_finish(self, done: MergedReview) -> None:
        self.app.pop_screen()
        below = self.shell.current
        if below is None:
            return
        sentence = f"{outcome_sentence(done)}{'  ·  u takes them out again' if done.accepted else ''}"
        below.toast("Proposal", sentence)
        self.shell.undo_stack.drop(
            lambda step: isinstance(step.undo, commands.Note) and step.undo.proposal == self.proposal_name
        )
        if done.accepted:
            title = self.proposal.about.title if self.proposal else done.name
            message = f"Proposal: {safe_line(title)}, {entries(done.accepted)} accepted"
            self.shell.note_done(below, message, done.deed, {self.store.store.places.scope: 1})
        if done.error is not None:
            below.show_error(describe_error(done.error))
        self.shell.note_own_change(below)
        below.store_changed()

    def action_back(self) -> None:
        """Go back to the Inbox."""
        self.app.pop_screen()


def outcome_sentence(done: MergedReview) -> str:
    """Say what ending the review did."""
    sentence = f"{entries(done.accepted)} accepted, {done.rejected:,} rejected"
    if not done.pushed:
        source = done.url or f"the branch {done.branch}"
        return f"{sentence}; the remote did not take them: merge {safe_line(source)} at the host."
    held = (
        f"; {counted(done.held, 'entry waits', 'entries wait')} here until you accept them"
        if done.held
        else ""
    )
    return f"{sentence}; the remote has it, and whoever proposed gets it by their next sync{held}."


def _format_change(entry: ProposedEntry) -> tuple[str, Text]:
    """Format the facts of a change, and the text with additions and removals marked."""
    facts = [entry.phrase, entry.who, f"rejected: {entry.reason}" if entry.reason else ""]
    lore = entry.after or entry.before
    if lore is not None:
        facts.insert(1, lore.category)
    if entry.before is not None and entry.after is not None:
        text = merge_marked(entry.before.content, entry.after.content)
    else:
        text = Text(safe_lines(lore.content) if lore else safe_line(entry.title))
    return safe_line(" · ".join(part for part in facts if part)), text
