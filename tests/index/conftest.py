"""Fixtures for tests of the index."""

from __future__ import annotations

import pytest

from engram.usecases.index import catch_up


@pytest.fixture
def never_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a large store, do not rebuild the index for a few removed texts."""
    monkeypatch.setattr(catch_up, "EXACT_LIMIT", -1)
    monkeypatch.setattr(catch_up, "DEAD_SHARE", 1000)
