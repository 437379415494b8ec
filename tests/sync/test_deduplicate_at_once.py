"""Two clones fold the same entries concurrently, one of them offline: all end up in one entry, each vote counted once."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from apikit import cli, git
from storekit import commit
from sync_kit import Clones, files

from engram.adapters.files.durable import atomic
from engram.adapters.files.durable.write import Change
from engram.adapters.files.frontmatter import codec
from engram.domain.similarity.deduplicate import fold
from engram.usecases.store import entry_writer

if TYPE_CHECKING:
    from pathlib import Path

    from engram.domain.entry.lore import Lore

TEXTS = (
    "Whoever retries adds jitter.",
    "Queues want a bound.",
    "Old maps are wrong.",
    "Tides turn twice a day.",
)


def recorded(clones: Clones) -> list[Lore]:
    """Record four entries and sync them to every clone."""
    found = [clones.record(name, text) for name, text in zip("abca", TEXTS, strict=True)]
    clones.settle()
    return found


def fold_by_hand(clones: Clones, name: str, host: Lore, lost: Lore) -> None:
    """Fold one entry into another in one clone, as a person would."""
    store = clones[name].store
    paths = [clones[name].get(lore.id).path for lore in (host, lost)]
    one, other = (entry_writer.load(store, path) for path in paths)
    after = fold(one.lore, other.lore)
    assert after is not None
    changes = [
        Change(paths[0], codec.rewrite(one, after, store.categories), atomic.digest(one.raw)),
        Change(paths[1], None, atomic.digest(other.raw)),
    ]
    entry_writer.write(store, [entry_writer.operation_for(store, after, "fold", changes)])


@pytest.mark.slow
def test_earlier_folds_follow_an_entry_that_is_folded_itself(tmp_path: Path) -> None:
    clones = Clones(tmp_path, "abc")
    first, second, third, other = recorded(clones)
    fold_by_hand(clones, "a", first, second)
    fold_by_hand(clones, "b", second, third)
    clones["c"].feedback(helpful=third.id)
    done = clones.sync("a", "b", "c")
    clones.settle()
    clones.assert_equal()
    assert sum(synced.conflicts for synced in done) == 0
    held = {shown.lore.id: clones["a"].get(shown.lore.id).lore for shown in clones["a"].list().lore}
    assert set(held) == {first.id, other.id}
    kept = held[first.id]
    assert sorted(kept.merged_from) == [second.id, third.id]
    assert sorted(kept.sources) == sorted({first.source_id, second.source_id, third.source_id})
    assert (kept.thousandths, kept.validation_count) == (700 + 2 * 100 + 80, 1)
    assert kept.conflicts == ()
    assert all(clones[name].get(gone.id).lore.id == first.id for name in "abc" for gone in (second, third))


@pytest.mark.slow
def test_a_plain_pull_that_git_stops_gives_the_same_result(tmp_path: Path) -> None:
    clones = Clones(tmp_path, "abc")
    first, second, third, _other = recorded(clones)
    for name in "bc":
        fold_by_hand(clones, name, second, third)
        commit(clones[name])
    fold_by_hand(clones, "a", first, second)
    clones.sync("a", "b")
    root = clones.root("c")
    words = ["git", "pull", "-q", "--no-rebase", "--no-edit", "origin", "main"]
    assert subprocess.run(words, cwd=root, capture_output=True, check=False).returncode == 1
    assert "repaired" in cli("doctor", "--fix", cwd=root).out
    git(root, "commit", "-q", "--no-edit")
    clones.settle()
    clones.assert_equal()
    assert "deleted" not in "".join(raw.decode() for raw in files(root).values())
    assert sorted(clones["c"].get(first.id).lore.merged_from) == [second.id, third.id]
