"""Differences between the files and the index are found by folder times, by file times, and for given files.

Mutants that make no difference: from how many folders on all files are compared at once, and whether the folder of a file
without a time is read, or the file; both find the same. So is ending a loop at its end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gitkit import isolate, make_repository
from storekit import SECONDS, SteadyClock, open_test_store

import engram
from engram.adapters.files.scan import FileStamp
from engram.usecases.index import file_scan
from engram.usecases.index.file_scan import Delta, safe_times
from engram.usecases.index.refresh import refresh
from engram.usecases.opening.init import init_here

if TYPE_CHECKING:
    from engram.adapters.index.index import Generation
    from engram.usecases.store.store import Store

LONG_AGO = (1_700_000_000, 1_700_000_000)
NOTHING = Delta({}, [], {}, [], {}, {})


class Scanned:
    """A store with `lore/a.md` and `lore/sub/b.md`, all of it old and indexed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.lore = Path(store.places.root) / "lore"
        self.write("a.md", "The parser is flaky.\n")
        self.write("sub/b.md", "The broker is not.\n")
        self.settle()

    @property
    def generation(self) -> Generation:
        found = self.store.index.look()
        assert found is not None
        return found

    def write(self, name: str, text: str) -> None:
        (self.lore / name).parent.mkdir(parents=True, exist_ok=True)
        (self.lore / name).write_text(text)

    def settle(self) -> None:
        for path in sorted(self.lore.rglob("*"), reverse=True):
            os.utime(path, LONG_AGO)
        os.utime(self.lore, LONG_AGO)
        refresh(self.store)

    def now(self) -> int:
        return self.store.clock.nanoseconds()

    def swept(self) -> Delta:
        return file_scan.sweep(self.store, self.generation, self.now())

    def in_folders(self, *folders: str) -> Delta:
        return file_scan.scan_folders(self.store, self.generation, self.now(), folders)


@pytest.fixture
def scanned(tmp_path: Path) -> Iterator[Scanned]:
    clock = SteadyClock()
    clock.ahead = 10 * SECONDS
    with open_test_store(tmp_path / "store", clock) as found:
        yield Scanned(found.store)


@pytest.mark.parametrize(
    "changed",
    [
        {"files": {"a": FileStamp(1, 2, 3)}},
        {"gone": ["a"]},
        {"folders": {"a": 1}},
        {"gone_folders": ["a"]},
        {"scan_problems": {"a": "why"}},
    ],
    ids=str,
)
def test_any_single_difference_makes_a_delta_non_empty(changed: dict[str, object]) -> None:
    assert NOTHING.is_empty
    assert not NOTHING._replace(**changed).is_empty  # type: ignore[arg-type]


def test_folder_times_are_trusted_after_two_seconds() -> None:
    now = 1_700_000_000 * SECONDS
    found = safe_times({"new": now, "young": now - 2 * SECONDS + 1, "old": now - 2 * SECONDS}, now)
    assert found == {"new": 0, "young": 0, "old": now - 2 * SECONDS}


def test_a_file_without_dates_takes_them_from_its_time(scanned: Scanned) -> None:
    for hit in scanned.generation.catalog.select("1"):
        assert (hit.created_at, hit.updated_at) == (LONG_AGO[0], LONG_AGO[0])


def test_without_changes_there_are_no_differences(scanned: Scanned) -> None:
    assert scanned.swept() == scanned.in_folders() == NOTHING, "no file had to be looked up in the index"
    assert scanned.in_folders("lore", "lore/sub").is_empty
    assert not file_scan.folders_changed(scanned.store, scanned.generation)
    assert refresh(scanned.store) == (0, 0, 0, 0, "", True)


@pytest.mark.parametrize("what", ["longer", "same size", "same size and time"])
def test_a_file_written_in_place_is_found_only_by_a_sweep(scanned: Scanned, what: str) -> None:
    text = (scanned.lore / "a.md").read_text()
    (scanned.lore / "a.md").write_text(text + "More.\n" if what == "longer" else text.upper())
    if what == "same size and time":
        os.utime(scanned.lore / "a.md", LONG_AGO)
    found = scanned.swept()
    assert (list(found.files), found.gone, found.folders) == (["lore/a.md"], [], {})
    assert found.known["lore/a.md"].row == scanned.generation.catalog.known(["lore/a.md"])["lore/a.md"].row
    assert not file_scan.folders_changed(scanned.store, scanned.generation)
    assert scanned.in_folders().is_empty
    assert list(scanned.in_folders("lore").files) == ["lore/a.md"]
    assert scanned.in_folders("lore/sub").is_empty


def test_created_and_deleted_files_are_found_by_folder_times(scanned: Scanned) -> None:
    scanned.write("c.md", "The cache is cold.\n")
    (scanned.lore / "sub" / "b.md").unlink()
    assert file_scan.folders_changed(scanned.store, scanned.generation)
    for found in (scanned.in_folders(), scanned.swept()):
        assert (list(found.files), found.gone, sorted(found.folders)) == (
            ["lore/c.md"],
            ["lore/sub/b.md"],
            ["lore", "lore/sub"],
        )
        assert "lore/sub/b.md" in found.known
        assert (found.gone_folders, found.scan_problems) == ([], {})


