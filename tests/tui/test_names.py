"""People are shown by their names: whoever recorded an entry has the name that git knows, an agent works for somebody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from apikit import git, ok
from tui_kit import NARROW, using

import engram
from engram.cli.output import Output
from engram.domain.entry.people import short_byline


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


async def test_the_inbox_the_list_and_live_name_whoever_did_it(store: engram.Engram) -> None:
    async with using(store, NARROW) as user:
        await user.press("2")
        await user.sees_text("codex for Ada", "Ada Lovelace")
        await user.press("f")
        user.types("codex for\n")
        await user.sees_text("1 of 1 codex for Ada Lovelace, of 2")
        await user.press("6")
        await user.sees_text("recorded", "Ada Lovelace")
        assert "you " not in user.text("about")


async def test_a_roomy_list_has_a_column_of_names(store: engram.Engram) -> None:
    async with using(store, (200, 40)) as user:
        await user.sees_text("who", "codex for Ada", "Ada Lovelace", "(pending) Orders are numbered")


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
