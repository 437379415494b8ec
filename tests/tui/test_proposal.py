"""A proposal in the Inbox: counted alike everywhere, reviewed entry by entry, and brought in at the end."""

from __future__ import annotations

from pathlib import Path

import prepared
import pytest
from apikit import git, ok
from sync_kit import Clones, Left
from tui_kit import NARROW, SIZES, User, run_app

from engram.usecases.recording.edit import Edit
from engram.usecases.review.proposals import ACCEPT, REJECT
from engram_tui.inbox.screen import InboxScreen
from engram_tui.proposal.commands import decide
from engram_tui.proposal.screen import ProposalScreen
from engram_tui.shell.text_screen import DifferenceScreen

KNOWN = "Uploads are retried twice before the job fails."
BETTER = "Uploads are retried five times before the job fails."
GOOD, BAD = "The broker keeps messages for seven days.", "Restart the server when it is slow."
REASON = "It hides the leak."
NAMES = {"a": "Ada Lovelace", "b": "Bob Kahn"}


@pytest.fixture
def world(tmp_path: Path) -> Clones:
    """Ada has a proposal of Bob's: a new entry she wants, one she does not, and a change of an entry of hers."""
    return Clones.again(tmp_path, prepared.copy("a proposal of Bob's", tmp_path, _make_world))


def _make_world(folder: Path) -> Left:
    clones = Clones(folder, "ab")
    for name, person in NAMES.items():
        git(clones.root(name), "config", "user.name", person)
        git(clones.root(name), "config", "user.email", f"{name}@example.org")
    known = clones.record("a", KNOWN)
    clones.settle()
    clones.record("b", GOOD)
    clones.record("b", BAD)
    clones["b"].edit(known.id, Edit(content=BETTER))
    clones["b"].propose("Uploads and queues")
    clones.sync("a")
    return clones.leave()


def texts(clones: Clones, name: str) -> set[str]:
    return {one.lore.content for one in clones[name].list(limit=None).lore}


async def opened(user: User) -> ProposalScreen:
    await user.press("2")
    await user.sees_text("◇", "3 entries: Uploads", "open it")
    found = user.app.screen
    assert isinstance(found, InboxScreen)
    await user.sees(lambda: found.item is not None and found.item.kind == "proposal")
    await user.press("enter")
    await user.sees(lambda: isinstance(user.app.screen, ProposalScreen) and user.app.screen.entry)
    assert isinstance(user.app.screen, ProposalScreen)
    return user.app.screen


async def at(user: User, found: ProposalScreen, text: str) -> None:
    assert found.proposal is not None
    titles = [one.title for one in found.proposal.entries]
    found.line_list.cursor = titles.index(text)
    await user.sees(lambda: found.entry is not None and found.entry.title == text)


@SIZES
async def test_entries_of_a_proposal_are_accepted_or_rejected_and_brought_in(
    world: Clones, size: tuple[int, int]
) -> None:
    async with run_app(world["a"], size) as user:
        found = await opened(user)
        await user.sees_text("3 of 3 undecided · Uploads and queues · by Bob Kahn", "new", "changed")
        await at(user, found, BETTER)
        await user.sees_text("retried twice five times")
        await user.press("y")
        await user.sees_text("2 of 3 undecided", "✓ accepted")
        await at(user, found, BAD)
        await user.press("x")
        await user.sees_text("Why reject")
        user.types(f"{REASON}\n")
        await user.sees_text("1 of 3 undecided", "✗ rejected")
        assert found.entry is not None
        assert found.entry.title == GOOD, "the cursor goes on to what is undecided"
        await user.press("u")
        await user.sees_text("2 of 3 undecided")
        await user.press("ctrl+r", "A")
        await user.sees_text("all decided: i brings them in")
        assert texts(world, "a") == {KNOWN}, "nothing comes in before the review ends"
        await user.press("i")
        await user.sees_text("2 entries come into the lore, 1 goes back with the reason")
        await user.press("y")
        await user.told("2 entries accepted, 1 rejected", "the remote has it")
        await user.sees_text("Nothing waits for you.")
        await user.press("u")
        await user.told("Undone", "2 entries accepted")
        assert not user.app.undo_stack.done, "its decisions are over with the review"
        assert texts(world, "a") == {KNOWN}, "what came in goes out again, and the text is as it was"
        user.app.clear_notifications()
        await user.press("ctrl+r")
        await user.told("Redone")
        await user.press("1")
        await user.sees(lambda: set(user.titles()) == {BETTER, GOOD})
    (notes,) = (done.notes for done in world.sync("b"))
    assert any(REASON in note for note in notes)
    assert texts(world, "b") == texts(world, "a") == {BETTER, GOOD}
    assert "Bob Kahn" in git(world.root("a"), "log", "--format=%an")


async def test_header_status_and_command_line_count_a_proposal_alike(world: Clones) -> None:
    root = world.root("a")
    listed = ok("review", cwd=root)
    assert "3 entries: Uploads and queues" in listed.out
    assert "Bob Kahn proposes 3 entries." in listed.out
    assert "engram review --proposal uploads-and-queues-" in listed.out
    assert ok("review", "--json", cwd=root).json["by_kind"]["proposal"] == 1
    assert ok("status", "--json", cwd=root).json["review"]["by_kind"]["proposal"] == 1
    assert world["b"].review().by_kind == {}, "a proposal of one's own waits for somebody else"
    async with run_app(world["a"], NARROW) as user:
        await user.press("2")
        await user.sees_text("1 wait", "proposal 1", "1 of 1")


@pytest.mark.slow
async def test_leaving_a_proposal_keeps_the_decisions(world: Clones) -> None:
    async with run_app(world["a"], NARROW) as user:
        await opened(user)
        for key in ("enter", "d"):
            await user.press(key)
            await user.sees(lambda: isinstance(user.app.screen, DifferenceScreen))
            await user.press("escape")
        await user.press("y")
        await user.sees_text("2 of 3 undecided")
        await user.press("escape")
        await user.sees(lambda: isinstance(user.app.screen, InboxScreen))
        await user.press("enter")
        await user.sees_text("2 of 3 undecided", "✓ accepted")


def test_accepting_the_rest_leaves_what_was_decided_since_the_screen_was_drawn(world: Clones) -> None:
    store = world["a"]
    (about,) = store.proposals(fetch=False)
    drawn = store.proposal(about.name, fetch=False)
    command = decide(about.name, drawn.undecided, ACCEPT, rest=True)
    store.decide_proposal(about.name, [(drawn.entries[0].id, REJECT, REASON)])
    assert command.undo is not None
    command.execute(store, ())
    assert [one.decision for one in store.proposal(about.name, fetch=False).entries] == [
        REJECT,
        ACCEPT,
        ACCEPT,
    ]
    command.undo(store)
    assert [one.decision for one in store.proposal(about.name, fetch=False).entries] == [REJECT, "", ""]
