"""What was acknowledged survives: a kill before any step of writing, a disk that is full at any step.

One child process imports Engram once and forks for each step: the fork writes and dies (or is refused) at that
step, a second fork then opens the store as the next command would and looks at everything.
"""

from __future__ import annotations

import builtins
import errno
import json
import os
import shutil
import stat
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from effort import is_thorough, sampled
from storekit import (
    SteadyClock,
    answers,
    assert_settled,
    assert_sound,
    commit,
    engram_command,
    git,
    lines,
    open_test_store,
    read_ahead,
    reopen_rebuilt,
    run,
)

from engram.domain.errors import EngramError
from engram.usecases.store.commit import has_work

STEPS = ("open", "write", "fsync", "replace", "rename", "unlink")
KILL, FULL_ONCE, FULL_FROM_THERE = "kill", "full once", "full from there on"


class Saboteur:
    """Counts the steps of writing and, at one of them, kills the process or says that the disk is full."""

    def __init__(self, at: int, how: str) -> None:
        self.at = at
        self.how = how
        self.count = 0

    def step(self, frees_space: bool) -> None:
        self.count += 1
        if self.how == KILL and self.count == self.at:
            os._exit(9)
        full = self.count == self.at if self.how == FULL_ONCE else self.count >= self.at
        if self.how != KILL and full and not frees_space:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @contextmanager
    def at_work(self) -> Iterator[None]:
        real = {name: getattr(os, name) for name in STEPS}
        for name in STEPS:
            setattr(os, name, self._sabotaged(name, real[name]))
        real_open = builtins.open
        builtins.open = self._sabotaged_open(real_open)  # type: ignore[assignment]
        try:
            yield
        finally:
            builtins.open = real_open
            for name in STEPS:
                setattr(os, name, real[name])

    def _sabotaged(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*arguments: Any, **options: Any) -> Any:
            if name == "open":
                counts = bool(arguments[1] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR))
            else:
                counts = name != "write" or stat.S_ISREG(os.fstat(arguments[0]).st_mode)  # or a pipe to git
            if counts:
                self.step(frees_space=name == "unlink")
            return real(*arguments, **options)

        return stepped

    def _sabotaged_open(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            if set(mode) & set("wax+") and isinstance(file, (str, os.PathLike)):
                self.step(frees_space=False)
            return real(file, mode, *arguments, **options)

        return stepped


def say(**values: Any) -> None:
    os.write(1, json.dumps(values).encode() + b"\n")


def template(root: Path) -> dict[str, str]:
    """A store with two committed entries; their ids."""
    with open_test_store(root) as engram:
        judged = engram.record("retry the broker", category="FACT", confidence=0.5).lore.id
        doomed = engram.record("cache the parser", category="FACT").lore.id
        engram.refresh()
        commit(engram)
    (root / ".git" / "engram" / "source").unlink()  # so that the session begins as the first one of a clone
    return {"judged": judged, "doomed": doomed}


def session(root: Path, ids: dict[str, str], saboteur: Saboteur, tell: Callable[[list[str]], None]) -> None:
    """Record, judge, forget, query and commit; report each step as soon as it is done."""
    engram = open_test_store(root)
    with saboteur.at_work():
        acts: list[tuple[str, Callable[[], object]]] = [
            ("recorded", lambda: engram.record("the queue consumer is idempotent", category="FACT")),
            ("helpful", lambda: engram.feedback(helpful=ids["judged"])),
            ("forgotten", lambda: engram.forget(ids["doomed"])),
            ("asked", lambda: engram.query("queue consumer")),
            ("committed", lambda: commit(engram)),
            ("recorded again", lambda: engram.record("a session needs a token", category="FACT")),
        ]
        for name, act in acts:
            try:
                act()
            except EngramError as error:
                tell(["refused", name, type(error).__name__, error.message])
            except Exception:  # noqa: BLE001
                tell(["raised", name, traceback.format_exc()])
            else:
                tell(["done", name])
        engram.close()
    tell(["end", str(saboteur.count)])


def inspect(root: Path, ids: dict[str, str], told: list[list[str]]) -> None:
    """Open the store as the next command would, and check everything that was promised."""
    done = {name for what, name, *_ in told if what == "done"}
    ended = told[-1:] != [] and told[-1][0] == "end"
    # A lock of git whose taker was killed before he wrote his name on it counts for half a minute.
    for lock in (root / ".git").glob("*.lock"):
        os.utime(lock, (0, 0))
    with open_test_store(root, SteadyClock()) as engram:
        listed = {shown.lore.content: shown.lore for shown in engram.list(limit=None).lore}
        asked = {"recorded": "the queue consumer is idempotent", "recorded again": "a session needs a token"}
        for name, content in asked.items():
            if name in done:
                assert [hit.lore.content for hit in engram.query(content, k=1).lore] == [content], name
            elif ended:
                assert content not in listed, f"{name} was refused, yet it is there"
        votes = listed["retry the broker"].validation_count
        assert votes == 1 if "helpful" in done else votes in ((0,) if ended else (0, 1)), votes
        assert ("cache the parser" in listed) == ("forgotten" not in done) or not ended
        assert not ("forgotten" in done and "cache the parser" in listed)
        generation = engram.store.index.look()
        assert generation is not None
        assert generation.catalog.problems() == []
        fresh = reopen_rebuilt(engram, root.parent / "fresh")
        assert answers(engram) == answers(fresh)
        fresh.close()
        assert engram.feedback(helpful=ids["judged"], again=True)[0].validation_count == votes + 1
        commit(engram)
        assert not has_work(engram.store)
        kept = {shown.path for shown in engram.list(limit=None).lore}
    assert set(git(root, "ls-files", "lore").split("\n")) == kept
    subjects = git(root, "log", "--format=%s").split("\n")
    for content in asked.values():
        assert subjects.count(f"record: {content}") == (content in listed), subjects
    assert_sound(root)
    assert_settled(root)


def in_a_fork(work: Callable[[], None]) -> str:
    """Do it in a forked process; "" or what it raised."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            work()
        except BaseException:  # noqa: BLE001
            with os.fdopen(writing, "w") as pipe:
                pipe.write(traceback.format_exc())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(process, 0)
    return said


def child(folder: str, sweeps: str) -> None:
    """Sabotage one step after the other until a session gets by without reaching its step; so for each sweep."""
    base = Path(folder)
    ids: dict[str, str] = {}
    notes = base / "ids"
    read_ahead()
    assert in_a_fork(lambda: notes.write_text(json.dumps(template(base / "template")))) == ""
    ids = json.loads(notes.read_text())
    for how, first, stride in json.loads(sweeps):
        at = first
        while not one_step(base, ids, at, how):
            at += stride
        say(swept=how, steps=at)


def one_step(base: Path, ids: dict[str, str], at: int, how: str) -> bool:
    """Sabotage one step and check what is left; return whether the session ended before that step."""
    work = base / "work"
    shutil.copytree(base / "template", work / "store", symlinks=True)
    told_file = base / "told"
    told_file.write_bytes(b"")
    handle = os.open(told_file, os.O_WRONLY | os.O_APPEND)
    write = os.write  # before it is sabotaged

    def tell(what: list[str]) -> None:
        write(handle, json.dumps(what).encode() + b"\n")

    raised = in_a_fork(lambda: session(work / "store", ids, Saboteur(at, how), tell))
    os.close(handle)
    told: list[list[str]] = lines(told_file.read_bytes())
    wrong = in_a_fork(lambda: inspect(work / "store", ids, told))
    trouble = [raised, wrong, *[what[2] for what in told if what[0] == "raised"]]
    trouble += [
        f"{what[2]}: {what[3]}" for what in told if what[0] == "refused" and not what[3].endswith(".")
    ]
    if any(trouble):
        say(how=how, step=at, trouble=[text for text in trouble if text], told=told)
    shutil.rmtree(work)
    return told[-1:] != [] and told[-1][0] == "end" and int(told[-1][1]) < at


def sabotage(folder: Path, sweeps: list[tuple[str, int, int]]) -> list[Any]:
    """Return what the child process reports: an error, or the number of steps in each sweep."""
    script = (
        "import sys; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/tests/kits']; "
        "from tests.store import test_commit_durability as t; t.child(*sys.argv[2:])"
    )
    done = run(script, Path(__file__).parents[2], folder, json.dumps(sweeps))
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return lines(done.stdout)


SWEEPS = [(KILL, 1, 19), (KILL, 6, 31), (FULL_ONCE, 1, 23), (FULL_FROM_THERE, 2, 31)]  # first step, stride
ALL_SWEEPS = [(KILL, 1, 2), (KILL, 2, 2), (FULL_ONCE, 1, 2), (FULL_FROM_THERE, 2, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("sweeps", [[one] for one in ALL_SWEEPS] if is_thorough() else [SWEEPS])
def test_no_acknowledged_change_is_lost_whichever_step_is_the_last(
    tmp_path: Path, sweeps: list[tuple[str, int, int]]
) -> None:
    said = sabotage(tmp_path, sweeps)
    assert [line for line in said if "trouble" in line] == []
    assert [line["swept"] for line in said] == [how for how, _first, _stride in sweeps]
    assert all(line["steps"] > 20 for line in said)


LIMITED = """
    import json, resource, sys
    import engram
    root, limit = sys.argv[1], int(sys.argv[2])
    with engram.open(root, session="s") as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        for number in range(3):
            try:
                recorded = store.record(f"lesson {number} of the broker " + "retry " * 150, category="FACT")
                print(json.dumps(["done", recorded.lore.id]), flush=True)
            except engram.EngramError as error:
                print(json.dumps([type(error).__name__, error.message]), flush=True)
            answer = store.query("broker retry", keep=False)
            print(json.dumps(["asked", answer.strategy, len(answer.lore), list(answer.notes)]), flush=True)
        status = store.status()
        print(json.dumps(["status", status["index"]["ok"]]), flush=True)
"""


@sampled("limit", [0, 200, 700, 2_500, 5_000, 12_000, 40_000], everyday=3)
def test_a_limit_on_the_size_of_files_loses_nothing_acknowledged(tmp_path: Path, limit: int) -> None:
    """Real refusals (EFBIG) of every write past the limit, those of SQLite, tantivy and git among them."""
    root = tmp_path / "store"
    with open_test_store(root) as engram:
        first = engram.record("retry the broker", category="FACT").lore.id
        commit(engram)
    done = run(LIMITED, root, limit)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    said = lines(done.stdout)
    recorded = [line[1] for line in said if line[0] == "done"]
    refused = [line for line in said if line[0] not in ("done", "asked", "status")]
    assert len(recorded) + len(refused) == 3
    assert {line[0] for line in refused} <= {"StoreError"}
    count = 1
    for line in said:
        count += line[0] == "done"
        if line[0] == "asked":
            assert line[2] == count, said
            assert line[1] == "hybrid" or line[3], "a step down without a note"
    with open_test_store(root) as engram:
        assert {shown.lore.id for shown in engram.list(limit=None).lore} == {first, *recorded}
        commit(engram)
    assert_sound(root)
    assert_settled(root)


def test_the_command_line_reports_a_full_disk_in_one_sentence(tmp_path: Path) -> None:
    root = tmp_path / "store"
    open_test_store(root).close()
    script = """
        import resource, sys
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        from engram.cli.main import main
        sys.exit(main(["record", "retry the broker", "--category", "FACT", "--json", "--store", sys.argv[1]]))
    """
    done = run(script, root)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "store"
    assert b"Traceback" not in done.stderr
    again = engram_command(
        root, "record", "retry the broker", "--category", "FACT", ENGRAM_BACKGROUND="inline"
    )
    assert again.returncode == 0, again.stderr
    assert_sound(root)
    assert_settled(root)
