"""People are shown by their names: whoever recorded an entry has the name that git knows, an agent works for somebody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import prepared
import pytest
from apikit import git, ok
from effort import sampled
from sync_kit import Clones, Left
from tui_kit import NARROW, run_app

import engram
from engram.cli.output import Output
from engram.domain.entry.people import short_byline
from engram.usecases.recording.edit import Edit
from engram_tui.widgets.line_list import LineList


@pytest.fixture
def store(tmp_path: Path) -> Iterator[engram.Engram]:
    root = tmp_path / "s"
    with engram.open(root, session="t") as made:
        git(root, "config", "user.name", "Ada Lovelace")
        git(root, "config", "user.email", "ada@example.org")
        made.record("The nightly build needs Node 22.", category="FACT", agent="codex", status="pending")
        made.record("Orders are numbered by the database.", category="FACT", status="pending")
    with engram.open(root, session="t") as opened:
        yield opened


NAMES = {"a": "Ada Lovelace", "b": "Bob Kahn"}
PORT = "The staging gateway listens on port {}."
THEIRS = {"a": "Uploads are retried twice.", "b": "The broker keeps messages for a week."}


@pytest.fixture
def two(tmp_path: Path) -> Clones:
    """Two clones, two git identities; both changed one entry, and each recorded one."""
    return Clones.again(tmp_path, prepared.copy("two who changed one entry", tmp_path, _make_two))


def _make_two(folder: Path) -> Left:
    clones = Clones(folder, "ab")
    for name, person in NAMES.items():
        git(clones.root(name), "config", "user.name", person)
        git(clones.root(name), "config", "user.email", f"{name}@example.org")
    shared = clones.record("a", PORT.format(8080))
    clones.settle()
    for name, port in (("a", 9090), ("b", 7070)):
        clones[name].edit(shared.id, Edit(content=PORT.format(port)))
        clones.record(name, THEIRS[name])
    clones.sync("a", "b", "a")
    return clones.leave()


async def test_the_inbox_the_list_and_live_name_whoever_did_it(store: engram.Engram) -> None:
    async with run_app(store, NARROW) as user:
        await user.press("2")
        await user.sees_text("codex for Ada", "Ada Lovelace")
        await user.press("f")
        user.types("codex for\n")
        await user.sees_text("1 of 1 codex for Ada Lovelace, of 2")
        await user.press("6")
        await user.sees_text("recorded", "Ada Lovelace")
        assert "you " not in user.text("about")


async def test_a_roomy_list_has_a_column_of_names(store: engram.Engram) -> None:
    async with run_app(store, (200, 40)) as user:
        await user.sees_text("who", "codex for Ada", "Ada Lovelace", "(pending) Orders are numbered")
        await user.sees_text("AGENT", "people")
        assert "human" not in user.screen()


@pytest.mark.parametrize(
    ("here", "width", "names"), [("a", 120, "Ada ⇄ Bob"), ("b", 200, "Ada Lovelace ⇄ Bob Kahn")]
)
async def test_a_dispute_has_both_names_in_the_list_of_each_clone(
    two: Clones, here: str, width: int, names: str
) -> None:
    async with run_app(two[here], (width, 40)) as user:
        await user.press("2")
        await user.sees_text("● dispute", names)


@sampled(("here", "them"), [("a", "Bob Kahn"), ("b", "Ada Lovelace")])
async def test_each_of_two_people_sees_the_others_name_on_every_screen(
    two: Clones, here: str, them: str
) -> None:
    theirs = THEIRS["b" if here == "a" else "a"]
    seen = {}
    async with run_app(two[here], (120, 40)) as user:
        await user.searches(theirs)
        await user.press("enter")
        await user.sees_text("recorded just now by")
        seen["browse"] = user.screen()
        await user.press("enter", "v")
        await user.sees_text("History 1", "record    ")
        seen["entry"] = user.screen()
        await user.press("2")
        await user.sees_text("● dispute", "other version, by")
        seen["inbox"] = user.screen()
        await user.press("4")
        await user.sees_text(f"+ {theirs}")
        lines = user.app.screen.query_one(LineList)
        lines.cursor = next(
            at for at, line in enumerate(lines.lines) if any(part.text == theirs for part in line.parts)
        )
        await user.sees_text("recorded", f"new · tester for {them} on")
        seen["sync"] = user.screen()
        await user.press("6")
        await user.sees_text("recorded")
        seen["live"] = user.screen()
    for name, screen in seen.items():
        assert "human" not in screen, name
        assert name == "live" or them in screen, screen
    assert NAMES[here] in seen["live"], "it shows what was done on this machine"


def test_list_and_live_of_the_command_line_have_names(
    store: engram.Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Output, "width", 140)
    root = Path(store.path)
    store.query("orders")
    assert "codex for Ada" in ok("list", cwd=root).out
    line = next(line for line in ok("live", cwd=root).out.splitlines() if "query" in line)
    assert "Ada Lovelace" in line
    assert "human" not in ok("list", cwd=root).out


def test_a_name_that_does_not_fit_is_shortened_and_comes_before_the_agent() -> None:
    assert short_byline("claude-code", "Ada Lovelace", 40) == "claude-code for Ada Lovelace"
    assert short_byline("claude-code", "Ada Lovelace <ada@example.org>", 20) == "claude-code for Ada"
    assert short_byline("claude-code", "Ada Lovelace", 14) == "Ada (claude-code)"
    assert short_byline("human", "Ada Lovelace", 8) == "Ada"
    assert short_byline("codex", "", 3) == "codex"
