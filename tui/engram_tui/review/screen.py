"""The review screen: what waits for a person, one item after another, each with why it is here and the possible decisions.

A decision moves on at once; the write follows in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Horizontal, VerticalScroll

from engram.domain.review.review import (
    ACCEPT,
    ARCHIVE,
    CONFLICT,
    CONTRADICTION,
    DUPLICATE,
    EDIT,
    JUNK,
    MOMENT,
    REJECT,
    SNOOZE,
    STALE,
    SUPERSEDE,
    TAKE,
    WEAK,
    allowed,
)  # fmt: skip
from engram_tui.review import commands
from engram_tui.review.actions import ACTIONS
from engram_tui.review.format import decisions_line, kinds_line, progress_line, why_lines
from engram_tui.review.item_details import PAIRS, ItemDetails, read_details, read_usefulness
from engram_tui.review.pair_search import PairSearch
from engram_tui.review.queue import ReviewQueue
from engram_tui.shell.action import Action, bindings, key_label
from engram_tui.shell.sanitize import safe_line
from engram_tui.shell.screen import ShellScreen
from engram_tui.shell.store_screen import opened_again
from engram_tui.shell.store_watch import QUICK_KINDS
from engram_tui.widgets.option_lines import StatusText

if TYPE_CHECKING:
    from rich.text import Text
    from textual.binding import BindingType
    from textual.timer import Timer
    from textual.widget import Widget

    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram.domain.review.review import Item
    from engram.usecases.recall.recall_preview import WouldAnswer
    from engram.usecases.review.review import Queue
    from engram_tui.review.versions import MergeSource
    from engram_tui.shell.command import Command, Outcome

SLOW_KINDS, PAIR_KINDS = (WEAK, STALE, JUNK, MOMENT), (CONTRADICTION, DUPLICATE)
ALL_KINDS = frozenset((*QUICK_KINDS, *SLOW_KINDS, *PAIR_KINDS))
DECISION_DELAY = 0.6  # seconds after a decision before the queue is read anew
CACHED = 64  # details of items

Key = tuple[str, str, int]  # an item's id and mark, and which entry of its group is compared


class ReviewScreen(ShellScreen):
    """Decide about what waits for a person."""

    SCREEN = "review"
    SELECTS = commands.ITEM
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    ReviewScreen {
        & #progress { height: 1; padding: 0 1; background: $surface; text-wrap: nowrap; text-overflow: ellipsis; }
        & #kinds { height: auto; max-height: 2; padding: 0 1; background: $surface; color: $text-muted; }
        & #sides { height: 1fr; }
        & ToastRack { margin-bottom: 6; }
        & .side { width: 1fr; border: round $primary 50%; border-title-color: $text-primary; }
        & .side { padding: 0 1; scrollbar-size-vertical: 1; }
        & .side StatusText { height: auto; }
        & .facts { color: $text-muted; }
        & #why { height: auto; max-height: 7; padding: 0 1; }
        & #decisions { height: auto; max-height: 4; padding: 0 1; background: $surface; }
        &.-narrow #kinds { max-height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        &.-narrow #why { max-height: 4; }
        &.-narrow #sides { layout: vertical; }
        &.-narrow .side { height: 1fr; border: none; border-top: solid $primary 50%; }
    }
    """
    OWN_ACTIONS: ClassVar[tuple[Action, ...]] = ACTIONS
    BINDINGS: ClassVar[list[BindingType]] = bindings(ACTIONS)

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.queue = ReviewQueue()
        self.other = 0  # which of the older entries of a group is compared
        self.details: ItemDetails | None = None
        self.last_succeeded = True  # whether the last decision was carried out
        self._cache: dict[Key, ItemDetails] = {}
        self._usefulness: dict[tuple[str, str], WouldAnswer] = {}
        self._pending_kinds: set[str] = set(ALL_KINDS)  # not read yet
        self._pairs = PairSearch(store)
        self._resting: Timer | None = None

    def compose_body(self) -> Iterator[Widget]:
        """Yield the progress, the two sides, why, and the possible decisions."""
        yield StatusText("opening …", id="progress")
        yield StatusText(id="kinds")
        with Horizontal(id="sides"):
            for name in ("left", "right"):
                with VerticalScroll(id=name, classes="side", can_focus=False):
                    yield StatusText(id=f"{name}-facts", classes="facts")
                    yield StatusText(id=f"{name}-text")
        yield StatusText(id="why")
        yield StatusText(id="decisions")

    def on_mount(self) -> None:
        """Read what is found quickly first."""
        self.show_item()
        self.read_queue()

    def on_unmount(self) -> None:
        """Stop looking for pairs."""
        self._pairs.stop()

    # Conditions of the actions

    def selected_ids(self) -> tuple[str, ...]:
        """Return the id of the current item."""
        return (self.queue.current.id,) if self.queue.current else ()

    def has_item(self) -> bool:
        """Return whether there is an item."""
        return self.queue.current is not None

    def may(self, decision: str) -> bool:
        """Return whether this can be decided about the current item."""
        return self.queue.current is not None and decision in self.queue.current.decisions

    def may_supersede(self) -> bool:
        """Return whether the newer can replace the older."""
        return self.may(SUPERSEDE)

    def may_take(self) -> bool:
        """Return whether there is another version."""
        return self.may(TAKE)

    def may_archive(self) -> bool:
        """Return whether it can be archived."""
        return self.may(ARCHIVE)

    def may_merge(self) -> bool:
        """Return whether there are two texts to merge or join."""
        return self.queue.current is not None and self.queue.current.kind in (DUPLICATE, CONFLICT)

    def keys_of(self, action: Action) -> str:
        """Return the keys of an action; `r` is the key of a decision here."""
        keys = super().keys_of(action)
        return keys.replace("r,", "", 1) if action.name == "refresh" else keys

    # Reading the queue

    def read_queue(self) -> None:
        """Read every group of kinds; what takes long comes last, and blocks nothing."""
        self._pending_kinds = set(ALL_KINDS)
        self._read_kinds(QUICK_KINDS)
        self.ask("size", self._pairs.measure, self._read_slow_kinds)

    def _read_slow_kinds(self, large: bool) -> None:
        self._read_kinds(SLOW_KINDS, apart=large)
        self._pairs.ready(self, lambda: self._read_kinds(PAIR_KINDS))

    def _read_kinds(self, kinds: Sequence[str], *, apart: bool = False) -> None:
        """Read the items of some kinds; `apart` on a store of its own, as in a large store it takes seconds."""

        def read(store: Engram) -> Queue:
            if not apart:
                return store.review(kinds=kinds)
            with opened_again(store) as own:
                return own.review(kinds=kinds)

        self.ask(f"queue {kinds[0]}", read, partial(self._take_kinds, kinds), unlocked=apart)

    def _take_kinds(self, kinds: Sequence[str], found: Queue) -> None:
        self._pending_kinds -= set(kinds)
        self.queue.update(kinds, found.items)
        if kinds == QUICK_KINDS:
            self.shell.note_shown(self)
        self.show_item()

    def store_changed(self) -> None:
        """Read everything anew: somebody else, or undo, changed the store."""
        self._cache.clear()
        self._usefulness.clear()
        self.read_queue()

    def entries_changed(self, ids: Sequence[str]) -> None:
        """Read anew what else a decision resolved, once the keys rest."""
        self.queue.finish(ids, failed=not self.last_succeeded)
        if self._resting:
            self._resting.stop()
        self._resting = self.set_timer(DECISION_DELAY if self.last_succeeded else 0.01, self.store_changed)

    # Showing the current item

    def show_item(self) -> None:
        """Show the current item as far as it is known, and read the rest."""
        item = self.queue.current
        keys = {action.name: key_label(self.keys_of(action)) for action in self.actions()}
        self._text("progress").show(progress_line(self.queue, searching=bool(self._pending_kinds)))
        self._text("kinds").show(kinds_line(self.queue, self._pending_kinds))
        self._text("decisions").show(
            decisions_line(item, self.queue, keys, self.app.size.width - 2, narrow=self.is_narrow)
        )
        if item is None:
            self._show_nothing()
        else:
            key = (item.id, item.mark, self.other)
            if key in self._cache:
                self._show_details(self._cache[key])
            else:
                self._show_why(item, ())
                self._show_side("left", item.title, "", "reading …")
                self._show_side("right", "", "", "")
                self.ask("details", lambda store: read_details(store, item, key[2]),
                         partial(self._take_details, key), failed=partial(self._details_failed, item))  # fmt: skip
        self.refresh_bindings()

    def _text(self, name: str) -> StatusText:
        return self.query_one(f"#{name}", StatusText)

    def _take_details(self, key: Key, details: ItemDetails) -> None:
        self._keep(key, details)
        item = self.queue.current
        if item is not None and (item.id, item.mark, self.other) == key:
            self._show_details(details)

    def _details_failed(self, item: Item, line: str) -> None:
        """Show why it cannot be read; most likely it has just gone."""
        if self.queue.current == item:
            self._show_side("left", item.title, "", line)
            self._show_side("right", "", "", "")

    def _keep(self, key: Key, details: ItemDetails) -> None:
        self._cache[key] = details
        while len(self._cache) > CACHED:
            del self._cache[next(iter(self._cache))]

    def _show_details(self, details: ItemDetails) -> None:
        another = details is not self.details
        self.details = details
        left, *rest = details.sides
        self._show_side("left", left.title, left.facts, left.text, another)
        if rest:
            self._show_side("right", rest[0].title, rest[0].facts, rest[0].text, another)
        self.query_one("#right").display = bool(rest)
        self._show_why(details.item, details.notes)
        self._preload()
        self._read_usefulness(details.item)

    def _show_side(self, name: str, title: str, facts: str, text: Text | str, another: bool = True) -> None:
        side = self.query_one(f"#{name}", VerticalScroll)
        side.border_title = safe_line(title)
        self._text(f"{name}-facts").show(facts)
        self._text(f"{name}-text").show(safe_line(text) if isinstance(text, str) else text)
        if another:
            side.scroll_home(animate=False)

    def _show_why(self, item: Item, notes: Sequence[str]) -> None:
        use = self._usefulness.get((item.id, item.mark))
        lines = why_lines(item, notes, use, narrow=self.is_narrow, cells=self.app.size.width - 2)
        self._text("why").show("\n".join(lines))

    def _show_nothing(self) -> None:
        self.details = None
        self.query_one("#right").display = False
        done = len(self.queue.decided)
        decided = f"{done:,} decided. " if done else ""
        text = "Nothing yet; still looking." if self._pending_kinds else f"{decided}Nothing waits for you."
        self._show_side("left", "the queue", "", text)
        self._text("why").show("")

    def _read_usefulness(self, item: Item) -> None:
        """Replay which past queries it answers, while the person reads."""
        if item.lore and (item.id, item.mark) not in self._usefulness:
            self.ask(
                "use",
                partial(read_usefulness, item.lore[-1]),
                partial(self._take_usefulness, item),
                failed=lambda _line: None,
                unlocked=True,
            )

    def _take_usefulness(self, item: Item, use: WouldAnswer) -> None:
        self._usefulness[item.id, item.mark] = use
        if self.details is not None and self.details.item == item == self.queue.current:
            self._show_why(item, self.details.notes)

    def _preload(self) -> None:
        """Read the details of the item that follows a decision."""
        item = self.queue.upcoming
        if item is not None and (item.id, item.mark, 0) not in self._cache:
            self.ask(
                "preload",
                lambda store: read_details(store, item),
                partial(self._keep, (item.id, item.mark, 0)),
                failed=lambda _line: None,
            )

    def on_resize(self) -> None:
        """Draw the lines for the new width."""
        self.call_after_refresh(self.show_item)

    # Moving

    def action_next_item(self) -> None:
        """Go to the next item."""
        self._move(1)

    def action_previous_item(self) -> None:
        """Go to the item before."""
        self._move(-1)

    def _move(self, by: int) -> None:
        self.other = 0
        self.queue.move(by)
        self.show_item()

    def action_next_of_group(self) -> None:
        """Compare with another entry of the group."""
        item = self.queue.current
        if item is not None and item.kind in PAIRS and len(item.lore) > 2:
            self.other = (self.other + 1) % (len(item.lore) - 1)
            self.show_item()

    def action_kind(self) -> None:
        """Go to the first item of a kind."""
        from engram_tui.shell.picker import Choice, Picker

        choices = [
            Choice(kind, kind, after=f"{number:,} waiting") for kind, number in self.queue.by_kind.items()
        ]
        self.app.push_screen(Picker("Go to", choices, hint="which kind …"), self._go_to_kind)

    def _go_to_kind(self, kind: str | None) -> None:
        if kind:
            self.other = 0
            self.queue.go_to_kind(kind)
            self.show_item()

    def action_scroll_texts(self, direction: int) -> None:
        """Scroll both texts together."""
        for name in ("left", "right"):
            side = self.query_one(f"#{name}", VerticalScroll)
            side.scroll_relative(y=direction * max(1, side.size.height // 2), animate=False, force=True)

    def action_difference(self) -> None:
        """Show the whole difference as one text."""
        from engram_tui.shell.text_screen import DifferenceScreen

        if self.details is not None:
            self.app.push_screen(DifferenceScreen(self.details.item.title, self.details.difference))

    # Deciding

    def decide(self, items: list[Item], decision: str, result: Lore | None = None) -> None:
        """Decide about these items and move on at once."""
        impossible = [item for item in items if decision not in item.decisions]
        if impossible:
            kind = impossible[0].kind
            possible = ", ".join(allowed(kind))
            self.toast("Review", f"{decision} does not apply to a {kind}; possible: {possible}.")
        elif not items:
            self.toast("Review", "Nothing is left.")
        else:
            self.execute(commands.decide(items, decision, result), tuple(item.id for item in items))

    def execute(self, command: Command, ids: tuple[str, ...]) -> None:
        """Run a command; its items leave the queue at once."""
        self.queue.decide([item for item in self.queue.items if item.id in set(ids)])
        self.other = 0
        self.show_item()
        super().execute(command, ids)

    def command_done(self, command: Command, ids: tuple[str, ...], outcome: Outcome) -> None:
        """Note whether the decision was carried out."""
        self.last_succeeded = bool(outcome.message)
        super().command_done(command, ids, outcome)

    def _decide_current(self, decision: str) -> None:
        item = self.queue.current
        if item is None:
            return
        if decision == REJECT and not self.shell.can_undo:
            from engram_tui.shell.prompts import Confirm

            question = f"Delete {safe_line(item.title)}? Engram does not commit here, so it cannot restore it; git may."
            self.app.push_screen(
                Confirm("Reject", question), lambda yes: self.decide([item], decision) if yes else None
            )
            return
        self.decide([item], decision)

    def action_accept(self) -> None:
        """Accept the item."""
        self._decide_current(ACCEPT)

    def action_reject(self) -> None:
        """Delete its entry."""
        self._decide_current(REJECT)

    def action_supersede(self) -> None:
        """Replace the older entries by the newest."""
        self._decide_current(SUPERSEDE)

    def action_take(self) -> None:
        """Take the other version."""
        self._decide_current(TAKE)

    def action_put_away(self) -> None:
        """Archive its entry."""
        self._decide_current(ARCHIVE)

    def action_snooze(self) -> None:
        """Ask again in a week."""
        self._decide_current(SNOOZE)

    def action_later(self) -> None:
        """Move the item to the end of the queue."""
        if self.queue.current is not None:
            self.other = 0
            self.queue.put_off(self.queue.current)
            self.show_item()

    def action_decide_all(self) -> None:
        """Make one decision about many; each choice says how many."""
        from engram_tui.shell.picker import Choice, Picker

        item = self.queue.current
        if item is None:
            return
        groups = commands.batches(self.queue.items, item)
        effects = item.decisions
        names = [item.proposal, *(name for name in effects if name != item.proposal)]
        choices = [
            Choice(f"{name} {group}", f"{name} {label}", after=effects[name])
            for name in names
            if name != EDIT and name in effects
            for group, (label, _) in groups.items()
        ]
        self.app.push_screen(
            Picker("Decide about many at once", choices, hint="which decision …"),
            partial(self._decide_many, item),
        )

    def _decide_many(self, current: Item, picked: str | None) -> None:
        if picked:
            decision, _, group = picked.partition(" ")
            self.decide(commands.batches(self.queue.items, current)[group][1], decision)

    # Editing and merging

    def action_edit_first(self) -> None:
        """Edit the text, then accept it."""
        item = self.queue.current
        if item is not None and item.paths:
            path = item.paths[-1]
            self.ask(
                "file",
                lambda store: store.store.files.read(path),
                partial(self._edit, item, path),
                opens=True,
            )

    def _edit(self, item: Item, path: str, before: bytes) -> None:
        from engram_tui.shell.editing import edit

        edit(self, item.title, before, partial(self._edited, item, path, before))

    def _edited(self, item: Item, path: str, before: bytes, after: bytes | None) -> None:
        if after is None or after == before:
            self.toast("Edit", "Nothing was changed; the item stays.")
            return
        self.execute(commands.accept_edited(item, path, before, after), (item.id,))

    def action_merge(self) -> None:
        """Open the merge editor on the versions of this item."""
        self._with_versions(self._merge)

    def action_both(self) -> None:
        """Join both texts, one after the other."""
        self._with_versions(self._join)

    def _with_versions(self, then: Callable[[MergeSource], None]) -> None:
        from engram_tui.review.versions import read_merge_source

        item = self.queue.current
        if item is not None and self.may_merge():
            self.ask("versions", lambda store: read_merge_source(store, item), then, opens=True)

    def _merge(self, source: MergeSource) -> None:
        from engram_tui.review.merge_editor import MergeEditor

        def merged(result: Lore | None) -> None:
            if result is None:
                self.toast("Merge", "Nothing was written.")
            else:
                self.decide([source.item], source.decision, result)

        self.app.push_screen(MergeEditor(source), merged)

    def _join(self, source: MergeSource) -> None:
        from engram_tui.review.merge_draft import BOTH, MergeDraft

        result = source.base
        for version in source.versions[1:]:
            draft = MergeDraft(result, version.lore, source.base, join_fields=source.joins)
            draft.choose_all(BOTH)
            result = draft.result(draft.text)
        self.decide([source.item], source.decision, result)
