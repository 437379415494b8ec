"""Files of format 1 whose clones migrate apart: the same bytes everywhere in the end, and every confidence as it was."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import prepared
import pytest
from apikit import git
from effort import examples, sampled
from storekit import commit
from sync_kit import Clones, Left

from engram.adapters.files.frontmatter import codec
from engram.domain.entry import ulid
from engram.domain.entry.categories import Categories
from engram.domain.entry.confidence import Vote, clamp
from engram.domain.entry.lore import Lore
from engram.usecases.admission import credit
from engram.usecases.upkeep.maintain import maintain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

NAMES = "abc"
STRANGER = "5TRANGER"
FEW = 12
THOUSANDS = examples(1000, 10_000)
MANY = 20_000  # more than there are


def votes_of(number: int, clones: list[str]) -> dict[str, Vote]:
    """The votes that everybody knows of an entry, those of a clone that is gone among them."""
    found = {clone: Vote(80 * (number % 4), 150 * (number % 2), number % 4) for clone in clones[: number % 4]}
    return found | ({STRANGER: Vote(40, 0, 1)} if number % 5 == 0 else {})


def known_only_to(number: int, clone: int) -> Vote:
    """What a clone voted of an entry in format 1 after it had heard of the others for the last time."""
    return Vote(80, 0, 1) if number % 3 == clone else Vote()


def stated(number: int) -> int:
    """The confidence that its author stated, which others need not take from them."""
    return 700 if number % 6 else 950


def entry(clones: Clones, number: int, votes: dict[str, Vote]) -> Lore:
    """An entry as a version of before has written it."""
    lore_id = ulid.encode(1_770_000_000_000 + number, number % 4096 << 68 | number)
    text = f"Topic {number} of the broker has {number + 3} partitions in region {number % 97}."
    now = clones.clock.now()
    validated = now if any(vote.n for vote in votes.values()) else None
    return Lore(
        lore_id, text, "FACT", created_at=now, updated_at=now, prior=stated(number), votes=votes, last_validated=validated,
        source_id=clones[NAMES[number % 3]].store.source_id,
    )  # fmt: skip


def write(clones: Clones, name: str, entries: list[Lore]) -> None:
    """Write files of a version of before into a clone, and commit them as that had."""
    for lore in entries:
        path = clones.root(name) / f"lore/{lore.id}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(codec.write_new(lore, Categories()))
    git(clones.root(name), "add", "-A", "lore")
    git(clones.root(name), "commit", "-qm", "votes", check=False)
    clones[name].refresh()


def of_format_1(folder: Path, size: int) -> Left:
    """Three clones of a store of format 1; each knows votes of its own that the others have not heard of."""
    clones = Clones(folder, NAMES)
    sources = [ulid.short(clones[name].store.source_id) for name in NAMES]
    write(clones, "a", [entry(clones, number, votes_of(number, sources)) for number in range(size)])
    clones.settle()
    for at, name in enumerate(NAMES):
        mine = []
        for number in range(size):
            votes, more = votes_of(number, sources), known_only_to(number, at)
            if any(more):
                before = votes.get(sources[at], Vote())
                mine.append(
                    entry(
                        clones, number, votes | {sources[at]: Vote(*map(sum, zip(before, more, strict=True)))}
                    )
                )
        write(clones, name, mine)
    return clones.leave()


def figures(clones: Clones, name: str) -> dict[str, tuple[int, int, int]]:
    """What each entry has in a clone: its confidence, how often it was helpful, and what it counts as there."""
    clones[name].refresh()
    found = [one.lore for one in clones[name].list(limit=MANY).lore]
    counted = credit.of_many(clones[name].store, found)
    return {
        lore.id: (lore.thousandths, lore.validation_count, here.confidence)
        for lore, here in zip(found, counted, strict=True)
    }


def files(clones: Clones, name: str) -> dict[str, bytes]:
    folder = clones.root(name) / "lore"
    return {path.name: path.read_bytes() for path in folder.rglob("*.md")}


def sync_in(clones: Clones, order: Iterable[str]) -> None:
    """Sync in this order until everybody has heard of everything."""
    for name in [*order, *order, *order]:
        clones.sync(name)


def expected(clones: Clones, size: int) -> dict[str, tuple[int, int]]:
    """The confidence of each entry and how often it was helpful, by the numbers that were written."""
    sources = [ulid.short(clones[name].store.source_id) for name in NAMES]
    found = {}
    for number in range(size):
        votes = votes_of(number, sources)
        for at, source in enumerate(sources):
            votes[source] = Vote(
                *map(sum, zip(votes.get(source, Vote()), known_only_to(number, at), strict=True))
            )
        balance = sum(vote.up - vote.down for vote in votes.values())
        full = clamp(stated(number) + balance)
        found[entry(clones, number, {}).id] = full, sum(vote.n for vote in votes.values())
    return found


def check(folder: Path, size: int, order: Sequence[str]) -> None:
    left = prepared.copy(f"format 1, {size}", folder / "plain", lambda place: of_format_1(place, size))
    control = Clones.again(folder / "plain", left)
    sync_in(control, NAMES)
    before = {name: figures(control, name) for name in NAMES}
    wanted = expected(control, size)
    assert {lore_id: one[:2] for lore_id, one in before["a"].items()} == wanted
    control.leave()

    prepared.copy(f"format 1, {size}", folder / "moved", lambda place: of_format_1(place, size))
    clones = Clones.again(folder / "moved", left)
    for name in NAMES:
        maintain(clones[name].store)
        commit(clones[name])
        assert not any(b"votes:" in raw for raw in files(clones, name).values())
    sync_in(clones, order)
    clones.assert_equal()
    assert {name: figures(clones, name) for name in NAMES} == before
    clones.leave()


@sampled("order", list(itertools.permutations(NAMES)), everyday=0, ids="".join)
def test_three_clones_that_migrate_apart_end_with_the_same_bytes_and_every_figure_as_it_was(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    check(tmp_path, FEW, order)


@pytest.mark.slow
@pytest.mark.parametrize("order", list(itertools.permutations(NAMES)), ids="".join)
def test_thousands_of_entries_of_three_clones_migrate_apart(tmp_path: Path, order: tuple[str, ...]) -> None:
    check(tmp_path, THOUSANDS, order)


@pytest.mark.slow
def test_undoing_a_synced_migration_restores_the_files_and_keeps_every_sum(
    tmp_path: Path,
) -> None:
    left = prepared.copy(f"format 1, {FEW}", tmp_path, lambda place: of_format_1(place, FEW))
    clones = Clones.again(tmp_path, left)
    sync_in(clones, NAMES)
    before, held = {name: figures(clones, name) for name in NAMES}, files(clones, "a")
    maintain(clones["a"].store)
    commit(clones["a"])
    sync_in(clones, NAMES)
    clones["a"].undo()
    assert files(clones, "a") == held
    assert figures(clones, "a") == before["a"]
    sync_in(clones, "bca")
    clones.assert_equal()
    assert {name: figures(clones, name) for name in NAMES} == before
