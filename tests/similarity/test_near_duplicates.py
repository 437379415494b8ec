"""A look at what a new text repeats: as recording would find it, also in files that nobody has read yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apikit import QUEUE, TIDES, opened, plain

from engram.usecases.store.store import Clock

if TYPE_CHECKING:
    from pathlib import Path


def test_what_weighing_says_is_what_recording_does(tmp_path: Path) -> None:
    with opened(tmp_path, clock=Clock()) as store:
        store.record(QUEUE, category="fact")
        found = store.weigh(QUEUE + "\n")
        assert found.known is not None
        assert found.known.id == store.record(QUEUE + "\n").lore.id
        assert store.weigh(TIDES).known is None


def test_a_copy_of_the_text_in_a_file_nobody_has_read_yet_is_found(tmp_path: Path) -> None:
    root = plain(tmp_path)
    with opened(root, clock=Clock()) as store:
        store.refresh()
        first = store.record(QUEUE, category="fact")
        store.refresh()
    with opened(root, clock=Clock()) as other:
        other.store.index.look()
        second = other.record(TIDES, category="fact")
    with opened(root, clock=Clock()) as store:
        assert store.record(TIDES).lore.id == second.lore.id
        assert store.record(QUEUE).lore.id == first.lore.id
