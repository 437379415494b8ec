"""What other memory tools do when two machines change the same thing, and what Engram does instead, one row a test.

| Both machines, offline                    | what is known from rivals              | here                                  |
|-------------------------------------------|----------------------------------------|---------------------------------------|
| find one entry helpful                    | one vote lost, or markers in the file  | +0.16, count 2                        |
| one finds it helpful, the other incorrect | the last writer wins: 0.78 or 0.55     | 0.63 from 0.70, count 1               |
| edit different paragraphs                 | a conflict, or one edit lost           | both edits, nothing to do             |
| rewrite the same sentence                 | markers, or one version lost           | both kept, shown to a person          |
| one deletes, the other votes              | it comes back                          | it stays deleted                      |
| one deletes, the other edits              | the edit is lost                       | it stays, and a person is told        |
| one renames, the other edits              | it is there twice                      | one entry, edited, at its new place   |
| both add a tag                            | one tag lost                           | both tags                             |
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sync_kit import Clones, make_clones

from engram.domain.errors import NotFoundError
from engram.usecases.recording.edit import Edit

if TYPE_CHECKING:
    from engram.domain.entry.lore import Lore


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return make_clones(tmp_path)[0]


@pytest.fixture
def lore(clones: Clones) -> Lore:
    """One entry at 0.70 that both clones have."""
    [made] = [shown.lore for shown in clones["b"].list().lore]
    assert made.confidence == 0.70
    return made


def merged(clones: Clones, lore: Lore) -> Lore:
    """Sync all clones and return the entry that all have."""
    clones.settle()
    clones.assert_equal()
    found = [clones[name].get(lore.id).lore for name in clones.stores]
    shared = [(one._replace(tally=None), one.tally and one.tally[:6]) for one in found]
    assert shared[0] == shared[1], "what one clone believes is its own"
    return found[0]


def test_helpful_on_both_gives_twice_the_gain_and_count_two(clones: Clones, lore: Lore) -> None:
    for name in "ab":
        clones[name].feedback(helpful=[lore.id])
    found = merged(clones, lore)
    assert (found.confidence, found.validation_count) == (0.86, 2)
    assert found.conflicts == ()


def test_helpful_against_incorrect_gives_the_sum_of_both(clones: Clones, lore: Lore) -> None:
    clones["a"].feedback(helpful=[lore.id])
    clones["b"].feedback(incorrect=[lore.id])
    found = merged(clones, lore)
    assert (found.confidence, found.validation_count) == (0.63, 1)
    assert found.conflicts == ()


def test_edits_to_different_paragraphs_merge(clones: Clones, lore: Lore) -> None:
    path = clones.path("a", lore)
    clones.edit("a", path, "must be idempotent", "must be idempotent, always")
    clones.edit("b", path, "when the ack is late", "when the ack is late or lost")
    found = merged(clones, lore)
    assert found.content == (
        "Queue consumers must be idempotent, always.\n\n"
        "Brokers deliver a message twice when the ack is late or lost."
    )
    assert found.conflicts == ()


def test_edits_to_the_same_sentence_keep_both_and_show_up_for_review(clones: Clones, lore: Lore) -> None:
    path = clones.path("a", lore)
    clones.edit("a", path, "must be idempotent", "must tolerate repeats")
    clones.edit("b", path, "must be idempotent", "must check for duplicates")
    found = merged(clones, lore)
    kept = [found.content, *[entry.value for entry in found.conflicts if entry.field == "content"]]
    assert len(kept) == 2
    assert {"tolerate repeats" in text for text in kept} == {True, False}
    assert {"check for duplicates" in text for text in kept} == {True, False}
    for name in "ab":
        waiting = [shown.lore.id for shown in clones[name].list(limit=None).lore if shown.lore.conflicts]
        assert waiting == [lore.id]


def test_deleted_here_and_judged_there_stays_deleted(clones: Clones, lore: Lore) -> None:
    clones["a"].forget(lore.id)
    clones["b"].feedback(helpful=[lore.id])
    clones.settle()
    clones.assert_equal()
    for name in "ab":
        with pytest.raises(NotFoundError):
            clones[name].get(lore.id)


def test_deleted_here_and_edited_there_stays_with_a_conflict(clones: Clones, lore: Lore) -> None:
    clones["a"].forget(lore.id)
    clones["b"].edit(lore.id, Edit(content="Queue consumers must be idempotent; we saw 3 % repeats."))
    found = merged(clones, lore)
    assert found.content.endswith("3 % repeats.")
    assert [entry.field for entry in found.conflicts] == ["deleted"]


def test_renamed_here_and_edited_there_is_one_entry(clones: Clones, lore: Lore) -> None:
    path = clones.path("a", lore)
    root = clones.root("a")
    (root / path).rename(root / "lore/queues.md")
    clones["b"].edit(lore.id, Edit(add_tags=("broker",)))
    found = merged(clones, lore)
    assert found.tags == ("broker",)
    assert [shown.path for shown in clones["b"].list(limit=None).lore] == ["lore/queues.md"]


def test_a_tag_added_on_each_side_gives_both(clones: Clones, lore: Lore) -> None:
    for name, tag in (("a", "queue"), ("b", "broker")):
        clones[name].edit(lore.id, Edit(add_tags=(tag,)))
    assert merged(clones, lore).tags == ("broker", "queue")
