"""The store that tests of the command line start with."""

from __future__ import annotations

from pathlib import Path

import prepared
import pytest
from apikit import TIDES, make_plain_store, ok


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a store outside git with one entry."""
    prepared.copy("tide tables", tmp_path, _make_root)
    return tmp_path


def _make_root(folder: Path) -> None:
    make_plain_store(folder)
    ok("record", TIDES, "-c", "fact", cwd=folder)
