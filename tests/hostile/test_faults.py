"""Every private file, damaged in every way: each command answers or says in one sentence why not, and `doctor` mends it.

What a store keeps is found on the disk of one that was used in every way, so a new kind of file is tried without anybody
thinking of it. Every day a sample of the product is tried, with `--slow` some commands for each file and fault, with
`--thorough` all that look at the file. FAULTS_TABLE names a file to which the outcomes are added, as a table in markdown.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import glob
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from apikit import PROJECT, Result, cli, variables
from effort import is_thorough, sampled

from tests.hostile.fault_kit import (
    EVERYDAY,
    FAULTS,
    HOSTILE,
    LINES,
    Bench,
    broken,
    flipped,
    folder,
    forbidden,
    missing_commands,
    possible,
    truncated,
    zeroed,
)
from tests.hostile.used_store import QUESTION, make_world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PARTS = 12
SECONDS = 600  # for one fault, as each line starts a process; a whole part exceeds the usual limit
LIBRARY = next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")), "")
needs_faketime = pytest.mark.skipif(not LIBRARY, reason="libfaketime is not installed (apt install faketime)")


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    place = Path(tempfile.mkdtemp(prefix="engram-faults-"))
    try:
        (place / "world").mkdir()
        made = Bench(make_world(place / "world"))
        yield made
        made.close()
    finally:
        shutil.rmtree(place, ignore_errors=True)


def test_every_command_has_a_line() -> None:
    assert missing_commands() == set()


def test_doctor_finds_nothing_in_a_healthy_used_store(bench: Bench) -> None:
    bench.snapshot.restore()
    bench.ask(("query", QUESTION))  # commits what waits, as any command does
    assert bench.ask(("doctor",)).out == "All is well.\n"


def test_a_sample_of_files_and_faults(bench: Bench) -> None:
    bench.snapshot.restore()
    chance = random.Random(1970)
    every = [(kind, fault) for kind in bench.files for fault in possible(bench.files[kind][0])]
    for number, (kind, fault) in enumerate(chance.sample(every, 8)):
        lines = chance.sample(EVERYDAY, 2)
        assert broken(bench, kind, fault, lines, doctor=number % 4 == 0) == []


# Damage that once hid lore or that `doctor` once left, with the lines that showed it.
HID = [
    ("journal.jsonl", folder, EVERYDAY),
    ("journal.jsonl", forbidden, EVERYDAY),
    *(("source", fault, [*EVERYDAY, ("undo",), ("import", "../rows.jsonl")]) for fault in FAULTS),
    *(("http-token", fault, LINES["serve"]) for fault in FAULTS),
    *(("judgements/*/*/*.jsonl", fault, [("undo",), *EVERYDAY]) for fault in (flipped, truncated, zeroed)),
    ("outside", folder, [("undo",), ("sync",)]),
    *(("~/promoted/*.md", fault, LINES["promote"]) for fault in (folder, forbidden)),
    ("~/connections.json", folder, LINES["connect"]),
    ("~/index/generation-*/words/meta.json", folder, [("list", "--scope", "user"), *LINES["promote"]]),
]


@sampled(("kind", "fault", "lines"), HID)
def test_doctor_repairs_files_whose_damage_once_hid_lore_or_made_commands_fail(
    bench: Bench,
    kind: str,
    fault: Callable[[Path, random.Random], None],
    lines: Sequence[tuple[str, ...]],
) -> None:
    assert broken(bench, kind, fault, lines) == []


def test_an_index_with_a_folder_in_place_of_a_file_is_rebuilt(bench: Bench) -> None:
    kind, line = "index/generation-*/words/meta.json", ("list", "--limit", "100")
    bench.baseline(line)
    bench.damage(kind, folder)
    trial = bench.try_line(line)  # not compared in full, as ages change
    assert (trial.result.code, trial.wrong) == (0, ""), trial
    bench.snapshot.restore()


def allow_seconds(seconds: float) -> None:
    """Restart the timeout of this test, after which its stack is printed and the run ended."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__)


