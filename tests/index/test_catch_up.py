"""Updates of the index: their counts and records, and when an index is rebuilt.

Mutants that make no difference: the exact bounds of QUICK_LIMIT and of batches, how long the lock is waited for, and `None`
for `False`. So are those that only save work or memory: reading judgements ahead and keeping them, removing ids from a text
before the secret check, skipping checks of reported changes or without a pull, skipping folded entries of the same owner, a
bulk writer, and abandoning the writer of a discarded index. Stamps of paths that are no files are not compared, and the
writer sets the check number of new vectors.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import open_test_store as opened_plain
from storekit import SECONDS, SteadyClock, commit, contents, git, open_test_store

from engram.adapters.files.durable.lock import FileLock
from engram.adapters.index import delta
from engram.adapters.index.damage import DamagedIndexError, IndexUnavailableError
from engram.adapters.index.writer import GenerationWriter
from engram.domain.text.passages import passages
from engram.usecases.index import catch_up, freshness
from engram.usecases.index.catch_up import no_collections, too_many_dead
from engram.usecases.index.file_scan import Refreshed
from engram.usecases.index.refresh import refresh
from engram.usecases.store import judgements

if TYPE_CHECKING:
    from engram.adapters.index.index import Generation
    from engram.app import Engram

SECRET = "AKIA" + "Z7QX2M4KPL9TRWVB"  # of no account; put together so that no scanner finds it here


@pytest.fixture
def clock() -> SteadyClock:
    """A clock far enough ahead of the files' times for them to be trusted."""
    found = SteadyClock()
    found.ahead = 10 * SECONDS
    return found


@pytest.fixture
def engram(tmp_path: Path, clock: SteadyClock) -> Iterator[Engram]:
    with open_test_store(tmp_path / "store", clock) as made:
        made.refresh()
        yield made


@pytest.fixture
def lore(tmp_path: Path) -> Path:
    return tmp_path / "store" / "lore"


def generation_of(engram: Engram) -> Generation:
    found = engram.store.index.look()
    assert found is not None
    return found


@pytest.mark.usefixtures("never_compacted")
def test_added_changed_removed_and_unreadable_files_are_counted(engram: Engram, lore: Path) -> None:
    for name in "abc":
        (lore / f"{name}.md").write_text(f"The parser of {name} is flaky.\n")
    (lore / "secret.md").write_text(f"One line.\nThe key is {SECRET}\n")
    (lore / "large.md").write_text("x" * (256 * 1024 + 1))
    assert refresh(engram.store) == Refreshed(added=4, problems=2)
    (lore / "a.md").write_text("The parser is sound by now.\n")
    (lore / "b.md").unlink()
    assert refresh(engram.store) == Refreshed(changed=1, removed=1)
    (lore / "c.md").write_text("---\nid: [\n---\nbroken\n")
    assert refresh(engram.store) == Refreshed(changed=1, problems=1)
    assert [hit.lore.content for hit in engram.query("parser").lore] == ["The parser is sound by now."]
    generation = generation_of(engram)
    assert (generation.dead, generation.next_row, generation.words.count) == (3, 4, 1)
    assert [(p.path, p.line) for p in generation.catalog.problems()] == [
        ("lore/c.md", 3),
        ("lore/large.md", 0),
        ("lore/secret.md", 2),
    ]
    large, secret = generation.catalog.problems()[1:]
    assert large.message == "this file has 262,145 bytes; entries are small notes"
    assert (secret.message, SECRET in secret.hint) == (
        "it holds what looks like a secret (aws-access-key-id), so it is not recalled or committed",
        False,
    )
    assert generation.verify() == []
    assert tuple(refresh(engram.store)) == (0, 0, 0, 0, "", True)


def test_a_path_that_is_no_file_is_reported_once(engram: Engram, lore: Path) -> None:
    (lore / "link.md").symlink_to("nowhere")
    assert refresh(engram.store) == Refreshed(problems=1)
    assert refresh(engram.store) == Refreshed()


