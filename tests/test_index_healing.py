"""A damaged index heals: the next query answers right, or by a scan that says so, and nothing crashes.

Damage that could kill a process (a mapped file cut short, a corrupted posting list) is done in a process of
its own, which tells step by step what it does.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from storekit import QUERIES, SteadyClock, answers, lines, opened, rebuilt, run

from engram.app import Engram
from engram.usecases.doctor import doctor

TEXTS = (
    ("The queue consumer must be idempotent, because the broker redelivers after a timeout.", "PATTERN_OUTCOME"),
    ("Use selectinload for collections in async database sessions.", "DEPENDENCY_BEHAVIOR"),
    ("The parser fixture is flaky when the cache of the index is cold.", "TESTING_STRATEGY"),
    ("A lock of the index must be released before the branch is merged.", "FACT"),
    ("Retry with a token budget; nothing else keeps the broker alive.", "FACT"),
)


def filled(root: Path, clock: SteadyClock) -> Engram:
    """A store with some lore and a good index."""
    engram = opened(root, clock)
    for text, category in TEXTS:
        engram.record(text, category=category, tags=["slow"])
    engram.refresh()
    return engram


def index_of(root: Path) -> Path:
    return root / ".git" / "engram" / "index"


def generation_of(root: Path) -> Path:
    return index_of(root) / (index_of(root) / "CURRENT").read_text().strip()


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
FLIPS = 4


def say(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def good_or_scanned(engram: Engram, expected: list[object]) -> str:
    """Ask; "" where every answer is right or a noted scan, else what is wrong."""
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


def child(root: str, name: str, while_open: str) -> None:
    """Damage one file of the index in every way and report what the store makes of it."""
    clock = SteadyClock()
    engram = opened(Path(root), clock)
    engram.refresh()
    expected = answers(engram)
    saved = Path(root).parent / "saved"
    if while_open == "closed":
        engram.close()
    shutil.copytree(index_of(Path(root)), saved)
    engram.close()
    for number, way in enumerate([*LOUD, *[flip] * FLIPS]):
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
    """Damage the file, ask three times, let `doctor` mend, ask again."""
    shutil.rmtree(index_of(root))
    shutil.copytree(saved, index_of(root))
    say(step=f"{way.__name__} {name} ({while_open})")
    engram = opened(root, clock)
    if while_open == "open":
        engram.query("retry the queue", keep=False)
    for file in sorted(path for path in index_of(root).rglob(name) if path.is_file()):
        way(file, random.Random(seed))
    beside = opened(root, clock, session="beside")
    # No query reads enough to notice these; that is what `doctor` is for.
    silent = way is flip or (way is zero and name == "vectors.f16")
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
    "CURRENT", "meta.json", "catalog.db", "catalog.db-wal", "vectors.f16", "starts.u32", ".managed.json",
    "*.term", "*.idx", "*.pos", "*.store", "*.fast", "*.fieldnorm",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("while_open", ["closed", "open"])
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_of_the_index_never_spoils_an_answer(tmp_path: Path, name: str, while_open: str) -> None:
    filled(tmp_path / "store", SteadyClock()).close()
    script = "import sys; sys.path.insert(0, sys.argv[1]); import test_index_healing as t; t.child(*sys.argv[2:])"
    done = run(script, Path(__file__).parent, tmp_path / "store", name, while_open)
    said = lines(done.stdout)
    assert done.returncode == 0, (said[-1:], done.stderr.decode()[-3000:])
    assert [line for line in said if "wrong" in line] == []
    assert said[-1] == {"done": True}
