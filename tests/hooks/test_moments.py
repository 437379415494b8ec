"""Entries at their moment: through the hooks, whole, once a session, and only those that count here."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from apikit import cli, ok, open_test_store
from gitkit import git
from hookkit import FAILURE, LESSON, answer, make_store, text_of
from sync_kit import Clones

from engram.adapters.state.moment_counts import FEWEST, MomentCounts
from engram.usecases.recording.edit import Edit
from engram.usecases.store.store import Clock

CLAUDE, CODEX, GEMINI = "claude-code", "codex", "gemini-cli"
RULE = "Ask the channel first.\n\nThe main branch deploys by itself.\n" + "\n".join(
    f"Line {number} of what happened then." for number in range(20)
)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_store(tmp_path)


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return Clones(tmp_path)


def add(root: Path, *when: str, content: str = RULE, **more: Any) -> str:
    with open_test_store(root, agent="human", clock=Clock()) as engram:
        made = engram.record(content, category="FACT", when=when, **more)
        engram.refresh()
        return made.lore.id


def ran(root: Path, command: str, **more: Any) -> str:
    call = more.pop("call", f"call of {command}")
    more = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call, **more}
    return text_of(answer(CLAUDE, "pre-tool", root, **more))


def edited(root: Path, file: str, **more: Any) -> str:
    more = {"tool_name": "Edit", "tool_input": {"file_path": str(root / file)}, "tool_use_id": file, **more}
    return text_of(answer(CLAUDE, "pre-tool", root, **more))


def test_a_matching_command_shows_the_whole_entry_once_a_session(root: Path) -> None:
    add(root, "command: git push")
    assert ran(root, "git status && git commit -m 'then git push'") == ""
    found = ran(root, "cd src && git -C . push origin main")
    assert all(line in found for line in RULE.splitlines())
    assert ran(root, "git push --tags") == ""
    assert RULE.splitlines()[0] in ran(root, "git push", session_id="another")


def test_the_first_entry_with_a_moment_is_shown_without_a_query_in_between(
    root: Path,
) -> None:
    assert ran(root, "git push", call="before") == ""
    ok("record", RULE, "--category", "fact", "--when", "command: git push", cwd=root)
    assert RULE.splitlines()[0] in ran(root, "git push", call="after")


def test_an_entry_is_shown_at_its_moment_though_recalled_before_and_after_compaction(
    root: Path,
) -> None:
    add(root, "command: terraform apply", content=f"{LESSON} Before you apply.")
    assert LESSON in text_of(answer(CLAUDE, "prompt", root))
    assert LESSON in ran(root, "terraform apply plan.out")
    assert ran(root, "terraform apply -auto-approve") == ""
    answer(CLAUDE, "session-start", root, source="compact")
    assert LESSON in ran(root, "terraform apply", call="later")


def test_files_of_tools_and_of_commands_are_taken_from_the_top_of_the_repository(root: Path) -> None:
    git(root, "init", "-q")
    (root / "api").mkdir()
    add(root, "file: /infra/*.tf", "file: migrations/**")
    assert edited(root, "api/infra/main.tf", cwd=str(root / "api")) == ""
    assert RULE.splitlines()[0] in edited(root, "infra/main.tf", cwd=str(root / "api"))
    assert RULE.splitlines()[0] in ran(
        root, "vim ../db/migrations/1.sql", cwd=str(root / "api"), session_id="2"
    )


def test_files_of_a_command_line_are_below_the_folder_that_it_changes_to(root: Path) -> None:
    git(root, "init", "-q")
    (root / "api").mkdir()
    add(root, "file: /infra/*.tf", "file: migrations/**")
    api = {"cwd": str(root / "api")}
    assert ran(root, "cd sub && cat infra/main.tf; (cd migrations); cat 1.sql", **api) == ""
    assert ran(root, "cd infra && vim main.tf", **api) == ""
    for number, line in enumerate(
        ("cd .. && vim infra/main.tf", "cd db/migrations && cat 1.sql", "git -C ../infra add x.tf")
    ):
        assert RULE.splitlines()[0] in ran(root, line, **api, session_id=f"{number}"), line


def test_a_tool_shows_the_entry_that_names_it(root: Path) -> None:
    add(root, "tool: mcp__github__*")
    call = {"tool_name": "mcp__github__create_issue", "tool_input": {"title": "x"}, "tool_use_id": "t1"}
    assert RULE.splitlines()[0] in text_of(answer(CLAUDE, "pre-tool", root, **call))


def test_a_rule_of_cursor_is_shown_at_its_files_to_all_agents_but_cursor(root: Path) -> None:
    rule = root / ".cursor/rules/sql.mdc"
    rule.parent.mkdir(parents=True)
    rule.write_text("---\nglobs: src/db/**/*.{sql,psql}\n---\nWrite keywords in capitals.\n", "utf-8")
    ok("import", "--yes", str(rule), cwd=root)
    call = {"tool_name": "Write", "tool_input": {"file_path": str(root / "src/db/a/b.psql")}}
    assert "keywords in capitals" not in text_of(answer("cursor", "post-tool", root, **call))
    assert edited(root, "src/web/b.psql") == ""
    assert "keywords in capitals" in edited(root, "src/db/a/b.psql")


def test_an_error_shows_the_entry_of_its_moment_before_those_found_by_words(root: Path) -> None:
    add(root, "error: undefined symbol*tls_get_addr", content="The sysroot has to be mounted.")
    found = text_of(answer(CLAUDE, "tool-failure", root))
    assert 0 < found.index("The sysroot has to be") < found.index(FAILURE.split(":")[0])


@pytest.mark.parametrize("agent", [CODEX, GEMINI])
def test_agents_with_no_event_before_tools_show_the_entry_after_them(agent: str, root: Path) -> None:
    add(root, "command: git push")
    event = "post-tool"
    changed = {"tool_input": {"command": "git push"}, "tool_name": "Bash"}
    before = answer(agent, "pre-tool", root, **changed) if agent == CODEX else None
    found = text_of(before) + text_of(answer(agent, event, root, **changed))
    assert found.count(RULE.splitlines()[1 + 1]) == 1


@pytest.mark.parametrize(
    "more", [{"status": "pending"}, {"status": "archived"}, {"expires_at": LONG_AGO}], ids=str
)
def test_an_entry_excluded_from_recall_is_not_shown_at_its_moment(more: dict[str, Any], root: Path) -> None:
    add(root, "command: git push", **more)
    assert ran(root, "git push") == ""


def test_at_most_three_entries_are_shown_at_once_and_the_others_next_time(root: Path) -> None:
    for number in range(4):
        add(root, "command: git push", content=f"Rule number {number} of pushing.")
    first, second = ran(root, "git push", call="1"), ran(root, "git push", call="2")
    assert [text.count("Rule number") for text in (first, second)] == [3, 1]


def test_an_entry_of_the_users_own_store_is_shown_in_a_project_too(tmp_path: Path) -> None:
    ok("record", RULE, "--category", "fact", "--when", "command: git push", "--scope", "user", cwd=tmp_path)
    ok("list", "--scope", "user", cwd=tmp_path)
    project = make_store(tmp_path / "project")
    assert RULE.splitlines()[0] in ran(project, "git push")


def test_a_moment_that_another_clone_set_counts_once_it_is_accepted(clones: Clones) -> None:
    a, b = clones.stores["a"], clones.stores["b"]
    lore_id = b.record(RULE, category="fact", when=["command: git push"]).lore.id
    clones.sync("b", "a")
    a.refresh()
    root = clones.root("a")
    assert ran(root, "git push", call="1") == ""
    assert "not at its moments" in ok("show", lore_id, cwd=root).out
    [item] = a.review(kinds=["foreign"]).items
    assert (item.lore, item.claims) == ((lore_id,), ("shown at command: git push",))
    a.decide(item, "accept")
    assert RULE.splitlines()[0] in ran(root, "git push", call="2")
    b.edit(lore_id, Edit(add_when=("command: ls",)))
    clones.sync("b", "a")
    a.refresh()
    assert ran(root, "ls", call="3", session_id="3") == ""
    assert a.review(kinds=["foreign"]).items


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "strangers-1", "strangers-2", "strangers-3", "strangers-4"])
def test_moments_of_the_development_sets_reach_the_wanted_precision_and_recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import moments

    folder = str(Path(moments.SET, name))
    sessions = moments.read("sessions", folder)
    named = moments.prepare(str(tmp_path / "project"), moments.read("entries", folder))
    outcomes = list(moments.run(str(tmp_path / "project"), named, sessions))
    figures = moments.figures(outcomes)
    assert len(sessions) >= 60
    assert figures.wanted >= 60
    assert figures.precision >= moments.WANTED
    assert figures.recall >= moments.WANTED


def test_a_moment_that_more_than_one_in_twenty_events_fit_is_not_used_and_is_named_in_the_review(
    root: Path,
) -> None:
    lore_id = add(root, "command: git", "command: git push")
    rare = add(root, "command: git push --force", content="Never force.")
    with open_test_store(root, agent="tester") as engram:
        counts = MomentCounts(engram.store.state)
        for number in range(FEWEST - 2):
            fits = ["command: git"] if number % 10 == 0 else []
            counts.count([*fits, *(["command: git push"] if number % 25 == 0 else [])], is_new=True)
        assert not engram.review(kinds="moment").total
    assert RULE.splitlines()[0] in ran(root, "git status", call="1")
    assert ran(root, "git status", call="2", session_id="2") == ""
    found = ran(root, "git push --force", call="3", session_id="2")
    assert RULE.splitlines()[0] in found
    assert "Never force." in found
    with open_test_store(root, agent="human", clock=Clock()) as engram:
        [item] = engram.review(kinds="moment").items
        assert (item.lore, item.proposal) == ((lore_id,), "edit")
        assert "`command: git` fits 53 of 501 events here" in item.why
        assert rare not in item.lore
        engram.decide(item, "accept")
        assert not engram.review(kinds="moment").total


def test_list_names_entries_with_a_moment_and_those_that_an_event_fits(root: Path) -> None:
    lore_id = add(root, "command: git push", "file: *.tf")
    other = add(root, "tool: WebFetch", content="The proxy answers with its login page.")

    def listed(*more: str) -> set[str]:
        return {one["id"] for one in ok("list", "--json", *more, cwd=root).json["lore"]}

    assert listed("--when") == {lore_id, other}
    assert listed("--when", "sudo git push --tags") == {lore_id} == listed("--when", "infra/a.tf")
    assert listed("--when", "webfetch") == {other}
    assert listed("--when", "git pull") == set()
    assert json.loads(ok("show", lore_id, "--json", cwd=root).out)["lore"]["when"] == [
        "command: git push",
        "file: *.tf",
    ]


def test_moments_are_recorded_edited_and_refused_on_the_command_line(root: Path) -> None:
    made = ok(
        "record", "Some rule.", "--category", "fact", "--when", "Command: git  push", "--json", cwd=root
    )
    lore_id = made.json["lore"]["id"]
    done = ok("edit", lore_id, "--when", "file: *.tf", "--no-when", "command: git push", "--json", cwd=root)
    assert (made.json["lore"]["when"], done.json["lore"]["when"]) == (["command: git push"], ["file: *.tf"])
    assert "when     file: *.tf" in ok("show", lore_id, cwd=root).out
    wrong = cli("record", "Another.", "--category", "fact", "--when", "comand: x", cwd=root)
    assert (wrong.code, "command: git push" in wrong.err) == (2, True)
