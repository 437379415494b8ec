"""Faults in private files: ways to damage a file, every command on the damaged store, and invariants of the answers."""

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
from hookkit import recorded_payload

from engram.cli.registry import COMMANDS
from tests.hostile.used_store import QUESTION, RECALLED, WAITING, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from apikit import Result

# Ways to damage a file. Each gets the file and a random source.


def flipped(file: Path, chance: random.Random) -> None:
    """Flip a bit in one of every 64 bytes, and in at least one of the first 100, where files declare their type."""
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
    """Remove all permissions; `forked` drops the capabilities by which root could ignore that."""
    file.chmod(0)


def future(file: Path, _: random.Random) -> None:
    """Change a file as a later version might: a higher format number, an unknown key or table."""
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
    """Return the faults possible for this file: an empty one has no bytes to flip."""
    return [fault for fault in FAULTS if fault not in NEEDS_CONTENT or file.stat().st_size]


# Command lines for each command; `@ID` is the recalled entry.
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
    "serve": (("serve", "--port", "@PORT"),),  # the port is in use, so the command ends there
    "agents": (("agents",),),
    "connect": (("connect", "codex", "--yes"),),
    "disconnect": (("disconnect", "codex", "--yes"),),
    "hook": (("hook", "prompt", "--agent", "claude-code"), ("hook", "session-start", "--agent", "claude-code")),
    "doctor": (("doctor",),),
    "tui": (("tui",),),
}  # fmt: skip
APART = {"demo": "makes a store of its own", "completion": "opens no store"}
# An empty file is a lock or a mark, whose use cannot be seen from reads.
LOCKING = ("record", "query", "feedback", "sync", "maintain", "reindex", "team", "config", "doctor")

# Commands whose answer is lore: an answer without an error must not lack earlier lore. Not among them are hooks, which are
# silent if they cannot note what they show, and `explore --peek`, which shows a few of many.
_ANSWERS = {"query", "show", "list", "search", "export", "sql", "aggregate"}
_RAW = re.compile(
    r"engram: (\w+\.)?\w*(Error|Exception): |\[Errno|^Traceback|should not happen|Exception ignored",
    re.MULTILINE,
)
_TELLS_MORE = {"doctor", "check", "maintain", "hook"}  # their answer is a list of problems
CODES = {0, 1, 2, 3, 4, 5}


def missing_commands() -> set[str]:
    """Return the commands of the registry without a line."""
    return {command.name for command in COMMANDS} - LINES.keys() - APART.keys()


