"""Ledger files: a truncated line does not damage others, and a full disk leaves no partial line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, SetClock, dedicated, open_test_store

from engram.domain.errors import StoreError
from tests.store.test_judgements import ledgers

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(dedicated(tmp_path / "store"), clock=SetClock())


def test_a_truncated_line_does_not_damage_the_next(store: Engram) -> None:
    lore_id = store.record(QUEUE, category="FAILURE").lore.id
    store.feedback(helpful=lore_id)
    (ledger,) = ledgers(store)
    with ledger.open("ab") as file:
        file.write(b'{"id":"01KJ')
    assert store.feedback(helpful=lore_id, again=True)[0].validation_count == 2


def test_a_full_disk_is_reported_and_leaves_no_partial_line(
    store: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    lore_id = store.record(QUEUE, category="FAILURE").lore.id
    store.feedback(helpful=lore_id)
    (ledger,) = ledgers(store)
    before = ledger.read_bytes()

    def refuse(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", refuse)
        with pytest.raises(StoreError, match="cannot be written"):
            store.feedback(helpful=lore_id, again=True)
    assert ledger.read_bytes() == before
    assert store.get(lore_id).lore.validation_count == 1
