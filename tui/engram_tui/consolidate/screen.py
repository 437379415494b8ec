"""The third screen: a plan that tidies the store up, as a tree with boxes, rehearsed again for what one takes of it.

Nothing is written before `p`. The tree's lines are in `plan_rows`, what a step comes to in `step_result`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Static

from engram.domain.consolidation.plan import MERGE
from engram_tui.consolidate.actions import ACTIONS
from engram_tui.consolidate.plan_rows import Choices, what_happens
from engram_tui.consolidate.plan_tree import PlanTree
from engram_tui.consolidate.planning import WHILE_PLANNING, apply_deed, planned, planned_apart
from engram_tui.consolidate.step_result import item_of, read_result, rehearsed
from engram_tui.review import commands
from engram_tui.review.pair_search import PairSearch
from engram_tui.shell.action import bindings
from engram_tui.shell.sanitize import words
from engram_tui.shell.screen import ShellScreen
from engram_tui.widgets.entry_list import LoreList
from engram_tui.widgets.preview import Preview
from engram_tui.widgets.rows import count

if TYPE_CHECKING:
    from rich.text import Text
    from textual.binding import BindingType
    from textual.timer import Timer
    from textual.widget import Widget

    from engram.app import Engram
    from engram.domain.consolidation.plan import Plan
    from engram.domain.entry.lore import Lore
    from engram.domain.review.review import Item
    from engram_tui.review.merge_source import MergeSource

CURSOR_REST, CHOICE_REST = 0.05, 0.6  # seconds without a key before a result is shown, a choice is rehearsed


class ResultPane(VerticalScroll, can_focus=True):
    """What a step comes to; with the focus, the moving keys scroll it."""

    BINDINGS: ClassVar[list[BindingType]] = Preview.BINDINGS


class ConsolidateScreen(ShellScreen):
    """Tidy the store up."""

    SCREEN = "consolidate"
    AUTO_FOCUS = "PlanTree"
    DEFAULT_CSS = """
    ConsolidateScreen {
        & #plan { height: auto; max-height: 3; padding: 0 1; background: $surface; }
        & #panes { height: 1fr; }
        & PlanTree { width: 3fr; height: 1fr; }
        & #result { width: 2fr; border-left: solid $primary 40%; padding: 0 1; background: $surface; scrollbar-size-vertical: 1; }
        & #result:focus { border-left: solid $primary; }
        & #result Static { height: auto; }
        &.-narrow #result { display: none; }
        &.-narrow.-reading #result { display: block; width: 1fr; border-left: none; }
        &.-narrow.-reading PlanTree { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.choices = Choices()
        self.doing = "looking at the lore"  # what the planning is at; "" where it is done
        self._pairs = PairSearch(store)
        self._resting: Timer | None = None
        self._choosing: Timer | None = None

    def compose_body(self) -> Iterator[Widget]:
        """The plan in a sentence, its tree, what the step under the cursor comes to."""
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
        """Nobody waits for pairs any more."""
        self._pairs.stop()

    @property
    def tree_list(self) -> PlanTree:
        """The tree."""
        return self.query_one(PlanTree)

    # What actions ask

    def has_plan(self) -> bool:
        """Whether there is a plan."""
        return self.choices.plan is not None

    def has_step(self) -> bool:
        """Whether the line under the cursor can be taken or left."""
        line = self.tree_list.line
        return line is not None and bool(line.step or self.choices.of(line.kind))

    def has_selected(self) -> bool:
        """Whether anything is taken."""
        return bool(self.choices.selected)

    def may_merge(self) -> bool:
        """Whether the line is about lore that could become one."""
        line = self.tree_list.line
        return line is not None and (line.left is not None or bool(line.step and line.step.kind == MERGE))

    def is_reading(self) -> bool:
        """Whether the result takes the place of the tree."""
        return self.has_class("-reading")

    def is_listing(self) -> bool:
        """Whether the tree is there to move in."""
        return not self.is_reading()

    def chosen(self) -> tuple[str, ...]:
        """The lore of the step under the cursor."""
        line = self.tree_list.line
        return line.step.lore if line is not None and line.step is not None else ()

    # Planning

    def plan(self) -> None:
        """Plan and rehearse for what is chosen now."""
        self.doing = "looking for lore that say the same"
        self.show_plan()
        self.ask(
            "size",
            self._pairs.measure,
            lambda _large: self._pairs.ready(self, self._plan_now),
            failed=self._no_plan,
        )

    def _plan_now(self) -> None:
        apart = self._pairs.is_large
        question = partial(planned_apart if apart else planned, dict(self.choices.chosen), self._told)
        self.ask("plan", question, self._take_plan, failed=self._no_plan, apart=apart)

    def _told(self, doing: str) -> None:
        self.app.call_later(self._say_doing, doing)

    def _say_doing(self, doing: str) -> None:
        if self.doing and self.query("#plan"):  # word of it may come while the screen closes
            self.doing = doing
            self.show_plan()

    def _take_plan(self, plan: Plan) -> None:
        self.doing = ""
        self.trouble("")
        self.choices.replaced(plan)
        self.shell.listed(self)
        self.show_tree()

    def _no_plan(self, line: str) -> None:
        self.doing = ""
        self.trouble(line)
        self.show_plan()

    def store_changed(self) -> None:
        """Somebody changed the store: the plan is of yesterday."""
        self.plan()

    # Showing

    def show_tree(self) -> None:
        """Draw the tree, the cursor where it was."""
        line = self.tree_list.line
        self.tree_list.say("Nothing to tidy up." if self.choices.plan else "")
        self.tree_list.show(self.choices.rows(), keep=line.id if line else "")  # type: ignore[arg-type]
        self.show_plan()
        self.read_line()
        self.refresh_bindings()

    def show_plan(self) -> None:
        """Say how large the plan is and what its rehearsal showed."""
        plan = self.choices.plan
        doing = f"{self.doing} …" if self.doing else ""
        if plan is None:
            said = doing or "No plan."
            self.tree_list.say(*(WHILE_PLANNING if doing else ()))
        else:
            number = len(self.choices.selected)
            taken = f"{count(number)} of {count(len(plan.steps))} steps" if plan.steps else "no steps"
            head = f"Plan of {plan.made_at:%Y-%m-%d %H:%M} · {taken}"
            said = f"{head} · {doing or self._rehearsal(plan)}"
        self.query_one("#plan", Static).update(words(said))

    def _rehearsal(self, plan: Plan) -> str:
        return plan.rehearsal.sentence if self.choices.is_rehearsed else "not yet rehearsed like this"

    @on(LoreList.Highlighted)
    def moved(self) -> None:
        """Show what the step comes to once the cursor rests."""
        if self._resting:
            self._resting.stop()
        self._resting = self.set_timer(CURSOR_REST, self.read_line)
        self.refresh_bindings()

    def read_line(self) -> None:
        """What the line under the cursor comes to."""
        line = self.tree_list.line
        if line is None or line.is_kind:
            self._show_result("")
        elif not self.is_narrow or self.is_reading():
            self.ask(
                "result", lambda store: read_result(store, line), self._show_result, failed=self._show_result
            )

    def _show_result(self, text: Text | str) -> None:
        self.query_one("#result-text", Static).update(words(text) if isinstance(text, str) else text)
        self.query_one("#result").scroll_home(animate=False)

    def on_resize(self) -> None:
        """A terminal that became wide shows a result it had not read."""
        self.call_after_refresh(self.read_line)

    # Moving in the tree

    @on(LoreList.Opened)
    def action_open_result(self) -> None:
        """A kind opens or closes; of a step its result, on a narrow terminal in the tree's place."""
        line = self.tree_list.line
        if line is None:
            return
        if line.is_kind:
            self._open(line.kind, not self.choices.is_open(line.kind))
        else:
            self.add_class("-reading")
            self.read_line()
            self.set_focus(self.query_one(ResultPane))
            self.refresh_bindings()

    def action_close_result(self) -> None:
        """Back to the tree."""
        self.remove_class("-reading")
        self.set_focus(self.tree_list)
        self.refresh_bindings()

    def action_fold_kind(self) -> None:
        """Close the kind that the cursor is in."""
        line = self.tree_list.line
        if line is not None:
            self._open(line.kind, False)

    def action_open_kind(self) -> None:
        """Open the kind under the cursor."""
        line = self.tree_list.line
        if line is not None:
            self._open(line.kind, True)

    def _open(self, kind: str, wanted: bool) -> None:
        self.choices.open[kind] = wanted
        rows = self.choices.rows()
        here = self.tree_list.line
        inside = here is not None and here.kind == kind and not wanted
        keep = kind if inside else here.id if here else ""
        self.tree_list.show(rows, keep=keep)  # type: ignore[arg-type]

    # Choosing

    def action_toggle_step(self) -> None:
        """Take a step or leave it, and go on to the next line."""
        line = self.tree_list.line
        if line is not None:
            self.choices.toggle(line)
            if not line.is_kind:
                self.tree_list.action_move(1)
            self._chose()

    def action_take_all(self) -> None:
        """Every step, or none."""
        self.choices.take_all()
        self._chose()

    def _chose(self) -> None:
        """Another choice: it is rehearsed once the keys rest."""
        self.tree_list.refresh()
        self.show_plan()
        self.refresh_bindings()
        if self._choosing:
            self._choosing.stop()
        self._choosing = self.set_timer(CHOICE_REST, self._rehearse)

    def _rehearse(self) -> None:
        if not self.choices.is_rehearsed:
            self.doing = "rehearsing this choice"
            self.show_plan()
            self._plan_now()

    def action_plan_again(self) -> None:
        """Look at the store again."""
        self.plan()

    def action_rehearsal(self) -> None:
        """The past queries whose answers change."""
        plan = self.choices.plan
        if plan is not None:
            self.ask("rehearsal", lambda store: rehearsed(store, plan), self._show_rehearsal, opens=True)

    def _show_rehearsal(self, text: Text) -> None:
        from engram_tui.widgets.difference import DifferenceScreen

        self.app.push_screen(DifferenceScreen("Answers to past queries", text))

    # Applying

    def action_apply_plan(self) -> None:
        """Do it; where undo cannot help, say what will happen and ask."""
        from engram_tui.shell.prompts import Confirm

        if self.doing or not self.choices.is_rehearsed:
            self.tell("Apply", "This choice is still being rehearsed; p again in a moment.")
            return
        plan, steps = self.choices.plan, self.choices.selected
        if plan is not None and steps and self.shell.can_undo:
            self._apply(plan)
        elif plan is not None and steps:
            said = f"{what_happens(steps)}\n\n{plan.rehearsal.sentence}"
            self.app.push_screen(
                Confirm("Apply the plan", said), lambda yes: self._apply(plan) if yes else None
            )

    def _apply(self, plan: Plan) -> None:
        self.doing = "tidying up"
        self.show_plan()
        self.do(apply_deed(plan), tuple(step.id for step in plan.selected))

    def lore_changed(self, ids: Sequence[str]) -> None:  # noqa: ARG002
        """What was done is no step any more."""
        self.plan()

    # Merging by hand

    def action_merge_step(self) -> None:
        """Open the merge editor on the lore of this line."""
        from engram_tui.review.merge_source import read_source

        line = self.tree_list.line
        if line is None or not self.may_merge():
            return

        def read(store: Engram) -> MergeSource:
            item = item_of(store, line)
            assert item is not None
            return read_source(store, item)

        self.ask("versions", read, self._merge, opens=True)

    def _merge(self, source: MergeSource) -> None:
        from engram_tui.review.merge_editor import MergeEditor

        self.app.push_screen(MergeEditor(source), partial(self._merged, source.item, source.decision))

    def _merged(self, item: Item, decision: str, made: Lore | None) -> None:
        if made is None:
            self.tell("Merge", "Nothing was written.")
        else:
            self.do(commands.decide([item], decision, made), (item.id,))
