"""An entry that one side moved and the other changed, or that both moved."""

from __future__ import annotations

from pathlib import Path

import pytest
from sync_kit import Clones, files, make_clones

from engram.usecases.recording.edit import Edit


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return Clones(tmp_path)


def test_an_entry_that_was_moved_and_changed_elsewhere_is_one_entry(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    path = clones["a"].get(lore).path
    (clones.root("a") / path).rename(clones.root("a") / "lore/moved.md")
    clones["b"].feedback(helpful=[lore])
    clones["b"].edit(lore, Edit(add_tags=("broker",)))
    clones.settle()
    clones.assert_equal()
    assert [path for path in files(clones.root("b")) if path.endswith(".md")] == ["lore/moved.md"]
    found = clones["b"].get(lore).lore
    assert (found.validation_count, found.tags, found.conflicts) == (1, ("broker",), ())


def test_an_entry_that_both_moved_is_at_one_place(tmp_path: Path) -> None:
    clones, lore = make_clones(tmp_path)
    path = clones["a"].get(lore).path
    for name in "ab":
        clones[name].feedback(helpful=[lore])
        clones[name].edit(lore, Edit(add_tags=(f"by {name}",)))
        (clones.root(name) / path).rename(clones.root(name) / f"lore/moved-by-{name}.md")
    clones.settle()
    clones.assert_equal()
    assert [path for path in files(clones.root("b")) if path.endswith(".md")] == ["lore/moved-by-a.md"]
    found = clones["b"].get(lore).lore
    assert (found.validation_count, found.tags) == (2, ("by a", "by b"))