@pytest.mark.slow
@pytest.mark.skipif(
    "not config.getoption('--thorough')", reason="ten thousand combinations: ./test --thorough"
)
@pytest.mark.parametrize("part", range(PARTS))
def test_files_and_faults(bench: Bench, part: int) -> None:
    found = []
    for kind in list(bench.files)[part::PARTS]:
        is_nested = kind.startswith(("~/", "as-of/", "sessions/"))
        allow_seconds(SECONDS)
        looking = bench.lines_for(kind)
        bench.snapshot.restore()
        for fault in possible(bench.files[kind][0]):
            chance = random.Random(f"{kind} {fault.__name__}")
            allow_seconds(SECONDS)
            most = len(looking) if is_thorough() else min(len(looking), 2 if is_nested else 5)
            found += broken(bench, kind, fault, chance.sample(looking, most))
    assert found == []


def on_a_hostile_disk(
    bench: Bench, how: str, sizes: Sequence[int], lines: Sequence[tuple[str, ...]]
) -> list[list[Any]]:
    """Run these commands on a file system that only a child process sees: nearly full, or read-only."""
    allow_seconds(SECONDS)
    bench.snapshot.restore()
    folders = (str(PROJECT / "tests/kits"), str(bench.world.place), bench.snapshot.kept)
    done = subprocess.run(
        ["unshare", "--mount", "--map-root-user", sys.executable, "-c", textwrap.dedent(HOSTILE), *folders, how,
         json.dumps(sizes), json.dumps(lines)],
        env=variables(), capture_output=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    if done.returncode == 77 or b"unshare: " in done.stderr:
        pytest.skip("no name spaces or no right to mount here")
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


EVERY_LINE = [line for lines in LINES.values() for line in lines]
needs_mounts = pytest.mark.skipif(shutil.which("unshare") is None, reason="needs Linux name spaces")


@needs_mounts
@sampled("sizes", [[32], [4, 8, 16, 64]])
def test_a_nearly_full_disk_hides_no_lore(bench: Bench, sizes: list[int]) -> None:
    lines = EVERY_LINE if len(sizes) > 1 else EVERYDAY[:3]
    said = on_a_hostile_disk(bench, "full", sizes, lines)
    assert [one for one in said if one[4]] == []


@needs_mounts
@sampled("lines", [[("list", "--limit", "100"), ("query", QUESTION)], EVERY_LINE])
def test_on_a_read_only_file_system_everything_can_be_read(
    bench: Bench, lines: list[tuple[str, ...]]
) -> None:
    said = on_a_hostile_disk(bench, "read-only", [], lines)
    assert [one for one in said if one[4]] == []
    refused = {one[1][0] for one in said if one[2] not in (0, one[3])}
    assert refused <= WRITE, [one for one in said if one[1][0] in refused - WRITE]


# Commands that change lore, settings or files of agents, and so must fail there.
WRITE = {
    *("record", "edit", "forget", "undo", "redo", "restore", "import", "link", "adopt", "config", "promote", "feedback"),
    *("sync", "propose", "clone", "trust", "team", "maintain", "connect", "disconnect", "init", "move", "consolidate"),
}  # fmt: skip


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="knows no numbers of system calls here"
)
@pytest.mark.parametrize("call", ["flock", "inotify_init1"])
@sampled("lines", [EVERYDAY[:2] + EVERYDAY[3:4], EVERY_LINE])
def test_without_a_system_call_commands_answer_or_say_why_not(
    bench: Bench, call: str, lines: list[tuple[str, ...]]
) -> None:
    for line in lines:
        bench.baseline(line)
    trials = []
    for line in lines:
        bench.snapshot.restore()
        trials.append(bench.try_line(line, without=call))
    bench.snapshot.restore()
    assert [one for one in trials if one.wrong] == []
    if call == "flock":
        refused = [one.result for one in trials if one.line[0] == "record"]
        assert ["its file system does not support locks." in one.err for one in refused] == [True], refused
    if call != "flock":
        assert [one for one in trials if one.result.code != bench.known[one.line][0].code] == []


