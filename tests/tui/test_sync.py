"""The sync screen, driven by keys on real clones: what waits, what came in, and the effect on files and the remote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from apart_clones import GONE, NEW_THERE, copy
from apikit import git
from remote_kit import allow_loopback, listening, refusing
from sync_kit import Clones, bare, files
from tui_kit import NARROW, WIDE, User, make_template, run_app

import engram
from engram.usecases.opening.init import init
from engram_tui.shell.picker import Picker
from engram_tui.shell.prompts import Confirm, Prompt
from engram_tui.sync.screen import SyncScreen


@pytest.fixture
def clones(tmp_path: Path) -> Iterator[Clones]:
    found = copy(tmp_path / "c")
    yield found
    found.leave()


def sync_screen(user: User) -> SyncScreen:
    found = user.app.current
    assert isinstance(found, SyncScreen)
    return found


async def opened(user: User) -> SyncScreen:
    await user.press("4")
    await user.sees(lambda: isinstance(user.app.current, SyncScreen) and sync_screen(user).view)
    return sync_screen(user)


def at_the_hub(clones: Clones) -> str:
    return git(clones.hub, "rev-parse", "main")


def contents(root: str) -> str:
    return "\n".join(path.read_text("utf-8") for path in Path(root, "lore").rglob("*.md"))


async def chosen(user: User, title: str) -> None:
    """Move the cursor down to the first line with this title."""
    screen = sync_screen(user)
    await user.press("g")
    for _ in screen.line_list.lines:
        line = screen.line_list.line
        if line is not None and any(part.text == title for part in line.parts):
            return
        await user.press("j")
    pytest.fail(f"No line for {title}:\n{user.screen()}")


@pytest.mark.slow
async def test_a_dry_run_lists_both_directions_and_a_sync_brings_both_together(clones: Clones) -> None:
    store, before = clones["a"], at_the_hub(clones)
    async with run_app(store, WIDE) as user:
        screen = await opened(user)
        await user.sees_text("To push · 3", "tags +jitter", "To pull · nothing")
        await user.press("d")
        await user.told("Dry run", "pull 5, push 0, merge 0. 3 not committed yet")
        await user.sees_text("To pull · 5", "tags +cents", "forgotten", "main ↑0 ↓5")
        assert at_the_hub(clones) == before
        assert NEW_THERE not in contents(store.path)
        await user.press("S")
        await user.told("Sync", "5 pulled, 3 pushed, 2 merged by field", "1 kept for review")
        await user.sees_text("This sync · 5 came in", "merged 2 versions", "Both sides are equal")
        assert NEW_THERE in contents(store.path)
        assert at_the_hub(clones) == git(Path(store.path), "rev-parse", "HEAD") != before
        await chosen(user, NEW_THERE)
        await user.press("enter")
        await user.sees_text("FACT · unconfirmed", "new · ")
        assert screen.preview.has_focus
        await user.press("escape")
        assert screen.line_list.has_focus
        await chosen(user, GONE)
        await user.sees_text("forgotten · tester for Engram Test on")
        assert "$ engram sync" in user.app.command_log.text()
        assert " push" in user.app.command_log.text(folded=False)


async def test_entries_from_a_sync_are_marked_in_browse_and_the_first_line_follows(clones: Clones) -> None:
    store = clones["a"]
    async with run_app(store, WIDE) as user:
        await user.sees_text("5 entries", GONE)
        await opened(user)
        await user.press("d")  # what waits on both sides
        await user.sees_text("main ↑0 ↓5", "4 Sync ↑0 ↓5")
        await user.press("S")
        await user.told("Sync", "5 pulled, 3 pushed")
        await user.sees(lambda: "↓" not in user.screen().splitlines()[0] + user.screen().splitlines()[1])
        await user.press("1")
        await user.sees_text("5 entries", "1 wait", "1 new (+)")
        (new,) = (line for line in user.screen().splitlines() if NEW_THERE in line)
        assert new.startswith(" +")
        assert GONE not in user.titles()


async def test_pulling_sends_nothing_and_pushing_brings_in_nothing(clones: Clones) -> None:
    store, before = clones["a"], at_the_hub(clones)
    async with run_app(store, NARROW) as user:
        await opened(user)
        await user.press("I")
        await user.told("Sync", "5 pulled, 2 merged")
        await user.sees_text("This sync · 5 came in", "To push · 3")
        assert at_the_hub(clones) == before
        await chosen(user, NEW_THERE)
        await user.press("enter")
        await user.sees_text("FACT · unconfirmed")
        assert "To push" not in user.screen()
        await user.press("escape")
        with engram.open(store.path, session="another") as other:
            other.record("One more.", category="FACT")
        await user.sees_text("To push · 4", "One more.")
        await user.press("O")
        await user.told("Sync", "4 pushed")
        assert "One more." in git(clones.hub, "grep", "-h", "One more", "main")


async def test_cancelling_a_sync_with_a_silent_server_leaves_nothing_half_done(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow_loopback(monkeypatch)
    store = clones["a"]
    clones.sync("a")
    before = files(Path(store.path)), at_the_hub(clones)
    with listening() as (address, server):
        server.settimeout(30)
        git(Path(store.path), "config", "remote.origin.url", f"git://{address}/lore.git")
        async with run_app(store) as user:
            screen = await opened(user)
            for key in ("escape", "ctrl+c"):
                user.app.clear_notifications()
                await user.press("S")
                await user.sees_text("fetching from origin", "esc cancels")
                with server.accept()[0] as connection:
                    connection.settimeout(30)
                    await user.press(key)
                    await user.told("Sync cancelled", "Nothing was changed", "Nothing is half done")
                    while connection.recv(100):  # to the end that comes when git is gone, too
                        pass
                assert not screen.is_syncing()
            assert store.status()["git"]["sync"]["error"] is None  # type: ignore[index]
    assert (files(Path(store.path)), at_the_hub(clones)) == before
    assert git(Path(store.path), "status", "--porcelain") == ""


async def test_a_failure_says_what_to_do_and_stays_on_the_screen(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow_loopback(monkeypatch)
    store = clones["a"]
    git(Path(store.path), "config", "remote.origin.url", f"git://{refusing()}/lore.git")
    async with run_app(store, NARROW) as user:
        await opened(user)
        await user.press("S")
        await user.sees_text("The last sync failed", "The last successful")
        status = store.status()["git"]["sync"]  # type: ignore[index]
        assert status["error"]["kind"] == "offline"
        assert " ".join(user.screen().split()).count(status["error"]["hint"][:20]) == 1, "said once"


async def test_a_remote_is_added_its_first_sync_is_confirmed_and_it_is_removed(tmp_path: Path) -> None:
    hub = bare(tmp_path / "hub.git")
    with engram.open(make_template(tmp_path), session="t") as store:
        async with run_app(store, NARROW) as user:
            screen = await opened(user)
            await user.sees_text("This store has no remote.", "no remote yet")
            assert not screen.can_sync()
            await user.press("plus")
            await user.sees(lambda: isinstance(user.app.screen, Prompt))
            user.types(f"{hub}\n")
            await user.told("Remote", "origin is a remote")
            assert [one.url for one in store.remotes()] == [str(hub)]
            await user.sees_text("To push · 4", "main · not synced with it yet")
            await user.press("S")
            await user.sees(lambda: isinstance(user.app.screen, Confirm))
            await user.sees_text("4 entries will be pushed to", "undo cannot take them back")
            await user.press("n", "S")
            await user.sees(lambda: isinstance(user.app.screen, Confirm))
            assert git(hub, "branch") == ""
            await user.press("y")
            await user.told("Sync", "4 pushed")
            assert git(hub, "rev-parse", "main") == git(Path(store.path), "rev-parse", "HEAD")
            await user.press("minus")
            await user.sees(lambda: isinstance(user.app.screen, Picker))
            await user.press("enter")
            await user.told("Remote", "origin is removed")
            assert store.remotes() == ()


async def test_the_screen_says_why_there_is_nothing_to_sync(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/.engram.toml").write_text("")
    with engram.open(tmp_path / "p", session="t") as store:
        async with run_app(store) as user:
            await user.press("4")
            await user.sees_text("There is nothing to sync here.", "folder outside git")
            assert not sync_screen(user).can_have_remotes()


async def test_lore_in_ones_own_repository_travels_with_ones_own_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    init(str(tmp_path), placement="in-tree")
    with engram.open(tmp_path, session="t") as store:
        store.record("Told with the code.", category="FACT")
        async with run_app(store, NARROW) as user:
            await user.press("4")
            await user.sees_text("There is nothing to sync here.", "as you do with your", "code.")
            assert not sync_screen(user).can_sync()
            assert not sync_screen(user).can_have_remotes()


async def test_a_store_on_a_branch_uses_the_remotes_of_its_repository(tmp_path: Path) -> None:
    hub = bare(tmp_path / "hub.git")
    code = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "main", "code")
    init(str(code), placement="branch")
    with engram.open(code, session="t") as store:
        store.record("Told beside the code.", category="FACT")
        async with run_app(store, NARROW) as user:
            screen = await opened(user)
            await user.sees_text("This store has no remote.", "git remote add origin URL")
            assert not screen.can_have_remotes()
            git(code, "remote", "add", "origin", str(hub))
            await user.press("r")
            await user.sees(screen.can_sync)
            assert not screen.can_forget_remotes()


async def test_leaving_does_not_wait_for_a_silent_server(
    clones: Clones, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow_loopback(monkeypatch)
    store = clones["a"]
    with listening() as (address, server):
        server.settimeout(30)
        git(Path(store.path), "config", "remote.origin.url", f"git://{address}/lore.git")
        async with run_app(store) as user:
            await opened(user)
            await user.press("S")
            connection = server.accept()[0]
            await user.press("q")
        with connection:
            connection.settimeout(30)
            while connection.recv(100):
                pass
