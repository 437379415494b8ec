"""Forgetting: entries are removed everywhere, and every name is resolved first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import COLOUR, QUEUE, TIDES, lore_files, open_test_store

from engram.domain.errors import NotFoundError

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path) -> Engram:
    return open_test_store(tmp_path)


def test_a_forgotten_entry_is_removed_everywhere(store: Engram, tmp_path: Path) -> None:
    ids = [store.record(text, category="FACT").lore.id for text in (QUEUE, COLOUR, TIDES)]
    gone = store.forget(ids[0], ids[1], ids[0])
    assert [shown.lore.id for shown in gone] == ids[:2]
    assert [shown.lore.id for shown in store.list().lore] == ids[2:]
    assert len(lore_files(tmp_path)) == 1
    assert store.query("queue consumer").lore == ()
    with pytest.raises(NotFoundError):
        store.get(ids[0])


def test_forgetting_resolves_every_name_first(store: Engram, tmp_path: Path) -> None:
    lore_id = store.record(QUEUE, category="FACT").lore.id
    with pytest.raises(NotFoundError):
        store.forget(lore_id, "L99")
    assert len(lore_files(tmp_path)) == 1