@needs_faketime
@pytest.mark.slow
@pytest.mark.parametrize("days", [-22_000, 3650])  # 1966, and ten years ahead
def test_by_a_wrong_clock_commands_answer_or_say_why_not(bench: Bench, days: int) -> None:
    environment = variables(**bench.world.variables)
    environment |= {"LD_PRELOAD": LIBRARY, "FAKETIME": f"{days:+}d", "FAKETIME_NO_CACHE": "1"}
    wrong = []
    for line in CLOCKED:
        before, after = bench.baseline(line)
        words = [word.replace("@ID", bench.id) for word in line]
        done = subprocess.run(
            [sys.executable, "-m", "engram", *words], cwd=bench.world.store, env=environment, capture_output=True,
            check=False, timeout=60,
        )  # fmt: skip
        result = Result(done.returncode, done.stdout.decode(), done.stderr.decode())
        wrong += [(line, found, result) for found in [bench.wrong(line, result, before, after)] if found]
        bench.snapshot.restore()
    assert wrong == []


CLOCKED = [
    *EVERYDAY, ("sync",), ("feedback", "--helpful", "@ID"), ("edit", "@ID", "--add-tag", "crane"),
    ("doctor",), ("log", "@ID"), ("insight",), ("review",), ("reindex", "--rebuild"), ("team",), ("live",),
]  # fmt: skip


def test_maintain_deletes_every_kind_of_temporary_file_that_a_killed_process_leaves(bench: Bench) -> None:
    """Leave behind all files that commands make and remove while they run, as if each had been killed."""
    bench.snapshot.restore()
    temporaries: dict[str, str] = {}
    for line in MAKES_TEMPORARIES:
        with made_paths() as made:
            cli(
                *[word.replace("@ID", bench.id) for word in line],
                cwd=bench.world.store,
                **bench.world.variables,
            )
        temporaries |= {path: kind for path, kind in made.items() if not os.path.lexists(path)}
    bench.snapshot.restore()
    state = str(bench.world.state)
    left = {
        path: kind
        for path, kind in temporaries.items()
        if path.startswith(state) and os.path.isdir(os.path.dirname(path))
    }
    assert {Path(path).name[:4] for path in left} >= {"rehe", ".CUR"}, left
    for path, kind in left.items():
        if kind == "folder":
            os.makedirs(path, exist_ok=True)
        else:
            Path(path).write_bytes(b"half a file")
        os.utime(path, ns=(10**18, 10**18))
    done = bench.ask(("maintain",))
    still = [path for path in left if os.path.lexists(path)]
    bench.snapshot.restore()
    assert (done.code, still) == (0, []), (done, left)


MAKES_TEMPORARIES = [
    *EVERYDAY, ("query", QUESTION, "--as-of", "HEAD~1"), ("consolidate",), ("sync",), ("maintain",), ("reindex", "--rebuild"),
    ("feedback", "--helpful", "@ID"), ("edit", "@ID", "--add-tag", "crane"), ("promote", "@ID", "--to", "user"),
    ("config", "recall.limit", "7"), ("team", "observe", "A crane was seen."), ("review",), ("forget", "@ID", "--yes"),
]  # fmt: skip
_MADE: list[dict[str, str]] = []


def _note_made(event: str, arguments: tuple[object, ...]) -> None:
    if _MADE and event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT:
        _MADE[-1][os.path.abspath(os.fsdecode(arguments[0]))] = "file"  # type: ignore[arg-type]
    elif _MADE and event == "os.mkdir":
        _MADE[-1][os.path.abspath(os.fsdecode(arguments[0]))] = "folder"  # type: ignore[arg-type]


@functools.cache
def _listen() -> None:
    sys.addaudithook(_note_made)


@contextlib.contextmanager
def made_paths() -> Iterator[dict[str, str]]:
    """Collect the files and folders that this process makes in the block."""
    _listen()
    _MADE.append({})
    try:
        yield _MADE[-1]
    finally:
        _MADE.pop()