def test_a_file_of_the_largest_size_is_read(engram: Engram, lore: Path) -> None:
    (lore / "large.md").write_text("x" * (256 * 1024))
    refresh(engram.store)
    assert not [p for p in generation_of(engram).catalog.problems() if "bytes" in p.message]


def test_files_with_new_times_but_equal_bytes_are_not_indexed_again(
    engram: Engram, lore: Path, clock: SteadyClock
) -> None:
    (lore / "a.md").write_text(
        "---\nid: 01JBBBBBBBBBBBBBBBBBBBBBBB\ncategory: FACT\n---\nThe parser is flaky.\n"
    )
    (lore / "broken.md").write_text("---\nid: [\n---\nbroken\n")
    assert refresh(engram.store) == Refreshed(added=2, problems=1)
    for name in ("a.md", "broken.md"):
        os.utime(lore / name, (1_700_000_000, 1_700_000_000))
    generation = generation_of(engram)
    known = generation.catalog.known(["lore/a.md"])["lore/a.md"]
    clock.ahead += SECONDS
    assert refresh(engram.store) == Refreshed(problems=0)
    touched = generation.catalog.known(["lore/a.md"])["lore/a.md"]
    assert touched._replace(stamp=known.stamp, seen_ns=known.seen_ns) == known
    assert touched.stamp[0] == 1_700_000_000 * SECONDS
    assert touched.seen_ns == known.seen_ns + SECONDS


def test_new_judgements_are_indexed_once(engram: Engram) -> None:
    found = engram.record("The parser is flaky.", category="FACT").lore
    engram.feedback(incorrect=found.id)
    engram.refresh()
    assert generation_of(engram).catalog.select("1")[0].confidence == 550  # thousandths
    assert engram.store.judgements.pending() == []
    engram.feedback(helpful=found.id)
    assert engram.store.judgements.pending() == [found.id]
    refresh(engram.store, rebuild="test")
    assert engram.store.judgements.pending() == []


def test_a_sweep_records_the_commit_checked_out(engram: Engram) -> None:
    engram.record("The parser is flaky.", category="FACT")
    commit(engram)
    refresh(engram.store, thorough=True)
    head = git(engram.path, "rev-parse", "HEAD")
    assert generation_of(engram).head == freshness.head_commit(engram.store) == head


def test_with_paths_only_those_files_are_checked(engram: Engram, lore: Path) -> None:
    for name in "abc":
        (lore / f"{name}.md").write_text(f"The parser of {name} is flaky.\n")
    assert refresh(engram.store, paths=["lore/a.md", "lore/none.md"]).added == 1
    assert refresh(engram.store, paths=["lore/a.md"]).changed == 0
    assert refresh(engram.store).added == 2
    (lore / "b.md").unlink()
    assert refresh(engram.store, paths=["lore/b.md"]).removed == 1
    assert len(engram.list().lore) == 2


def test_progress_is_reported_every_64_files_and_at_the_end(engram: Engram, lore: Path) -> None:
    for number in range(66):
        (lore / f"{number}.md").write_text(f"Note {number} of the parser.\n")
    steps: list[tuple[int, int]] = []
    assert refresh(engram.store, rebuild="test", progress=lambda *both: steps.append(both)).added == 66
    assert steps == [(0, 66), (64, 66), (66, 66)]


