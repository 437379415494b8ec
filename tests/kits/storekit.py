"""Real stores for tests, in tmp_path, with a clock that stands still until it is advanced."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prepared import dedicated

from engram.app import Engram
from engram.domain.entry import ulid
from engram.domain.errors import EngramError
from engram.usecases.index.refresh import refresh
from engram.usecases.opening.open_store import open_store
from engram.usecases.store.commit import commit_pending
from engram.usecases.store.store import Caller, Clock, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PROJECT = Path(__file__).resolve().parents[2]
SECONDS = 1_000_000_000
NUMBERS = iter(range(1, 1 << 60))

QUERIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("retry the queue consumer", {}),
    ("retry the queue consumer", {"strategy": "words"}),
    ("flaky timeout in the parser", {"k": 3}),
    ("how do we cache database sessions", {"min_confidence": 0.0, "k": 20}),
    ("index lock", {"categories": ["FACT", "PATTERN_OUTCOME"]}),
    ("broker timeout", {"tags": ["slow"]}),
    ("cache", {"strategy": "words", "min_confidence": 0.75}),
)


class SteadyClock(Clock):
    """A clock that stands still. Its ids are unique in the process and ascending."""

    def __init__(self, nanoseconds: int | None = None) -> None:
        self.ahead = 0
        self._now = time.time_ns() if nanoseconds is None else nanoseconds

    def nanoseconds(self) -> int:
        return self._now + self.ahead

    def catch_up(self) -> None:
        """Set the clock to the machine's time, from which file times come."""
        self._now = time.time_ns()

    def new_id(self) -> str:
        return ulid.encode(self.nanoseconds() // 1_000_000, next(NUMBERS))


def open_test_store(
    root: Path, clock: Clock | None = None, *, session: str = "test", background: bool = False
) -> Engram:
    """Open the store at `root`; make it if there is none."""
    if not (root / ".engram.toml").exists():
        dedicated(root)
    return Engram(open_store(str(root), Caller(session, "tester"), clock=clock), background=background)


def reopen_rebuilt(engram: Engram, state: Path) -> Engram:
    """Open the same files with a new state folder, so that the index is built from nothing."""
    state.mkdir(parents=True)
    mine = engram.store
    store = Store(mine.places._replace(state=str(state)), mine.settings, mine.clock, mine.caller)
    store.original = mine
    refresh(store, rebuild="test")
    return Engram(store, background=False)


def answers(engram: Engram) -> list[object]:
    """Return the answers to fixed queries, the list and the problems, for comparison."""
    said: list[object] = []
    for text, options in QUERIES:
        answer = engram.query(text, keep=False, **options)
        found = [(hit.lore.id, hit.path, round(hit.score.total, 4)) for hit in answer.lore]
        said.append((text, options, answer.strength, answer.strategy, found))
    listing = engram.list(limit=None)
    said.append(("list", listing.total, [(shown.lore.id, shown.path) for shown in listing.lore]))
    generation = engram.store.index.look()
    assert generation is not None
    said += [("problem", problem) for problem in generation.catalog.problems()]
    return said


def contents(engram: Engram) -> list[object]:
    """Return all that the index has about each file, except row numbers and scan times."""
    generation = engram.store.index.look()
    assert generation is not None
    connection = generation.catalog.connection
    vectors, width, edges = b"", 0, memoryview(b"")
    if generation.vectors is not None and generation.next_row:
        vectors, width = Path(generation.vectors.path).read_bytes(), generation.vectors.dimensions
        edges = generation.vectors.edges(generation.next_row, generation.next_slot)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(files)")]
    free = {"row", "line_check", "seen_ns", "mtime_ns", "inode"}
    said: list[object] = []
    for line in connection.execute("SELECT * FROM files ORDER BY path").fetchall():
        values = dict(zip(columns, line, strict=True))
        row = values["row"]
        vector = b"" if row is None or not edges else vectors[edges[row] * width : edges[row + 1] * width]
        said.append(({name: value for name, value in values.items() if name not in free}, vector))
    said += connection.execute("SELECT path, tag FROM tags ORDER BY 1, 2").fetchall()
    said += connection.execute("SELECT path FROM folders ORDER BY 1").fetchall()
    return said


def commit(engram: Engram) -> None:
    """Commit everything that waits."""
    commit_pending(engram.store, wait=30)


def later_tick(folder: Path) -> None:
    """Wait until a changed file gets a later time than all files before, since file times are coarse."""
    probe = folder / "tick"

    def touched() -> int:
        probe.write_bytes(b"x")
        return probe.stat().st_mtime_ns

    before = touched()
    wait_until(lambda: touched() > before, "file times stand still")


def wait_until(condition: Callable[[], bool], trouble: str, seconds: float = 30.0) -> None:
    """Poll until the condition holds; fail with `trouble` after a number of seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, trouble


def git(root: Path | str, *arguments: str, check: bool = True) -> str:
    """Run git as a user would, and return its output."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)
    assert not check or done.returncode == 0, (arguments, done.stderr.decode())
    return os.fsdecode(done.stdout).rstrip("\n")


def assert_sound(root: Path | str) -> None:
    """Check that the repository has no errors and nothing to commit."""
    assert git(root, "fsck", "--strict", "--no-dangling", "--no-progress") == ""
    assert git(root, "status", "--porcelain", "-uall") == ""


def assert_settled(root: Path) -> None:
    """Check that no lock, temporary file, batch or journal line is left."""
    state = root / ".git" / "engram"
    left = [path for path in root.rglob("*") if path.name.endswith((".lock", ".engram-tmp", ".engram"))]
    # A few private bytes of a killed process are allowed; `maintain` removes them after a day.
    left = [path for path in left if not path.name.startswith((".source.", ".judgements-committed.json."))]
    known = {"write.lock", "record.lock", "commit.lock", "history.lock", "auto-sync.lock", "judgements.lock"}
    known |= {"writer.lock", ".tantivy-writer.lock", ".tantivy-meta.lock"}
    strange = [path for path in left if path.name not in known]
    assert not strange, strange
    assert [path.name for path in state.glob("journal*") if path.stat().st_size] == []
    assert not (state / "outside.taken").exists()
    assert not (state / "index-behind-main").exists()


def environment() -> dict[str, str]:
    """Return the variables of a child process that imports the project under test."""
    paths = [str(PROJECT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


def start(script: str, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    """Start a Python script in a process of its own."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


def run(script: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a Python script to its end."""
    with start(script, *arguments, **options) as process:
        stdout, stderr = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def engram_command(root: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line on the store at `root`."""
    command = [sys.executable, "-m", "engram", *arguments, "--store", str(root)]
    return subprocess.run(
        command, env={**environment(), **variables}, capture_output=True, check=False, timeout=120
    )


def read_ahead() -> None:
    """Import and load what every store uses, so that forks of this process need not."""
    import numkong  # noqa: F401
    import tantivy  # noqa: F401

    from engram.adapters.embed.provider import open_embedder

    embedder = open_embedder("bundled")
    assert embedder is not None
    embedder.embed_one("a text of words")


def lines(output: bytes) -> list[Any]:
    """Return the JSON lines printed by a child; a last one cut off by a kill does not count as acknowledged."""
    found = []
    for line in output.split(b"\n")[:-1]:
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Run the block as a user other than root, so that file modes apply."""
    was_root = os.geteuid() == 0
    if was_root:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        if was_root:
            os.setresuid(0, 0, 0)


@contextlib.contextmanager
def killed_at_exit(processes: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Kill these processes at the end of the block, whatever happens."""
    try:
        yield
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate()


__all__ = ["EngramError"]


@contextlib.contextmanager
def disk_full_after(most: int = 0) -> Iterator[None]:
    """Limit the size of files written by this process: more fails, as on a full disk."""
    resource = pytest.importorskip("resource", reason="Windows cannot limit the size of files")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:  # before pytest writes its own files
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
