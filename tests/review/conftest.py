"""The store for tests of the review queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SetClock, make_plain_store, open_test_store

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path, clock: SetClock) -> Engram:
    return open_test_store(make_plain_store(tmp_path), clock=clock)
