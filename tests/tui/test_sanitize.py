"""Hostile text: whatever the widget, no control sequence reaches the terminal, and no layout breaks."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from effort import is_thorough
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.widgets import DataTable, Input, Label, Markdown, OptionList, RichLog, Static, TextArea
from tui_kit import WIDE, User, make_template, open_copy, run_app

import engram
from engram_tui.entry.screen import EntryScreen
from engram_tui.shell.sanitize import SanitizeFilter
from engram_tui.widgets.rendered import Rendered

EVIL = "a\x1b]0;owned\x07b\x1b[2Jc\x9b31md\x85e\u202ef\u2066g\u200bh\U000e0041i\x7fj"
ACTING = re.compile(
    r"\x1b\]0;|owned\x07|\x1b\[2J|[\x07\x80-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\x7f]"
)
BODIES = {
    "escapes": f"Evil {EVIL}\n\n{EVIL}\n\n- {EVIL}\n\n`{EVIL}`\n",
    "markup": "[@click=app.quit]x[/] [bold]y[/] [link=file:///etc]z[/]\n\n[a](javascript:x)\n",
    "a huge table": "# T\n\n" + "|a" * 60 + "|\n" + "|-" * 60 + "|\n" + ("|1" * 60 + "|\n") * 25,
    "500 nested quotes": "# Q\n\n" + ">" * 500 + " deep\n",
    "a wide line": "# W\n\n" + "x" * 3900 + "\n",
    "a table of 4,000": "# C\n\n|a|b|\n|-|-|\n" + "|1|2|\n" * 650,
    "what is slow to parse": "# P\n\n" + "[" * 1200 + "*a* `b` " * 200 + "<b>" * 300,
    "code": "# K\n\n```python\n" + f"x = '{EVIL}'\n" * 60 + "```\n",
    "other scripts": "# 漢字 שלום مرحبا 👩‍👩‍👧 \uff37\uff49\n\n"
    + "漢字" * 300
    + " 👍🏽 " * 50
    + "\u0301" * 200,
}


class EveryWidget(App[None]):
    """Textual's own widgets with unsanitized text."""

    def __init__(self) -> None:
        super().__init__()
        self._filters.append(SanitizeFilter())
        self.drawn = ""

    def compose(self) -> ComposeResult:
        yield Static(EVIL, markup=False)
        yield Label(EVIL, markup=False)
        yield Markdown(EVIL)
        yield Static(Rendered(EVIL))
        yield TextArea(EVIL)
        yield Input(EVIL)
        yield OptionList(EVIL, markup=False)
        table: DataTable[str] = DataTable()
        yield table
        yield RichLog()
        box = Static("box", markup=False)
        box.styles.border = ("round", "red")
        box.border_title = EVIL.replace("[", "\\[")
        yield box

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        table.add_column(EVIL)
        table.add_row(EVIL)
        self.query_one(RichLog).write(EVIL)
        self.notify(EVIL, title=EVIL, markup=False)


async def test_no_widget_of_textual_hands_an_escape_to_the_terminal() -> None:
    app = EveryWidget()
    async with app.run_test(size=(100, 80), notifications=True) as pilot:
        await pilot.pause(0.2)
        update = app.screen._compositor.render_full_update()
        written = update.render_segments(app.console)
        assert written.count("owned") >= 6  # the widgets are there
        assert not ACTING.search(written), ACTING.search(written)
        # The same screen without the gate does: so the test can fail.
        app._filters.pop()
        for widget in app.screen.walk_children():
            widget._styles_cache.clear()
            widget.refresh()
        await pilot.pause(0.1)
        assert ACTING.search(app.screen._compositor.render_full_update().render_segments(app.console))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_template(tmp_path_factory.mktemp("template"))
    with engram.open(folder, session="t") as store:
        for number, body in enumerate(BODIES.values()):
            path = Path(store.path, store.record(f"placeholder {number}", category="FACT").path)
            head = path.read_text("utf-8").split("placeholder")[0]
            path.write_text(head + body, "utf-8", newline="\n")
        store.refresh()
    return folder


async def reads_whole(user: User) -> None:
    """The same entry in its own screen, and its version beside the one before."""
    await user.press("enter")
    await user.sees(lambda: isinstance(user.app.screen, EntryScreen) and user.app.screen.shown)
    await user.press("tab")
    await user.pilot.pause(0.02)
    written = user.app.screen._compositor.render_full_update().render_segments(user.app.console)
    assert not ACTING.search(written)
    for line in user.screen().splitlines():
        assert cell_len(line) == WIDE[0], line
    await user.press("escape")
    await user.sees(lambda: user.app.screen is user.browse)


async def test_hostile_entries_neither_escape_nor_stall_nor_break_a_line(
    template: Path, tmp_path: Path
) -> None:
    with open_copy(template, tmp_path) as store:
        async with run_app(store, WIDE) as user:
            assert len(user.titles()) == len(BODIES) + 4
            for _ in BODIES:
                began = time.thread_time()  # of the thread that draws
                await user.press("j")
                current = user.browse.entry_list.current
                assert current is not None
                await user.sees(lambda current=current: user.browse.preview.shown_id == current.id)
                await user.pilot.pause(0.05)
                assert time.thread_time() - began < 1
                written = user.app.screen._compositor.render_full_update().render_segments(user.app.console)
                assert not ACTING.search(written)
                for line in user.screen().splitlines():
                    assert cell_len(line) == WIDE[0], line
                if is_thorough() or current.title[:1] in "ET漢":
                    await reads_whole(user)
            began = time.process_time()
            user.browse.preview.show_body("y" * 10_000)  # longer than an entry may be
            await user.sees_text("y" * 40)
            assert time.process_time() - began < 1
            assert user.app.is_running
