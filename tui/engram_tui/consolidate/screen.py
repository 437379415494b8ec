"""The consolidate screen: a plan that tidies the store, as a tree with check boxes; each choice of steps is rehearsed.

Nothing is written before `y`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Static

from engram.domain.consolidation.plan import MERGE, Plan
from engram.domain.errors import NotFoundError
from engram_tui.consolidate.actions import ACTIONS
from engram_tui.consolidate.plan_tree import Choices, PlanTree, what_happens
from engram_tui.consolidate.step_result import item_of, read_result, rehearsal_text
from engram_tui.inbox import commands
from engram_tui.inbox.pair_search import PairSearch
from engram_tui.shell.command import Command
from engram_tui.shell.sanitize import safe_line, safe_lines
from engram_tui.shell.screen import ShellScreen
from engram_tui.widgets.entry_list import CURSOR_DELAY, EntryList
from engram_tui.widgets.format import count
from engram_tui.widgets.markdown_pane import MarkdownPane

if TYPE_CHECKING:
    from rich.text import Text
    from textual.binding import BindingType
    from textual.widget import Widget

    from engram.app import Engram
    from engram_tui.inbox.versions import MergeSource

CHOICE_DELAY = 0.6  # seconds without a key before a choice is rehearsed
WHILE_PLANNING = (
    "Looking for entries that say the same, that others superseded,",
    "that were not used for long, and that proved themselves.",
    "Then past queries are replayed: none may lose its answer.",
    "",
    "Nothing is changed before you apply the plan.",
)

NOTHING = (
    "Nothing to consolidate.",
    "",
    "No entries say the same, and none is out of use or due to be promoted.",
    "r plans again.",
)


class ResultPane(VerticalScroll, can_focus=True):
    """The result of a step; with the focus, the moving keys scroll it."""

    BINDINGS: ClassVar[list[BindingType]] = MarkdownPane.BINDINGS


class ConsolidateScreen(ShellScreen):
    """Shows a plan, and applies it."""

    SCREEN = "consolidate"
    AUTO_FOCUS = "PlanTree"
    DEFAULT_CSS = """
    ConsolidateScreen {
        & #plan { height: auto; max-height: 3; padding: 0 1; background: $surface; }
        &.-low #plan { max-height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        & #panes { height: 1fr; }
        & PlanTree { width: 3fr; height: 1fr; }
        & #result { width: 2fr; border-left: solid $primary 40%; padding: 0 1; background: $surface; scrollbar-size-vertical: 1; }
        & #result:focus { border-left: solid $primary; }
        & #result Static { height: auto; }
        &.-narrow.-low #result, &.-narrow.-bare #result { display: none; }
        &.-narrow #panes { layout: vertical; }
        &.-narrow PlanTree { width: 1fr; }
        &.-narrow.-high PlanTree { height: auto; max-height: 50%; }
        &.-narrow.-bare PlanTree { height: 1fr; max-height: 100%; }
        &.-narrow #result { width: 1fr; height: 1fr; border-left: none; border-top: solid $primary 40%; }
        &.-narrow.-reading #result { display: block; border-top: none; }
        &.-narrow.-reading PlanTree { display: none; }
    }
    """
    OWN_ACTIONS = ACTIONS

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.choices = Choices()
        self.doing = "reading the store"  # the step of the planning that runs; "" once it is done
        self._pairs = PairSearch(store)

    def compose_body(self) -> Iterator[Widget]:
        """Yield the plan in a sentence, its tree, and the result of the step under the cursor."""
        yield Static(id="plan", markup=False)
        with Horizontal(id="panes"):
            yield PlanTree(self.choices, id="tree")
            with ResultPane(id="result"):
                yield Static(id="result-text", markup=False)

    def on_mount(self) -> None:
        """Plan."""
        self.show_plan()
        self.plan()

    def on_unmount(self) -> None:
        """Stop searching for pairs."""
        self._pairs.stop()

    @property
    def tree_list(self) -> PlanTree:
        """The tree."""
        return self.query_one(PlanTree)

    # Conditions of the actions

    def has_plan(self) -> bool:
        """Return whether there is a plan."""
        return self.choices.plan is not None

    def has_step(self) -> bool:
        """Return whether the line under the cursor can be selected."""
        line = self.tree_list.line
        return line is not None and bool(line.step or self.choices.steps_of(line.kind))

    def has_selected(self) -> bool:
        """Return whether any step is selected."""
        return bool(self.choices.selected)

    def may_merge(self) -> bool:
        """Return whether the line is about entries that could be merged."""
        line = self.tree_list.line
        return line is not None and (line.left is not None or bool(line.step and line.step.kind == MERGE))

    def has_line(self) -> bool:
        """Return whether there is a line to open."""
        return self.is_listing() and self.tree_list.line is not None

    def selected_ids(self) -> tuple[str, ...]:
        """Return the ids of the step under the cursor."""
        line = self.tree_list.line
        return line.step.lore if line is not None and line.step is not None else ()

    # Planning

    def plan(self) -> None:
        """Plan, and rehearse the steps that are selected now."""
        self.doing = "looking for duplicates"
        self.show_plan()
        self.ask(
            "size",
            self._pairs.measure,
            lambda _large: self._pairs.call_when_ready(self, self._plan_now),
            failed=self._show_failure,
        )

    def _plan_now(self) -> None:
        chosen = dict(self.choices.chosen)
        self.ask(
            "plan",
            lambda store: make_plan(store, chosen, self._report_progress),
            self._receive_plan,
            failed=self._show_failure,
            own_store=self._pairs.is_large,  # then it takes seconds
        )

    def _report_progress(self, doing: str) -> None:
        self.app.call_later(self._show_progress, doing)

    def _show_progress(self, doing: str) -> None:
        if self.doing and self.query("#plan"):  # the screen may be closing
            self.doing = doing
            self.show_plan()

    def _receive_plan(self, plan: Plan) -> None:
        self.doing = ""
        self.show_error("")
        self.choices.replace_plan(plan)
        self.shell.note_shown(self)
        self.show_tree()

    def _show_failure(self, line: str) -> None:
        self.doing = ""
        self.show_error(line)
        self.show_plan()

    def store_changed(self) -> None:
        """Plan again: somebody else, or undo, changed the store."""
        self.plan()

    # Showing

    def show_tree(self) -> None:
        """Draw the tree, the cursor where it was."""
        self.tree_list.set_placeholder(*(NOTHING if self.choices.plan else ()))
        self.tree_list.show(self.choices.rows(), keep=self.tree_list.current_id)  # type: ignore[arg-type]
        self.show_plan()
        self.read_line()
        self.refresh_bindings()

    def show_plan(self) -> None:
        """Show the size of the plan and the result of its rehearsal."""
        plan = self.choices.plan
        doing = f"{self.doing} …" if self.doing else ""
        self.set_class(plan is None or not (plan.steps or plan.left or plan.withheld), "-bare")
        if plan is None:
            text = doing or "No plan."
            self.tree_list.set_placeholder(*(WHILE_PLANNING if doing else ()))
        else:
            number = len(self.choices.selected)
            selected = f"{count(number)} of {count(len(plan.steps))} steps" if plan.steps else "no steps"
            rehearsal = (
                plan.rehearsal.sentence if self.choices.is_rehearsed else "not yet rehearsed like this"
            )
            text = f"{selected} · {doing or rehearsal} · planned {plan.made_at:%Y-%m-%d %H:%M}"
        self.query_one("#plan", Static).update(safe_line(text))

    @on(EntryList.Highlighted)
    def moved(self) -> None:
        """Show the result of the line under the cursor once the cursor rests."""
        self.debounce("result", CURSOR_DELAY, self.read_line)
        self.refresh_bindings()

    def read_line(self) -> None:
        """Read and show the result of the line under the cursor."""
        line = self.tree_list.line
        if line is None:
            self._show_result("")
        elif line.is_kind:
            about = ": ".join(" ".join(part.split()) for part in self.choices.label(line) if part)
            self._show_result(f"{about}.\n\nWhat a step makes of its entries is shown here.")
        elif self.query_one("#result").display:
            self.ask(
                "result", lambda store: read_result(store, line), self._show_result, failed=self._show_result
            )

    def _show_result(self, text: Text | str) -> None:
        self.query_one("#result-text", Static).update(safe_lines(text) if isinstance(text, str) else text)
        self.query_one("#result").scroll_home(animate=False)

    def on_resize(self) -> None:
        """Show the result on a terminal that became wide."""
        self.call_after_refresh(self.read_line)

    # Moving in the tree

    @on(EntryList.Opened)
    def action_open_result(self) -> None:
        """Open or close a kind; go into the result of a step, on a narrow terminal in the tree's place."""
        line = self.tree_list.line
        if line is None:
            return
        if line.is_kind:
            self._open(line.kind, not self.choices.is_open(line.kind))
        else:
            self.go_into(self.query_one(ResultPane))
            self.read_line()

    def action_open_kind(self, is_open: bool) -> None:
        """Open the kind that the cursor is in, or close it."""
        line = self.tree_list.line
        if line is not None:
            self._open(line.kind, is_open)

    def _open(self, kind: str, is_open: bool) -> None:
        self.choices.open[kind] = is_open
        line = self.tree_list.line
        is_hidden = line is not None and line.kind == kind and not is_open
        keep = kind if is_hidden else self.tree_list.current_id
        self.tree_list.show(self.choices.rows(), keep=keep)  # type: ignore[arg-type]

    # Choosing

    def action_toggle_step(self) -> None:
        """Select a step, or remove its selection, and go on to the next line."""
        line = self.tree_list.line
        if line is not None:
            self.choices.toggle(line)
            if not line.is_kind:
                self.tree_list.action_move(1)
            self._handle_choice()

    def action_take_all(self) -> None:
        """Select every step that needs no confirmation, or none."""
        self.choices.toggle_all()
        self._handle_choice()

    def _handle_choice(self) -> None:
        """Show the new choice, and rehearse it once no key was pressed for a while."""
        self.tree_list.refresh()
        self.show_plan()
        self.refresh_bindings()
        self.debounce("choice", CHOICE_DELAY, self._rehearse)

    def _rehearse(self) -> None:
        if not self.choices.is_rehearsed:
            self.doing = "rehearsing this choice"
            self.show_plan()
            self._plan_now()

    def action_plan_again(self) -> None:
        """Plan again."""
        self.plan()

    def action_rehearsal(self) -> None:
        """Show the past queries whose answers would change."""
        plan = self.choices.plan
        if plan is not None:
            self.ask("rehearsal", lambda store: rehearsal_text(store, plan), self._show_rehearsal, opens=True)

    def _show_rehearsal(self, text: Text) -> None:
        from engram_tui.shell.text_screen import DifferenceScreen

        self.app.push_screen(DifferenceScreen("Answers to past queries", text))

    # Applying

    def action_apply_plan(self) -> None:
        """Apply the plan; if it cannot be undone, say what will happen and ask first."""
        if self.doing or not self.choices.is_rehearsed:
            self.toast("Apply", "This choice is still being rehearsed; press y again in a moment.")
            return
        plan, steps = self.choices.plan, self.choices.selected
        if plan is not None and steps and self.shell.can_undo:
            self._apply(plan)
        elif plan is not None and steps:
            question = f"{what_happens(steps)}\n\n{plan.rehearsal.sentence}"
            self.confirm("Apply the plan", question, lambda: self._apply(plan))

    def _apply(self, plan: Plan) -> None:
        self.doing = "applying the plan"
        self.show_plan()
        self.execute(apply_command(plan), tuple(step.id for step in plan.selected))

    def entries_changed(self, ids: Sequence[str]) -> None:  # noqa: ARG002
        """Plan again, without the steps that were applied."""
        self.plan()

    # Merging by hand

    def action_merge_step(self) -> None:
        """Open the merge editor on the entries of this line."""
        from engram_tui.inbox.versions import read_merge_source

        line = self.tree_list.line
        if line is None or not self.may_merge():
            return

        def read(store: Engram) -> MergeSource:
            item = item_of(store, line)
            assert item is not None
            return read_merge_source(store, item)

        self.ask("versions", read, self._merge, opens=True)

    def _merge(self, source: MergeSource) -> None:
        from engram_tui.inbox.merge_editor import merge_by_hand

        item, decision = source.item, source.decision
        merge_by_hand(
            self, source, lambda result: self.execute(commands.decide([item], decision, result), (item.id,))
        )


