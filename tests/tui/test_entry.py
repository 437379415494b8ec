"""The screen of one entry: its parts, its links both ways, its versions side by side, its queries, and its keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from tui_kit import MONEY, NARROW, QUEUE, RETRY, SIZES, WIDE, User, lore, run_app
from tui_stores import NOTE, with_a_past

import engram
from engram.usecases.recording.edit import Edit
from engram_tui.entry.format import sparkline
from engram_tui.entry.screen import EntryScreen
from engram_tui.shell.picker import Picker
from engram_tui.widgets.compare import Compare
from engram_tui.widgets.option_lines import OptionLines

if TYPE_CHECKING:
    from engram_tui.shell.action import Action


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_a_past(tmp_path_factory.mktemp("template"))


def screen(user: User) -> EntryScreen:
    return cast("EntryScreen", user.app.current)


async def reads(user: User, title: str) -> EntryScreen:
    """Open the entry with this title from the list, and wait until all of it is there."""
    at = user.titles().index(title)
    await user.press("g", *["j"] * at, "enter")
    await user.sees(lambda: isinstance(user.app.screen, EntryScreen) and screen(user).shown is not None)
    await user.sees(lambda: screen(user).versions)
    return screen(user)


async def test_the_line_of_parts_loses_its_numbers_before_a_name_is_cut(store: engram.Engram) -> None:
    async with run_app(store, (40, 12)) as user:
        await reads(user, QUEUE)
        await user.sees_text("Text  Facts  Links  History  Queries", "esc back  tab next part")
    async with run_app(store, NARROW) as user:
        await reads(user, QUEUE)
        await user.sees_text("Text   Facts   Links 1   History", "Queries 1")


@SIZES
async def test_every_part_is_shown_and_tab_cycles_through_them(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        one = await reads(user, QUEUE)
        await user.sees(lambda: one.links and one.queries)
        await user.sees_text(
            "The broker delivers again", "PATTERN_OUTCOME · ▆▆▆▆▆▆▁▁ .78 unconfirmed · ✓1, last just now"
        )
        seen = []
        for part in ("facts", "links", "versions", "queries"):
            await user.press("tab")
            await user.sees(lambda part=part: one.focused and one.focused.id == part)
            seen.append(user.screen())
        facts, links, versions, queries = seen
        for text in (
            "confidence",
            "helpful     1×",
            "not signed",
            "this clone",
            "tags        demo, ack",
        ):
            assert text in facts, text
        assert f"← refined by    {NOTE}"[:40] in links
        assert ".70 " in versions
        assert ".70 → .78" in versions
        assert "#1 of " in queries
        assert "“idempotent queue consumers”" in queries or size == WIDE
        await user.press("tab")
        await user.sees(lambda: one.focused and one.focused.id == "text")
        await user.press("shift+tab")
        await user.sees(lambda: one.focused and one.focused.id == "queries")
        await user.press("enter")  # the query once more
        await user.sees(lambda: user.app.screen is user.browse and user.browse.matches)
        assert user.browse.search_text == "idempotent queue consumers"


@SIZES
async def test_links_open_entries_and_escape_goes_back_the_same_way(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        one = await reads(user, QUEUE)
        await user.sees(lambda: len(one.links) == 1)
        await user.press("l", "enter")
        await user.sees_text(NOTE, "FACT · ")
        await user.sees(lambda: len(one.links) == 2)
        if size != NARROW:
            await user.sees_text("→ see also")
        await user.press("l", "j", "enter")
        await user.sees(lambda: one.shown and one.shown.lore.title == MONEY)
        await user.press("escape", "escape")
        await user.sees(lambda: one.shown and one.shown.lore.title == QUEUE)
        await user.press("J")
        await user.sees(lambda: one.shown and one.shown.lore.title == RETRY)
        await user.press("K", "J", "escape")
        await user.sees(lambda: user.app.screen is user.browse)
        current = user.browse.entry_list.current
        assert current is not None
        assert current.title == RETRY  # the cursor followed


@SIZES
async def test_versions_are_shown_side_by_side(store: engram.Engram, size: tuple[int, int]) -> None:
    async with run_app(store, size) as user:
        one = await reads(user, QUEUE)
        await user.press("v")
        listed = one.query_one("#versions", OptionLines)
        await user.sees(lambda: listed.option_count == len(one.versions) == 4)
        await user.press("j", "enter")  # the edit of the text, beside what was before it
        await user.sees(lambda: isinstance(user.app.screen, Compare))
        await user.sees_text("redelivers", "delivers again")
        event = one.versions[1]
        await user.sees_text(f"{event.at:%Y-%m-%d %H:%M} · {event.who}", event.commit)
        await user.press("left")  # older
        await user.sees(
            lambda: (
                isinstance(user.app.screen, Compare)
                and ".78 ✓1" in user.screen()
                and ".70 ✓0" in user.screen()
            )
        )
        await user.press("escape", "g", "space", "G", "enter")  # the first and the last
        ends = (one.versions[0].commit, one.versions[-1].commit)
        await user.sees_text(*ends, "tags")
        await user.press("j", "k", "escape", "space")
        await user.sees(lambda: one.marked_version == one.versions[-1].commit)


async def test_an_entry_is_left_for_another_screen_and_follows_changes_by_others(
    store: engram.Engram,
) -> None:
    async with run_app(store) as user:
        one = await reads(user, RETRY)
        with engram.open(store.path, session="another") as other:
            other.edit(one.entry_id, Edit(category="FACT"))
        await user.sees_text("FACT · ")
        await user.press("question_mark")
        await user.sees(lambda: isinstance(user.app.screen, Picker))
        user.types("versions\n")
        await user.sees(lambda: one.focused and one.focused.id == "versions")
        await user.press("1")
        await user.sees(lambda: user.app.screen is user.browse)
        assert [type(each) for each in user.app.screen_stack].count(EntryScreen) == 0


async def test_every_action_runs_a_method_and_no_key_means_two_things(store: engram.Engram) -> None:
    async with run_app(store) as user:
        one = await reads(user, QUEUE)
        taken: dict[str, Action] = {}
        for action in one.actions():
            assert hasattr(one, f"action_{action.call.partition('(')[0]}"), action.name
            for key in action.keys.split(","):
                assert taken.setdefault(key, action) is action, key


def test_a_sparkline_shows_first_and_last_value_in_the_given_cells(store: engram.Engram) -> None:
    events = store.history(lore(store, QUEUE).id)
    assert sparkline(events, 24) == ".70 ▁▇▇▇ .78"
    assert sparkline(list(events) * 30, 12).count("▁") + sparkline(list(events) * 30, 12).count("▇") == 12
    assert sparkline(events[-1:], 24) == ""
