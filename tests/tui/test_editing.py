"""The editor of the app: what was typed is saved, or left only after a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.widgets import TextArea
from tui_kit import NARROW, QUEUE, User, lore, run_app

from engram_tui.shell.editing import TextEditor

if TYPE_CHECKING:
    import engram


@pytest.fixture(autouse=True)
def no_editor_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)


async def editing(user: User) -> TextArea:
    await user.press("e")
    await user.sees(lambda: isinstance(user.app.screen, TextEditor) and user.app.screen.query(TextArea))
    return user.app.screen.query_one(TextArea)


async def test_a_changed_text_is_left_only_after_a_question_and_stays_until_then(
    store: engram.Engram,
) -> None:
    async with run_app(store, NARROW) as user:
        area = await editing(user)
        area.move_cursor(area.document.end)
        await user.press("exclamation_mark", "escape")
        await user.sees_text("What you typed is not saved anywhere")
        await user.press("n")
        await user.sees(lambda: isinstance(user.app.screen, TextEditor))
        assert area.text.endswith("!")
        await user.press("escape", "y")
        await user.sees(lambda: user.app.screen is user.browse)
        assert not lore(store, QUEUE).content.endswith("!")


async def test_an_unchanged_text_is_left_at_once(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        await editing(user)
        await user.press("escape")
        await user.sees(lambda: user.app.screen is user.browse)
