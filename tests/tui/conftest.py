"""The stores that tests of the app begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tui_kit import make_template, open_copy

import engram

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_template(tmp_path_factory.mktemp("template"))


@pytest.fixture
def store(template: Path, tmp_path: Path) -> Iterator[engram.Engram]:
    """A copy of a store that is made once for a module."""
    with open_copy(template, tmp_path) as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The path of a store of two entries that no process has open."""
    with engram.open(tmp_path / "s", session="t") as store:
        store.record("Queue consumers must be idempotent.", category="PATTERN_OUTCOME")
        store.record("Money is stored as integer cents.", category="FACT")
        return store.path
