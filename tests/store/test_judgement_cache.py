"""What is kept of the lines that were read: made anew without it, and complete where two processes read at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, SetClock, dedicated, opened

from engram.adapters.files.durable.ledger_folder import LedgerFolder

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return opened(dedicated(tmp_path / "store"), clock=SetClock())


def test_without_its_cache_everything_is_read_again(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FAILURE").lore.id
    store.feedback(helpful=lore_id)
    store.query("idempotent queue")
    store.close()
    for file in Path(store.store.places.state).glob("judgements.db*"):
        file.write_bytes(b"rubbish") if file.suffix == ".db" else file.unlink()
    assert opened(Path(store.path), clock=SetClock()).get(lore_id).lore.validation_count == 1


def test_two_processes_that_read_a_ledger_at_once_miss_none_of_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "store"
    with opened(root) as store:
        entry, state = (
            store.record("retry the broker", category="FACT").lore.id,
            Path(store.store.places.state),
        )
    read = LedgerFolder.read

    def overtaken(folder: LedgerFolder, path: str, start: int = 0) -> bytes:
        """Read what there is; before it is kept, another process judges, and keeps what it has read."""
        found = read(folder, path, start)
        monkeypatch.setattr(LedgerFolder, "read", read)
        with opened(root, session="other") as other:
            other.feedback(helpful=entry, again=True)
        return found

    with opened(root, session="one") as one:
        one.feedback(helpful=entry, again=True)
    for name in ("judgements.db", "judgements.db-wal", "judgements.db-shm"):
        (state / name).unlink(missing_ok=True)
    monkeypatch.setattr(LedgerFolder, "read", overtaken)
    with opened(root, session="late") as late:
        assert late.get(entry).lore.validation_count == 2
    with opened(root, session="next") as after:
        assert after.get(entry).lore.validation_count == 2
