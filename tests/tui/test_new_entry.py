"""The form for a new entry: it shows similar entries during typing, and never loses what was typed."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, cast

import pytest
from textual.widgets import Input, TextArea
from tui_kit import NARROW, RETRY, SIZES, User, lore, run_app

from engram.domain.errors import ValidationError
from engram_tui.new_entry.form import NewEntryForm
from engram_tui.shell.picker import Picker

if TYPE_CHECKING:
    import engram

SECRET = "ghp_" + "x7Kd02LmQp9RsTuV4wXyZ1aBcDeF3gHiJkLm"  # put together here, so that the project holds none


async def opens(user: User) -> NewEntryForm:
    await user.press("N")
    await user.sees(lambda: isinstance(user.app.screen, NewEntryForm) and user.app.focused)
    return cast("NewEntryForm", user.app.screen)


@SIZES
async def test_an_entry_is_recorded_with_all_its_fields_and_undone(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        form = await opens(user)
        assert isinstance(form.focused, TextArea)
        user.types("Nagle and delayed acks add 40 ms.\n\nqNh")  # letters are letters
        await user.sees_text("✓ no similar entry", "guessed")
        await user.press("tab", "enter")
        await user.sees(lambda: isinstance(user.app.screen, Picker))
        user.types("performance\n")
        await user.sees_text("PERFORMANCE INSIGHT")
        await user.press("tab")
        user.types("small writes")
        await user.press("tab")
        user.types("#tcp latency")
        await user.press("tab")
        user.types("src/net.py")
        await user.press("shift+tab", "ctrl+s")
        await user.told("Record", "is recorded", "u undoes it")
        found = lore(store, "Nagle and delayed acks add 40 ms.")
        assert (found.category, found.context, found.tags, found.files) == (
            "PERFORMANCE_INSIGHT", ("small writes",), ("tcp", "latency"), ("src/net.py",),
        )  # fmt: skip
        assert found.content.endswith("\n\nqNh")
        await user.sees(lambda: found.title in user.titles())
        await user.press("u")
        await user.told("Undone")
        await user.sees(lambda: found.title not in user.titles())
        assert user.app.unsaved is None


async def test_the_hints_of_its_fields_are_whole_in_a_small_terminal(store: engram.Engram) -> None:
    async with run_app(store, (40, 12)) as user:
        form = await opens(user)
        for field in form.query(Input):
            assert field.placeholder
            assert len(str(field.placeholder)) < field.content_size.width
        text = form.query_one(TextArea)
        assert text.placeholder
        assert len(textwrap.wrap(str(text.placeholder), text.content_size.width)) <= text.content_size.height


async def test_similar_entries_show_while_typing_and_a_refusal_keeps_the_text(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        form = await opens(user)
        user.types(RETRY)
        await user.sees_text("= is known already", "“Retry with full jitter")
        user.types(" Always.")
        await user.sees_text("≈ .9", "“Retry with full jitter")
        user.types(f" {SECRET}")
        await user.sees_text("✗ ")
        await user.press("ctrl+s")
        await user.sees(lambda: user.app.screen is user.browse and user.text("error"))
        assert len(store.list().lore) == 4
        again = await opens(user)
        assert again is not form
        assert SECRET in again.query_one(TextArea).text
        again.query_one(TextArea).text = "  "
        await user.press("ctrl+s")
        await user.sees_text("There is no text yet.")


async def test_closing_keeps_what_was_typed(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        await opens(user)
        user.types("half a thou")
        await user.press("tab", "tab", "tab", "x", "escape")
        await user.sees(lambda: user.app.screen is user.browse)
        form = await opens(user)
        assert form.query_one(TextArea).text == "half a thou"
        assert form.query_one("#tags", Input).value == "x"


def test_weighing_writes_nothing(store: engram.Engram) -> None:
    store.refresh()
    weighed = store.weigh(RETRY, category="FAILURE", agent="claude-code")
    assert weighed.known is not None
    assert (weighed.known.title, weighed.similar) == (RETRY, ())
    near = store.weigh(f"{RETRY} Always.", category="FAILURE")
    assert (near.known, [twin.title for twin in near.similar]) == (None, [RETRY])
    assert (
        "waits" in store.weigh("thanks, bye!", category="FACT").why
        or store.weigh("hello", category="FACT").why
    )
    with pytest.raises(ValidationError):
        store.weigh("", category="FACT")
    assert len(store.list().lore) == 4
