"""The brief at the start of a session: entries about this repository, the best first, within its budget."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from apikit import SetClock, ok, open_test_store
from effort import sampled
from hookkit import LESSON, make_store, recalled_text

from engram.domain.recall.budget import tokens
from engram.usecases.agents import brief as briefing


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_store(tmp_path)


def test_the_brief_has_the_rules_and_puts_the_best_entry_first(root: Path) -> None:
    ok("record", "Pinned: releases are cut on Tuesdays only.", "-c", "workflow", "--pin", cwd=root)
    found = recalled_text("session-start", root)
    assert "\nEngram is this project's shared memory" in found
    assert re.search(r"\n\[L1\] workflow .*\n    Pinned: releases", found)
    assert LESSON in found


def test_entries_about_recently_touched_files_are_worth_more(tmp_path: Path) -> None:
    with open_test_store(tmp_path, clock=SetClock()) as engram:
        near = engram.record("The parser keeps a cache of tokens.", category="FACT", files=["src/parser.py"])
        far = engram.record("The printer keeps a cache of pages.", category="FACT", files=["src/printer.py"])
        engram.refresh()
        generation = engram.store.index.look()
        assert generation is not None
        hits = {hit.id: hit for hit in generation.catalog.select("1")}
    now = SetClock().now().timestamp()
    first, second = hits[near.lore.id], hits[far.lore.id]
    assert briefing.worth(first, ["src/parser.py"], now) > briefing.worth(second, ["src/parser.py"], now)
    assert briefing.worth(first, [], now) == briefing.worth(second, [], now)


def test_entries_need_a_current_reason_to_be_in_the_brief(tmp_path: Path) -> None:
    later = SetClock()
    with open_test_store(tmp_path, clock=later) as engram:
        old = [
            engram.record("The printer keeps a cache of pages.", category="FACT").lore.id,
            engram.record("The parser keeps tokens.", category="FACT", files=["src/parser.py"]).lore.id,
            engram.record("asyncpg drops prepared statements.", category="FACT").lore.id,
            engram.record("Ships sail on Sundays.", category="FACT", pinned=True).lore.id,
        ]
        engram.refresh()
        generation = engram.store.index.look()
        assert generation is not None
        hits = {hit.id: hit for hit in generation.catalog.select("1")}
        now = later.now().timestamp() + 7 * 86_400
        why = [briefing.reason(hits[one], ["src/parser.py"], frozenset({"asyncpg"}), now) for one in old]
        assert why == [None, briefing.FILES, briefing.DEPENDENCIES, briefing.HELPFUL]
        six_days_later = now - 6 * 86_400
        assert briefing.reason(hits[old[0]], [], frozenset(), six_days_later) == briefing.RECENT


def test_dependencies_come_from_manifests_without_versions(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "shop"\ndependencies = ["asyncpg>=0.30"]\n[project.optional-dependencies]\nweb = ["Starlette"]\n'
        '[dependency-groups]\ndev = ["pytest", {include-group = "web"}]\n[tool.poetry.dependencies]\nredis = "^5"\n'
    )
    (tmp_path / "package.json").write_text(
        '{"name": "shop", "dependencies": {"@types/node": "1"}, "scripts": {"dev": "x"}}'
    )
    (tmp_path / "requirements.txt").write_text("flask==3\n# no\n-r more.txt\n")
    (tmp_path / "go.mod").write_text("module a\nrequire (\n\tgithub.com/spf13/cobra v1.2.0\n)\n")
    (tmp_path / "Cargo.toml").write_text("[[[")
    named = {"asyncpg", "starlette", "pytest", "redis", "node", "flask", "cobra"}
    assert briefing.dependencies(str(tmp_path)) == named


def test_touched_files_come_from_git(tmp_path: Path) -> None:
    from gitkit import git

    git(tmp_path, "init", "-q")
    (tmp_path / "a b.py").write_text("x")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    (tmp_path / "new.py").write_text("x")
    git(tmp_path, "add", "new.py")
    assert briefing.touched_files(str(tmp_path)) == ["new.py", "a b.py"]
    assert briefing.touched_files(str(tmp_path / ".git")) == []


def test_pending_and_doubtful_entries_are_not_in_the_brief(root: Path) -> None:
    ok("record", "A pending thought about ships.", "-c", "fact", "--status", "pending", cwd=root)
    ok("record", "A doubtful thought about boats.", "-c", "fact", "--confidence", "0.2", cwd=root)
    found = recalled_text("session-start", root)
    assert "ships" not in found
    assert "boats" not in found


@sampled("budget", [100, 300, 1200])
def test_the_brief_keeps_its_budget(budget: int, tmp_path: Path) -> None:
    with open_test_store(
        tmp_path, settings=f'[store]\nfolder = "lore"\n[hooks]\nbrief_budget = {budget}\n'
    ) as engram:
        for number in range(12):
            engram.record(f"Note {number}\n\n" + f"Sentence number {number} of many. " * 100, category="FACT")
        text = briefing.brief(engram.store, str(tmp_path))
    assert text
    assert tokens(text) <= budget
    shown = [line for line in text.splitlines() if line.startswith("    Sentence")]
    assert all(line.endswith(".") for line in shown)
