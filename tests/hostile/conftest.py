"""The store with a known entry for tests of hostile input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from apikit import QUEUE, cli, open_test_store
from hostile_kit import RECALLED, check_result, copy_to_harm
from storekit import SECONDS, SteadyClock


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store outside git with an indexed entry, recorded an hour ago."""
    root = tmp_path_factory.mktemp("template") / "store"
    clock = SteadyClock()
    clock.ahead = -3600 * SECONDS
    with open_test_store(root, clock=clock) as engram:
        engram.record(QUEUE, category="PATTERN_OUTCOME")
        engram.refresh()
    return root


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Iterator[Path]:
    """Yield a copy of the store, and check afterwards that its lore is unchanged and recalled."""
    with copy_to_harm(template, tmp_path) as copy:
        yield copy
    assert RECALLED in check_result(cli("query", "idempotent queue consumer", cwd=copy), 0).out
