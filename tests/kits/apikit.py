"""Helpers for tests of the whole product: stores by the Python API, the command line with transcripts, the designs page."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import prepared
from prepared import dedicated as dedicated

from engram.app import Engram
from engram.cli.main import main
from engram.domain.entry import ulid
from engram.usecases.exchange.import_lore import Imported, Options, import_lore
from engram.usecases.opening.open_store import open_store
from engram.usecases.recording.record import Draft, record
from engram.usecases.store.store import Caller, Clock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.domain.entry.lore import Lore
    from engram.domain.explore.tables import Table

PROJECT = Path(__file__).resolve().parents[2]
DESIGNS = PROJECT / "docs/designs.md"
START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
SECRET = "ghp_" + "x7Kd02LmQp9RsTuV4wXyZ1aBcDeF3gHiJkLm"  # put together here, so that the project holds none
QUEUE = "Queue consumer patterns: make every handler idempotent, because brokers deliver twice."
COLOUR = "The palette of the settings page was chosen for contrast, not for beauty."
TIDES = "Tide tables are printed in local time, without daylight saving."

_ULID = re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z")
_DAY = re.compile(r"\b\d{4}/\d\d/\d\d\b")


class SetClock(Clock):
    """A clock that stands still until it is set, and gives unique, ascending ids."""

    def __init__(self, moment: datetime = START) -> None:
        self.moment = moment
        self._last = 0

    def nanoseconds(self) -> int:
        return int(self.moment.timestamp() * 1_000_000) * 1000

    def new_id(self) -> str:
        self._last += 1
        return ulid.encode(self.nanoseconds() // 1_000_000, self._last << 68 | 0xABCDE)

    def advance(self, **duration: float) -> None:
        """Let time pass: `days=3`, `minutes=5`."""
        self.moment += timedelta(**duration)


def make_plain_store(root: Path, settings: str = "") -> Path:
    """Make a store in a folder without git, which is the fastest kind."""
    root.mkdir(parents=True, exist_ok=True)
    (root / ".engram.toml").write_text(settings or '[store]\nfolder = "lore"\n', "utf-8")
    return root


def open_test_store(
    root: Path, *, session: str = "s1", agent: str = "tester", clock: Clock | None = None, settings: str = ""
) -> Engram:
    """Open the store at `root` with the Python API; make a plain one if there is none."""
    if settings or not (root / ".engram.toml").exists():
        make_plain_store(root, settings)
    return Engram(open_store(str(root), Caller(session, agent), clock=clock or SetClock()), background=False)


def record_apart(store: Engram, content: str, category: str = "FACT", **more: Any) -> Lore:
    """Record an entry even if an equal one exists, as two clones do before they sync, and return it."""
    return record(store.store, Draft(content, category, **more), again=True).lore


class Result(NamedTuple):
    """The result of a command line."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, parsed as a single JSON document."""
        return json.loads(self.out)


def cli(*arguments: str, cwd: Path | str | None = None, stdin: bytes = b"", **variables: str) -> Result:
    """Run the command line in this process: session `s1`, no terminal, commits done before it returns."""
    out, err = io.BytesIO(), io.BytesIO()
    streams = {
        "stdin": io.TextIOWrapper(io.BytesIO(stdin), "utf-8"),
        "stdout": io.TextIOWrapper(out, "utf-8"),
        "stderr": io.TextIOWrapper(err, "utf-8"),
    }
    chosen = {"ENGRAM_SESSION": "s1", "ENGRAM_BACKGROUND": "inline", **variables}
    with _variables_set(chosen), mock.patch.multiple(sys, **streams), _inside(cwd):
        try:
            code = main(list(arguments))
        except SystemExit as end:  # argparse, after printing help
            code = int(end.code or 0)
        streams["stdout"].flush()
        streams["stderr"].flush()
    return Result(code, out.getvalue().decode(), err.getvalue().decode())


def ok(*arguments: str, **options: Any) -> Result:
    """Run a command that must succeed."""
    result = cli(*arguments, **options)
    assert result.code == 0, result
    return result


def variables(**more: str) -> dict[str, str]:
    """Return the environment of a process that runs the project under test."""
    paths = [
        str(PROJECT),
        str(PROJECT / "tui"),
        *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)),
    ]
    chosen = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**chosen, "ENGRAM_BACKGROUND": "inline", **more}


