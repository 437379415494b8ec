"""Bringing the index in step: what is counted, noted and reported, and when an index is made anew.

Mutants that make no difference: the exact bounds of QUICK_LIMIT and of batches, how long the lock is waited for, and `None`
for `False`. So do those that only save work or memory: judgements read ahead and kept, ids taken out of a text before its
secrets are looked for, what the system reported or nobody pulled not looked at again, folded entries whose heir is the same
left alone, a writer in bulk, and one of an index that is thrown away told so. The stamp of what is no file is not compared,
and the check number of new vectors is the writer's.
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
from apikit import opened as opened_plain
from storekit import SECONDS, SteadyClock, commit, contents, git, opened

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
    """Far enough ahead of the files' times for them to be believed."""
    found = SteadyClock()
    found.ahead = 10 * SECONDS
    return found


@pytest.fixture
def engram(tmp_path: Path, clock: SteadyClock) -> Iterator[Engram]:
    with opened(tmp_path / "store", clock) as made:
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
def test_what_was_added_changed_removed_and_cannot_be_read_is_counted(engram: Engram, lore: Path) -> None:
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


def test_what_is_no_file_is_told_once(engram: Engram, lore: Path) -> None:
    (lore / "link.md").symlink_to("nowhere")
    assert refresh(engram.store) == Refreshed(problems=1)
    assert refresh(engram.store) == Refreshed()


def test_a_file_of_the_largest_size_is_read(engram: Engram, lore: Path) -> None:
    (lore / "large.md").write_text("x" * (256 * 1024))
    refresh(engram.store)
    assert not [p for p in generation_of(engram).catalog.problems() if "bytes" in p.message]


def test_what_was_read_as_it_stands_is_not_read_again(engram: Engram, lore: Path, clock: SteadyClock) -> None:
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


def test_what_was_judged_is_brought_to_the_index_once(engram: Engram) -> None:
    found = engram.record("The parser is flaky.", category="FACT").lore
    engram.feedback(incorrect=found.id)
    engram.refresh()
    assert generation_of(engram).catalog.select("1")[0].confidence == 550  # thousandths
    assert engram.store.judgements.pending() == []
    engram.feedback(helpful=found.id)
    assert engram.store.judgements.pending() == [found.id]
    refresh(engram.store, rebuild="test")
    assert engram.store.judgements.pending() == []


def test_an_index_knows_the_commit_that_it_was_swept_at(engram: Engram) -> None:
    engram.record("The parser is flaky.", category="FACT")
    commit(engram)
    refresh(engram.store, thorough=True)
    head = git(engram.path, "rev-parse", "HEAD")
    assert generation_of(engram).head == freshness.head_commit(engram.store) == head


def test_only_named_files_are_looked_at(engram: Engram, lore: Path) -> None:
    for name in "abc":
        (lore / f"{name}.md").write_text(f"The parser of {name} is flaky.\n")
    assert refresh(engram.store, paths=["lore/a.md", "lore/none.md"]).added == 1
    assert refresh(engram.store, paths=["lore/a.md"]).changed == 0
    assert refresh(engram.store).added == 2
    (lore / "b.md").unlink()
    assert refresh(engram.store, paths=["lore/b.md"]).removed == 1
    assert len(engram.list().lore) == 2


def test_progress_is_told_every_64_files_and_at_the_end(engram: Engram, lore: Path) -> None:
    for number in range(66):
        (lore / f"{number}.md").write_text(f"Note {number} of the parser.\n")
    told: list[tuple[int, int]] = []
    assert refresh(engram.store, rebuild="test", progress=lambda *both: told.append(both)).added == 66
    assert told == [(0, 66), (64, 66), (66, 66)]


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


