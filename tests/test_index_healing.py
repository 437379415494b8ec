"""A damaged index heals: the next query answers right, or by a scan that says so, and nothing crashes.

Damage that could kill a process (a mapped file cut short, a corrupted posting list) is done in a process of
its own, which tells step by step what it does.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from effort import is_thorough
from storekit import QUERIES, SteadyClock, answers, lines, opened, rebuilt, run

from engram.usecases.doctor import doctor

if TYPE_CHECKING:
    from engram.app import Engram

TEXTS = (
    ("The queue consumer must be idempotent: the broker redelivers after a timeout.", "PATTERN_OUTCOME"),
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
SEARCHED = ("vectors.i8", "*.term", "*.idx", "*.pos", "*.store", "*.fast", "*.fieldnorm")


def say(**values: Any) -> None:
    print(json.dumps(values), flush=True)  # noqa: T201


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
    ways = (delete, empty, scramble) if name in SEARCHED else LOUD
    for number, way in enumerate([*ways, *[flip] * 2]):
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
DAMAGES = [one for at, one in enumerate(DAMAGES) if is_thorough() or at % 4 in (0, 3)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "while_open"), DAMAGES)
def test_a_damaged_file_of_the_index_never_spoils_an_answer(
    tmp_path: Path, name: str, while_open: str
) -> None:
    filled(tmp_path / "store", SteadyClock()).close()
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_index_healing as t; t.child(*sys.argv[2:])"
    )
    done = run(script, Path(__file__).parent, tmp_path / "store", name, while_open)
    said = lines(done.stdout)
    # Whoever reads a mapped file at the moment at which it is cut short dies of it, and nothing can catch that.
    cut_short = while_open == "open" and done.returncode == -getattr(signal, "SIGBUS", 0)
    assert done.returncode == 0 or cut_short, (said[-1:], done.stderr.decode()[-3000:])
    assert [line for line in said if "wrong" in line] == []
    assert said[-1] == {"done": True} or cut_short


def ask(engram: Engram) -> list[str]:
    """What a query finds first, by content."""
    return [hit.lore.content for hit in engram.query("idempotent queue consumer", k=1, keep=False).lore]


FOUND = [TEXTS[0][0]]


@pytest.mark.parametrize("meta", ["", "{}", "[]", "null", '{"format": 1', '{"format": 0}', "\x00" * 50])
def test_an_index_of_another_format_is_rebuilt(tmp_path: Path, meta: str) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    (generation_of(root) / "meta.json").write_text(meta)
    with opened(root) as engram:
        assert engram.refresh().rebuilt
        assert ask(engram) == FOUND
        assert engram.refresh().rebuilt == ""


def test_an_index_of_another_model_is_rebuilt(tmp_path: Path) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    file = generation_of(root) / "meta.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "model": "path:0123:mean1"}))
    with opened(root) as engram:
        assert "another" in engram.refresh().rebuilt
        answer = engram.query("idempotent queue consumer")
        assert (answer.strategy, answer.notes) == ("hybrid", ())


@pytest.mark.parametrize(
    "name", ["", "generation-gone", "../..", "/etc", "\xff", "generation-x\ngeneration-y"]
)
def test_a_current_file_that_names_nothing_leads_to_a_new_index(tmp_path: Path, name: str) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    (index_of(root) / "CURRENT").write_text(name, "latin-1")
    with opened(root) as engram:
        assert ask(engram) == FOUND
        assert generation_of(root).is_dir()


def test_a_generation_that_a_killed_process_left_half_written_is_swept(tmp_path: Path) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    half = index_of(root) / "generation-HALF"
    half.mkdir()
    (half / "meta.json").write_text("{")
    with opened(root) as engram:
        assert ask(engram) == FOUND
        (index_of(root) / "CURRENT").unlink()
        assert ask(engram) == FOUND
    assert not half.exists()


def test_what_stands_in_place_of_the_index_folder_is_put_aside(tmp_path: Path) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    shutil.rmtree(index_of(root))
    index_of(root).write_text("not a folder")
    with opened(root) as engram:
        assert ask(engram) == FOUND
        assert engram.query("queue").strategy == "hybrid"


def test_a_folder_in_place_of_the_current_file_is_put_aside(tmp_path: Path) -> None:
    root = tmp_path / "store"
    filled(root, SteadyClock()).close()
    (index_of(root) / "CURRENT").unlink()
    (index_of(root) / "CURRENT" / "x").mkdir(parents=True)
    with opened(root) as engram:
        assert ask(engram) == FOUND
        assert engram.query("queue").strategy == "hybrid"


def test_a_state_folder_deleted_while_open_comes_back(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with filled(root, SteadyClock()) as engram:
        assert ask(engram) == FOUND
        shutil.rmtree(root / ".git" / "engram" / "index")
        assert ask(engram) == FOUND
        assert engram.query("queue").strategy == "hybrid"


def test_texts_that_a_killed_writer_added_to_the_words_alone_count_for_nothing(tmp_path: Path) -> None:
    root, clock = tmp_path / "store", SteadyClock()
    with filled(root, clock) as engram:
        words = engram.store.index.look().words  # type: ignore[union-attr]
        words.begin(bulk=False)
        for row in range(5, 25):
            words.add(row, "queue consumer queue")
        words.commit()
    with opened(root, clock) as engram:
        fresh = rebuilt(engram, tmp_path / "state")
        assert answers(engram) == answers(fresh)
        fresh.close()


def test_texts_that_a_killed_writer_took_from_the_words_alone_are_found_again(tmp_path: Path) -> None:
    root, clock = tmp_path / "store", SteadyClock()
    with filled(root, clock) as engram:
        words = engram.store.index.look().words  # type: ignore[union-attr]
        words.begin(bulk=False)
        words.remove([0, 1, 2])
        words.commit()
    with opened(root, clock) as engram:
        fresh = rebuilt(engram, tmp_path / "state")
        assert answers(engram) == answers(fresh)
        fresh.close()


def test_damage_that_one_process_sees_does_not_cost_the_newer_index_of_another(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with filled(root, SteadyClock()) as old, opened(root) as new:
        generation = old.store.index.look()
        assert generation is not None
        new.store.index.look()
        new.store.index.damaged("for the test")
        new.refresh()
        current = generation_of(root)
        old.store.index.damaged("what it had open is gone")
        assert generation_of(root) == current
        assert ask(old) == FOUND


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("read_only", ["state", "index"])
def test_without_permission_to_write_its_state_a_store_still_answers(
    open_folder: Path, read_only: str
) -> None:
    """In a process that is not root, for root may write anywhere."""
    root = open_folder / "store"
    filled(root, SteadyClock()).close()
    state = root / ".git" / "engram"
    (generation_of(root) / "meta.json").write_text("{}")
    folder = state if read_only == "state" else state / "index"
    script = """
        import os, sys, json
        import engram
        with engram.open(sys.argv[2], session="s", background=False) as store:  # loads every module needed
            store.record("retry", category="FACT")
            store.query("retry", strategy="scan")
            store.status()
        os.environ["XDG_CONFIG_HOME"] = os.environ["HOME"] = sys.argv[2]  # the test's own home is root's
        if os.geteuid() == 0:
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
        with engram.open(sys.argv[1], session="s") as store:
            answer = store.query("idempotent queue consumer")
            print(json.dumps([answer.strategy, len(answer.lore), list(answer.notes)]))
            print(json.dumps(store.status()["index"]))
            try:
                store.record("retry", category="FACT")
            except engram.EngramError as error:
                print(json.dumps([type(error).__name__, error.message]))
    """
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "65534:65534", root], check=True)
    places = [Path(place) for place, _, _ in os.walk(folder)]
    for place in places:
        place.chmod(0o555)
    try:
        done = run(script, root, open_folder / "other")
    finally:
        for place in places:
            place.chmod(0o755)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    answer, status, *refusal = lines(done.stdout)
    assert answer[:2] == ["scan", 1]
    assert answer[2]
    assert status["ok"] is False
    assert [name for name, _ in refusal if name != "StoreError"] == []


def test_the_doctor_finds_nothing_wrong_with_a_sound_index(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with filled(root, SteadyClock()) as engram:
        shown = engram.list().lore[0]
        (root / "lore" / "twin.md").write_bytes((root / shown.path).read_bytes())
        (root / "lore" / "dropped.md").write_text("# Nothing but text\n")
        (root / "lore" / "bad.md").write_text("---\nid: [\n")
        assert {finding.kind for finding in doctor(engram.store)} == {"file", "adoption", "git"}


def test_the_doctor_finds_a_lore_hidden_by_a_single_changed_value(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with filled(root, SteadyClock()) as engram:
        generation = engram.store.index.look()
        assert generation is not None
        generation.catalog.connection.execute(
            "UPDATE files SET status = 'archived' WHERE title LIKE 'The queue consumer%'"
        )
        assert ask(engram) != FOUND
        assert [finding.kind for finding in doctor(engram.store) if finding.kind != "git"] == ["index"]
        doctor(engram.store, fix=True)
        assert ask(engram) == FOUND
