"""A hook as a process: whatever it is given and wherever it runs, the agent is never kept waiting or told of an error."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from apikit import Result, cli, lore_files, ok, variables
from effort import sampled
from hookkit import LESSON, PROMPT, make_store, recorded_payload

from tests.project.test_startup import START, start

COMMAND = [sys.executable, "-P", "-m", "engram", "hook"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_store(tmp_path / "work")


def run(
    root: Path, stdin: bytes, *arguments: str, seconds: str = "60", **more: str
) -> subprocess.CompletedProcess[bytes]:
    """A hook as an agent starts it, with more time than it has in life: the machine that tests may be busy."""
    environment = {**variables(ENGRAM_HOOK_SECONDS=seconds, ENGRAM_BACKGROUND="inline"), **more}
    return subprocess.run(
        [*COMMAND, *(arguments or ("prompt", "--agent", "claude-code"))],
        input=stdin, cwd=root, env=environment, capture_output=True, check=False, timeout=120,
    )  # fmt: skip


def payload(root: Path, event: str = "prompt", **changed: Any) -> bytes:
    return json.dumps(recorded_payload("claude-code", event, root, **changed)).encode()


def calm(event: str, root: Path, *more: str, agent: str = "claude-code", raw: bytes | None = None) -> Result:
    """The same in this process, errors and all."""
    given = payload(root, event) if raw is None else raw
    return cli("hook", event, "--agent", agent, *more, cwd=root, stdin=given, ENGRAM_HOOK_SECONDS="60")


def silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_prompt_is_answered_in_one_line_of_ascii(root: Path) -> None:
    done = run(root, payload(root))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"\n" not in done.stdout
    assert LESSON in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def test_garbage_is_passed_over(root: Path) -> None:
    for raw in (b"", b"garbage", b"\x00\xff" * 1000, b"{" * 5000, b'{"prompt": 1}'):
        assert tuple(calm("prompt", root, raw=raw)) == (0, "", "")
    assert silent(run(root, b"\xfe garbage"))


def test_a_hook_ends_in_time_if_its_input_never_ends(root: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "prompt", "--agent", "claude-code"],
        cwd=root, env=variables(ENGRAM_HOOK_SECONDS="0.3"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:  # fmt: skip
        assert child.stdin is not None
        child.stdin.write(payload(root)[:-5])
        child.stdin.flush()
        assert child.wait(timeout=60) == 0
        assert child.stdout is not None
        assert child.stderr is not None
        assert (child.stdout.read(), child.stderr.read()) == (b"", b"")


def test_a_locked_database_costs_only_the_answer(root: Path) -> None:
    with sqlite3.connect(root / ".engram/state.db") as held:
        held.execute("CREATE TABLE IF NOT EXISTS x (y)")
        held.execute("BEGIN EXCLUSIVE")
        assert silent(run(root, payload(root), seconds="1.5"))
        held.execute("ROLLBACK")
    assert LESSON.encode() in run(root, payload(root)).stdout


def test_a_hook_that_gives_up_leaves_a_line_in_the_activity_log(root: Path) -> None:
    with sqlite3.connect(root / ".engram/state.db") as held:
        held.execute("CREATE TABLE IF NOT EXISTS x (y)")
        held.execute("BEGIN EXCLUSIVE")
        assert silent(run(root, payload(root), seconds="2.5"))
        held.execute("ROLLBACK")
    until, late = time.monotonic() + 60, list[dict[str, Any]]()
    while not late and time.monotonic() < until:  # a process of its own writes it
        late = [one for one in ok("live", "--json", cwd=root).json["entries"] if one["action"] == "late"]
    assert [(one["via"], one["agent"], one["took_ms"]) for one in late] == [
        ("hook prompt", "claude-code", 2500.0)
    ]


def test_a_hook_that_fails_leaves_a_line_without_secrets_and_doctor_names_it(root: Path) -> None:
    token = "ghp_" + "aB3dE5gH7jK9mN1pQ4sT6vW8xZ0cF2hL5nR7"
    assert LESSON.encode() in run(root, payload(root)).stdout
    with sqlite3.connect(root / ".engram/state.db") as broken:  # an error that no part of a hook expects
        broken.execute(
            f"CREATE TRIGGER unexpected BEFORE INSERT ON hook_marks BEGIN SELECT RAISE(ABORT, '{token}'); END"
        )
    broken.close()
    for _ in range(2):
        assert silent(run(root, payload(root)))
    told = ok("doctor", cwd=root).out
    assert (
        "hook prompt, claude-code: failed 2 times in the last day, most recently with IntegrityError" in told
    )
    failed = [one for one in ok("live", "--json", cwd=root).json["entries"] if one["action"] == "failed"]
    assert [(one["via"], one["agent"]) for one in failed] == [("hook prompt", "claude-code")] * 2
    assert token not in told + json.dumps(failed)


# root may write anywhere, unless it is started without the right to
UNPRIVILEGED = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner"]
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.mark.skipif(
    os.name == "nt" or (IS_ROOT and not shutil.which("setpriv")), reason="no folder can be made read-only"
)
@sampled(
    ("home_too", "is_indexed"),
    [(True, False), (False, True), (True, True), (False, False)],
    ids=["store-and-home-fresh", "store-indexed", "store-and-home-indexed", "store-fresh"],
)
def test_a_clone_that_may_only_be_read_is_recalled_from_as_usual(
    home_too: bool, is_indexed: bool, root: Path, tmp_path: Path
) -> None:
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    if not is_indexed:
        shutil.rmtree(root / ".engram")
    folders = [Path(place) for one in ([root, home] if home_too else [root]) for place, _, _ in os.walk(one)]
    places = {f"XDG_{name}_HOME": str(home) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    more = {**variables(ENGRAM_HOOK_SECONDS="60", ENGRAM_BACKGROUND="inline"), **places, "HOME": str(home)}
    before = sorted(root.rglob("*"))
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = [
            subprocess.run(
                [*(UNPRIVILEGED if IS_ROOT else []), *COMMAND, "prompt", "--agent", "claude-code"], cwd=root,
                input=payload(root, session_id=session, prompt=f"{PROMPT} {number}"), capture_output=True,
                env={**more, "TMPDIR": str(temporary)}, check=False, timeout=120,
            )
            for session, number in (("one", 1), ("one", 2), ("two", 1))
        ]  # fmt: skip
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert {(one.returncode, one.stderr) for one in done} == {(0, b"")}
    first, again, other = (one.stdout.decode() for one in done)
    assert LESSON in first
    assert "above answers" in again  # what it was shown is remembered
    assert LESSON in other
    assert sorted(root.rglob("*")) == before


@sampled("number", [signal.SIGINT, signal.SIGKILL])
def test_a_hook_that_is_killed_leaves_the_store_whole(number: int, root: Path) -> None:
    for event in ("prompt", "session-end"):
        child = subprocess.Popen(
            [*COMMAND, event, "--agent", "claude-code"],
            cwd=root, env=variables(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert child.stdin is not None
        with child.stdin:
            child.stdin.write(payload(root, event))
        child.send_signal(number)
        child.wait(timeout=60)
    assert LESSON.encode() in run(root, payload(root, session_id="s9")).stdout
    assert ok("doctor", cwd=root).code == 0


def test_without_a_store_only_the_rules_are_returned_and_none_is_made(tmp_path: Path, home: Path) -> None:
    before = sorted(home.rglob("*"))
    assert silent(run(tmp_path, payload(tmp_path)))
    assert calm("session-end", tmp_path, agent="codex").out == ""
    assert "Engram is this project's shared memory" in calm("session-start", tmp_path).out
    assert list(tmp_path.iterdir()) == []
    assert sorted(home.rglob("*")) == before


def test_a_store_that_cannot_be_written_is_no_error(root: Path) -> None:
    state = root / ".engram"
    shutil.rmtree(state)
    state.write_text("a file in its place")
    assert silent(run(root, payload(root)))
    for event in ("session-start", "stop", "session-end"):
        assert tuple(calm(event, root)) == (0, "", "")


@pytest.mark.slow
def test_a_home_that_is_nowhere_is_no_error(root: Path) -> None:
    gone = {"HOME": "/gone", "XDG_DATA_HOME": "/gone/x", "XDG_CONFIG_HOME": "/gone/y"}
    assert LESSON.encode() in run(root, payload(root), **gone).stdout
    odd = {name: value.replace("/gone", "/dev/null") for name, value in gone.items()}
    assert silent(run(Path("/"), payload(Path("/")), **odd))


def test_a_folder_that_is_gone_is_no_error(tmp_path: Path) -> None:
    assert calm("prompt", tmp_path, raw=payload(tmp_path / "gone")).out == ""


def test_a_broken_configuration_is_no_error(root: Path) -> None:
    (root / ".engram.toml").write_text("= broken")
    assert tuple(calm("prompt", root)) == (0, "", "")


def test_a_damaged_index_is_no_error(root: Path) -> None:
    for path in (root / ".engram/index").rglob("*"):
        if path.is_file():
            path.write_bytes(b"damaged")
    assert calm("prompt", root).code == 0


def test_an_engram_of_somebody_else_is_never_run(root: Path) -> None:
    (root / "engram").mkdir()
    (root / "engram/__init__.py").write_text("raise SystemExit('the wrong one')")
    (root / "engram.py").write_text("raise SystemExit('the wrong one')")
    program = root / "bin/engram"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho the wrong one\nexit 2\n")
    program.chmod(0o755)
    done = run(root, payload(root), PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    assert LESSON.encode() in done.stdout


def test_an_invalid_call_is_no_error_to_the_agent(root: Path) -> None:
    good = ("prompt", "--agent", "claude-code")
    wrong: list[tuple[str, ...]] = [
        (),
        ("prompt",),
        ("nonsense", "--agent", "codex"),
        ("prompt", "--agent", "zed"),
    ]
    wrong += [
        ("prompt", "--agent", "cursor"),
        (*good, "--store", "/nowhere/at/all"),
        (*good, "--scope", "x"),
        (*good, "-x"),
    ]
    for arguments in wrong:
        done = cli("hook", *arguments, cwd=root, stdin=payload(root), ENGRAM_HOOK_SECONDS="60")
        assert tuple(done) == (0, "", ""), arguments


def test_output_that_nobody_reads_is_no_error(root: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "prompt", "--agent", "claude-code"],
        input=payload(root), cwd=root, env=variables(ENGRAM_HOOK_SECONDS="60"), stdout=writing, stderr=subprocess.PIPE,
        check=False, timeout=60,
    )  # fmt: skip
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_help_is_help(root: Path) -> None:
    assert ok("hook", "--help", cwd=root).out.startswith("usage: engram hook")


def test_a_hook_starts_as_lightly_as_a_query(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_HOOK_SECONDS", "60")
    work = make_store(home / "work")
    assert ok("reindex", cwd=work).code == 0
    prefix = (
        f"import io, os, sys; os.chdir('work'); sys.stdin = io.TextIOWrapper(io.BytesIO({payload(work)!r}));"
    )
    by_meaning = start(prefix + START, "hook", "prompt", "--agent", "claude-code")
    assert by_meaning == {"status": 0, "loaded": []}
    failed = payload(work, "tool-failure")
    prefix = f"import io, os, sys; os.chdir('work'); sys.stdin = io.TextIOWrapper(io.BytesIO({failed!r}));"
    assert start(prefix + START, "hook", "tool-failure", "--agent", "claude-code") == {
        "status": 0,
        "loaded": [],
    }


def test_work_that_takes_long_is_left_to_another_process(tmp_path: Path) -> None:
    root = make_store(tmp_path)
    shutil.rmtree(root / ".engram/index")
    environment = variables(ENGRAM_HOOK_SECONDS="0.001")
    environment.pop("ENGRAM_BACKGROUND", None)
    done = subprocess.run(
        [*COMMAND, "prompt", "--agent", "claude-code"],
        input=payload(root), cwd=root, env=environment, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert silent(done)


def test_nothing_is_written_by_hooks_that_only_recall(root: Path) -> None:
    before = {path: path.read_bytes() for path in lore_files(root)}
    for event in ("session-start", "prompt", "pre-tool", "tool-failure", "subagent-start", "stop"):
        assert calm(event, root).code == 0
    assert {path: path.read_bytes() for path in lore_files(root)} == before


def test_the_deadline_is_kept(root: Path) -> None:
    began = time.monotonic()
    with subprocess.Popen(
        [*COMMAND, "prompt", "--agent", "claude-code"],
        cwd=root, env=variables(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as child:  # fmt: skip
        assert child.wait(timeout=60) == 0  # its input stays open
        assert time.monotonic() - began >= 0.85
