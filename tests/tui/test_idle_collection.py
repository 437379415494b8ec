"""Garbage is collected while no key is pressed, and left to Python once the app has ended."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

from engram_tui.shell import idle_collection
from engram_tui.shell.idle_collection import IDLE, WORTH_IT, IdleCollection

if TYPE_CHECKING:
    import pytest


class Node:
    """What only a collection frees: it names itself."""

    def __init__(self) -> None:
        self.own = self


def make_garbage() -> weakref.ref[Node]:
    """Make what survives the looks at what is new, and is garbage then."""
    node = Node()
    for _ in range(WORTH_IT + 1):
        gc.collect(1)
    return weakref.ref(node)


def test_all_is_collected_only_once_the_keys_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(idle_collection.time, "monotonic", lambda: now)
    before = gc.get_threshold()
    idle = IdleCollection()
    try:
        idle.note_key()
        garbage = make_garbage()
        idle.collect()
        assert garbage() is not None, "a key was pressed just now"
        now += IDLE
        idle.collect()
        assert garbage() is None
    finally:
        idle.end()
    assert gc.get_threshold() == before
