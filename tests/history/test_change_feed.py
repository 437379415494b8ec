"""A copy that only ever asks what changed stays the same as the store, whatever happens to the store and to the index."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from apikit import START, SetClock, lore_files, opened, plain
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.app import Engram

DEEDS = (
    "record",
    "patch",
    "forget",
    "by hand",
    "delete file",
    "move file",
    "break file",
    "new index",
    "restart",
    "touch",
)


class Step(NamedTuple):
    deed: str
    which: int
    asks: bool
    limit: int | None


STEPS = st.lists(
    st.builds(Step, st.sampled_from(DEEDS), st.integers(0, 5), st.booleans(), st.sampled_from([None, 1, 3])),
    min_size=4,
    max_size=12,
)


class Copy:
    """What a program keeps that follows the changes: by id, the content and tags."""

    def __init__(self) -> None:
        self.lore: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.cursor = ""

    def follow(self, store: Engram, limit: int | None) -> None:
        more = True
        while more:
            told = store.delta(self.cursor, limit)
            for shown in told.lore:
                assert (shown.lore.id in told.created_ids) or shown.lore.id in self.lore, (
                    "came, and was not said to come"
                )
                self.lore[shown.lore.id] = shown.lore.content, shown.lore.tags
            for gone in told.deleted_ids:
                self.lore.pop(gone, None)
            self.cursor, more = told.cursor, told.more


def do(store: Engram, root: Path, step: Step, number: int) -> None:
    """Something happens to the store, or to its files behind its back."""
    files = [path for path in lore_files(root) if b"[broken" not in path.read_bytes()]
    file = files[step.which % len(files)] if files else None
    if step.deed == "record" or file is None:
        store.record(f"The store learned thing number {number} just now.", category="fact")
    elif step.deed == "patch":
        store.patch(file.stem[-26:], {"tags": [f"t{number}"]})
    elif step.deed == "forget":
        store.forget(file.stem[-26:])
    elif step.deed == "by hand":
        file.write_text(file.read_text("utf-8") + f"\nAnd number {number}.\n", "utf-8")
    elif step.deed == "delete file":
        file.unlink()
    elif step.deed == "move file":
        (root / "lore" / "moved").mkdir(exist_ok=True)
        shutil.move(file, root / "lore" / "moved" / f"{number}--{file.stem[-26:]}.md")
    elif step.deed == "break file":
        (root / "broken").mkdir(exist_ok=True)
        file.rename(root / "broken" / file.name)  # gone, and something that is no lore in its place
        file.write_text(f"---\nid: [broken {number}\n---\n", "utf-8")
    elif step.deed == "new index":
        store.store.index.mark_damaged("for the test")
    elif step.deed == "touch":
        file.touch()


@settings(max_examples=examples(6, 200))
@given(steps=STEPS)
def test_a_copy_that_follows_the_changes_is_the_store(
    tmp_path_factory: object, steps: Sequence[Step]
) -> None:
    root = plain(tmp_path_factory.mktemp("store") / "s")  # type: ignore[attr-defined]
    clock, copy = SetClock(START), Copy()
    store = opened(root, clock=clock)
    broken = False
    for number, step in enumerate(steps):
        clock.advance(seconds=timedelta(minutes=step.which).seconds)
        broken = broken or step.deed == "break file"
        do(store, root, step, number)
        if step.deed == "restart":
            store.close()
            store = opened(root, clock=clock)
        if step.asks:
            copy.follow(store, step.limit)
    copy.follow(store, None)
    there = {one.lore.id: (one.lore.content, one.lore.tags) for one in store.list(limit=None).lore}
    assert {name: said for name, said in copy.lore.items() if name in there} == there
    assert broken or copy.lore == there, "what is broken stays in the copy as it was"
    store.close()
