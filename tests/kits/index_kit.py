"""A store with a good index, for tests of damage to the index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from storekit import SteadyClock, open_test_store

if TYPE_CHECKING:
    from engram.app import Engram

TEXTS = (
    ("The queue consumer must be idempotent: the broker redelivers after a timeout.", "PATTERN_OUTCOME"),
    ("Use selectinload for collections in async database sessions.", "DEPENDENCY_BEHAVIOR"),
    ("The parser fixture is flaky when the cache of the index is cold.", "TESTING_STRATEGY"),
    ("A lock of the index must be released before the branch is merged.", "FACT"),
    ("Retry with a token budget; nothing else keeps the broker alive.", "FACT"),
)


def make_indexed_store(root: Path, clock: SteadyClock) -> Engram:
    """Make a store with some entries and a good index."""
    engram = open_test_store(root, clock)
    for text, category in TEXTS:
        engram.record(text, category=category, tags=["slow"])
    engram.refresh()
    return engram


def index_of(root: Path) -> Path:
    return root / ".git" / "engram" / "index"


def generation_of(root: Path) -> Path:
    return index_of(root) / (index_of(root) / "CURRENT").read_text().strip()
