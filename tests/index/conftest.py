"""How large the stores of tests of the index count."""

from __future__ import annotations

import pytest

from engram.usecases.index import catch_up


@pytest.fixture
def never_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a large store, where a few removed texts are no reason to begin a new index."""
    monkeypatch.setattr(catch_up, "EXACT_LIMIT", -1)
    monkeypatch.setattr(catch_up, "DEAD_SHARE", 1000)