def test_while_another_process_indexes_the_old_index_answers(
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
    assert other.try_acquire(), "the lock is given back"


def test_what_went_is_remembered_but_not_what_only_moved(engram: Engram, lore: Path) -> None:
    gone, moved = (engram.record(f"The parser is flaky {n}.", category="FACT") for n in (1, 2))
    engram.refresh()
    root = lore.parent
    (root / moved.path).rename(lore / "moved.md")
    assert engram.refresh().rebuilt == ""
    assert engram.store.state.tombstones.all() == []
    (root / gone.path).unlink()
    engram.refresh()
    assert [one for one, _ in engram.store.state.tombstones.all()] == [gone.lore.id]


def test_what_fades_has_in_the_index_what_it_is_worth_today(engram: Engram, clock: SteadyClock) -> None:
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


def test_what_was_said_by_a_clock_that_ran_ahead_counts_as_of_its_own_time_once_that_has_come(
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
def test_who_has_what_was_said_of_an_entry_changes_at_once_but_for_files_that_are_to_be_read_again(
    engram: Engram, lore: Path, what: str
) -> None:
    gone = engram.record("Retry the broker.", category="FACT")
    engram.feedback(helpful=gone.lore.id)

    def take_in(name: str, content: str) -> Path:
        """Write an entry that took in the one that is gone; its id is made from its name, its dates from the file's."""
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
def test_the_index_notes_the_commit_and_the_time_of_the_last_look_at_all_files(
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
    assert generation.swept_ns == first + SECONDS, "of a small store it is not worth a write"
    generation.next_row, generation.dead = generation.next_row + 1, generation.dead + 1
    monkeypatch.setattr(freshness, "UNRECORDED_SWEEP_LIMIT", 1)
    refresh(engram.store)
    assert generation.swept_ns == first + SECONDS, "what was removed makes it no larger"
    generation.next_row, generation.dead = generation.next_row - 1, generation.dead - 1
    monkeypatch.setattr(freshness, "UNRECORDED_SWEEP_LIMIT", 0)
    refresh(engram.store)
    assert generation.swept_ns == first + 2 * SECONDS
    refresh(engram.store, rebuild="test")
    assert generation_of(engram).swept_ns == first + 2 * SECONDS


@pytest.mark.parametrize(
    ("alive", "dead", "patient", "anew"),
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
def test_an_index_is_made_anew_for_its_removed_texts_where_they_matter_and_nobody_waits(
    engram: Engram, alive: int, dead: int, patient: bool, anew: bool
) -> None:
    generation = generation_of(engram)
    generation.next_row, generation.dead, generation.words_dead = alive + dead, dead, dead
    assert too_many_dead(generation, patient=patient) is anew


def test_an_index_is_not_made_anew_for_a_few_texts_that_its_words_never_had(engram: Engram) -> None:
    generation = generation_of(engram)
    generation.next_row, generation.dead = 110, 100
    assert not too_many_dead(generation, patient=False)
    generation.dead = 101
    assert too_many_dead(generation, patient=True)


@pytest.mark.usefixtures("never_compacted")
def test_an_index_is_made_anew_if_more_than_twice_as_many_files_are_new_and_none_went(
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
    assert rebuilt_with(3, 4) == "", "as many as twice"
    assert rebuilt_with(*range(10, 17)) == "most of the lore is new"
    (lore / "2.md").unlink()
    assert rebuilt_with(*range(20, 50)) == ""


def test_removed_texts_make_a_small_index_anew(
    engram: Engram, lore: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "MOST", -1)  # the word index has them
    for name in "ab":
        (lore / f"{name}.md").write_text(f"The parser of {name} is flaky.\n")
    refresh(engram.store)
    before = generation_of(engram).folder
    (lore / "a.md").unlink()
    assert refresh(engram.store) == Refreshed(removed=1)
    generation = generation_of(engram)
    assert generation.folder != before
    assert (generation.dead, generation.next_row) == (0, 1)


def test_a_damaged_index_is_made_anew_and_says_so(engram: Engram, lore: Path) -> None:
    (lore / "a.md").write_text("The parser is flaky.\n")
    refresh(engram.store)
    (lore / "b.md").write_text("The broker is not.\n")
    Path(generation_of(engram).folder, "words", "meta.json").unlink()
    done = refresh(engram.store)
    assert (done.added, bool(done.rebuilt), done.fresh) == (2, True, True)
    assert len(engram.query("parser broker").lore) == 2


def test_a_rebuild_that_is_interrupted_leaves_no_half_of_an_index_and_not_the_damaged_one(
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


def test_an_update_that_is_interrupted_leaves_the_index_as_it_was(
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


def test_a_new_index_that_is_damaged_at_once_is_one_that_cannot_be_built(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DamagedIndexError("bytes that were written are others now")

    monkeypatch.setattr(GenerationWriter, "put", fail)
    with pytest.raises(
        IndexUnavailableError, match="cannot be built: bytes that were written are others now"
    ):
        refresh(engram.store, rebuild="test")


def test_other_settings_make_the_index_anew_when_a_store_is_opened(engram: Engram, lore: Path) -> None:
    (lore / "a.md").write_text("The parser is flaky.\n")
    refresh(engram.store)
    with (lore.parent / ".engram.toml").open("a") as settings:
        settings.write('\n[secrets]\nallow = ["x"]\n')
    from engram.usecases.store import accepted_settings

    accepted_settings.accept(str(lore.parent), str(lore.parent / ".git/engram"))
    with opened(lore.parent) as other:
        assert refresh(other.store, thorough=False).rebuilt == "the settings changed"
        assert refresh(other.store, thorough=False).rebuilt == ""
        assert generation_of(other).rules == freshness.settings_digest(other.store) != ""


@pytest.mark.usefixtures("never_compacted")
@pytest.mark.parametrize(
    ("limit", "thorough", "anew"), [(1, False, True), (0, False, False), (0, True, True)]
)
def test_a_large_index_of_another_model_is_made_anew_only_for_who_can_wait(
    engram: Engram, lore: Path, monkeypatch: pytest.MonkeyPatch, limit: int, thorough: bool, anew: bool
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
    with opened(lore.parent) as other:
        done = refresh(other.store, thorough=thorough)
        assert done.rebuilt == ("it was made for another embedding model" if anew else "")
        assert [hit.path for hit in other.query("parser").lore] == ["lore/b.md"]
        (lore / "c.md").write_text("The parser of c is flaky.\n")
        assert refresh(other.store, thorough=thorough).added == 1
        assert generation_of(other).waiting == (0 if anew else 1), "its vectors are for that model to make"


def test_an_index_of_the_same_model_is_used_as_it_is(engram: Engram, lore: Path) -> None:
    (lore / "a.md").write_text("The parser is flaky.\n")
    refresh(engram.store)
    with opened(lore.parent, engram.store.clock) as other:
        assert refresh(other.store) == Refreshed()


def test_a_lock_that_cannot_be_made_is_an_index_that_cannot_be_written(engram: Engram, lore: Path) -> None:
    (lore / "a.md").write_text("The parser is flaky.\n")
    lock = Path(engram.store.index.folder, "writer.lock")
    lock.unlink()
    lock.symlink_to("nowhere/writer.lock")
    with pytest.raises(IndexUnavailableError, match="The index cannot be locked: No such file or directory"):
        refresh(engram.store)
    assert engram.query("parser").notes == ("The index cannot be locked: No such file or directory.",)


def test_a_folder_in_the_place_of_a_lock_is_moved_aside(engram: Engram, lore: Path) -> None:
    (lore / "a.md").write_text("The parser is flaky.\n")
    lock = Path(engram.store.index.folder, "writer.lock")
    lock.unlink()
    lock.mkdir()
    assert refresh(engram.store).added == 1
    assert lock.with_name("writer.lock.damaged").is_dir()


@pytest.mark.usefixtures("never_compacted")
def test_what_people_changed_is_noted_for_the_next_commit_and_not_what_was_recorded(
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


def test_a_store_without_git_keeps_no_list_of_what_people_changed(tmp_path: Path) -> None:
    with opened_plain(tmp_path / "plain") as engram:
        (tmp_path / "plain/lore").mkdir()
        (tmp_path / "plain/lore/a.md").write_text("The parser is flaky.\n")
        assert refresh(engram.store).added == 1
        assert not Path(engram.store.outside_path).exists()


@pytest.mark.parametrize("enabled", [True, False])
def test_collections_are_off_for_a_while_and_then_as_before(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()
    try:
        with no_collections():
            assert not gc.isenabled()
        assert gc.isenabled() is enabled
    finally:
        gc.enable()
