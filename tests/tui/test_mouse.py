"""The mouse does what keys do, on tabs, footer, lists, filters and choices; and the pane of filters, made for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import OptionList
from tui_kit import MONEY, QUEUE, RETRY, SIZES, WIDE, lore, run_app

from engram_tui.browse.facet_pane import FacetLines
from engram_tui.entry.screen import EntryScreen
from engram_tui.shell.frame import KeyLine, TabLine
from engram_tui.shell.picker import Picker

if TYPE_CHECKING:
    import engram

ROOMY = (200, 50)


@SIZES
async def test_a_click_selects_a_double_click_opens_and_the_footer_acts(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        rows = user.browse.entry_list
        await user.pilot.click("#list", offset=(20, 1))
        await user.sees(lambda: rows.cursor == 1)
        at = user.text("keys").index("h helpful")
        await user.pilot.click(KeyLine, offset=(at + 2, 0))
        await user.told("Helpful", "helpful 1×")
        assert lore(store, RETRY).validation_count == 1
        await user.pilot.click("#list", offset=(20, 3), times=2)
        await user.sees(lambda: isinstance(user.app.screen, EntryScreen) and user.app.screen.shown)
        await user.sees_text(MONEY)
        await user.press("escape")
        if size == WIDE:
            await user.pilot.click(TabLine, offset=(user.text("tabs").index("5 Insight") + 3, 0))
            await user.sees(lambda: user.app.current_tab == "insight")


async def test_a_click_picks_from_a_list_of_choices(store: engram.Engram) -> None:
    async with run_app(store) as user:
        await user.press("c")
        await user.sees(lambda: isinstance(user.app.screen, Picker))
        first = user.app.screen.query_one(OptionList).get_option_at_index(0).id
        await user.pilot.click(OptionList, offset=(5, 0))
        await user.told("Category", f"is {first} now")
        assert lore(store, QUEUE).category == first


async def test_with_room_for_three_panes_filters_stand_beside_the_list(store: engram.Engram) -> None:
    async with run_app(store, ROOMY) as user:
        await user.sees_text("CATEGORY", "FAILURE", "CONFIDENCE", "The broker redelivers")
        places = user.browse.query_one(FacetLines)._places
        at = places.index(("category", "FAILURE"))
        await user.pilot.click(FacetLines, offset=(4, at))
        await user.sees(lambda: user.titles() == [RETRY])
        await user.sees_text("● FAILURE", "category FAILURE · newest first")
        await user.pilot.click(FacetLines, offset=(4, at))
        await user.sees(lambda: len(user.titles()) == 4)
        await user.pilot.resize_terminal(*WIDE)
        await user.sees(lambda: "CONFIDENCE" not in user.screen())
