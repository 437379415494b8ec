"""Screens on which entries can be judged and changed: the marked ones, else the one under the cursor."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from engram.domain.entry.lore import ARCHIVED
from engram.domain.errors import EngramError, UsageError
from engram.domain.text.counted_nouns import entries
from engram.usecases.recording.editor import open_editor, own_editor
from engram_tui.entry_actions import commands
from engram_tui.shell.errors import describe_error
from engram_tui.shell.sanitize import safe_line
from engram_tui.shell.screen import ShellScreen

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown
    from engram_tui.widgets.rows import Row


class JudgeScreen(ShellScreen):
    """A screen on which entries can be judged."""

    def action_judge(self, kind: str) -> None:
        """Judge the selected entries helpful, incorrect or not relevant here."""
        self.execute(commands.judge(kind), self.selected_ids())


class EntryActionsScreen(JudgeScreen):
    """A screen on which entries can be judged and changed. Subclasses define `row` and `selected_ids`."""

    @property
    def row(self) -> Row | None:
        """The entry under the cursor."""
        raise NotImplementedError

    def action_archive(self) -> None:
        """Archive the selected entries; make them active again if the one under the cursor is archived."""
        row = self.row
        archived = row is not None and row.status == ARCHIVED
        self.execute(commands.activate() if archived else commands.archive(), self.selected_ids())

    def action_pin(self) -> None:
        """Pin the selected entries; unpin them if the one under the cursor is pinned."""
        row = self.row
        self.execute(commands.pin(not (row and row.pinned)), self.selected_ids())

    def action_forget(self) -> None:
        """Delete the selected entries; ask first if that cannot be undone."""
        ids = self.selected_ids()
        if self.shell.can_undo:
            self.execute(commands.forget(), ids)
            return
        question = (
            f"Delete {entries(len(ids))}? Engram does not commit here, so it cannot restore them; git may."
        )
        self.confirm("Forget", question, lambda: self.execute(commands.forget(), ids))

    def action_tags(self) -> None:
        """Ask for tags to add and to remove."""
        ids = self.selected_ids()
        self.prompt(
            f"Tags of {entries(len(ids))}",
            partial(self._set_tags, ids),
            hint="queue kafka -old",
            explain="A word adds a tag, -word removes one.",
        )

    def _set_tags(self, ids: tuple[str, ...], text: str) -> None:
        try:
            self.execute(commands.tag(text), ids)
        except EngramError as error:
            self.show_error(describe_error(error))

    def action_category(self) -> None:
        """Pick another category."""
        from engram_tui.shell.picker import category_choices

        ids = self.selected_ids()
        choices = category_choices(self.store.store.categories)
        self.pick(
            "Category", choices, lambda name: self.execute(commands.categorise(name), ids), "which category …"
        )

    # Files

    def action_copy_path(self) -> None:
        """Copy the path of the entry's file to the clipboard."""
        self._with_entry(lambda shown: self.copy(os.path.join(self._root(shown), shown.path)))

    def action_copy_name(self) -> None:
        """Copy the entry's ref in this session, else its id, to the clipboard."""
        self._with_entry(lambda shown: self.copy(shown.ref or shown.lore.id))

    def action_edit(self) -> None:
        """Edit the entry's file, in the user's own editor or in the app."""
        self._with_entry(self._edit)

    def action_open_file(self) -> None:
        """Open a file that the entry names, or its own."""
        self._with_entry(self._choose_file)

    def copy(self, text: str) -> None:
        """Copy a text to the clipboard."""
        self.app.copy_to_clipboard(text)
        self.toast("Copied", text)

    def _with_entry(self, then: Callable[[Shown], None]) -> None:
        row = self.row
        if row is not None:
            self.ask("one", lambda store: store.get(row.id), then, opens=True)

    def _root(self, shown: Shown) -> str:
        from engram.usecases.opening.scopes import root_of

        return root_of(self.store.store, shown.scope or self.store.store.places.scope)

    def _choose_file(self, shown: Shown) -> None:
        from engram_tui.shell.picker import Choice

        root = self._root(shown)
        candidates = [os.path.join(base, name) for name in shown.lore.files for base in (os.getcwd(), root)]
        found = [path for path in dict.fromkeys(candidates) if os.path.isfile(path)]
        own = os.path.join(root, shown.path)
        if not found:
            self._open(own)
            return
        choices = [Choice(path, safe_line(path)) for path in [*found, own]]
        self.pick("Open", choices, self._open)

    def _open(self, path: str) -> None:
        if not own_editor():
            self.toast("No $EDITOR is set; the file is", path)
            return
        try:
            with self.app.suspend():
                open_editor(path)
        except UsageError as error:
            self.show_error(describe_error(error))
        self.refresh(layout=True)

    def _edit(self, shown: Shown) -> None:
        def read(store: Engram) -> bytes:
            from engram.usecases.opening.scopes import open_scope_of

            return open_scope_of(store.store, shown.scope).files.read(shown.path)

        self.ask("file", read, partial(self._edit_file, shown), opens=True)

    def _edit_file(self, shown: Shown, before: bytes) -> None:
        from engram_tui.shell.editing import edit

        edit(self, shown.lore.title, before, partial(self._handle_edit, shown, before))

    def _handle_edit(self, shown: Shown, before: bytes, after: bytes | None) -> None:
        if after is None or after == before:
            self.toast("Edit", "Nothing was changed.")
            return
        self.execute(commands.replace_text(shown.path, shown.scope, before, after), (shown.lore.id,))
