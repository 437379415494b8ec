"""What is done to the marked lore (or the one under the cursor) of a screen that has a list of lore."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from engram.domain.errors import EngramError, UsageError
from engram.usecases.recording.editor import open_editor, own_editor
from engram_tui.entry_actions import commands
from engram_tui.judging import Judging
from engram_tui.shell.sanitize import words
from engram_tui.shell.store_screen import one_line
from engram_tui.widgets.entry_list import LoreList
from engram_tui.widgets.rows import count, ids_of

if TYPE_CHECKING:
    from engram.app import Engram
    from engram.usecases.lookup.listing import Shown
    from engram_tui.widgets.rows import Row


class BrowseDeeds(Judging):
    """A screen with a list of lore, and everything that can be done to them."""

    @property
    def lore_list(self) -> LoreList:
        """The list of lore."""
        return self.query_one(LoreList)

    @property
    def row(self) -> Row | None:
        """The one lore that is looked at."""
        return self.lore_list.current

    def chosen(self) -> tuple[str, ...]:
        """The marked lore, else the one under the cursor."""
        row = self.lore_list.current
        return tuple(self.lore_list.marked) or ((row.id,) if row else ())

    # Marks

    def action_mark(self) -> None:
        """Mark the line or not, and go to the next."""
        row = self.lore_list.current
        if row is not None:
            self.lore_list.mark([row.id], on=row.id not in self.lore_list.marked)
            self.lore_list.action_move(1)
            self._marks_changed()

    def action_mark_all(self) -> None:
        """Mark all that are listed; where all are, none."""
        ids = ids_of(self.lore_list.rows)
        self.lore_list.mark(ids, on=any(lore_id not in self.lore_list.marked for lore_id in ids))
        self._marks_changed()

    def _marks_changed(self) -> None:
        self.marks_changed()
        self.refresh_bindings()

    def marks_changed(self) -> None:
        """Say how many are marked."""

    # Deeds

    def action_archive(self) -> None:
        """Out of recall."""
        self.do(commands.archive(), self.chosen())

    def action_activate(self) -> None:
        """Into recall."""
        self.do(commands.activate(), self.chosen())

    def action_pin(self) -> None:
        """Pin, or unpin where the one under the cursor is pinned."""
        row = self.row
        self.do(commands.pin(not (row and row.pinned)), self.chosen())

    def action_forget(self) -> None:
        """Delete; where undo cannot help, only after a question."""
        from engram_tui.shell.prompts import Confirm

        ids = self.chosen()
        if self.shell.can_undo:
            self.do(commands.forget(), ids)
            return
        question = f"Delete {count(len(ids), 'lore')}? Engram does not commit here, so it cannot bring them back; git may."
        self.app.push_screen(
            Confirm("Forget", question), lambda yes: self.do(commands.forget(), ids) if yes else None
        )

    def action_tags(self) -> None:
        """Ask for tags to add and to take away."""
        from engram_tui.shell.prompts import Prompt

        ids = self.chosen()
        prompt = Prompt(
            f"Tags of {count(len(ids), 'lore')}",
            hint="queue kafka -old",
            explain="Words add tags, -word takes one away.",
        )
        self.app.push_screen(prompt, partial(self._tags_typed, ids))

    def _tags_typed(self, ids: tuple[str, ...], text: str | None) -> None:
        if text is None:
            return
        try:
            self.do(commands.tag(text), ids)
        except EngramError as error:
            self.trouble(one_line(error))

    def action_category(self) -> None:
        """Pick another category."""
        from engram_tui.shell.picker import Choice, Picker

        ids, categories = self.chosen(), self.store.store.categories
        choices = [
            Choice(name, name.replace("_", " "), after=categories.type_of(name)) for name in categories.names
        ]
        self.app.push_screen(
            Picker("Category", choices, hint="which category …"),
            lambda name: self.do(commands.categorise(name), ids) if name else None,
        )

    # Files

    def action_copy_path(self) -> None:
        """The path of the lore's file, to the clipboard."""
        self._with_lore(lambda shown: self._copy(os.path.join(self._root(shown), shown.path)))

    def action_copy_name(self) -> None:
        """Its ref in this session or its id, to the clipboard."""
        self._with_lore(lambda shown: self._copy(shown.ref or shown.lore.id))

    def action_edit(self) -> None:
        """Change the whole text, in the editor of the environment or here."""
        self._with_lore(self._edit)

    def action_open_file(self) -> None:
        """Open a file that the lore is about; where there is none, its own."""
        self._with_lore(self._choose_file)

    def _with_lore(self, then) -> None:  # type: ignore[no-untyped-def]
        row = self.row
        if row is not None:
            self.ask("one", lambda store: store.get(row.id), then, opens=True)

    def _root(self, shown: Shown) -> str:
        from engram.usecases.opening.scopes import root_of

        return root_of(self.store.store, shown.scope or self.store.store.places.scope)

    def _copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self.tell("Copied", text)

    def _choose_file(self, shown: Shown) -> None:
        from engram_tui.shell.picker import Choice, Picker

        root = self._root(shown)
        about = [os.path.join(base, name) for name in shown.lore.files for base in (os.getcwd(), root)]
        found = [path for path in dict.fromkeys(about) if os.path.isfile(path)]
        own = os.path.join(root, shown.path)
        if not found:
            self._open(own)
            return
        choices = [Choice(path, words(path)) for path in [*found, own]]
        self.app.push_screen(Picker("Open", choices), lambda path: self._open(path) if path else None)

    def _open(self, path: str) -> None:
        if not own_editor():
            self.tell("No $EDITOR is set; the file is", path)
            return
        try:
            with self.app.suspend():
                open_editor(path)
        except UsageError as error:
            self.trouble(one_line(error))
        self.refresh(layout=True)

    def _edit(self, shown: Shown) -> None:
        def read(store: Engram) -> bytes:
            from engram.usecases.opening.scopes import reach

            return reach(store.store, shown.scope).files.read(shown.path)

        self.ask("file", read, partial(self._edit_file, shown), opens=True)

    def _edit_file(self, shown: Shown, before: bytes) -> None:
        from engram_tui.shell.editing import edit

        edit(self, shown.lore.title, before, partial(self._edited, shown, before))

    def _edited(self, shown: Shown, before: bytes, after: bytes | None) -> None:
        if after is None or after == before:
            self.tell("Edit", "Nothing was changed.")
            return
        self.do(commands.replace_text(shown.path, shown.scope, before, after), (shown.lore.id,))