def make_plan(store: Engram, chosen: dict[str, bool], progress: Callable[[str], None]) -> Plan:
    """Plan for these choices; choices about steps that no longer exist are dropped."""
    skip = [step_id for step_id, selected in chosen.items() if not selected]
    confirm = [step_id for step_id, selected in chosen.items() if selected]
    try:
        return store.consolidate(skip=skip, confirm=confirm, progress=progress)
    except NotFoundError:
        plan = store.consolidate()
        known = {step.id for step in (*plan.steps, *(withheld.step for withheld in plan.withheld))}
        skip, confirm = ([step_id for step_id in ids if step_id in known] for ids in (skip, confirm))
        return store.consolidate(skip=skip, confirm=confirm, progress=progress)


def apply_command(plan: Plan) -> Command:
    """Apply the selected steps of a plan as one commit."""

    def execute(store: Engram, _ids: tuple[str, ...]) -> str:
        done = store.apply(plan)
        return (
            ", ".join(f"{kind} {count(number)}" for kind, number in done.done.items())
            or "nothing was left to do"
        )

    skipped = [step.id for step in plan.steps if not step.selected]
    confirmed = [step.id for step in plan.selected if step.confirm]
    options = "".join(
        [*(f" --skip {name}" for name in skipped[:20]), *(f" --confirm {name}" for name in confirmed[:20])]
    )
    return Command(
        "Consolidate", execute, f"engram consolidate{options} --apply", repeats=False, target="step"
    )
