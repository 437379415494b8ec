"""Faults in private files: what can happen to a file, every command on the damaged store, and what no answer may be."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import socket
import sqlite3
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from forked_kit import forked
from hookkit import recorded

from engram.cli.registry import COMMANDS
from tests.hostile.used_store import QUESTION, RECALLED, WAITING, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from apikit import Result

# What can happen to a file. Each is given the file and a random source.


def flipped(file: Path, chance: random.Random) -> None:
    """A byte in each sixty-four is another, and at least one in the first hundred, where files say what they are."""
    raw = bytearray(file.read_bytes())
    for place in {chance.randrange(min(100, len(raw))), *range(chance.randrange(64), len(raw), 64)}:
        raw[place] ^= 1 << chance.randrange(8)
    file.write_bytes(raw)


def truncated(file: Path, _: random.Random) -> None:
    os.truncate(file, file.stat().st_size // 2)


def zeroed(file: Path, _: random.Random) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def folder(file: Path, _: random.Random) -> None:
    file.unlink()
    file.mkdir()
    (file / "inside").write_bytes(b"somebody put it here\n")


def forbidden(file: Path, _: random.Random) -> None:
    """Nobody may read or write it; `forked` takes from root what would let it."""
    file.chmod(0)


def future(file: Path, _: random.Random) -> None:
    """As a later version might write it: a higher number of its format, a key or table that nobody knows yet."""
    raw = file.read_bytes()
    if raw.startswith(b"SQLite format 3"):
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA user_version=99")
            connection.execute("CREATE TABLE of_the_future (what TEXT NOT NULL)")
            connection.execute("INSERT INTO of_the_future VALUES ('kept')")
            connection.commit()
        return
    new = {"format": 99, "version": 99, "of_the_future": ["kept"]}
    with contextlib.suppress(ValueError):
        known = json.loads(raw)
        file.write_text(json.dumps({**known, **new} if isinstance(known, dict) else {"items": known, **new}))
        return
    file.write_bytes(raw + json.dumps(new).encode() + b"\n")


FAULTS: tuple[Callable[[Path, random.Random], None], ...] = (
    flipped, truncated, zeroed, folder, forbidden, future,
)  # fmt: skip
NEEDS_CONTENT = (flipped, truncated, zeroed, future)


def possible(file: Path) -> list[Callable[[Path, random.Random], None]]:
    """What can happen to this file: an empty one has no bytes to flip."""
    return [fault for fault in FAULTS if fault not in NEEDS_CONTENT or file.stat().st_size]


# A line for each command, `@ID` for the entry that is recalled. What a command says without a store is of no interest.
LINES: dict[str, tuple[tuple[str, ...], ...]] = {
    "init": (("init",),),
    "record": (("record", "Something new about cranes.", "-c", "fact"),),
    "query": (("query", QUESTION), ("query", QUESTION, "--as-of", "HEAD~2"), ("query", QUESTION, "--strategy", "words")),
    "feedback": (("feedback", "--helpful", "@ID"),),
    "show": (("show", "@ID"),),
    "list": (("list", "--limit", "100"), ("list", "--scope", "session"), ("list", "--scope", "user")),
    "edit": (("edit", "@ID", "--add-tag", "crane"),),
    "forget": (("forget", "@ID", "--yes"),),
    "review": (("review",),),
    "consolidate": (("consolidate",),),
    "evolve": (("evolve",),),
    "worth": (("worth",),),
    "bisect": (("bisect", "idempotent", "--from", "HEAD~3"),),
    "undo": (("undo",),),
    "redo": (("redo",),),
    "log": (("log", "@ID"),),
    "diff": (("diff", "@ID"),),
    "blame": (("blame", "@ID"),),
    "restore": (("restore", "@ID", "--at", "HEAD~1"),),
    "session": (("session",),),
    "sync": (("sync",),),
    "propose": (("propose", "--list"),),
    "clone": (("clone", "../remote.git", "../another"),),
    "remote": (("remote",),),
    "scope": (("scope",),),
    "promote": (("promote", "@ID", "--to", "user"),),
    "move": (("move", "../elsewhere", "--to", "dedicated", "--dry-run"),),
    "trust": (("trust",), ("trust", "ignore"), ("trust", "accept", "--all")),
    "status": (("status",),),
    "insight": (("insight",),),
    "explore": (("explore",), ("explore", "--peek")),
    "sql": (("sql", "SELECT title FROM lore"), ("sql", "SELECT count(*) FROM judgements")),
    "aggregate": (("aggregate", "@ID", "@ID"),),
    "skill": (("skill",),),
    "graph": (("graph",),),
    "search": (("search", QUESTION, "--agent", "human"),),
    "team": (("team",), ("team", "context", QUESTION), ("team", "observe", "A crane was seen.")),
    "maintain": (("maintain",),),
    "live": (("live",),),
    "metrics": (("metrics",),),
    "import": (("import", "../rows.jsonl"),),
    "extract": (("extract", "-"),),
    "export": (("export", "--format", "jsonl"),),
    "link": (("link", "Kafka", "--to", "Redis"),),
    "adopt": (("adopt",),),
    "reindex": (("reindex",), ("reindex", "--rebuild")),
    "check": (("check",),),
    "config": (("config", "recall.limit"), ("config", "recall.limit", "7"), ("config", "--accept")),
    "mcp": (("mcp",),),
    "serve": (("serve", "--port", "@PORT"),),  # which is taken: it gets so far and no further
    "agents": (("agents",),),
    "connect": (("connect", "codex", "--yes"),),
    "disconnect": (("disconnect", "codex", "--yes"),),
    "hook": (("hook", "prompt", "--agent", "claude-code"), ("hook", "session-start", "--agent", "claude-code")),
    "doctor": (("doctor",),),
    "tui": (("tui",),),
}  # fmt: skip
APART = {"demo": "makes a store of its own", "completion": "opens no store"}
# What is empty is a lock or a mark: by reading nobody shows who needs it.
LOCKING = ("record", "query", "feedback", "sync", "maintain", "reindex", "team", "config", "doctor")

# Commands whose answer is lore: an answer without error that lacks what they answered before is a lie. A hook is silent
# where nobody would know what it has shown, and `explore --peek` shows a few of many.
_ANSWERS = {"query", "show", "list", "search", "export", "sql", "aggregate"}
_RAW = re.compile(
    r"engram: (\w+\.)?\w*(Error|Exception): |\[Errno|^Traceback|should not happen|Exception ignored",
    re.MULTILINE,
)
_TELLS_MORE = {"doctor", "check", "maintain", "hook"}  # whose answer is a list of what is wrong
CODES = {0, 1, 2, 3, 4, 5}


def missing_commands() -> set[str]:
    """Commands of the registry that no line is written for."""
    return {command.name for command in COMMANDS} - LINES.keys() - APART.keys()


class Snapshot:
    """A folder as it is now. What changes in it is put back, the rest stays: most files of a store nobody touches."""

    def __init__(self, place: Path, kept: str = "") -> None:
        self.place = str(place)
        self.kept = kept or f"{place}.kept"
        if not kept:
            shutil.copytree(place, self.kept, symlinks=True)
        self._facts = dict(_walk(self.place))

    def mark_unread(self, file: Path) -> os.stat_result:
        """Give a file a time of its last reading that any reading changes; what it is then."""
        os.utime(file, ns=(0, file.stat().st_mtime_ns))
        found = file.stat()
        self._facts[str(file)] = _facts(found)
        return found

    def restore(self) -> None:
        """Make the folder what it was."""
        kept, now = self._facts, dict(_walk(self.place))
        changed = [path for path, facts in now.items() if kept.get(path) != facts]
        for path in sorted(changed, reverse=True):  # what is in a folder before the folder
            os.rmdir(path) if now[path][0] else os.unlink(path)
        for path in sorted(kept.keys() - (now.keys() - set(changed))):
            original = self.kept + path[len(self.place) :]
            if kept[path][0]:
                os.mkdir(path)
                shutil.copystat(original, path)
            else:
                shutil.copy2(original, path, follow_symlinks=False)
                kept[path] = _facts(os.lstat(path))


def _walk(place: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    with os.scandir(place) as entries:
        for entry in entries:
            facts = _facts(entry.stat(follow_symlinks=False))
            yield entry.path, facts
            if facts[0]:
                yield from _walk(entry.path)


def _facts(found: os.stat_result) -> tuple[int, ...]:
    """Whether it is a folder, and what is different once somebody changed it."""
    if stat.S_ISDIR(found.st_mode):
        return (1,)
    return (0, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def was_touched(file: Path, before: os.stat_result) -> bool:
    """Whether somebody read, changed or removed a file since. Locks are opened and not read; who takes them is not known."""
    try:
        now = file.stat()
    except FileNotFoundError:
        return True
    return now.st_atime_ns != before.st_atime_ns or _facts(now) != _facts(before)


class Trial(NamedTuple):
    """One answer: the line, and what is wrong with it ("" nothing)."""

    line: tuple[str, ...]
    result: Result
    wrong: str


class Bench:
    """A world to damage, and what every command says while nothing is damaged."""

    def __init__(self, world: World, kept: str = "") -> None:
        """`kept` is where the world is as it was, if it is anywhere."""
        self.world = world
        self.snapshot = Snapshot(world.place, kept)
        self.files = world.private_files()
        self.lore = world.lore()
        name = next(path for path, raw in self.lore.items() if RECALLED.encode() in raw)
        self.id = Path(name).stem[-26:]
        self.known: dict[tuple[str, ...], tuple[Result, dict[str, bytes]]] = {}
        self.touched: dict[tuple[str, ...], set[str]] = {}
        self._listening = socket.create_server(("127.0.0.1", 0))

    def close(self) -> None:
        """Let the port go."""
        self._listening.close()

    def ask(self, line: tuple[str, ...], **more: str) -> Result:
        """Run a command line in the world as it is."""
        stdin = b"We learned that cranes need oil, because they rust.\n"
        if line[0] == "hook":
            stdin = json.dumps(recorded("claude-code", line[1], self.world.store, prompt=QUESTION)).encode()
        if line[0] == "mcp":
            stdin = b""
        port = str(self._listening.getsockname()[1])
        words = [word.replace("@ID", self.id).replace("@PORT", port) for word in line]
        return forked(*words, cwd=self.world.store, stdin=stdin, **self.world.variables, **more)

    def baseline(self, line: tuple[str, ...]) -> tuple[Result, dict[str, bytes]]:
        """What the line says, and which lore there is afterwards, where nothing is damaged."""
        if line not in self.known:
            self.snapshot.restore()
            files = {file: kind for kind, files in self.files.items() for file in files}
            marks = {file: self.snapshot.mark_unread(file) for file in files}
            self.known[line] = (self.ask(line), self.world.lore())
            self.touched[line] = {kind for file, kind in files.items() if was_touched(file, marks[file])}
            self.snapshot.restore()
        return self.known[line]

    def damage(self, kind: str, fault: Callable[[Path, random.Random], None]) -> None:
        """Put the world back, then damage each file of this kind."""
        self.snapshot.restore()
        for number, file in enumerate(self.files[kind]):
            fault(file, random.Random(f"{kind} {fault.__name__} {number}"))

    def try_line(self, line: tuple[str, ...], **how: str) -> Trial:
        """Run a line in the world as it is, and judge what it says."""
        before, after = self.baseline_if_known(line)
        result = self.ask(line, **how)
        return Trial(line, result, self.wrong(line, result, before, after))

    def lines_for(self, kind: str) -> list[tuple[str, ...]]:
        """The lines that can tell whether a file of this kind is damaged: those that look at it."""
        self.snapshot.restore()
        if not self.files[kind][0].stat().st_size:
            return [line for name in LOCKING for line in LINES[name]]
        every = [line for lines in LINES.values() for line in lines]
        for line in every:
            self.baseline(line)
        return [line for line in every if kind in self.touched[line]]

    def baseline_if_known(self, line: tuple[str, ...]) -> tuple[Result, dict[str, bytes]]:
        """The baseline, which has to be taken before anything is damaged."""
        return self.known[line]

    def wrong(self, line: tuple[str, ...], result: Result, before: Result, after: dict[str, bytes]) -> str:
        """What is wrong with an answer; "" where it is one, or one sentence with its exit code."""
        if result.code not in CODES:
            return f"ended with {result.code}"
        if found := _RAW.search(result.err) or _RAW.search(result.out[:1000]):
            return f"raw: {found[0]!r}"
        told = [text for text in result.err.splitlines() if text.startswith("engram: ")]
        if result.code and result.code != before.code and line[0] not in _TELLS_MORE and len(told) != 1:
            return "fails without a sentence"
        now = self.world.lore()
        for path, raw in self.lore.items():
            if path not in now and path in after:
                return f"lost {path}"
            if path in now and now[path] != raw and after.get(path) == raw:
                return f"changed {path}"
        if (
            line[0] in _ANSWERS and result.code == 0 and "are left out" not in result.err
        ):  # by their age, and said
            for text in (RECALLED, WAITING[:30]):
                if text in before.out and text not in result.out:
                    return f"hides '{text}'"
        return ""

    def mended(
        self, kind: str, fault: Callable[[Path, random.Random], None], failed: list[Trial]
    ) -> list[str]:
        """What is wrong with `doctor` after this fault: what it says, what it mends, what fails after it."""
        self.damage(kind, fault)
        found: list[str] = []
        told = self.try_line(("doctor",))
        if told.wrong:
            found.append(f"doctor: {told.wrong}")
        if not self.tells_more(told.result):  # then nothing that failed may still fail
            found += [f"doctor saw nothing: {' '.join(one.line)}" for one in failed if self.still_fails(one)]
        fixed = self.ask(("doctor", "--fix"))
        if _RAW.search(fixed.err + fixed.out) or fixed.code not in CODES:
            found.append(f"doctor --fix: {fixed}")
        for line in (("query", QUESTION), ("list", "--limit", "100")):
            trial = self.try_line(line)
            if trial.wrong or trial.result.code:
                found.append(f"after doctor --fix: {trial}")
        if fault is not forbidden or not (fixed.code or self.ask(("doctor",)).code):
            again = self.ask(("doctor",))
            if again.code:
                found.append(f"doctor --fix left: {again.out.strip()[:300]} {again.err.strip()[:300]}")
            left = [one for one in failed if self.still_fails(one)]
            found += [
                f"not mended: {' '.join(one.line)}" for one in left if self.fails_alone(kind, fault, one)
            ]
        return found

    def fails_alone(self, kind: str, fault: Callable[[Path, random.Random], None], trial: Trial) -> bool:
        """Whether a line fails on a mended world where no line before it, such as `forget`, has taken away what it is about."""
        self.damage(kind, fault)
        self.ask(("doctor", "--fix"))
        return self.still_fails(trial)

    def tells_more(self, told: Result) -> bool:
        """Whether `doctor` says anything that it did not say before the damage, as that an entry waits for its commit."""
        return not set(told.out.splitlines()) <= set(self.known[("doctor",)][0].out.splitlines())

    def still_fails(self, trial: Trial) -> bool:
        """Whether a line that failed fails still."""
        again = self.ask(trial.line)
        return again.code not in (0, self.known[trial.line][0].code)


def trials(
    bench: Bench, kind: str, fault: Callable[[Path, random.Random], None], lines: Sequence[tuple[str, ...]]
) -> list[Trial]:
    """Each of these lines on this damage, done anew for each."""
    for line in (*lines, ("doctor",), ("query", QUESTION), ("list", "--limit", "100")):
        bench.baseline(line)
    found = []
    for line in lines:
        bench.damage(kind, fault)
        found.append(bench.try_line(line))
    return found


EVERYDAY = [
    ("query", QUESTION),
    ("list", "--limit", "100"),
    ("show", "@ID"),
    ("record", "Something new about cranes.", "-c", "fact"),
    ("status",),
]


def broken(
    bench: Bench,
    kind: str,
    fault: Callable[[Path, random.Random], None],
    lines: Sequence[tuple[str, ...]],
    *,
    doctor: bool = True,
) -> list[str]:
    """Try these lines on this damage, and `doctor`; what is wrong, each with the file and the fault."""
    found = trials(bench, kind, fault, lines)
    wrong = [f"{' '.join(one.line)}: {one.wrong}: {one.result}" for one in found if one.wrong]
    refused = [one for one in found if one.result.code not in (0, bench.known[one.line][0].code)]
    refused = [one for one in refused if one.line[0] not in ("doctor", "hook")]
    if doctor:
        wrong += bench.mended(kind, fault, refused)
    bench.snapshot.restore()
    _note(kind, fault.__name__, found, refused, wrong)
    return [f"{kind} {fault.__name__}: {one}" for one in wrong]


def _note(kind: str, fault: str, found: list[Trial], refused: list[Trial], wrong: list[str]) -> None:
    """Add a row to the table that FAULTS_TABLE names."""
    name = os.environ.get("FAULTS_TABLE")
    if name:
        row = (
            kind,
            fault,
            str(len(found)),
            str(len(found) - len(refused)),
            str(len(refused)),
            str(len(wrong)),
        )
        with open(name, "a", encoding="utf-8") as file:
            file.write(f"| {' | '.join(row)} |\n")


# Faults of the machine. `HOSTILE` runs in a process of its own, where it may mount what only it sees.

HOSTILE = """
    import json, os, subprocess, sys, tempfile
    from pathlib import Path
    sys.path.insert(0, sys.argv[1])
    from tests.hostile import fault_kit
    from tests.hostile.used_store import World

    place, kept, how = Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    sizes, lines = json.loads(sys.argv[5]), json.loads(sys.argv[6])
    def mount(*words):
        if subprocess.run(["mount", *words]).returncode:
            sys.exit(77)
    mount("-t", "tmpfs", "-o", "size=64m", "tmpfs", place)
    subprocess.run(["cp", "-a", kept + "/.", place], check=True)
    bench = fault_kit.Bench(World(place), kept)
    lines = [tuple(line) for line in lines]
    for line in lines:
        bench.baseline(line)
    def tell(stage):
        for line in lines:
            if stage != "read-only":
                bench.snapshot.restore()
            ballast = place / "ballast"
            if stage != "read-only":
                with open(ballast, "wb", buffering=0) as file:
                    try:
                        while file.write(bytes(1 << 20)): pass
                    except OSError: pass
                    try:
                        while file.write(bytes(4096)): pass
                    except OSError: pass
                os.truncate(ballast, os.stat(ballast).st_size - 1024 * stage)
            trial = bench.try_line(line)
            if stage != "read-only":
                ballast.unlink()
            said = trial.result
            print(json.dumps([stage, line, said.code, bench.known[line][0].code, trial.wrong, said.err[:600]]), flush=True)
    if how == "full":
        for size in sizes:
            tell(size)
            told = bench.ask(("doctor", "--fix")), bench.ask(("doctor",))
            print(json.dumps([size, ["doctor"], told[1].code, 0, "" if not told[1].code else told[1].out, ""]), flush=True)
    else:
        tempfile.tempdir = "/dev/shm"  # of this process, which hands commands their input in files
        for name in ("/tmp", "/var/tmp"):  # with all that is below, which may be the project or the store
            mount("--rbind", name, name)
            mount("-o", "remount,bind,ro", name)
        mount("-o", "remount,ro", place)
        tell("read-only")
    bench.close()
"""
