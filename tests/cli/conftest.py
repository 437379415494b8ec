"""The store that tests of the command line begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import TIDES, ok, plain


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a store outside git with one entry."""
    plain(tmp_path)
    ok("record", TIDES, "-c", "fact", cwd=tmp_path)
    return tmp_path
