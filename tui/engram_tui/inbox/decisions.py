"""Decide about items of the Inbox: the marked ones, else the one under the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from engram.domain.review.review import EDIT, LOOK, REJECT, Item
from engram.usecases.review.items import Items
from engram_tui.inbox import commands
from engram_tui.inbox.format import PAIRS, decision_name, decision_of
from engram_tui.inbox.inbox_list import InboxList
from engram_tui.inbox.queue import InboxQueue
from engram_tui.shell.sanitize import safe_line
from engram_tui.widgets.mark_screen import MarkScreen

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram_tui.inbox.versions import MergeSource
    from engram_tui.shell.action import Action
    from engram_tui.shell.command import Command, Outcome


class DecidingScreen(MarkScreen):
    """A screen with a list of items to decide about; a subclass draws it."""

    SELECTS = commands.ITEM

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.queue = InboxQueue()
        self.other = 0  # which of the older entries of a group is compared
        self.last_succeeded = True  # whether the last decision was applied

    def show_list(self, *, keep: str = "") -> None:
        """Show the list, the cursor on the item with the id `keep`, else on the one where it was."""
        raise NotImplementedError

    @property
    def item_list(self) -> InboxList:
        """The list."""
        return self.query_one(InboxList)

    @property
    def item(self) -> Item | None:
        """The item under the cursor."""
        return self.item_list.item

    # Conditions of the actions

    def has_proposal(self) -> bool:
        """Return whether Engram proposes a decision."""
        return bool(self.item_list.marked) or (self.item is not None and self.item.proposal != LOOK)

    def may(self, action: str) -> bool:
        """Return whether an action can decide about the item; for marked items that is only checked when it runs."""
        return self.item is not None and bool(self.item_list.marked or decision_of(self.item, action))

    def may_edit(self) -> bool:
        """Return whether the item has a file to edit."""
        return self.item is not None and bool(self.item.paths) and self.item.kind not in PAIRS

    def title_of(self, action: Action) -> str:
        """Return what an action does to the item under the cursor, in a word or two."""
        item = None if self.item_list.marked else self.item
        return decision_name(item, action.name) or action.title if item is not None else action.title

    # Deciding

    def items_of(self, ids: Sequence[str]) -> list[Item]:
        """Return the items with these ids, unpacked."""
        chosen = set(ids)
        if self.item is not None and chosen == {self.item.id}:
            return [self.item]
        return list(Items(self.queue.items).of(lambda item: item.id in chosen))

    def decide(self, items: list[Item], decision: str, result: Lore | None = None) -> None:
        """Decide about these items and move on at once; `decision` "" is what each proposes."""
        impossible = [item for item in items if (decision or item.proposal) not in item.decisions]
        if impossible:
            item = impossible[0]
            what = decision or "what is proposed"
            self.toast(
                "Inbox",
                f"{what} is not possible for an item of the kind {item.kind}; possible: {', '.join(item.decisions)}.",
            )
        elif not items:
            self.toast("Inbox", "Nothing is left.")
        else:
            self.execute(commands.decide(items, decision, result), tuple(item.id for item in items))

    def execute(self, command: Command, ids: tuple[str, ...]) -> None:
        """Run a command; its items leave the list at once."""
        self.queue.decide(ids)
        self.item_list.mark(ids, on=False)
        self.other = 0
        self.show_list()
        self.shell.note_waiting(self.queue.by_kind)
        super().execute(command, ids)

    def command_done(self, command: Command, ids: tuple[str, ...], outcome: Outcome) -> None:
        """Note whether the decision was applied."""
        self.last_succeeded = bool(outcome.message)
        super().command_done(command, ids, outcome)

    def action_decide(self, action: str) -> None:
        """Decide about the marked items, else the one under the cursor."""
        items = self.items_of(self.selected_ids())
        if not items:
            return
        decision = decision_of(items[0], action)
        if any(decision_of(item, action) != decision for item in items) or not decision:
            self.toast("Inbox", "The marked items are of several kinds: y decides each as proposed.")
        elif decision == REJECT and not self.shell.can_undo:
            question = (
                f"Delete {safe_line(items[0].title) if len(items) == 1 else f'{len(items):,} entries'}?"
                " Engram does not commit here, so it cannot restore it; git may."
            )
            self.confirm("Forget", question, lambda: self.decide(items, decision))
        else:
            self.decide(items, decision)

    def action_propose(self) -> None:
        """Decide as Engram proposes."""
        items = self.items_of(self.selected_ids())
        undecided = sum(item.proposal in (LOOK, EDIT) for item in items)
        if len(items) == 1 and items[0].proposal == EDIT:
            self.action_edit_first()
        elif undecided:
            self.toast(
                "Inbox", f"Engram proposes nothing for {undecided:,} of them: look at them one by one."
            )
        else:
            self.decide(items, "")

    def action_decide_all(self) -> None:
        """Make one decision about many items; each choice says how many."""
        from engram_tui.shell.picker import Choice

        item = self.item
        if item is None:
            return
        batches = commands.find_batches(self.queue.listed, item)
        effects = item.decisions
        names = [item.proposal, *(name for name in effects if name != item.proposal)]
        choices = [
            Choice(f"{name} {batch}", f"{name} {label}", after=effects[name])
            for name in names
            if name != EDIT and name in effects
            for batch, (label, _) in batches.items()
        ]
        self.pick("Decide about many at once", choices, partial(self._decide_many, item), "which decision …")

    def _decide_many(self, current: Item, picked: str) -> None:
        decision, _, batch = picked.partition(" ")
        self.decide(list(Items(commands.find_batches(self.queue.listed, current)[batch][1])), decision)

    # Editing and merging

    def action_edit_first(self) -> None:
        """Edit the text, then accept it."""
        item = self.item
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

        edit(self, item.title, before, partial(self._handle_edit, item, path, before))

    def _handle_edit(self, item: Item, path: str, before: bytes, after: bytes | None) -> None:
        if after is None or after == before:
            self.toast("Edit", "Nothing was changed; the item stays.")
            return
        self.execute(commands.accept_edited(item, path, before, after), (item.id,))

    def action_merge(self) -> None:
        """Open the merge editor on the versions of this item."""
        from engram_tui.inbox.versions import read_merge_source

        item = self.item
        if item is not None and self.may("merge"):
            self.ask("versions", lambda store: read_merge_source(store, item), self._merge, opens=True)

    def _merge(self, source: MergeSource) -> None:
        from engram_tui.inbox.merge_editor import merge_by_hand

        merge_by_hand(self, source, lambda result: self.decide([source.item], source.decision, result))