@pytest.mark.parametrize("name", ["a.md", "sub/b.md"])
def test_a_sweep_finds_a_deleted_file_although_its_folder_time_was_restored(
    scanned: Scanned, name: str
) -> None:
    path = scanned.lore / name
    path.unlink()
    os.utime(path.parent, LONG_AGO)
    assert scanned.in_folders().is_empty
    found = scanned.swept()
    assert (found.files, found.gone, found.folders) == ({}, [f"lore/{name}"], {})


def test_a_symlink_in_place_of_the_lore_folder_is_only_a_problem(scanned: Scanned) -> None:
    elsewhere = scanned.lore.parent / "elsewhere"
    scanned.lore.rename(elsewhere)
    scanned.lore.symlink_to(elsewhere)
    (scanned.lore.parent / "note.md").write_text("Not lore.\n")
    for _ in range(2):
        refresh(scanned.store)
        assert scanned.generation.catalog.select("1") == []
        assert [problem.path for problem in scanned.generation.catalog.problems()] == ["lore"]


def test_files_reached_only_through_a_symlink_count_as_deleted(scanned: Scanned) -> None:
    elsewhere = scanned.lore.parent / "elsewhere"
    scanned.lore.rename(elsewhere)
    scanned.lore.symlink_to(elsewhere)
    (elsewhere / "sub" / "c.md").write_text("Not lore.\n")
    for found in (scanned.swept(), scanned.in_folders()):
        assert (found.files, found.folders, found.gone) == ({}, {}, ["lore/a.md", "lore/sub/b.md"])
        assert found.gone_folders == ["lore", "lore/sub"]


def test_new_folders_are_read_recursively_and_deleted_ones_remove_their_files(
    scanned: Scanned,
) -> None:
    scanned.write("new/deep/c.md", "The cache is cold.\n")
    (scanned.lore / "sub" / "b.md").unlink()
    (scanned.lore / "sub").rmdir()
    for found in (scanned.in_folders(), scanned.swept()):
        assert list(found.files) == ["lore/new/deep/c.md"]
        assert found.gone == ["lore/sub/b.md"]
        assert found.gone_folders == ["lore/sub"]
        assert sorted(found.folders) == ["lore", "lore/new", "lore/new/deep"]
    refresh(scanned.store)
    assert sorted(scanned.generation.folders) == ["lore", "lore/new", "lore/new/deep"]
    assert [hit.path for hit in scanned.generation.catalog.select("1", (), "ORDER BY path")] == [
        "lore/a.md",
        "lore/new/deep/c.md",
    ]


def test_a_symlink_in_place_of_a_file_is_reported_as_a_problem_once(scanned: Scanned) -> None:
    (scanned.lore / "a.md").unlink()
    (scanned.lore / "a.md").symlink_to(scanned.lore / "sub" / "b.md")
    found = scanned.swept()
    assert (list(found.scan_problems), found.files, found.gone) == (["lore/a.md"], {}, [])
    scanned.settle()
    assert [problem.path for problem in scanned.generation.catalog.problems()] == ["lore/a.md"]
    assert scanned.generation.catalog.known(["lore/a.md"])["lore/a.md"].stamp == (0, 0, 0)
    os.utime(scanned.lore, LONG_AGO)
    refresh(scanned.store)
    assert scanned.in_folders("lore").scan_problems == {}


def test_a_file_in_place_of_a_folder_removes_the_files_of_the_folder(scanned: Scanned) -> None:
    (scanned.lore / "sub" / "b.md").unlink()
    (scanned.lore / "sub").rmdir()
    (scanned.lore / "sub").write_text("no folder")
    refresh(scanned.store)
    assert [hit.path for hit in scanned.generation.catalog.select("1")] == ["lore/a.md"]
    assert list(scanned.generation.folders) == ["lore"]


def test_given_files_are_read_whatever_their_times(scanned: Scanned) -> None:
    paths = ["lore/a.md", "lore/none.md"]
    found = file_scan.scan_files(scanned.store, scanned.generation, paths)
    assert (list(found.files), found.gone, list(found.known)) == (
        ["lore/a.md"],
        ["lore/none.md"],
        ["lore/a.md"],
    )
    assert (found.folders, found.gone_folders, found.scan_problems) == ({}, [], {})


def test_judged_files_are_added_to_the_differences(scanned: Scanned) -> None:
    assert file_scan.add_judged(scanned.generation, NOTHING, []) == NOTHING
    found = file_scan.add_judged(scanned.generation, NOTHING, ["lore/a.md", "lore/none.md"])
    assert (list(found.files), list(found.known), found.gone) == (["lore/a.md"], ["lore/a.md"], [])


def test_unread_files_are_listed_by_prefix_in_changed_and_new_folders_only(scanned: Scanned) -> None:
    for name in ("new/b2.md", ".hidden/b3.md", "../elsewhere/b4.md"):
        scanned.write(name, "The broker has a cousin.\n")
    (scanned.lore / "link").symlink_to(scanned.lore.parent / "elsewhere")
    assert file_scan.unread_files(scanned.store, scanned.generation, "b") == ["lore/new/b2.md"]
    everywhere = file_scan.unread_files(scanned.store, None, "b")
    assert sorted(everywhere) == ["lore/new/b2.md", "lore/sub/b.md"]


