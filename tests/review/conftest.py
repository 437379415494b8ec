"""The store for tests of the review queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SetClock, opened, plain

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def store(tmp_path: Path, clock: SetClock) -> Engram:
    return opened(plain(tmp_path), clock=clock)