def test_texts_are_indexed_with_their_vectors_batch_by_batch(
    engram: Engram, lore: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engram.usecases.index import catch_up

    monkeypatch.setattr(catch_up, "_BATCH", 2)
    for number in range(5):
        (lore / f"{number}.md").write_text(f"Note {number} of the parser.\n")
    assert refresh(engram.store).added == 5
    generation = generation_of(engram)
    assert (generation.next_row, generation.next_slot, generation.waiting, generation.words.count) == (
        5,
        5,
        0,
        5,
    )
    assert generation.verify() == []
    for number in range(5):
        found = engram.query(f"Note {number} of the parser.", k=1, keep=False)
        assert (found.lore[0].path, found.strategy) == (f"lore/{number}.md", "hybrid")


def test_a_long_text_has_a_vector_for_each_passage_and_one_for_the_whole(engram: Engram, lore: Path) -> None:
    words = [f"Passage {number} says that the parser is flaky." for number in range(60)]
    (lore / "a.md").write_text(" ".join(words) + "\n")
    (lore / "b.md").write_text("A short note of the broker.\n")
    (lore / "c.md").write_text(" ".join(words[:30]) + " It ends with the lighthouse.\n")
    assert refresh(engram.store).added == 3
    generation = generation_of(engram)
    assert generation.vectors is not None
    edges = generation.vectors.edges(generation.next_row, generation.next_slot)
    counts = [passages(len(content)) for content in (" ".join(words), "x", " ".join(words[:30]))]
    assert [end - start for start, end in pairwise(edges)] == [n + 1 if n > 1 else 1 for n in counts]
    assert max(counts) > 1
    assert generation.verify() == []
    assert engram.query("lighthouse", k=1, keep=False).lore[0].path == "lore/c.md"


def test_a_refresh_does_not_wait_for_another_process_that_indexes(
    engram: Engram, lore: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "_LOCK_SECONDS", 0.0)
    (lore / "a.md").write_text("The parser is flaky.\n")
    other = FileLock(f"{engram.store.index.folder}/writer.lock")
    assert other.try_acquire()
    assert refresh(engram.store) == Refreshed(fresh=False)
    assert not other.try_acquire()
    other.release()
    assert refresh(engram.store).added == 1
    assert other.try_acquire(), "the lock is released"


def test_deleted_ids_are_recorded_but_not_moved_ones(engram: Engram, lore: Path) -> None:
    deleted, moved = (engram.record(f"The parser is flaky {n}.", category="FACT") for n in (1, 2))
    engram.refresh()
    root = lore.parent
    (root / moved.path).rename(lore / "moved.md")
    assert engram.refresh().rebuilt == ""
    assert engram.store.state.tombstones.all() == []
    (root / deleted.path).unlink()
    engram.refresh()
    assert [one for one, _ in engram.store.state.tombstones.all()] == [deleted.lore.id]


def test_decayed_confidence_is_updated_each_day(engram: Engram, clock: SteadyClock) -> None:
    recorded = engram.record("The parser is flaky.", category="FACT")
    engram.feedback(helpful=recorded.lore.id)
    values = []
    for _ in range(3):
        engram.refresh()
        values.append(generation_of(engram).catalog.select("1")[0].confidence)
        faded = contents(engram)
        assert refresh(engram.store, rebuild="to compare").added == 1
        assert contents(engram) == faded
        clock.ahead += 200 * 24 * 3600 * SECONDS
    assert values == sorted(set(values), reverse=True)


def test_judgements_of_a_fast_clock_count_from_their_own_time_once_it_has_come(
    engram: Engram, clock: SteadyClock
) -> None:
    lore_id = engram.record("The parser is flaky.", category="FACT").lore.id
    right, day = clock.ahead, 24 * 3600 * SECONDS
    clock.ahead = right + 40 * day
    engram.feedback(helpful=lore_id)
    clock.ahead = right
    (line,) = judgements.lines_of(engram.store, [lore_id])
    engram.store.judgements.keep_times([(line.id, lore_id, clock.nanoseconds() // 1_000_000)])
    worth = []
    for days in (0, 39, 40, 71):
        clock.ahead = right + days * day
        engram.refresh()
        worth.append(generation_of(engram).catalog.select("1")[0].confidence)
    assert worth == [780, 770, 780, 770]


@pytest.mark.usefixtures("never_compacted")
@pytest.mark.parametrize("what", ["as it was", "changed", "gone"])
def test_judgements_move_to_a_new_owner_at_once_unless_its_file_changed(
    engram: Engram, lore: Path, what: str
) -> None:
    gone = engram.record("Retry the broker.", category="FACT")
    engram.feedback(helpful=gone.lore.id)

    def take_in(name: str, content: str) -> Path:
        """Write an entry into which the deleted one was folded; its id comes from its name, its dates from the file's."""
        (lore / name).write_text(f"---\nmerged_from: [{gone.lore.id}]\n---\n{content}\n")
        os.utime(lore / name, (1_700_000_000, 1_700_000_000))
        return lore / name

    path = take_in("later.md", "Cache it.")
    (lore.parent / gone.path).unlink()
    engram.refresh()
    take_in("heir.md", "The older one.")

    def counts() -> dict[str, tuple[str, int]]:
        hits = generation_of(engram).catalog.select("1")
        return {hit.path: (hit.title, hit.validation_count) for hit in hits}

    assert counts() == {"lore/later.md": ("Cache it.", 1)}
    if what == "changed":
        path.write_text(path.read_text().replace("Cache it.", "Cache nothing."))
    elif what == "gone":
        path.unlink()
    assert refresh(engram.store, paths=["lore/heir.md"]).added == 1
    still = 0 if what == "as it was" else 1
    assert counts() == {"lore/later.md": ("Cache it.", still), "lore/heir.md": ("The older one.", 1)}
    engram.refresh()
    done = contents(engram)
    refresh(engram.store, rebuild="to compare")
    assert contents(engram) == done


@pytest.mark.usefixtures("never_compacted")
def test_a_sweep_records_its_commit_and_time_unless_the_store_is_small(
    engram: Engram, lore: Path, clock: SteadyClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation = generation_of(engram)
    first = clock.nanoseconds()
    assert (generation.head, generation.swept_ns, generation.rules) == (
        freshness.head_commit(engram.store),
        first,
        "",
    )
    clock.ahead += SECONDS
    (lore / "a.md").write_text("The parser is flaky.\n")
    refresh(engram.store, paths=["lore/a.md"])
    assert generation.swept_ns == first
    refresh(engram.store)
    assert generation.swept_ns == first + SECONDS
    clock.ahead += SECONDS
    refresh(engram.store)
    assert generation.swept_ns == first + SECONDS, "in a small store it is not worth a write"
    generation.next_row, generation.dead = generation.next_row + 1, generation.dead + 1
    monkeypatch.setattr(freshness, "UNRECORDED_SWEEP_LIMIT", 1)
    refresh(engram.store)
    assert generation.swept_ns == first + SECONDS, "removed rows do not count"
    generation.next_row, generation.dead = generation.next_row - 1, generation.dead - 1
    monkeypatch.setattr(freshness, "UNRECORDED_SWEEP_LIMIT", 0)
    refresh(engram.store)
    assert generation.swept_ns == first + 2 * SECONDS
    refresh(engram.store, rebuild="test")
    assert generation_of(engram).swept_ns == first + 2 * SECONDS


@pytest.mark.parametrize(
    ("alive", "dead", "patient", "is_rebuilt"),
    [
        (0, 0, False, False),
        (0, 1, False, True),
        (100, 0, True, False),
        (100, 1, True, True),
        (101, 1, False, False),
        (101, 2, False, False),
        (101, 3, True, True),
        (1000, 20, True, False),
        (1000, 21, True, True),
        (1001, 21, True, False),
        (1001, 21, False, True),
        (1001, 20, False, False),
    ],
)
def test_an_index_with_too_many_removed_texts_is_rebuilt_unless_a_caller_waits(
    engram: Engram, alive: int, dead: int, patient: bool, is_rebuilt: bool
) -> None:
    generation = generation_of(engram)
    generation.next_row, generation.dead, generation.words_dead = alive + dead, dead, dead
    assert too_many_dead(generation, patient=patient) is is_rebuilt


def test_few_removed_texts_that_the_word_index_never_had_cause_no_rebuild(engram: Engram) -> None:
    generation = generation_of(engram)
    generation.next_row, generation.dead = 110, 100
    assert not too_many_dead(generation, patient=False)
    generation.dead = 101
    assert too_many_dead(generation, patient=True)


@pytest.mark.usefixtures("never_compacted")
def test_more_than_twice_as_many_new_files_cause_a_rebuild_unless_some_were_deleted(
    engram: Engram, lore: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "QUICK_LIMIT", 0)

    def rebuilt_with(*numbers: int) -> str:
        for number in numbers:
            (lore / f"{number}.md").write_text(f"Note {number} of the parser.\n")
        return refresh(engram.store).rebuilt

    assert rebuilt_with(1)
    assert rebuilt_with(2) == ""
    (lore / "1.md").unlink()
    assert refresh(engram.store) == Refreshed(removed=1)
    assert rebuilt_with(3, 4) == "", "exactly twice as many"
    assert rebuilt_with(*range(10, 17)) == "most of the lore is new"
    (lore / "2.md").unlink()
    assert rebuilt_with(*range(20, 50)) == ""


def test_a_removed_text_causes_a_rebuild_of_a_small_index(
    engram: Engram, lore: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "MOST", -1)  # so that the word index has them
    for name in "ab":
        (lore / f"{name}.md").write_text(f"The parser of {name} is flaky.\n")
    refresh(engram.store)
    before = generation_of(engram).folder
    (lore / "a.md").unlink()
    assert refresh(engram.store) == Refreshed(removed=1)
    generation = generation_of(engram)
    assert generation.folder != before
    assert (generation.dead, generation.next_row) == (0, 1)


def test_a_damaged_index_is_rebuilt_and_reported(engram: Engram, lore: Path) -> None:
    (lore / "a.md").write_text("The parser is flaky.\n")
    refresh(engram.store)
    (lore / "b.md").write_text("The broker is not.\n")
    Path(generation_of(engram).folder, "words", "meta.json").unlink()
    done = refresh(engram.store)
    assert (done.added, bool(done.rebuilt), done.fresh) == (2, True, True)
    assert len(engram.query("parser broker").lore) == 2


def test_an_interrupted_rebuild_leaves_neither_a_partial_nor_the_damaged_index(
    engram: Engram, lore: Path
) -> None:
    (lore / "a.md").write_text("The parser is flaky.\n")
    refresh(engram.store)
    folder = Path(engram.store.index.folder)
    before = {path.name for path in folder.iterdir()}
    (lore / "b.md").write_text("The broker is not.\n")
    Path(generation_of(engram).folder, "words", "meta.json").unlink()

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refresh(engram.store, progress=interrupt)
    assert {path.name for path in folder.iterdir()} <= before - {"CURRENT"}
    assert engram.store.index.look() is None
    assert refresh(engram.store).added == 2


def test_an_interrupted_update_leaves_the_index_unchanged(
    engram: Engram, lore: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(GenerationWriter, "touch", interrupt)
        (lore / "a.md").write_text("The parser is flaky.\n")
        with pytest.raises(KeyboardInterrupt):
            refresh(engram.store)
    assert generation_of(engram).verify() == []
    assert refresh(engram.store) == Refreshed(added=1)


def test_damage_in_a_new_index_means_that_it_cannot_be_built(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DamagedIndexError("bytes that were written are others now")

    monkeypatch.setattr(GenerationWriter, "put", fail)
    with pytest.raises(
        IndexUnavailableError, match="cannot be built: bytes that were written are others now"
    ):
        refresh(engram.store, rebuild="test")


def test_changed_settings_cause_a_rebuild_when_a_store_is_opened(engram: Engram, lore: Path) -> None:
    (lore / "a.md").write_text("The parser is flaky.\n")
    refresh(engram.store)
    with (lore.parent / ".engram.toml").open("a") as settings:
        settings.write('\n[secrets]\nallow = ["x"]\n')
    from engram.usecases.store import accepted_settings

    accepted_settings.accept(str(lore.parent), str(lore.parent / ".git/engram"))
    with open_test_store(lore.parent) as other:
        assert refresh(other.store, thorough=False).rebuilt == "the settings changed"
        assert refresh(other.store, thorough=False).rebuilt == ""
        assert generation_of(other).rules == freshness.settings_digest(other.store) != ""


@pytest.mark.usefixtures("never_compacted")
@pytest.mark.parametrize(
    ("limit", "thorough", "is_rebuilt"), [(1, False, True), (0, False, False), (0, True, True)]
)
def test_a_large_index_of_another_model_is_rebuilt_only_for_a_caller_that_can_wait(
    engram: Engram, lore: Path, monkeypatch: pytest.MonkeyPatch, limit: int, thorough: bool, is_rebuilt: bool
) -> None:
    for name in "ab":
        (lore / f"{name}.md").write_text(f"The parser of {name} is flaky.\n")
    refresh(engram.store)
    (lore / "a.md").unlink()
    refresh(engram.store)
    assert generation_of(engram).dead == 1
    meta = Path(generation_of(engram).folder, "meta.json")
    meta.write_text(json.dumps({**json.loads(meta.read_text()), "model": "path:0123:mean1"}))
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", limit)
    with open_test_store(lore.parent) as other:
        done = refresh(other.store, thorough=thorough)
        assert done.rebuilt == ("it was made for another embedding model" if is_rebuilt else "")
        assert [hit.path for hit in other.query("parser").lore] == ["lore/b.md"]
        (lore / "c.md").write_text("The parser of c is flaky.\n")
        assert refresh(other.store, thorough=thorough).added == 1
        assert generation_of(other).waiting == (0 if is_rebuilt else 1), (
            "its vector is left to the other model"
        )


def test_an_index_of_the_same_model_is_used_unchanged(engram: Engram, lore: Path) -> None:
    (lore / "a.md").write_text("The parser is flaky.\n")
    refresh(engram.store)
    with open_test_store(lore.parent, engram.store.clock) as other:
        assert refresh(other.store) == Refreshed()


def test_an_index_whose_lock_cannot_be_created_is_unavailable(engram: Engram, lore: Path) -> None:
    (lore / "a.md").write_text("The parser is flaky.\n")
    lock = Path(engram.store.index.folder, "writer.lock")
    lock.unlink()
    lock.symlink_to("nowhere/writer.lock")
    with pytest.raises(IndexUnavailableError, match="The index cannot be locked: No such file or directory"):
        refresh(engram.store)
    assert engram.query("parser").notes == ("The index cannot be locked: No such file or directory.",)


def test_a_folder_in_place_of_the_lock_is_moved_aside(engram: Engram, lore: Path) -> None:
    (lore / "a.md").write_text("The parser is flaky.\n")
    lock = Path(engram.store.index.folder, "writer.lock")
    lock.unlink()
    lock.mkdir()
    assert refresh(engram.store).added == 1
    assert lock.with_name("writer.lock.damaged").is_dir()


@pytest.mark.usefixtures("never_compacted")
def test_manual_changes_are_listed_for_the_next_commit_but_not_recorded_entries(
    engram: Engram, lore: Path
) -> None:
    noted = Path(engram.store.outside_path)
    recorded = engram.record("Retry the broker.", category="FACT")
    engram.refresh()
    engram.forget(recorded.lore.id)
    engram.refresh()
    assert not noted.exists()
    for name in "ab":
        (lore / f"{name}.md").write_text(f"The parser of {name} is flaky.\n")
    engram.refresh()
    assert sorted(noted.read_text().split()) == ["lore/a.md", "lore/b.md"]
    noted.unlink()
    (lore / "a.md").write_text("The parser is sound by now.\n")
    (lore / "b.md").unlink()
    engram.refresh()
    assert sorted(noted.read_text().split()) == ["lore/a.md", "lore/b.md"]


def test_a_store_without_git_keeps_no_list_of_manual_changes(tmp_path: Path) -> None:
    with opened_plain(tmp_path / "plain") as engram:
        (tmp_path / "plain/lore").mkdir()
        (tmp_path / "plain/lore/a.md").write_text("The parser is flaky.\n")
        assert refresh(engram.store).added == 1
        assert not Path(engram.store.outside_path).exists()


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_suspended_and_then_restored(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    try:
        with no_collections():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        gc.enable()