def test_a_file_read_soon_after_its_last_change_is_read_again(scanned: Scanned) -> None:
    moment = scanned.now() - SECONDS
    os.utime(scanned.lore / "a.md", ns=(moment, moment))
    refresh(scanned.store)
    assert list(scanned.swept().files) == ["lore/a.md"]
    assert list(scanned.in_folders("lore").files) == ["lore/a.md"]
    os.utime(scanned.lore / "a.md", ns=(moment - SECONDS, moment - SECONDS))
    refresh(scanned.store)
    assert scanned.swept().is_empty, "two seconds are enough"
    assert scanned.in_folders("lore").is_empty


def test_entities_and_agents_are_reserved_only_at_the_top_of_the_lore_folder(scanned: Scanned) -> None:
    for name in ("entities/c.md", "agents/c.md", "sub/entities/c.md", "sub/agents/c.md"):
        scanned.write(name, "The cache is cold.\n")
    assert sorted(scanned.swept().files) == ["lore/sub/agents/c.md", "lore/sub/entities/c.md"]
    assert refresh(scanned.store).added == 2
    assert sorted(scanned.generation.folders) == ["lore", "lore/sub", "lore/sub/agents", "lore/sub/entities"]


def test_a_folder_that_was_only_touched_is_read_later(scanned: Scanned) -> None:
    scanned.write("c.md", "The cache is cold.\n")
    (scanned.lore / "a.md").unlink()
    scan = file_scan.scan_folders
    found = scan(
        scanned.store, scanned.generation, scanned.now(), (), ["lore/c.md", "lore/a.md"], touched={"lore"}
    )
    assert (list(found.files), found.gone, found.folders) == (["lore/c.md"], ["lore/a.md"], {"lore": 0})
    found = scan(scanned.store, scanned.generation, scanned.now(), (), (), touched={"lore/sub"})
    assert (list(found.files), found.gone) == (["lore/c.md"], ["lore/a.md"])
    (scanned.lore / "sub" / "b.md").unlink()
    (scanned.lore / "sub" / "b.md").symlink_to(scanned.lore)
    found = scan(
        scanned.store, scanned.generation, scanned.now(), (), ["lore/sub/b.md"], {"lore", "lore/sub"}
    )
    assert list(found.scan_problems) == ["lore/sub/b.md"], (
        "the folder of a path that is no longer a file is read"
    )


def test_a_reported_but_ignored_file_is_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    make_repository(tmp_path / "vault")
    (tmp_path / "vault" / ".engramignore").write_text("Draft*\n")
    init_here(str(tmp_path / "vault"))
    with engram.open(str(tmp_path / "vault"), background=False) as vault:
        refresh(vault.store)
        generation, now = vault.store.index.look(), vault.store.clock.nanoseconds()
        assert generation is not None
        for name in ("Draft.md", "Note.md"):
            (tmp_path / "vault" / name).write_text("The parser is flaky.\n")
        names = ["Draft.md", "Note.md"]
        found = file_scan.scan_folders(vault.store, generation, now, (), names, touched=[""])
        assert list(found.files) == ["Note.md"]


def test_a_file_created_and_deleted_in_between_is_no_difference(scanned: Scanned) -> None:
    found = file_scan.scan_folders(
        scanned.store, scanned.generation, scanned.now(), (), ["lore/never.md", "lore/none/never.md"]
    )
    assert found == NOTHING


def test_reading_a_folder_does_not_read_its_known_subfolders(scanned: Scanned) -> None:
    (scanned.lore / "sub" / "b.md").write_text("The broker is by now.\n")
    assert scanned.in_folders("lore").is_empty


def test_a_new_lore_folder_is_found_in_a_store_without_one(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store") as engram:
        lore = tmp_path / "store" / "lore"
        if lore.exists():
            lore.rmdir()
        engram.refresh()
        generation = engram.store.index.look()
        assert generation is not None
        assert generation.folders == {}
        assert not file_scan.folders_changed(engram.store, generation)
        lore.mkdir()
        assert file_scan.folders_changed(engram.store, generation)
        (lore / "a.md").write_text("The parser is flaky.\n")
        found = file_scan.scan_folders(engram.store, generation, engram.store.clock.nanoseconds())
        assert list(found.files) == ["lore/a.md"]
        assert file_scan.unread_files(engram.store, generation, "a") == ["lore/a.md"]


@pytest.mark.parametrize("rebuild", ["", "test"])
def test_temporary_files_left_by_killed_writers_are_deleted(scanned: Scanned, rebuild: str) -> None:
    scanned.write("sub/.b.md.01X.engram-tmp", "half")
    assert refresh(scanned.store, rebuild=rebuild).added == (2 if rebuild else 0)
    assert not (scanned.lore / "sub" / ".b.md.01X.engram-tmp").exists()
