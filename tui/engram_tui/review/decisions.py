"""What a person can decide on the review screen, by one key each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engram.domain.review.review import (
    ACCEPT,
    ARCHIVE,
    CONFLICT,
    DUPLICATE,
    EDIT,
    REJECT,
    SNOOZE,
    SUPERSEDE,
    TAKE,
    allowed,
)  # fmt: skip
from engram_tui.review import commands
from engram_tui.review.queue import ReviewQueue
from engram_tui.shell.action import Action, written
from engram_tui.shell.sanitize import words
from engram_tui.shell.screen import ShellScreen

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.domain.entry.lore import Lore
    from engram.domain.review.review import Item
    from engram_tui.review.merge_source import MergeSource
    from engram_tui.shell.store_screen import Deed, Written


class ReviewDecisions(ShellScreen):
    """A screen with a review queue, and everything that can be decided about its items."""

    CHOOSES = commands.ITEM

    def __init__(self, store: Engram) -> None:
        super().__init__(store)
        self.queue = ReviewQueue()
        self.other = 0
        self.said_well = True  # whether the last decision was carried out

    def show_item(self) -> None:
        """Show the current item."""

    def chosen(self) -> tuple[str, ...]:
        """The item that is looked at."""
        return (self.queue.current.id,) if self.queue.current else ()

    # What actions ask

    def has_item(self) -> bool:
        """Whether there is an item."""
        return self.queue.current is not None

    def may(self, decision: str) -> bool:
        """Whether this can be decided about the current item."""
        return self.queue.current is not None and decision in allowed(self.queue.current.kind)

    def may_supersede(self) -> bool:
        """Whether the newer can take the place of the older."""
        return self.may(SUPERSEDE)

    def may_take(self) -> bool:
        """Whether there is another version."""
        return self.may(TAKE)

    def may_archive(self) -> bool:
        """Whether it can be kept out of recall."""
        return self.may(ARCHIVE)

    def may_merge(self) -> bool:
        """Whether there are two texts to make one of."""
        return self.queue.current is not None and self.queue.current.kind in (DUPLICATE, CONFLICT)

    def may_join(self) -> bool:
        """Whether both texts can stay."""
        return self.may_merge()

    def keys_now(self) -> dict[str, str]:
        """How the keys of all actions are written."""
        return {action.name: written(self.keys_of(action)) for action in self.actions()}

    def keys_of(self, action: Action) -> str:
        """The keys of an action; what a decision has as its key is nobody else's here."""
        keys = super().keys_of(action)
        return keys.replace("r,", "", 1) if action.name == "refresh" else keys

    # Deciding

    def decide(self, items: list[Item], decision: str, result: Lore | None = None) -> None:
        """Decide about these items and move on at once."""
        impossible = [item for item in items if decision not in allowed(item.kind)]
        if not items or impossible:
            possible = ", ".join(allowed(impossible[0].kind)) if impossible else ""
            self.tell(
                "Review",
                f"{decision} fits no {impossible[0].kind}; possible: {possible}."
                if impossible
                else "Nothing is left.",
            )
            return
        self.do(commands.decide(items, decision, result), tuple(item.id for item in items))

    def do(self, deed: Deed, ids: tuple[str, ...]) -> None:
        """Carry out a deed; what it is about is out of the queue from now on."""
        about = [item for item in self.queue.items if item.id in set(ids)]
        self.queue.decide(about)
        self.other = 0
        self.show_item()
        super().do(deed, ids)

    def _deed_done(self, deed: Deed, ids: tuple[str, ...], done: Written) -> None:
        self.said_well = bool(done.said)
        super()._deed_done(deed, ids, done)

    def _decide_this(self, decision: str) -> None:
        item = self.queue.current
        if item is None:
            return
        if decision == REJECT and not self.shell.can_undo:
            from engram_tui.shell.prompts import Confirm

            question = f"Delete {words(item.title)}? Engram does not commit here, so it cannot bring it back; git may."
            self.app.push_screen(
                Confirm("Reject", question), lambda yes: self.decide([item], decision) if yes else None
            )
            return
        self.decide([item], decision)

    def action_accept(self) -> None:
        """All is well, or let it in."""
        self._decide_this(ACCEPT)

    def action_reject(self) -> None:
        """Forget it."""
        self._decide_this(REJECT)

    def action_supersede(self) -> None:
        """The newest takes the place of the others."""
        self._decide_this(SUPERSEDE)

    def action_take(self) -> None:
        """The other version."""
        self._decide_this(TAKE)

    def action_put_away(self) -> None:
        """Out of recall."""
        self._decide_this(ARCHIVE)

    def action_snooze(self) -> None:
        """Ask again in a week."""
        self._decide_this(SNOOZE)

    def action_later(self) -> None:
        """To the end of the queue."""
        if self.queue.current is not None:
            self.other = 0
            self.queue.put_off(self.queue.current)
            self.show_item()

    def action_decide_all(self) -> None:
        """One decision for many; each choice says how many."""
        from engram_tui.shell.picker import Choice, Picker

        item = self.queue.current
        if item is None:
            return
        groups = commands.batches(self.queue.items, item)
        names = [item.proposal, *(name for name in allowed(item.kind) if name != item.proposal)]
        choices = [
            Choice(f"{name} {group}", f"{name} {said}", after=allowed(item.kind)[name])
            for name in names
            if name != EDIT and name in allowed(item.kind)
            for group, (said, _) in groups.items()
        ]
        self.app.push_screen(
            Picker("Decide about many at once", choices, hint="which decision …"),
            partial(self._decide_many, item),
        )

    def _decide_many(self, about: Item, picked: str | None) -> None:
        if picked:
            decision, _, group = picked.partition(" ")
            self.decide(commands.batches(self.queue.items, about)[group][1], decision)

    # Editing

    def action_edit_first(self) -> None:
        """Change the text, then accept what it is then."""
        item = self.queue.current
        if item is not None:
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
            self.tell("Edit", "Nothing was changed; the item stays.")
            return
        self.do(commands.accept_edited(item, path, before, after), (item.id,))

    # Making one of two

    def action_merge(self) -> None:
        """Open the merge editor on the versions of this item."""
        self._with_versions(self._merge)

    def action_both(self) -> None:
        """Both texts, one after the other."""
        self._with_versions(self._join)

    def _with_versions(self, then) -> None:  # type: ignore[no-untyped-def]
        from engram_tui.review.merge_source import read_source

        item = self.queue.current
        if item is not None and self.may_merge():
            self.ask("versions", lambda store: read_source(store, item), partial(then, item), opens=True)

    def _merge(self, item: Item, source: MergeSource) -> None:
        from engram_tui.review.merge_editor import MergeEditor

        self.app.push_screen(
            MergeEditor(source),
            lambda made: (
                self.decide([item], source.decision, made)
                if made is not None
                else self.tell("Merge", "Nothing was written.")
            ),
        )

    def _join(self, item: Item, source: MergeSource) -> None:
        from engram_tui.review.merge_draft import BOTH, MergeDraft

        made = source.base
        for version in source.versions[1:]:
            draft = MergeDraft(made, version.lore, source.base, join_fields=source.joins)
            draft.choose_all(BOTH)
            made = draft.result(draft.text)
        self.decide([item], source.decision, made)