def run_process(*arguments: str | bytes, cwd: Path | None = None, stdin: bytes = b"", **more: str) -> Result:
    """Run the command line in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "engram", *arguments],
        cwd=cwd,
        input=stdin,
        env=variables(**more),
        capture_output=True,
        check=False,
        timeout=60,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def git(root: Path, *arguments: str, check: bool = True) -> str:
    """Run git as a user would; return its output (without `check`, also its errors)."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
    assert done.returncode == 0 or not check, (arguments, done.stderr.decode())
    return os.fsdecode(done.stdout if check else done.stdout + done.stderr).rstrip("\n")


def repository(root: Path) -> Path:
    """Make a code repository with one commit."""
    root.mkdir(parents=True, exist_ok=True)
    prepared.copy("code", root, _make_repository)
    git(
        root, "update-index", "--refresh"
    )  # otherwise the first git command would refresh the stat data in the index
    return root


def _make_repository(root: Path) -> None:
    (root / "src").mkdir()
    (root / "src" / "main.py").write_text("print()\n", "utf-8")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "code")


def table_named(tables: Sequence[Table], name: str) -> Table:
    """Return the existing table of that name."""
    return next(table for table in tables if table.name == name)


def import_path(store: Engram, path: Path, **options: Any) -> Imported:
    """Import the file or folder at a path."""
    return import_lore(store.store, str(path), Options(**options))


def lore_of(store: Engram) -> dict[str, Lore]:
    """Return the entries of a store by title."""
    return {shown.lore.title: shown.lore for shown in store.list(limit=None).lore}


def lore_files(root: Path) -> list[Path]:
    """Return the files of all entries of the store at `root`, oldest first."""
    return sorted((root / "lore").rglob("*.md"), key=lambda path: path.name[-29:])


def everything_on_disk(root: Path) -> bytes:
    """Return the bytes of all files below `root`, and of all objects in its git repository."""
    found = [path.read_bytes() for path in root.rglob("*") if path.is_file()]
    if (root / ".git").exists():
        command = ["git", "cat-file", "--batch", "--batch-all-objects", "--buffer"]
        found.append(subprocess.run(command, cwd=root, capture_output=True, check=True).stdout)
    return b"\n".join(found)


def deviates(design: str, term: str) -> str:
    """Return the reason in docs/designs.md why a term of a design (`B`) differs, from the row that begins with the term."""
    (row,) = [row for row in rows_of_design(design) if row[0].startswith(term)]
    assert len(row) == 3, row
    assert all(row), row
    return row[2]


def rows_of_design(design: str) -> list[list[str]]:
    """Return the rows of docs/designs.md about a design: the term, Engram's version, and the reason."""
    section = DESIGNS.read_text("utf-8").partition(f"\n## {design}: ")[2].partition("\n## ")[0]
    lines = [line.strip("|") for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.split(" | ")] for line in lines][1:]


def designs() -> list[str]:
    """Return the designs on the page."""
    return re.findall(r"^## (\w): ", DESIGNS.read_text("utf-8"), re.MULTILINE)


def masked(text: str, root: Path | None = None) -> str:
    """Mask what differs from run to run in a transcript: ids, times, dates, the store's path, durations, commits."""
    names: dict[str, str] = {}
    if root is not None:
        text = text.replace(str(root), "ROOT")
    text = _ULID.sub(lambda found: names.setdefault(found[0], f"ID{len(names) + 1}"), text)
    text = _DAY.sub("DAY", _TIME.sub("TIME", text))
    text = re.sub(r"\b\d+ ms\b", "MS", text)
    text = re.sub(r"\b[0-9a-f]{7,40}\b", "COMMIT", text)
    text = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{10}\b", "LINE", text)  # the end of the id of a judgement
    return "\n".join(line.rstrip() for line in text.splitlines())


@contextmanager
def _variables_set(chosen: dict[str, str]) -> Iterator[None]:
    """Set variables like `mock.patch.dict`, but without setting all of them again, which took 2 % of the tests' time."""
    before = dict(os.environ)
    os.environ.update(chosen)
    try:
        yield
    finally:
        after = dict(os.environ)
        for name in after.keys() - before.keys():
            del os.environ[name]
        os.environ.update({name: value for name, value in before.items() if after.get(name) != value})


@contextmanager
def _inside(folder: Path | str | None) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)
