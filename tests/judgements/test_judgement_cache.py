"""The cache of ledgers equals their files as these grow, are replaced and are deleted."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, SetClock, dedicated, open_test_store
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.adapters.files.durable.ledger_folder import LedgerFolder
from engram.adapters.state.judgement_cache import JudgementCache, Known, Read
from engram.domain.entry import ulid
from engram.domain.judgements import ledger
from engram.domain.judgements.ledger import Judgement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.app import Engram

MONTH = 1_790_000_000_000
SOURCES = [ulid.encode(MONTH - number, number) for number in range(2)]
# More than there are ends of ids: some share one, and some of these differ at the front.
ENTRIES = [ulid.encode(MONTH - 1000 * number, number) for number in range(40)]
# A ledger of each source, the private copy of the first of them, and a second month of it.
PATHS = [
    (path, SOURCES[number])
    for number, path in [
        (0, ledger.path_of(SOURCES[0], ulid.encode(MONTH, 0))),
        (1, ledger.path_of(SOURCES[1], ulid.encode(MONTH, 0))),
        (0, "own:" + ledger.path_of(SOURCES[0], ulid.encode(MONTH, 0))),
        (0, ledger.path_of(SOURCES[0], ulid.encode(MONTH + 40 * 86_400_000, 0))),
    ]
]
STEP = st.tuples(
    st.sampled_from(["grow", "replace", "forget"]),
    st.sampled_from(range(len(PATHS))),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(ENTRIES)), max_size=6),
)


def lines_of(path: int, drafts: Sequence[tuple[int, str]]) -> list[Judgement]:
    kinds = ("helpful", "incorrect", "a kind with a capital Letter")  # the last: no line as Engram writes it
    return [
        Judgement(ulid.encode(MONTH, number), entry, kinds[number % 3], agent="claude-code", source=PATHS[path][1])
        for number, entry in drafts
    ]  # fmt: skip


@settings(max_examples=examples(30, 1000), deadline=None)
@given(st.lists(STEP, max_size=12))
def test_an_entry_has_the_lines_of_all_ledgers_as_they_are_now(steps: list) -> None:
    held: dict[int, list[Judgement]] = {}
    known: dict[int, Known] = {}
    with tempfile.TemporaryDirectory() as folder:
        cache = JudgementCache(folder)
        for step, (what, path, drafts) in enumerate(steps):
            (name, source), is_first = PATHS[path], not known
            before = {entry: in_order(held, entry) for entry in ENTRIES}
            if what == "forget":
                cache.forget([name] if held.pop(path, None) is not None else [])
                known.pop(path, None)
            else:
                lines = lines_of(path, drafts)
                raw = b"".join(ledger.render(line) for line in lines)
                whole = what == "replace" or path not in held
                now = Known(step, str(step))
                cache.add([Read(name, source, raw, now, known.get(path), whole)])
                held[path], known[path] = (lines if whole else held[path] + lines), now
            after = {entry: in_order(held, entry) for entry in ENTRIES}
            assert {
                entry: sorted(one.unpack().lines) for entry, one in cache.by_entry(ENTRIES).items()
            } == after
            assert sorted(cache.of(ENTRIES).lines) == sorted(
                {line for lines in after.values() for line in lines}
            )
            assert cache.entries() == {entry for entry in ENTRIES if after[entry]}
            changed = {entry for entry in ENTRIES if after[entry] != before[entry]}
            told = set(cache.take_unreported())
            assert told == changed or (is_first and told == cache.entries())
        cache.close()


def in_order(held: dict[int, list[Judgement]], entry: str) -> list[Judgement]:
    return sorted(line for lines in held.values() for line in lines if line.entry == entry)


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(dedicated(tmp_path / "store"), clock=SetClock())


def test_without_its_cache_everything_is_read_again(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FAILURE").lore.id
    store.feedback(helpful=lore_id)
    store.query("idempotent queue")
    store.close()
    for file in Path(store.store.places.state).glob("judgements.db*"):
        file.write_bytes(b"rubbish") if file.suffix == ".db" else file.unlink()
    assert open_test_store(Path(store.path), clock=SetClock()).get(lore_id).lore.validation_count == 1


def test_two_processes_that_read_a_ledger_at_once_miss_none_of_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "store"
    with open_test_store(root) as store:
        entry, state = (
            store.record("retry the broker", category="FACT").lore.id,
            Path(store.store.places.state),
        )
    read = LedgerFolder.read

    def overtaken(folder: LedgerFolder, path: str, start: int = 0) -> bytes:
        """Read the ledgers; before the result is stored, another process judges and stores its own."""
        found = read(folder, path, start)
        monkeypatch.setattr(LedgerFolder, "read", read)
        with open_test_store(root, session="other") as other:
            other.feedback(helpful=entry, again=True)
        return found

    with open_test_store(root, session="one") as one:
        one.feedback(helpful=entry, again=True)
    for name in ("judgements.db", "judgements.db-wal", "judgements.db-shm"):
        (state / name).unlink(missing_ok=True)
    monkeypatch.setattr(LedgerFolder, "read", overtaken)
    with open_test_store(root, session="late") as late:
        assert late.get(entry).lore.validation_count == 2
    with open_test_store(root, session="next") as after:
        assert after.get(entry).lore.validation_count == 2
