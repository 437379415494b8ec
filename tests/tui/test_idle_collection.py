"""Garbage is collected while no key is pressed; after the app, collection is left to Python."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

from engram_tui.shell import idle_collection
from engram_tui.shell.idle_collection import FULL_AFTER, IDLE, IdleCollection

if TYPE_CHECKING:
    import pytest


class Node:
    """An object that only a collection frees, as it refers to itself."""

    def __init__(self) -> None:
        self.own = self


def make_garbage() -> weakref.ref[Node]:
    """Make garbage that has survived collections of the youngest generation."""
    node = Node()
    for _ in range(FULL_AFTER + 1):
        gc.collect(1)
    return weakref.ref(node)


def test_a_full_collection_waits_until_no_key_is_pressed(monkeypatch: pytest.MonkeyPatch) -> None:
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
