"""The Inbox and its merge editor: decisions are written to the store, reported, undone and redone."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from apikit import record_apart
from review_store import AGAIN, CACHE, HOURS, MINUTES, NIGHTLY, OLD, ORDERS, QUESTION, RETRY, WEAK, make
from textual.widgets import TextArea
from tui_kit import NARROW, SIZES, WIDE, User, lore, run_app, titled

import engram
from engram.domain.review.review import Item
from engram_tui.inbox.inbox_list import format_titles
from engram_tui.inbox.merge_editor import MergeEditor
from engram_tui.inbox.screen import InboxScreen
from engram_tui.shell.text_screen import DifferenceScreen


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("template"))


@pytest.fixture(autouse=True)
def _no_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)


def screen(user: User) -> InboxScreen:
    return next(one for one in user.app.screen_stack if isinstance(one, InboxScreen))


async def reviewing(user: User, kind: str = "") -> InboxScreen:
    """The screen once everything is read, at the first item of a kind, opened if there is room for one pane only."""
    await user.press("2")
    await user.sees(lambda: isinstance(user.app.screen, InboxScreen) and not screen(user)._unread_kinds)
    found = screen(user)
    if kind:
        await go_to(user, kind)
    return found


async def go_to(user: User, kind: str) -> None:
    """Put the cursor on the first item of a kind, and open it."""
    found = screen(user)
    at = next(number for number, item in enumerate(found.item_list.rows) if item.kind == kind)  # type: ignore[attr-defined]
    found.item_list.cursor = at
    if user.app.size == NARROW and not found.is_reading():
        await user.press("enter")
    await user.sees(lambda: found.details and found.details.item == found.item)


def current(found: InboxScreen) -> str:
    return found.item.title if found.item else ""


def titles(store: engram.Engram) -> list[str]:
    return [one.lore.title for one in store.list(limit=None).lore]


def commits(store: engram.Engram) -> int:
    return len(store.log(limit=1000))


@SIZES
async def test_the_list_has_author_and_proposal_of_each_item_and_the_pane_has_the_reason(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        found = await reviewing(user)
        await user.sees_text(
            "kind", "who", "proposed", "! problem", "● dispute", "≠ contradicts", "look at it"
        )
        await user.sees_text("9 wait", "1 of 9 · worth × certainty")
        await user.press("j", "enter")
        await user.sees_text(
            "current version", "other version, by P3ZD0000", "It takes 90 seconds", "why", "y keep this"
        )
        await user.press("j")
        await user.sees_text("y accept, as proposed", "a archive", "D forget")
        assert found.is_reading()
        await user.press("escape", "G")
        assert found.item_list.cursor == 8
        before = {one.lore.id: one.lore for one in store.list(limit=None).lore}
        await user.press("d")
        await user.sees(lambda: isinstance(user.app.screen, DifferenceScreen))
        await user.press("j", "escape")
        assert {one.lore.id: one.lore for one in store.list(limit=None).lore} == before


async def test_the_smallest_screen_shows_texts_and_decisions_of_an_item_and_the_help_key(
    store: engram.Engram,
) -> None:
    async with run_app(store, (40, 12)) as user:
        await reviewing(user)
        await user.press("j", "enter")
        await user.sees_text("It takes 40 seconds", "It takes 90 seconds")
        await user.sees_text("y keep this", "t take other", "b both", "m merge …", "esc back", "? keys")


async def test_a_dispute_has_the_same_name_in_the_list_and_in_filters(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        await reviewing(user)
        user.types("/dispute\n")
        await user.sees_text("1 of 1 “dispute”, of 9")
        user.types("Ff")
        await user.sees_text("Show only", "dispute  ")
        user.types("dispute\n")
        await user.sees_text("1 of 1 dispute, of 9")


async def test_words_kind_and_agent_filter_the_list_and_the_order_changes(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        found = await reviewing(user)
        shown = lambda: [item.title for item in found.item_list.rows]  # noqa: E731
        user.types("/proxy expire\n")
        await user.sees(lambda: shown() == [HOURS] and found.item_list.has_focus)
        await user.press("F")
        await user.sees(lambda: len(shown()) == 9)
        await user.press("f")
        user.types("codex\n")
        await user.sees(lambda: set(shown()) == {ORDERS, QUESTION, RETRY})
        await user.press("escape")
        await user.sees(lambda: len(shown()) == 9)
        first = shown()
        await user.press("s")
        assert user.text("progress").endswith("newest first")
        assert shown() != first
        await user.press("s", "s", "s")
        assert shown() == first
        user.types("/staging\n")  # what the index lists without making it
        await user.sees(lambda: shown() == [OLD])


async def test_the_list_has_its_headings_again_after_a_decision_made_in_the_item(
    store: engram.Engram,
) -> None:
    async with run_app(store, NARROW) as user:
        found = await reviewing(user, "pending")
        await user.sees(found.is_reading)
        await user.press("y")
        await user.told("u undoes it")
        await user.press("escape")
        await user.sees_text("kind         entry", "proposed")


async def test_marked_items_are_decided_together_each_as_proposed(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        found = await reviewing(user, "pending")
        await user.press("escape", "space", "space", "space")
        assert len(found.item_list.marked) == 3
        await user.sees_text("3 marked")
        await user.press("y")
        await user.told("As proposed", "3 items are decided as proposed", "u undoes it")
        await user.sees(lambda: QUESTION not in titles(store))
        assert {lore(store, NIGHTLY).status, lore(store, ORDERS).status} == {"active"}
        await user.sees_text("6 wait", "3 decided")
        await user.press("u")
        await user.told("Undone")
        await user.sees_text("9 wait")
        assert lore(store, QUESTION).status == "pending"


async def test_header_tab_list_and_commands_count_alike(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        found = await reviewing(user)
        await user.sees_text("2 Inbox (9)", "· 9 wait", "of 9 ·")
        assert store.review().total == len(found.queue.items) == 9
        assert store.status()["review"] == {"waiting": 9, "by_kind": store.review().by_kind}


@SIZES
async def test_accepting_moves_on_at_once_is_undone_and_redone(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        found = await reviewing(user, "pending")
        title, waiting = current(found), len(found.queue.items)
        before = commits(store)
        await user.press("y")
        assert current(found) != title
        await user.told("Accept", title, "it becomes active", "u undoes it")
        assert lore(store, title).status == "active"
        assert commits(store) == before + 1
        await user.sees(lambda: "1 decided" in user.text("progress"))
        await user.press("u")
        await user.told("Undone", title)
        await user.sees(lambda: current(found) == title and len(found.queue.items) == waiting)
        assert lore(store, title).status == "pending"
        await user.press("ctrl+r")
        await user.told("Redone", title)
        assert lore(store, title).status == "active"


async def test_slow_kinds_in_a_large_store_delay_neither_items_nor_other_screens(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engram.usecases.review import review as queue
    from engram_tui.inbox import pair_search

    look, looked = queue.review, threading.Event()

    def slow(*asked: object, **options: object) -> object:
        if "junk" in options["kinds"]:  # type: ignore[operator]
            looked.wait(10)
        return look(*asked, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(queue, "review", slow)
    monkeypatch.setattr(pair_search, "LARGE", 1)
    monkeypatch.setattr(pair_search, "_start_process", lambda _path: None)
    async with run_app(store, WIDE) as user:
        user.app.go("inbox")
        await user.sees_text("1 of ", "problem", "stale", "weak", "still looking …")
        await user.press("1")
        await user.sees(lambda: user.browse.preview.shown_id != "")
        looked.set()
        await user.press("2")
        await user.sees(lambda: not screen(user)._unread_kinds)


async def test_queries_a_pending_entry_would_have_answered_show_before_it_is_accepted(
    store: engram.Engram,
) -> None:
    store.query("which node does the nightly build need")
    store.query("how are orders numbered")
    async with run_app(store, NARROW) as user:
        found = await reviewing(user, "pending")
        while current(found) != NIGHTLY:
            await user.press("j")
        await user.sees_text("would have answered 1 of the last 2 queries · costs about ")


async def test_a_burst_of_keys_decides_one_item_each_and_a_command_repeats(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        found = await reviewing(user, "pending")
        first, second, third = (item.title for item in found.item_list.rows if item.kind == "pending")  # type: ignore[attr-defined]
        user.types("iD")
        await user.sees(lambda: current(found) == third)
        await user.told("Reject", second)
        await user.sees(lambda: second not in titles(store))
        assert lore(store, first).status == "active"
        await user.press("full_stop")
        await user.told("Reject", third)
        await user.sees(lambda: third not in titles(store))


async def test_many_items_are_decided_at_once_after_their_number_is_shown(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        found = await reviewing(user, "pending")
        while found.item and found.item.agent != "codex":
            await user.press("j")
        await user.press("A")
        await user.sees_text("accept all 3 pending", "reject 2 pending by codex")
        user.types("reject 2\n")
        await user.told("Reject", "2 pending", "forgotten")
        await user.sees(lambda: {ORDERS, QUESTION}.isdisjoint(titles(store)))
        assert lore(store, NIGHTLY).status == "pending"
        await user.press("u")
        await user.told("Undone")
        assert {ORDERS, QUESTION} <= set(titles(store))


async def test_decisions_that_change_no_file_are_undone_too(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        found = await reviewing(user, "weak")
        before = commits(store)
        for key, title in (("z", "Snooze"), ("i", "Accept")):
            await user.press(key)
            await user.told(title, WEAK, "u undoes it")
            assert store.review(kinds="weak").total == 0
            await user.press("u")
            await user.told("Undone", WEAK)
            await user.sees(lambda: current(found) == WEAK)
            assert store.review(kinds="weak").total == 1
        await user.press("ctrl+r")
        await user.told("Redone")
        assert store.review(kinds="weak").total == 0
        assert commits(store) == before


async def test_archiving_superseding_and_decisions_that_are_not_possible(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        found = await reviewing(user, "stale")
        await user.press("y")
        await user.told("Archive", OLD)
        assert lore(store, OLD).status == "archived"
        await go_to(user, "contradiction")
        await user.sees_text("newer", "older", "12 hours", "30 minutes", "look at both")
        user.app.clear_notifications()
        await user.press("y")  # nothing is proposed
        assert lore(store, HOURS).status == "active"
        await user.press("t")
        await user.told("Supersede")
        assert lore(store, HOURS).status == "superseded"
        assert lore(store, MINUTES).relations[0].id == lore(store, HOURS).id
        await go_to(user, "problem")
        await user.press("D", "a", "t", "b", "i")
        await user.press("escape", "asterisk", "D")
        await user.told("Inbox", "of several kinds")
        assert found.queue.by_kind["problem"] == 1


async def test_confirming_that_an_entry_is_still_valid_is_undone_and_redone(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        await reviewing(user, "stale")
        await user.press("i")
        await user.told("Accept", OLD, "still valid", "u undoes it")
        assert lore(store, OLD).last_validated is not None
        await user.press("u")
        await user.told("Undone", OLD)
        assert lore(store, OLD).last_validated is None
        assert store.review(kinds="stale").total == 1
        await user.press("ctrl+r")
        await user.told("Redone", OLD)
        assert lore(store, OLD).last_validated is not None


async def test_an_unreadable_file_is_repaired_in_the_editor(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        await reviewing(user, "problem")
        await user.press("e")
        await user.sees(lambda: user.app.screen.query(TextArea))
        user.app.screen.query_one(TextArea).text = "---\ncategory: FACT\n---\n\nA file that can be read.\n"
        await user.press("ctrl+s")
        await user.told("Accept edited", "A file that can be read.")
        assert store.review(kinds="problem").total == 0
        assert lore(store, "A file that can be read.").category == "FACT"


@pytest.mark.parametrize(
    ("key", "text", "tags"),
    [
        ("y", "It takes 40 seconds.", ("cache",)),
        ("t", "It takes 90 seconds.", ("cache", "deploy")),
        ("b", "It takes 40 seconds.\nIt takes 90 seconds.", ("cache", "deploy")),
    ],
)
async def test_resolving_a_conflict_keeps_left_right_or_both(
    store: engram.Engram, key: str, text: str, tags: tuple[str, ...]
) -> None:
    async with run_app(store, NARROW) as user:
        await reviewing(user, "conflict")
        await user.press(key)
        await user.sees(lambda: not titled(store, CACHE).conflicts)
        assert titled(store, CACHE).content == f"{CACHE}\n\n{text}"
        assert titled(store, CACHE).tags == tags
        await user.sees(lambda: user.toasts())
        await user.press("u")
        await user.told("Undone")
        assert len(titled(store, CACHE).conflicts) == 2


async def editing(user: User, kind: str) -> MergeEditor:
    await reviewing(user, kind)
    await user.press("m")
    await user.sees(lambda: isinstance(user.app.screen, MergeEditor))
    assert isinstance(user.app.screen, MergeEditor)
    await user.pilot.pause()
    return user.app.screen


@SIZES
async def test_duplicates_become_one_by_paragraph_and_field(
    store: engram.Engram, size: tuple[int, int]
) -> None:
    async with run_app(store, size) as user:
        before, kept = commits(store), lore(store, RETRY)
        editor = await editing(user, "duplicate")
        await user.sees_text("left: Engram Test, older", "right: codex for Engram Test", "tags", "result")
        user.types("2jb")
        await user.sees(
            lambda: (
                editor.area.text == f"{AGAIN}\n\nThe load test showed it.\n\nThe load test showed it again."
            )
        )
        await user.press("j", "2", "ctrl+s")
        await user.told("Merge", "with your text, they become one", "u undoes it")
        made = lore(store, AGAIN)
        assert (made.id, made.content) == (
            kept.id,
            f"{AGAIN}\n\nThe load test showed it.\n\nThe load test showed it again.",
        )
        assert made.tags == ("jitter",)
        assert len(made.merged_from) == 1
        assert commits(store) == before + 1
        await user.press("u")
        await user.told("Undone")
        assert {RETRY, AGAIN} <= set(titles(store))


async def test_keys_typed_before_the_editor_is_there_wait_for_it(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engram_tui.inbox import versions

    read, typed = versions.read_merge_source, threading.Event()

    def slow(*asked: object) -> object:
        typed.wait(10)  # a disk that is slow: longer than a burst of keys
        return read(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(versions, "read_merge_source", slow)
    async with run_app(store, NARROW) as user:
        await reviewing(user, "duplicate")
        user.types("m2")  # `2` is right in the editor, and this screen behind it
        await user.pilot.pause(0.1)
        typed.set()
        await user.sees(lambda: isinstance(user.app.screen, MergeEditor))
        await user.sees(
            lambda: [area.text for area in user.app.screen.query(TextArea) if area.text.startswith(AGAIN)]
        )
        assert {RETRY, AGAIN} <= set(titles(store))
        assert not user.app.undo_stack.done


async def test_the_merge_result_can_be_edited_and_leaving_writes_nothing(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        before = commits(store)
        editor = await editing(user, "conflict")
        await user.press("b", "tab")
        editor.area.move_cursor(editor.area.document.end)
        await user.press("exclamation_mark")
        await user.sees(lambda: editor.area.text.endswith("It takes 90 seconds.!"))
        await user.press("escape", "2")
        await user.sees(lambda: editor.area.text == f"{CACHE}\n\nIt takes 90 seconds.!")
        await user.press("escape")
        await user.sees_text("What you typed is not saved anywhere")
        await user.press("n", "escape", "y")
        await user.sees(lambda: isinstance(user.app.screen, InboxScreen))
        assert len(titled(store, CACHE).conflicts) == 2
        assert commits(store) == before
        editor = await editing(user, "conflict")
        await user.press("tab")
        editor.area.move_cursor(editor.area.document.end)
        await user.press("exclamation_mark", "ctrl+s")
        await user.told("Accept", "with your text")
        assert titled(store, CACHE).content.endswith("It takes 40 seconds.!")


async def test_an_invalid_merge_result_brings_the_item_back(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        editor = await editing(user, "duplicate")
        editor.area.text = "x" * 5000
        await user.press("ctrl+s")
        found = screen(user)
        await user.sees(lambda: "duplicate" in found.queue.by_kind)
        assert {RETRY, AGAIN} <= set(titles(store))


async def test_changes_by_others_appear_and_the_cursor_keeps_its_item(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        found = await reviewing(user, "stale")
        with engram.open(store.path, session="other") as other:
            other.record("Another one that waits.", category="FACT", status="pending")
        await user.sees(lambda: found.queue.by_kind.get("pending") == 4)
        assert current(found) == OLD


def hostile(store: engram.Engram) -> None:
    """Texts that would act on a terminal, or take long to compare."""
    bold = "[@click=app.exit]here[/] [bold]there[/bold] \u202eback"
    store.record(f"{bold} {'x' * 900}", category="FACT", status="pending")
    store.record("\n\n".join(["a b"] * 200), category="FACT", status="pending", agent="hostile\x1b[31m")
    path = Path(store.path, store.get(titled(store, CACHE).id).path)
    text = path.read_text("utf-8")
    paragraphs = "\\n\\n".join(["a", "b"] * 150)
    path.write_text(text.replace(f"{CACHE}\\n\\nIt takes 90 seconds.", paragraphs), "utf-8")
    store.refresh()


async def test_hostile_texts_are_shown_as_text_and_compared_in_time(store: engram.Engram) -> None:
    hostile(store)
    async with run_app(store, NARROW) as user:
        found = await reviewing(user, "pending")
        for _ in range(3):
            await user.sees(lambda: found.details and found.details.item == found.item)
            assert "\x1b" not in user.screen()
            assert "\u202e" not in user.screen()
            await user.press("j")
        await user.press("escape")
        editor = await editing(user, "conflict")
        await user.press("2", "j", "b")
        await user.sees(lambda: editor.area.text.startswith("a\n\n"))
        await user.press("escape")


async def test_a_group_is_compared_one_by_one(store: engram.Engram) -> None:
    record_apart(store, f"{RETRY}\n\nThe load test showed it!", "FAILURE", tags=("retry",))
    async with run_app(store, WIDE) as user:
        found = await reviewing(user, "duplicate")
        assert found.item is not None
        assert len(found.item.lore) == 3
        await user.sees_text("newer", "older")
        await user.press("right_square_bracket")
        await user.sees(lambda: found.other == 1 and "newer 1" in user.screen())
        await user.press("right_square_bracket")
        await user.sees(lambda: found.other == 0)


def test_two_titles_with_a_common_start_show_where_they_differ() -> None:
    begin = "Sessions of the proxy expire after"
    titles = (f"{begin} 12 hours.", f"{begin} 30 minutes.")
    pair = Item("i", "contradiction", ("a", "b"), ("a.md", "b.md"), titles[0], "", "look", titles=titles)
    assert format_titles(pair, 100) == f"{titles[0]} ⇄ {titles[1]}"
    assert format_titles(pair, 40) == "Sessions of the proxy e… ⇄ … 30 minutes."
    assert format_titles(pair, 24) == "Sessions of the pro… + 1"
    apart = pair._replace(titles=("Retry with jitter.", "Orders are numbered by the database."))
    assert format_titles(apart, 40) == "Retry with jitter. ⇄ Orders are numbered by the database."
