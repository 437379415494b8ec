"""Every file of an index is damaged in every way: no answer is ever wrong, and `doctor` repairs damage that no query notices.

The exceptions of SQLite, tantivy and the system distinguish damage from a full disk and from bugs.

Damage that could kill a process (a mapped file cut short, a corrupted posting list) is done in a process of
its own, which reports each step.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tantivy
from effort import examples, is_thorough
from index_kit import index_of, make_indexed_store
from storekit import QUERIES, SteadyClock, answers, killed_at_exit, open_test_store, start, unprivileged

from engram.adapters.index.damage import (
    DamagedIndexError,
    IndexUnavailableError,
    check_vectors,
    converting_damage,
)
from engram.adapters.index.words import Words
from engram.domain.errors import EngramError
from engram.usecases.upkeep.doctor import doctor

if TYPE_CHECKING:
    from engram.app import Engram


# What is raised for a broken file. Each is given an empty folder, and may do what not only root may.


def no_database(folder: Path) -> None:
    (folder / "file").write_text("no database")
    sqlite3.connect(folder / "file").execute("SELECT * FROM sqlite_master")


def locked(folder: Path) -> None:
    one, other = (sqlite3.connect(folder / "file", timeout=0, isolation_level=None) for _ in range(2))
    one.execute("BEGIN IMMEDIATE")
    other.execute("BEGIN IMMEDIATE")


def no_room_in_database(folder: Path) -> None:
    connection = sqlite3.connect(folder / "file")
    connection.execute("PRAGMA max_page_count = 1")
    connection.execute("CREATE TABLE one (number)")


def no_file(folder: Path) -> None:
    (folder / "none").read_bytes()


def folder_for_file(folder: Path) -> None:
    folder.read_bytes()


def file_to_read(folder: Path) -> None:
    (folder / "file").touch(0o000)
    (folder / "file").read_bytes()


def file_to_write(folder: Path) -> None:
    (folder / "file").touch(0o444)
    (folder / "file").write_bytes(b"")


def nothing_to_read(_: Path) -> None:
    os.setgroups([0])


def folder_to_copy(folder: Path) -> None:
    (folder / "from").mkdir()
    (folder / "from" / "link").symlink_to("nowhere")
    shutil.copytree(folder / "from", folder / "to")


def no_room(_: Path) -> None:
    Path("/dev/full").write_bytes(b"x")


def no_room_to_copy(folder: Path) -> None:
    for name in ("from", "to"):
        (folder / name).mkdir()
    (folder / "from" / "file").write_bytes(b"x")
    (folder / "to" / "file").symlink_to("/dev/full")
    shutil.copytree(folder / "from", folder / "to", dirs_exist_ok=True)


def words_in(folder: Path) -> Words:
    words = Words(str(folder / "words"), create=True)
    words.begin(bulk=False)
    words.add(0, "queue")
    words.commit()
    words.begin(bulk=False)
    return words


def no_words(folder: Path) -> None:
    words_in(folder)
    [file] = (folder / "words").glob("*.term")
    os.truncate(file, 0)
    Words(str(folder / "words")).search(["queue"], 1)


def words_to_read(folder: Path) -> None:
    words_in(folder)
    (folder / "words" / "meta.json").chmod(0o000)
    Words(str(folder / "words"))


def words_held(folder: Path) -> None:
    words = words_in(folder)
    Words(str(folder / "words")).begin(bulk=False)
    words.abandon()


def panic(folder: Path) -> None:
    words_in(folder)._searcher.doc(tantivy.DocAddress(9, 9))


def bug(_: Path) -> None:
    raise NotImplementedError("a bug")


def interrupted(_: Path) -> None:
    raise KeyboardInterrupt


UNAVAILABLE = "The search index cannot be written now: "


@pytest.mark.parametrize(
    ("broken", "error", "message"),
    [
        (no_database, DamagedIndexError, "catalog: file is not a database"),
        (locked, IndexUnavailableError, UNAVAILABLE + "database is locked."),
        (no_room_in_database, IndexUnavailableError, UNAVAILABLE + "the disk is full."),
        (no_file, DamagedIndexError, "missing: /.*/none"),
        (folder_for_file, DamagedIndexError, "a folder stands where a file belongs: /.*"),
        (file_to_read, DamagedIndexError, "no permission to read /.*/file"),
        (file_to_write, IndexUnavailableError, UNAVAILABLE + "Permission denied."),
        (nothing_to_read, IndexUnavailableError, UNAVAILABLE + "Operation not permitted."),
        (folder_to_copy, DamagedIndexError, "some of its files cannot be read"),
        (no_room, IndexUnavailableError, UNAVAILABLE + "the disk is full."),
        (no_room_to_copy, IndexUnavailableError, UNAVAILABLE + "the disk is full."),
        (no_words, DamagedIndexError, "Failed to open file .*"),
        (words_to_read, DamagedIndexError, "no permission to read part of its words"),
        (words_held, IndexUnavailableError, UNAVAILABLE + "Failed to acquire Lockfile: LockBusy.*"),
        (panic, DamagedIndexError, "index out of bounds: .*"),
        (bug, NotImplementedError, "a bug"),
        (interrupted, KeyboardInterrupt, ""),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_damage_is_distinguished_from_refused_writes_and_from_bugs(
    broken: Callable[[Path], None], error: type[BaseException], message: str
) -> None:
    with tempfile.TemporaryDirectory() as name:  # where every user may write, unlike in pytest's own
        os.chmod(name, 0o777)
        with unprivileged(), pytest.raises(error, match=f"^{message}$") as caught, converting_damage():
            broken(Path(name))
    assert type(caught.value) is error
    if isinstance(caught.value, EngramError):
        assert "engram" in caught.value.hint


def test_vector_files_too_small_for_their_rows_are_damaged(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shorter"):
        check_vectors(str(tmp_path), 1, 0, 1)
    (tmp_path / "vectors.i8").write_bytes(bytes(8))
    (tmp_path / "starts.u32").write_bytes(bytes(12))
    check_vectors(str(tmp_path), 4, 3, 2)
    for dimensions, rows, slots in ((5, 3, 2), (4, 4, 2), (4, 3, 3)):
        with pytest.raises(ValueError, match="shorter"):
            check_vectors(str(tmp_path), dimensions, rows, slots)


# What can happen to a file. Each is given the file and a random source.


def delete(file: Path, _: random.Random) -> None:
    file.unlink()


def empty(file: Path, _: random.Random) -> None:
    os.truncate(file, 0)


def cut(file: Path, _: random.Random) -> None:
    os.truncate(file, file.stat().st_size // 2)


def scramble(file: Path, chance: random.Random) -> None:
    size = file.stat().st_size
    with file.open("r+b") as opened_file:
        opened_file.write(chance.randbytes(size))


def replace(file: Path, chance: random.Random) -> None:
    file.with_name("other").write_bytes(chance.randbytes(file.stat().st_size + 7))
    os.replace(file.with_name("other"), file)


def zero(file: Path, _: random.Random) -> None:
    size = file.stat().st_size
    with file.open("r+b") as opened_file:
        opened_file.write(bytes(size))


def flip(file: Path, chance: random.Random) -> None:
    size = file.stat().st_size
    if size:
        with file.open("r+b") as opened_file:
            opened_file.seek(chance.randrange(size))
            byte = opened_file.read(1)
            opened_file.seek(-1, os.SEEK_CUR)
            opened_file.write(bytes([byte[0] ^ 1 << chance.randrange(8)]))


LOUD: tuple[Callable[[Path, random.Random], None], ...] = (delete, empty, cut, scramble, replace, zero)
SEARCHED = ("vectors.i8", "*.term", "*.idx", "*.pos", "*.store", "*.fast", "*.fieldnorm")


def say(**values: Any) -> None:
    print(json.dumps(values), flush=True)  # noqa: T201


def good_or_scanned(engram: Engram, expected: list[object]) -> str:
    """Run queries; return "" if every answer is right or a reported scan, else the problem."""
    for number, (text, options) in enumerate(QUERIES):
        answer = engram.query(text, keep=False, **options)
        if answer.strategy == "scan":
            if not answer.notes:
                return f"a scan without a note: {text}"
            continue
        found = [(hit.lore.id, hit.path, round(hit.score.total, 4)) for hit in answer.lore]
        if (text, options, answer.strength, answer.strategy, found) != expected[number]:
            return f"{text}: {found} instead of {expected[number]}"
    return ""


def child(root: str, name: str, while_open: str, flips: str) -> None:
    """Damage one file of the index in every way and report how the store copes."""
    clock = SteadyClock()
    engram = open_test_store(Path(root), clock)
    engram.refresh()
    expected = answers(engram)
    saved = Path(root).parent / "saved"
    if while_open == "closed":
        engram.close()
    shutil.copytree(index_of(Path(root)), saved)
    engram.close()
    ways = (delete, empty, scramble) if name in SEARCHED else LOUD
    if int(flips) == 1:  # every day half of the ways for a file, and the others for the next one
        ways = ways[FILES.index(name) % 2 :: 2]
    for number, way in enumerate([*ways, *[flip] * int(flips)]):
        attempt(Path(root), saved, name, way, number, while_open, expected, clock)
    say(done=True)


def attempt(
    root: Path,
    saved: Path,
    name: str,
    way: Callable[[Path, random.Random], None],
    seed: int,
    while_open: str,
    expected: list[object],
    clock: SteadyClock,
) -> None:
    """Damage the file, query three times, let `doctor` repair it, query again."""
    shutil.rmtree(index_of(root))
    shutil.copytree(saved, index_of(root))
    say(step=f"{way.__name__} {name} ({while_open})")
    engram = open_test_store(root, clock)
    if while_open == "open":
        engram.query("retry the queue", keep=False)
    for file in sorted(path for path in index_of(root).rglob(name) if path.is_file()):
        way(file, random.Random(seed))
    beside = open_test_store(root, clock, session="beside")
    # No query reads enough to notice these; that is what `doctor` is for.
    silent = way is flip or (way in (scramble, replace, zero) and name in SEARCHED)
    for who in (engram, beside, engram):
        wrong = good_or_scanned(who, expected)
        if wrong and not silent:
            say(wrong=wrong, step=way.__name__)
    for finding in doctor(beside.store, fix=True):
        assert finding.kind == "index", finding
    wrong = good_or_scanned(beside, expected)
    if wrong:
        say(wrong=f"after doctor --fix: {wrong}", step=way.__name__)
    engram.close()
    beside.close()


FILES = (
    "CURRENT", "meta.json", "catalog.db", "catalog.db-wal", "vectors.i8", "starts.u32", ".managed.json",
    "*.term", "*.idx", "*.pos", "*.store", "*.fast", "*.fieldnorm",
)  # fmt: skip

# Every day each file is damaged in every way, but either while nobody has it open or while somebody has.
DAMAGES = [(name, state) for name in FILES for state in ("closed", "open")]
DAMAGES = [one for at, one in enumerate(DAMAGES) if is_thorough() or at % 8 in (0, 3)]


# Forks for each line that it reads: a process may die of its damage, and starting one anew costs more than the rest.
FORKING = """
    import json, os, sys, traceback
    sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests/kits"]
    import storekit
    from tests.index import test_damage
    storekit.read_ahead()
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            code = 1
            try:
                test_damage.child(*json.loads(line))
                code = 0
            except BaseException:
                test_damage.say(failed=traceback.format_exc())
            finally:
                os._exit(code)
        test_damage.say(ended=os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""


@pytest.fixture(scope="module")
def forking() -> Iterator[subprocess.Popen[bytes]]:
    process = start(FORKING, Path(__file__).parents[2], stdin=subprocess.PIPE)
    with killed_at_exit([process]):
        yield process


def forked(process: subprocess.Popen[bytes], *arguments: str) -> tuple[list[dict[str, Any]], int]:
    """Run `child` in its own process; return its output and exit status."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(arguments).encode() + b"\n")
    process.stdin.flush()
    said = []
    for line in process.stdout:
        said.append(json.loads(line))
        if "ended" in said[-1]:
            return said[:-1], said[-1]["ended"]
    raise AssertionError(said)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "while_open"), DAMAGES)
def test_a_damaged_file_of_the_index_never_spoils_an_answer(
    tmp_path: Path, forking: subprocess.Popen[bytes], name: str, while_open: str
) -> None:
    make_indexed_store(tmp_path / "store", SteadyClock()).close()
    said, code = forked(forking, str(tmp_path / "store"), name, while_open, str(examples(1, 2)))
    # Whoever reads a mapped file at the moment at which it is cut short dies of it, and nothing can catch that.
    cut_short = while_open == "open" and code == -getattr(signal, "SIGBUS", 0)
    assert code == 0 or cut_short, said[-2:]
    assert [line for line in said if "wrong" in line] == []
    assert said[-1] == {"done": True} or cut_short