class Snapshot:
    """The state of a folder. `restore` writes only changed files, as most files of a store are never touched."""

    def __init__(self, place: Path, kept: str = "") -> None:
        self.place = str(place)
        self.kept = kept or f"{place}.kept"
        if not kept:
            shutil.copytree(place, self.kept, symlinks=True)
        self._facts = dict(_walk(self.place))

    def mark_unread(self, file: Path) -> os.stat_result:
        """Set a file's access time so that any read changes it; return its stat result."""
        os.utime(file, ns=(0, file.stat().st_mtime_ns))
        found = file.stat()
        self._facts[str(file)] = _facts(found)
        return found

    def restore(self) -> None:
        """Restore the folder."""
        kept, now = self._facts, dict(_walk(self.place))
        changed = [path for path, facts in now.items() if kept.get(path) != facts]
        for path in sorted(changed, reverse=True):  # contents of a folder before the folder
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
    """Return whether it is a folder, and for a file what differs after a change."""
    if stat.S_ISDIR(found.st_mode):
        return (1,)
    return (0, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def was_touched(file: Path, before: os.stat_result) -> bool:
    """Return whether a file was read, changed or removed since. Locks are opened but not read, so their use is not seen."""
    try:
        now = file.stat()
    except FileNotFoundError:
        return True
    return now.st_atime_ns != before.st_atime_ns or _facts(now) != _facts(before)


class Trial(NamedTuple):
    """A command line, its result, and what is wrong with that ("" for nothing)."""

    line: tuple[str, ...]
    result: Result
    wrong: str


class Bench:
    """A world to damage, and the answers of all commands in the undamaged world."""

    def __init__(self, world: World, kept: str = "") -> None:
        """`kept` is the path of an existing copy of the world, if any."""
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
        """Release the port."""
        self._listening.close()

    def ask(self, line: tuple[str, ...], **more: str) -> Result:
        """Run a command line in the world as it is."""
        stdin = b"We learned that cranes need oil, because they rust.\n"
        if line[0] == "hook":
            stdin = json.dumps(
                recorded_payload("claude-code", line[1], self.world.store, prompt=QUESTION)
            ).encode()
        if line[0] == "mcp":
            stdin = b""
        port = str(self._listening.getsockname()[1])
        words = [word.replace("@ID", self.id).replace("@PORT", port) for word in line]
        return forked(*words, cwd=self.world.store, stdin=stdin, **self.world.variables, **more)

    def baseline(self, line: tuple[str, ...]) -> tuple[Result, dict[str, bytes]]:
        """Return the result of the line in the undamaged world, and the lore afterwards."""
        if line not in self.known:
            self.snapshot.restore()
            files = {file: kind for kind, files in self.files.items() for file in files}
            marks = {file: self.snapshot.mark_unread(file) for file in files}
            self.known[line] = (self.ask(line), self.world.lore())
            self.touched[line] = {kind for file, kind in files.items() if was_touched(file, marks[file])}
            self.snapshot.restore()
        return self.known[line]

    def damage(self, kind: str, fault: Callable[[Path, random.Random], None]) -> None:
        """Restore the world, then damage each file of this kind."""
        self.snapshot.restore()
        for number, file in enumerate(self.files[kind]):
            fault(file, random.Random(f"{kind} {fault.__name__} {number}"))

    def try_line(self, line: tuple[str, ...], **how: str) -> Trial:
        """Run a line in the world as it is, and check its result."""
        before, after = self.baseline_if_known(line)
        result = self.ask(line, **how)
        return Trial(line, result, self.wrong(line, result, before, after))

    def lines_for(self, kind: str) -> list[tuple[str, ...]]:
        """Return the lines that can notice damage to a file of this kind: those that read it."""
        self.snapshot.restore()
        if not self.files[kind][0].stat().st_size:
            return [line for name in LOCKING for line in LINES[name]]
        all_lines = [line for lines in LINES.values() for line in lines]
        for line in all_lines:
            self.baseline(line)
        return [line for line in all_lines if kind in self.touched[line]]

    def baseline_if_known(self, line: tuple[str, ...]) -> tuple[Result, dict[str, bytes]]:
        """Return the baseline, which must have been taken before the damage."""
        return self.known[line]

    def wrong(self, line: tuple[str, ...], result: Result, before: Result, after: dict[str, bytes]) -> str:
        """Return what is wrong with a result; "" if it is a full answer, or one message with its exit code."""
        if result.code not in CODES:
            return f"ended with {result.code}"
        if found := _RAW.search(result.err) or _RAW.search(result.out[:1000]):
            return f"raw: {found[0]!r}"
        messages = [text for text in result.err.splitlines() if text.startswith("engram: ")]
        if result.code and result.code != before.code and line[0] not in _TELLS_MORE and len(messages) != 1:
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
        """Return what is wrong with `doctor` after this fault: with its report, its repairs, or commands that still fail."""
        self.damage(kind, fault)
        found: list[str] = []
        report = self.try_line(("doctor",))
        if report.wrong:
            found.append(f"doctor: {report.wrong}")
        if not self.tells_more(report.result):  # then no failed command may fail again
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
        """Return whether a line fails in a repaired world without earlier lines, such as `forget`, that could be the cause."""
        self.damage(kind, fault)
        self.ask(("doctor", "--fix"))
        return self.still_fails(trial)

    def tells_more(self, report: Result) -> bool:
        """Return whether `doctor` reports more than before the damage (when, say, an entry waited for its commit)."""
        return not set(report.out.splitlines()) <= set(self.known[("doctor",)][0].out.splitlines())

    def still_fails(self, trial: Trial) -> bool:
        """Return whether a failed line still fails."""
        again = self.ask(trial.line)
        return again.code not in (0, self.known[trial.line][0].code)


def trials(
    bench: Bench, kind: str, fault: Callable[[Path, random.Random], None], lines: Sequence[tuple[str, ...]]
) -> list[Trial]:
    """Run each of these lines after this damage, which is repeated for each."""
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
    """Try these lines and `doctor` after this damage; return problems, each with the file and the fault."""
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
    """Append a row to the table in the file FAULTS_TABLE."""
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
