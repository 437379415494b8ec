"""Cursor's rules file with the brief: made by connecting, filled at session start, ignored by git, removed completely."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from apikit import cli, ok
from connectkit import files, make_project, run
from gitkit import git
from hookkit import LESSON, UNRELATED, answer, make_store, text_of

from engram.adapters.files import places
from engram.usecases.agents.brief import RULES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the places of files differ by system")
FILE = ".cursor/rules/engram/engram-session.mdc"


@pytest.fixture
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_store(make_project(home, monkeypatch))


def test_the_brief_is_written_at_each_start_and_removed_by_disconnecting(home: Path, project: Path) -> None:
    before, status_before = files(home), git(project, "status", "--porcelain")
    run("connect", "cursor")
    written = project / FILE
    assert "alwaysApply: true\n---\n" in written.read_text()
    changed = set(git(project, "status", "--porcelain").splitlines()) - set(status_before.splitlines())
    assert changed == {"?? AGENTS.md"}
    assert text_of(answer("cursor", "session-start", project)) == RULES
    assert LESSON in written.read_text()
    assert "nothing to change" in run("connect", "cursor").out
    ok("forget", "--yes", next(iter(ok("query", LESSON, "--json").json["lore"]))["id"])
    answer("cursor", "session-start", project, session_id="s2", conversation_id="s2")
    now = written.read_text()
    assert LESSON not in now
    assert UNRELATED in now
    run("disconnect", "cursor")
    assert {name for name in files(home) if ".engram" not in name and "lore/" not in name} <= before.keys()
    assert not written.parent.exists()


def test_a_foreign_file_or_a_symbolic_link_is_never_written(home: Path, project: Path) -> None:
    foreign = project / FILE
    foreign.parent.mkdir(parents=True)
    foreign.write_text("<!-- engram connect -->\n")
    assert LESSON in text_of(answer("cursor", "session-start", project))
    foreign.unlink()
    run("connect", "cursor")
    (home / "mine.md").write_text("<!-- engram connect -->\n")
    foreign.unlink()
    foreign.symlink_to(home / "mine.md")
    assert LESSON in text_of(answer("cursor", "session-start", project, session_id="s2"))
    assert (home / "mine.md").read_text() == "<!-- engram connect -->\n"


def test_it_is_removed_from_another_working_folder_too(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("connect", "cursor")
    answer("cursor", "session-start", project)
    monkeypatch.chdir(home)
    assert cli("disconnect", "cursor", "--yes").code == 0
    assert not (project / ".cursor/rules/engram").exists()
    assert not (project / "AGENTS.md").exists()
    assert json.loads(Path(places.connections_file()).read_text()) == {}
