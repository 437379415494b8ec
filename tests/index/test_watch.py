"""A long-running program is notified of changes by the system, and its answers show them at once.

Mutants that make no difference: one more of a bound, be it entries, files or nanoseconds; `None` for `False`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gitkit import isolate
from storekit import SECONDS, SteadyClock, open_test_store

from engram.adapters.files.watch import FolderWatch, WatchLostError
from engram.domain.settings import Settings
from engram.usecases.index import catch_up, file_scan, freshness
from tests.opening.vault_kit import vault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engram.app import Engram

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has inotify")


@pytest.fixture
def engram(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engram]:
    """Make a watched store that is too large to check every file, by its settings; its clock stands still."""
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", -1)
    monkeypatch.setattr(freshness, "COLD_SWEEP_LIMIT", -1)
    clock = SteadyClock()
    with open_test_store(tmp_path / "store", clock) as found:
        for word in ("broker", "parser", "widget"):
            found.record(f"retry the {word}", category="FACT")
        clock.ahead += 10 * SECONDS
        found.refresh()
        for _ in range(3):
            found.query("retry")
        assert found.store.watch is not None
        yield found


def search(engram: Engram, word: str) -> list[str]:
    return [hit.lore.content for hit in engram.query(word, strategy="words").lore]


def a_file(engram: Engram, word: str) -> Path:
    return Path(engram.path) / engram.query(word, strategy="words").lore[0].path


def test_a_file_written_in_place_shows_at_once(engram: Engram) -> None:
    path = a_file(engram, "broker")
    for word in ("kestrel", "osprey"):
        path.write_text(path.read_text() + f"\n{word}\n")
        assert len(search(engram, word)) == 1


def test_added_and_removed_files_show_without_reading_the_whole_folder(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    scan_folder = file_scan.walk.scan_folder
    monkeypatch.setattr(
        file_scan.walk,
        "scan_folder",
        lambda root, folder, *more: (read.append(folder), scan_folder(root, folder, *more))[1],
    )
    path = a_file(engram, "broker")
    (path.parent / "new.md").write_text("# The kestrel\n")
    assert (search(engram, "kestrel"), read) == (["# The kestrel"], [])
    (path.parent / "link.md").symlink_to(path.parent / "new.md")
    assert search(engram, "kestrel") == ["# The kestrel"]
    assert read == [
        path.parent.relative_to(engram.path).as_posix()
    ]  # for the link, which is not a regular file
    path.unlink()
    (path.parent / "new.md").rename(path.parent / "newer.md")
    assert (search(engram, "broker"), a_file(engram, "kestrel").name) == ([], "newer.md")


def test_no_folder_is_checked_without_a_change(engram: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    search(engram, "broker")
    looked: list[str] = []
    monkeypatch.setattr(file_scan, "folders_changed", lambda *_: looked.append("at"))
    search(engram, "broker")
    assert looked == []
    engram.store.clock.ahead += 2 * SECONDS  # type: ignore[attr-defined]
    search(engram, "broker")
    assert looked == ["at"], "unreported changes are searched for once a second"


def test_unreported_changes_are_searched_for_once_a_second_and_after_a_sweep(engram: Engram) -> None:
    store, clock, path = engram.store, engram.store.clock, a_file(engram, "broker")
    assert isinstance(clock, SteadyClock)

    def is_trusted_after(seconds: float) -> bool:
        clock.ahead += int(seconds * SECONDS)
        return freshness.is_watch_trusted(store)

    assert is_trusted_after(0.6)
    path.write_text(path.read_text() + "\nkestrel\n")
    assert len(search(engram, "kestrel")) == 1
    assert not is_trusted_after(0.6), "a reported change is no check of the rest"
    path.write_text(path.read_text() + "\nosprey\n")
    assert len(search(engram, "osprey")) == 1
    assert is_trusted_after(0.6), "this query checked, as a second had passed"
    engram.refresh()
    assert is_trusted_after(0.6)
    assert not is_trusted_after(0.4), "a second has passed"


def test_a_change_made_before_the_watch_began_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", -1)
    monkeypatch.setattr(freshness, "COLD_SWEEP_LIMIT", -1)
    with open_test_store(tmp_path / "store", SteadyClock()) as engram:
        engram.record("retry the broker", category="FACT")
        engram.query("broker")
        assert not freshness.has_reported_changes(engram.store), "there is no watch"
        assert freshness.is_watched(engram.store, "anywhere")
        (Path(engram.path) / "lore" / "new.md").write_text("# The kestrel\n")
        assert search(engram, "kestrel") == ["# The kestrel"]
        assert engram.store.watch is not None
        assert freshness.is_watched(engram.store, "lore")


def test_a_sweep_is_due_after_twenty_times_its_duration_without_queries(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, clock = engram.store, engram.store.clock
    assert isinstance(clock, SteadyClock)
    engram.forget(engram.query("widget").lore[0].lore.id)
    with monkeypatch.context() as patch:
        patch.setattr(catch_up, "EXACT_LIMIT", -1)
        patch.setattr(catch_up, "DEAD_SHARE", 1000)
        engram.refresh()
    generation = store.index.look()
    assert generation is not None
    assert (generation.next_row, generation.dead) == (3, 1)

    def due(after: int, *, of: int) -> bool:
        clock.ahead += after - (store.clock.nanoseconds() - generation.swept_ns)
        monkeypatch.setattr(freshness, "COLD_SWEEP_LIMIT", of)
        return freshness.is_sweep_due(store, generation)

    assert store.watch is not None
    assert not due(500_000_000, of=2), "changes would have been reported"
    store.drop_watch()
    store.asked_ns = 0
    assert [due(after, of=2) for after in (200_000, 200_001)] == [False, True]
    assert not due(200_001, of=1)
    store.asked_ns = store.clock.nanoseconds()
    assert not due(200_001, of=2)


def test_an_incomplete_watch_is_given_up_and_not_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def full(_: FolderWatch, folder: str) -> None:
        tried.append(folder)
        if len(tried) > 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(FolderWatch, "follow", full)
    with open_test_store(tmp_path / "store") as engram:
        engram.record("retry the broker", category="FACT")
        (Path(engram.path) / "lore/deep").mkdir()
        for _ in range(4):
            engram.query("retry")
        assert (engram.store.watch, len(tried)) == (None, 2)


def test_judgements_of_other_processes_and_decay_are_noticed_at_once(tmp_path: Path) -> None:
    clock = SteadyClock()
    with open_test_store(tmp_path, clock) as engram, open_test_store(tmp_path, clock) as other:
        shown = engram.record("retry the broker", category="FACT")
        engram.refresh()
        generation = engram.store.index.look()
        assert generation is not None
        assert not freshness.judgements_changed(engram.store, generation)
        other.feedback(helpful=shown.lore.id)
        assert freshness.judgements_changed(engram.store, generation)
        engram.refresh()
        assert not freshness.judgements_changed(engram.store, generation)
        clock.ahead += 24 * 3600 * SECONDS
        assert freshness.judgements_changed(engram.store, generation)


def test_only_settings_that_change_how_files_are_read_have_a_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    with open_test_store(tmp_path / "store") as engram:
        assert freshness.settings_digest(engram.store) == ""
        engram.store.settings = Settings({"secrets.allow": ["word"]})
        assert len(freshness.settings_digest(engram.store)) > 10
    with vault(tmp_path / "v", {"A.md": "Text\n"}) as engram:
        before = freshness.settings_digest(engram.store)
        (tmp_path / "v/.engramignore").write_text("B*\n")
        assert freshness.settings_digest(engram.store) != before


def test_a_missing_or_damaged_repository_has_no_head_commit(tmp_path: Path) -> None:
    (tmp_path / "plain/lore").mkdir(parents=True)
    (tmp_path / "plain/.engram.toml").write_text('[store]\nfolder = "lore"\n')
    for name in ("plain", "damaged"):
        with open_test_store(tmp_path / name) as engram:
            if name == "damaged":
                (tmp_path / name / ".git/HEAD").write_text("damaged\n")
            assert freshness.head_commit(engram.store) == ""


def test_changes_found_by_a_sweep_are_not_checked_again(engram: Engram) -> None:
    path = a_file(engram, "broker")
    path.write_text(path.read_text() + "\nkestrel\n")
    assert engram.refresh().changed == 1
    assert not freshness.has_reported_changes(engram.store)
    path.write_text(path.read_text() + "\nosprey\n")
    assert freshness.has_reported_changes(engram.store)
    assert len(search(engram, "osprey")) == 1


def test_one_sweep_is_enough_after_events_were_lost(engram: Engram) -> None:
    engram.store.drop_watch()
    engram.store.must_sweep = True
    assert engram.refresh().fresh
    assert not engram.store.must_sweep


def test_a_sweep_finds_new_files_before_the_watch_reports_them(engram: Engram) -> None:
    store, path = engram.store, a_file(engram, "broker")
    (path.parent / "new.md").write_text("# The kestrel\n")
    assert freshness.is_watch_trusted(store)
    found = file_scan.sweep(store, store.index.look(), store.clock.nanoseconds())  # type: ignore[arg-type]
    assert [Path(one).name for one in found.files] == ["new.md"]


def test_a_file_written_in_place_does_not_cause_its_folder_to_be_read(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "EXACT_LIMIT", -1)  # as in a large store, one replaced text causes no
    monkeypatch.setattr(catch_up, "DEAD_SHARE", 1000)  # rebuild of the index, which reads everything
    path = a_file(engram, "broker")
    read: list[str] = []
    scan = file_scan.walk.scan_folder
    monkeypatch.setattr(
        file_scan.walk,
        "scan_folder",
        lambda root, folder, *rest: read.append(folder) or scan(root, folder, *rest),
    )
    path.write_text(path.read_text() + "\nkestrel\n")
    assert len(search(engram, "kestrel")) == 1
    assert read == []


def test_new_moved_and_deleted_folders_and_files_show_at_once(engram: Engram) -> None:
    lore = Path(engram.path) / "lore"
    deep = lore / "deep" / "deeper"
    deep.mkdir(parents=True)
    (deep / "one.md").write_text("# The kestrel hovers\n")
    assert search(engram, "kestrel") == ["# The kestrel hovers"]
    (deep / "one.md").write_text("# The osprey dives\n")
    assert search(engram, "osprey") == ["# The osprey dives"]
    (lore / "deep").rename(lore / "moved")
    assert [hit.path for hit in engram.query("osprey").lore] == ["lore/moved/deeper/one.md"]
    (lore / "moved" / "deeper" / "one.md").write_text("# The heron waits\n")
    assert search(engram, "heron") == ["# The heron waits"]
    (lore / "moved" / "deeper" / "one.md").unlink()
    (lore / "moved" / "deeper").rmdir()
    assert search(engram, "heron") == []
    (lore / "moved" / "deeper").mkdir()
    (lore / "moved" / "deeper" / "two.md").write_text("# The stork stands\n")
    assert search(engram, "stork") == ["# The stork stands"]


def test_a_folder_swapped_for_another_of_the_same_name_shows_at_once(engram: Engram) -> None:
    lore, aside = Path(engram.path) / "lore", Path(engram.path) / "aside"
    for folder, word in ((lore / "notes", "kestrel"), (aside, "osprey")):
        folder.mkdir()
        (folder / "one.md").write_text(f"# The {word}\n")
    assert search(engram, "kestrel") == ["# The kestrel"]
    (lore / "notes").rename(Path(engram.path) / "old")
    aside.rename(lore / "notes")
    assert (search(engram, "kestrel"), search(engram, "osprey")) == ([], ["# The osprey"])
    (lore / "notes" / "one.md").write_text("# The heron\n")
    assert search(engram, "heron") == ["# The heron"]


def test_all_changes_are_found_when_the_event_queue_overflows(engram: Engram) -> None:
    paths = [a_file(engram, word) for word in ("broker", "parser")]
    last = a_file(engram, "widget")
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    handles = [os.open(path, os.O_WRONLY | os.O_APPEND) for path in paths]
    for _ in range(most // 2 + 10):  # equal events in a row would count once
        for handle in handles:
            os.write(handle, b"\n")
    for handle in handles:
        os.close(handle)
    last.write_text(last.read_text() + "\nkestrel\n")
    assert len(search(engram, "kestrel")) == 1


def test_a_change_indexed_by_one_writer_still_reaches_another_query(tmp_path: Path) -> None:
    (tmp_path / "lore").mkdir()
    watch = FolderWatch(str(tmp_path))
    watch.follow("lore")
    watch.follow("nowhere")
    assert watch.follows(["lore"])
    assert not watch.follows(["lore", "nowhere"])
    assert not watch.listen()
    for name in ("one.md", "two.md", ".hidden.md"):
        (tmp_path / "lore" / name).write_text("x")
    assert watch.listen()
    assert (watch.files, watch.folders) == ({"lore/one.md", "lore/two.md"}, set())
    assert watch.touched == {"lore"}
    (tmp_path / "lore" / "three").symlink_to(tmp_path)  # perhaps to a folder, so its parent is read
    assert watch.listen()
    assert watch.folders == {"lore"}
    watch.settle({"lore/one.md"}, {"lore"}, set())
    assert watch.listen()
    assert (watch.files, watch.folders, watch.touched) == ({"lore/two.md"}, set(), {"lore"})
    watch.close()
    with pytest.raises(WatchLostError):
        watch.listen()


def test_a_forked_child_takes_no_events_from_its_parent(engram: Engram) -> None:
    path = a_file(engram, "broker")
    child = os.fork()
    if not child:
        try:
            assert search(engram, "parser")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    path.write_text(path.read_text() + "\nkestrel\n")
    assert len(search(engram, "kestrel")) == 1


@pytest.mark.parametrize("trouble", [OSError(24, "Too many open files"), ImportError("inotify_simple")])
def test_changes_are_searched_for_if_the_system_cannot_report_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Exception
) -> None:
    def refuse(*_: object) -> None:
        raise trouble

    monkeypatch.setattr("inotify_simple.INotify", refuse)
    with open_test_store(tmp_path / "store") as engram:
        engram.record("retry the broker", category="FACT")
        for word in ("kestrel", "osprey"):
            engram.query("retry")
            (Path(engram.path) / "lore" / f"{word}.md").write_text(f"# The {word}\n")
            assert search(engram, word) == [f"# The {word}"]
        assert engram.store.watch is None


def test_a_store_works_without_watches_when_the_limit_is_reached(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FolderWatch, "follow", full)
    new = Path(engram.path) / "lore" / "new"
    new.mkdir()
    (new / "one.md").write_text("# The kestrel\n")
    assert search(engram, "kestrel") == ["# The kestrel"]
    assert engram.store.watch is None
    (new / "two.md").write_text("# The osprey\n")
    assert search(engram, "osprey") == ["# The osprey"]
