"""The merge editor: two versions side by side, and below them the text of the merged entry, to be edited.

For each paragraph and field that differs, `1` takes the left, `2` the right, `b` both. Nothing is written before ctrl+s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from engram.domain.entry.lore import Lore
from engram_tui.inbox.merge_draft import BOTH, LEFT, RIGHT, MergeDraft, Part
from engram_tui.shell.prompts import confirm_leave
from engram_tui.shell.sanitize import safe_line, safe_lines
from engram_tui.widgets.word_marks import are_similar, mark_both

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from engram_tui.inbox.versions import MergeSource
    from engram_tui.shell.screen import ShellScreen

CHOSEN, NOT_CHOSEN, CURRENT = "●", "○", "▶"


class MergeEditor(ModalScreen[Lore | None]):
    """Merges versions of an entry; returns the merged entry, or None if nothing is to be saved."""

    DEFAULT_CSS = """
    MergeEditor { align: center middle; }
    MergeEditor > Vertical { width: 100%; height: 100%; background: $surface; }
    MergeEditor #hint { height: 1; padding: 0 1; background: $primary 25%; text-wrap: nowrap; text-overflow: ellipsis; }
    MergeEditor #texts { height: 2fr; }
    MergeEditor .text { width: 1fr; border: round $primary 50%; border-title-color: $text-primary; }
    MergeEditor .text { padding: 0 1; scrollbar-size-vertical: 1; }
    MergeEditor .text Static, MergeEditor #fields { height: auto; }
    MergeEditor #fields { max-height: 8; padding: 0 1; }
    MergeEditor TextArea { height: 1fr; min-height: 4; border: round $primary 50%; border-title-color: $text-primary; }
    MergeEditor TextArea:focus { border: round $primary; }
    MergeEditor.-low #fields { display: none; }
    MergeEditor.-low TextArea { min-height: 3; }
    """
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "save", priority=True),
        Binding("escape", "leave", "close", priority=True),
        Binding("tab", "type", "edit the result", priority=True),
        Binding("1,l,left", "choose('left')", "left"),
        Binding("2,r,right", "choose('right')", "right"),
        Binding("b", "choose('both')", "both"),
        Binding("j,down", "move(1)", "next difference"),
        Binding("k,up", "move(-1)", "difference before"),
        Binding("right_square_bracket,n", "next_version", "another version on the right"),
        Binding("e,i,enter", "type", "edit the result"),
    ]

    def __init__(self, source: MergeSource) -> None:
        super().__init__()
        self.source = source
        self.at = 0
        self._right = 1
        self._composed = ""
        self._marks: dict[int, tuple[Text, Text]] = {}
        self.draft = self._new_draft()

    def compose(self) -> ComposeResult:
        """Yield the keys, both texts, the fields, the result."""
        with Vertical():
            yield Static(id="hint", markup=False)
            with Horizontal(id="texts"):
                for name in ("one", "two"):
                    with VerticalScroll(id=name, classes="text", can_focus=False):
                        yield Static(id=f"{name}-text", markup=False)
            yield Static(id="fields", markup=False)
            yield TextArea(soft_wrap=True, id="result")

    def on_mount(self) -> None:
        """Start with the default choices."""
        self.area.border_title = "result"
        self._compose_result()
        self.show()
        self.call_after_refresh(self.show)  # scrolls to the first difference, once the panes have a width

    @property
    def area(self) -> TextArea:
        """The result."""
        return self.query_one(TextArea)

    @property
    def is_edited(self) -> bool:
        """Whether the result was edited by hand."""
        return self.area.text != self._composed

    def _new_draft(self) -> MergeDraft:
        self._marks.clear()
        first, other = self.source.versions[0], self.source.versions[self._right]
        return MergeDraft(first.lore, other.lore, self.source.base, join_fields=self.source.joins)

    # Showing

    def show(self) -> None:
        """Draw both sides with the choices."""
        draft, versions = self.draft, self.source.versions
        more = f" · ] another of {len(versions) - 1}" if len(versions) > 2 else ""
        position = f"{self.at + 1} of {len(draft.rows)}" if draft.rows else "no difference"
        typing = self.focused is self.area
        hint = (
            "ctrl+s saves  esc back to the choices"
            if typing
            else f"1 left  2 right  b both  ctrl+s saves  esc leave  tab edit  j k next ({position}){more}"
        )
        self.query_one("#hint", Static).update(hint)
        for name, version, side in (("one", versions[0], LEFT), ("two", versions[self._right], RIGHT)):
            pane = self.query_one(f"#{name}", VerticalScroll)
            pane.border_title = safe_line(f"{side}: {version.who}, {version.name}")
            text, row = self._side(side)
            self.query_one(f"#{name}-text", Static).update(text)
            pane.scroll_to(
                y=max(0, self._lines_before(text, row, pane.scrollable_content_region.width) - 1),
                animate=False,
            )
        self.query_one("#fields", Static).update(self._fields())

    def _side(self, side: str) -> tuple[Text, int]:
        """Return the paragraphs of a side with their signs, and where the current one begins."""
        found, start = Text(), 0
        for part in self.draft.paragraphs:
            is_current = part is self._current
            if is_current:
                start = len(found)
            found.append(self._sign(part, side, is_current), "bold")
            left, right = self._mark_part(part)
            found.append_text((left if side == LEFT else right) or Text("(nothing)", "dim italic"))
            found.append("\n\n")
        return found, start

    def _mark_part(self, part: Part) -> tuple[Text, Text]:
        """Return both sides of a paragraph with marks, from a cache."""
        if id(part) not in self._marks:
            comparable = part.differs and are_similar(part.left, part.right)
            plain = Text(safe_lines(part.left)), Text(safe_lines(part.right))
            self._marks[id(part)] = mark_both(part.left, part.right) if comparable else plain
        return self._marks[id(part)]

    def _sign(self, part: Part, side: str, is_current: bool) -> str:
        choice = self.draft.choice_of(part)
        if not choice:
            return ""
        sign = CHOSEN if choice in (side, BOTH) else NOT_CHOSEN
        return f"{CURRENT if is_current else ''}{sign} "

    def _fields(self) -> Text:
        found = Text()
        for row, part in enumerate(self.draft.rows):
            if part.name:
                is_current = row == self.at
                found.append(
                    f"{CURRENT if is_current else ' '} {part.name:<10} ", "bold" if is_current else ""
                )
                for side, value in ((LEFT, part.left), (RIGHT, part.right)):
                    chosen = self.draft.choices[row] in (side, BOTH)
                    found.append(
                        f"{CHOSEN if chosen else NOT_CHOSEN} {_value_text(value)}   ", "" if chosen else "dim"
                    )
                found.append("\n")
        return found

    @property
    def _current(self) -> Part | None:
        return self.draft.rows[self.at] if self.draft.rows else None

    def _lines_before(self, text: Text, start: int, width: int) -> int:
        return len(text[:start].wrap(self.app.console, max(1, width))) if start else 0

    # Choosing

    def _compose_result(self) -> None:
        self._composed = safe_lines(self.draft.text)
        self.area.text = self._composed

    def action_move(self, by: int) -> None:
        """Go to another difference."""
        if self.draft.rows:
            self.at = (self.at + by) % len(self.draft.rows)
            self.show()

    def action_choose(self, choice: str) -> None:
        """Choose a side for the current difference, in the result too."""
        part = self._current
        if part is None:
            return
        before, edited = safe_lines(self.draft.text_of(part)) if not part.name else "", self.is_edited
        old = self.draft.choices[self.at]
        if not self.draft.choose(self.at, choice):
            self.notify(f"{part.name} can have only one value.", markup=False)
            return
        if not part.name and not self._rewrite(before, safe_lines(self.draft.text_of(part)), edited):
            self.draft.choose(self.at, old)
            self.notify("You edited that paragraph: change it in the text (tab).", markup=False)
        self.show()

    def _rewrite(self, before: str, after: str, edited: bool) -> bool:
        """Put a choice into the result; if that was edited by hand, replace only the paragraph, if it is unchanged."""
        if not edited:
            self._compose_result()
            return True
        if not before or self.area.text.count(before) != 1:
            return False
        text = self.area.text.replace(before, after)
        self._composed = safe_lines(self.draft.text)
        self.area.text = text
        return True

    def action_next_version(self) -> None:
        """Compare with another version; an edited result stays as it is."""
        if len(self.source.versions) < 3:
            return
        if self.is_edited or self.draft.text != self._new_draft().text:
            self.notify("The result is edited already; add the missing text by hand (tab).", markup=False)
            edited = self.area.text
        else:
            edited = ""
        self._right = self._right % (len(self.source.versions) - 1) + 1
        self.draft, self.at = self._new_draft(), 0
        self._composed = safe_lines(self.draft.text)
        self.area.text = edited or self._composed
        self.show()

    # Typing and leaving

    def action_type(self) -> None:
        """Switch between the choices and the text."""
        self.set_focus(None if self.focused is self.area else self.area)
        self.show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Disable keys while the user types."""
        return self.focused is not self.area or action in ("save", "leave", "type")

    def action_save(self) -> None:
        """Return the merged entry as it is now."""
        if self.area.text.strip():
            self.dismiss(self.draft.result(self.area.text))
        else:
            self.notify("There is no text to save.", markup=False)

    def action_leave(self) -> None:
        """Go from the text to the choices; from there leave without saving."""
        if self.focused is self.area:
            self.set_focus(None)
            self.show()
        elif self.is_edited:
            confirm_leave(self)
        else:
            self.dismiss(None)


def _value_text(value: object) -> str:
    if isinstance(value, tuple):
        return safe_line(", ".join(str(item) for item in value), 48) or "(none)"
    return safe_line("(none)" if value is None or value == "" else value, 48)


def merge_by_hand(screen: ShellScreen, source: MergeSource, then: Callable[[Lore], None]) -> None:
    """Open the editor on these versions; call `then` with the merged entry."""

    def handle_result(result: Lore | None) -> None:
        if result is None:
            screen.toast("Merge", "Nothing was written.")
        else:
            then(result)

    screen.app.push_screen(MergeEditor(source), handle_result)
