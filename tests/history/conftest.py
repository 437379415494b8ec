"""Stores for the tests of history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import prepared
import pytest
from apikit import QUEUE, TIDES, SetClock, dedicated, git, open_test_store
from storekit import commit

from tests.history.history_kit import make_history

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of a dedicated store with one entry: recorded by ada, judged by bob, edited by eve, moved by hand."""
    prepared.copy("an entry with a history", tmp_path, make_history)
    git(tmp_path / "store", "update-index", "--refresh")
    return tmp_path / "store"


@pytest.fixture
def engram(tmp_path: Path) -> Engram:
    """A dedicated store with two entries, one of them judged."""
    made = open_test_store(dedicated(tmp_path / "store"), clock=SetClock(), agent="ada")
    name = made.record(QUEUE, category="fact").lore.id
    made.record(TIDES, category="fact")
    made.feedback(helpful=name)
    commit(made)
    return made
