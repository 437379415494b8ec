"""Moments learned from use: of what a session captured, and of what helped one; in this clone alone, never in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from apikit import ok, open_test_store
from hookkit import answer, call_after_success, captured_entries, make_store, process_queue, text_of

from engram.adapters.state.learned_moments import MOST, LearnedMoments
from engram.adapters.state.moment_counts import FEWEST, MomentCounts
from engram.domain.agents.learned_moments import moments_of
from engram.usecases.store.store import Clock

CLAUDE = "claude-code"
WHY = "Root cause: alembic waits for the lock that the report worker holds, so stop the worker before the upgrade."
COMMAND = "uv run alembic upgrade head"
ERROR = "Exit code 1\nsqlalchemy.exc.OperationalError: canceling statement due to lock timeout\n"
RULE = "The plan of the harbour store is refused while the crane is locked: unlock the crane first."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_store(tmp_path)


def row(kind: str, content: Any) -> str:
    return json.dumps({"type": kind, "message": {"role": kind, "content": content}})


def use(call: str, name: str, **given: str) -> str:
    return row("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}])


def result(call: str, text: str, *, failed: bool) -> str:
    return row("user", [{"type": "tool_result", "tool_use_id": call, "is_error": failed, "content": text}])


def mended(root: Path) -> None:
    """A session ends in which a migration failed, a file was changed and it passed, and the agent said why."""
    rows = [
        row("user", "migrate the database"),
        use("t1", "Bash", command=COMMAND),
        result("t1", ERROR, failed=True),
        use("t2", "Edit", file_path=str(root / "deploy/migrate.sh")),
        result("t2", "changed", failed=False),
        use("t3", "Bash", command=COMMAND),
        result("t3", "INFO done", failed=False),
        row("assistant", [{"type": "text", "text": f"It is migrated.\n\n{WHY}"}]),
    ]
    (root / "transcript.jsonl").write_text("\n".join(rows), "utf-8")
    answer(CLAUDE, "session-end", root, session_id="s1")
    process_queue(root)


def ran(root: Path, command: str, session: str = "later") -> str:
    call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"{session} {command}"}
    return text_of(answer(CLAUDE, "pre-tool", root, session_id=session, **call))


def edited(root: Path, file: str, session: str) -> str:
    call = {"tool_name": "Edit", "tool_input": {"file_path": str(root / file)}, "tool_use_id": file}
    return text_of(answer(CLAUDE, "pre-tool", root, session_id=session, **call))


def learned(root: Path) -> dict[str, list[str]]:
    with open_test_store(root, clock=Clock()) as engram:
        return LearnedMoments(engram.store.state).all()


# --- of what a session captured


def test_a_captured_lesson_is_shown_once_marked_before_the_command_that_failed(
    root: Path,
) -> None:
    mended(root)
    assert ran(root, "alembic history") == ""
    found = ran(root, "cd api && alembic -c x.ini upgrade head")
    assert WHY.removeprefix("Root cause: ")[:40] in found
    assert "not confirmed" in found
    assert ran(root, "alembic upgrade +1") == ""


def test_a_captured_lesson_is_shown_at_an_edit_of_the_file_that_was_changed(root: Path) -> None:
    mended(root)
    assert edited(root, "deploy/other.sh", "two") == ""
    assert "report worker" in edited(root, "deploy/migrate.sh", "two")


def test_an_accepted_entry_keeps_its_learned_moment_outside_its_file(root: Path) -> None:
    mended(root)
    (lore,) = captured_entries(root)
    assert lore.when == ()
    items = ok("review", "--kind", "pending", "--json", cwd=root).json["items"]
    (item,) = [one for one in items if one["lore"] == [lore.id]]
    ok("review", "accept", item["id"], cwd=root)
    found = ran(root, "alembic upgrade head")
    assert "report worker" in found
    assert "not confirmed" not in found
    assert all("when:" not in file.read_text("utf-8") for file in root.rglob("*.md"))
    assert "command: alembic upgrade" in ok("show", lore.id, cwd=root).out


# --- of what helped


def helped(root: Path, kind: str, session: str = "one") -> None:
    with open_test_store(root, session=session, clock=Clock()) as engram:
        shown = next(
            ref for ref in engram.store.session_state.refs(session) if ref.title.startswith("The plan of")
        )
        engram.feedback(**{kind: [shown.id]})


def test_an_entry_that_helped_with_a_failure_is_shown_before_that_command_later(root: Path) -> None:
    ok("record", RULE, "-c", "fact", cwd=root)
    failure = {"error": "Error: plan of the harbour store refused, the crane is locked", "tool_use_id": "t"}
    failure |= {"tool_name": "Bash", "tool_input": {"command": "terraform apply -auto-approve"}}
    assert RULE in text_of(answer(CLAUDE, "tool-failure", root, session_id="one", **failure))
    assert ran(root, "terraform apply", "two") == ""
    helped(root, "helpful")
    assert [*learned(root).values()] == [["command: terraform apply"]]
    assert RULE in ran(root, "terraform apply plan.out", "three")
    assert ran(root, "terraform destroy", "three") == ""
    helped(root, "not_relevant", "three")
    assert ran(root, "terraform apply plan.out", "four") == ""


def test_an_entry_that_helped_with_a_prompt_learns_no_command(root: Path) -> None:
    ok("record", RULE, "-c", "fact", cwd=root)
    prompt = "why is the plan of the harbour store refused while the crane is locked?"
    assert RULE in text_of(answer(CLAUDE, "prompt", root, session_id="one", prompt=prompt))
    call_after_success(root, "terraform apply", session_id="one")
    helped(root, "helpful")
    assert learned(root) == {}


# --- what is learned, and for how long


def test_a_moment_that_too_many_events_fit_is_not_used(root: Path) -> None:
    mended(root)
    with open_test_store(root, clock=Clock()) as engram:
        counts = MomentCounts(engram.store.state)
        for number in range(FEWEST + 1):
            counts.count(["command: alembic upgrade"] * (number % 4 == 0), is_new=True)
    assert ran(root, "alembic upgrade head") == ""


@pytest.mark.parametrize(
    ("command", "files", "lines"),
    [
        ("uv run alembic upgrade head", (), ["command: alembic upgrade"]),
        ("cd x && sudo terraform apply | tee log", (), ["command: terraform apply"]),
        ("npm run deploy; git push --force", (), ["command: git push"]),
        ("make test && npm run build && cargo check && npm test:unit", (), []),
        ("pytest -q tests && python x.py && ls", (), []),
        ("", ("db/ledger.sql",), ["file: /db/ledger.sql"]),
        ("", ("src/__init__.py", "a[1].py"), []),
        ("", ("a.sql", "b.sql", "c.sql"), ["file: /a.sql", "file: /b.sql", "file: /c.sql"]),
        ("", ("a.sql", "b.sql", "c.sql", "d.sql"), []),
        ("just deploy:test", (), ["command: just deploy:test"]),
        ("docker compose up", ("x" * 300,), ["command: docker compose"]),
    ],
)
def test_a_command_of_every_session_is_no_moment(
    command: str, files: tuple[str, ...], lines: list[str]
) -> None:
    assert moments_of(command, files) == lines


def test_an_entry_keeps_the_moments_learned_last_for_half_a_year(
    root: Path,
) -> None:
    with open_test_store(root, clock=Clock()) as engram:
        moments = LearnedMoments(engram.store.state)
        for day in range(MOST + 2):
            moments.learn("A", [f"command: git {day}"], day * 86_400.0)
        assert moments.all() == {"A": [f"command: git {day}" for day in range(2, MOST + 2)]}
        moments.learn("B", ["command: git push"], 184 * 86_400.0)
        assert moments.all() == {"A": ["command: git 4", "command: git 5"], "B": ["command: git push"]}
        moments.forget("A")
        assert [*moments.all()] == ["B"]
