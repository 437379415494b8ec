"""The write journal and the folder it protects: what is on disk when, what a kill leaves, what recovery restores.

Mutants that make no difference: from how many files on they are synced together, as all are on the disk either way; another
number below 0 for what is not known; 0 for no handle, which is that of standard input; what is said for systems with another
separator; which folders are known to be no links, which only saves looks; `None` for `False`.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from storekit import disk_full_after

from engram.adapters.files.durable.atomic import digest
from engram.adapters.files.durable.write import MANY, Change, LoreFolder, Operation, read_batch
from engram.domain.errors import ConflictError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

OLD, NEW, EDITED = b"# Old\n", "# Neu – größer\n".encode(), b"# Edited by a person\n"
REFUSED = PermissionError(errno.EACCES, os.strerror(errno.EACCES))


class Folder(NamedTuple):
    """A folder of files with its journal."""

    root: Path
    state: Path
    files: LoreFolder

    def file(self, name: str, content: bytes | None = None) -> Path:
        path = self.root / name
        if content is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return path

    def journal_bytes(self) -> bytes:
        return (self.state / "journal.jsonl").read_bytes()

    def temporaries(self) -> list[str]:
        return [path.name for path in self.root.rglob("*.engram-tmp")]


def make(tmp_path: Path, *, journaled: bool = True) -> Folder:
    root, state = tmp_path / "root", tmp_path / "state"
    root.mkdir()
    state.mkdir()
    return Folder(root, state, LoreFolder(str(root), str(state), journaled=journaled))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return make(tmp_path)


def operation(*changes: Change, op: str = "01OP") -> Operation:
    return Operation(op, 1_700_000_000_000, "record: wörter", (("Engram-Op", op), ("Session", "s")), changes)


def write(path: str, content: bytes | None = NEW, before: bytes | None = None) -> Change:
    return Change(path, content, None if before is None else digest(before))


def killed(work: Callable[[], object], step: str, at: int = 1) -> None:
    """Do the work in a process that dies instead of taking a step (a function of `os`) for the `at`-th time."""
    process = os.fork()
    if process == 0:
        real, count = getattr(os, step), 0

        def die(*arguments: object, **options: object) -> object:
            nonlocal count
            count += 1
            if count == at:
                os._exit(9)
            return real(*arguments, **options)

        setattr(os, step, die)
        try:
            work()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9


class Steps:
    """What reaches the disk, in order: the real calls, each noted with the file's name and how long it was then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
        self.seen: list[tuple[str, str, int]] = []
        self.folders = folders
        fsync, replace = os.fsync, os.replace

        def noted_fsync(handle: int) -> None:
            fsync(handle)
            self.seen.append(("fsync", self.name(handle), os.fstat(handle).st_size))

        def noted_replace(source: str, target: str) -> None:
            self.seen.append(("move", Path(target).name, os.stat(source).st_size))
            replace(source, target)

        monkeypatch.setattr(os, "fsync", noted_fsync)
        monkeypatch.setattr(os, "replace", noted_replace)

    def name(self, handle: int) -> str:
        status = os.fstat(handle)
        for folder in self.folders:
            for path in (folder, *folder.rglob("*")):
                if os.path.samestat(path.stat(), status):
                    return "a temporary" if path.suffix == ".engram-tmp" else path.name
        raise AssertionError("a file outside the folders was synced")


def test_a_file_is_moved_into_place_after_it_and_its_journal_line_are_on_the_disk(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(monkeypatch, folder.root, folder.state)
    folder.files.apply([operation(write("lore/a.md"))])
    line = len(folder.journal_bytes())
    assert steps.seen == [
        ("fsync", "a temporary", len(NEW)),
        ("fsync", "journal.jsonl", line),
        ("move", "a.md", len(NEW)),
    ]
    assert line > len(NEW)


def test_without_a_journal_the_folder_is_synced_after_the_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(tmp_path, journaled=False)
    steps = Steps(monkeypatch, folder.root, folder.state)
    folder.files.apply([operation(write("lore/a.md"))])
    assert [(what, name) for what, name, _ in steps.seen] == [
        ("fsync", "a temporary"),
        ("move", "a.md"),
        ("fsync", "lore"),
    ]
    assert not list(folder.state.glob("journal*"))


def test_many_files_are_all_fsynced_before_the_journal_and_the_first_move(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(monkeypatch, folder.root, folder.state)
    folder.files.apply([operation(write(f"lore/{n}.md"), op=f"01OP{n}") for n in range(MANY)])
    names = [(what, name) for what, name, _ in steps.seen]
    assert names[:MANY] == [("fsync", "a temporary")] * MANY
    assert names[MANY] == ("fsync", "journal.jsonl")
    assert [what for what, _ in names[MANY + 1 :]] == ["move"] * MANY


def test_the_journal_returns_each_operation_unchanged(folder: Folder) -> None:
    folder.file("lore/b.md", OLD)
    folder.file("lore/c.md", OLD)
    operations = [
        operation(write("lore/a.md"), write("lore/b.md", NEW, OLD), op="01A"),
        operation(write("lore/c.md", None, OLD), op="01B"),
    ]
    folder.files.apply(operations[:1])
    folder.files.apply(operations[1:])
    assert folder.files.journal.waiting() == operations
    assert folder.file("lore/a.md").read_bytes() == folder.file("lore/b.md").read_bytes() == NEW
    assert not folder.file("lore/c.md").exists()
    assert folder.temporaries() == []
    assert folder.journal_bytes().count(b"\n") == 2
    assert "größer".encode() in folder.journal_bytes()  # a person may have to read it
    assert stat.S_IMODE((folder.state / "journal.jsonl").stat().st_mode) == 0o600


def test_a_journal_becomes_a_batch_that_is_kept_until_git_has_it(folder: Folder) -> None:
    journal = folder.files.journal
    assert journal.is_empty()
    assert (journal.size(), journal.batches(), journal.take("1"), journal.waiting()) == (0, [], None, [])
    first, second = operation(write("a.md"), op="01A"), operation(write("b.md"), op="01B")
    folder.files.apply([first])
    assert not journal.is_empty()
    assert journal.size() == len(folder.journal_bytes())
    later = journal.take("2")
    assert later == str(folder.state / "journal-2.jsonl")
    assert not journal.is_empty()
    assert (journal.size(), journal.take("3")) == (0, None)
    folder.files.apply([second])
    earlier = journal.take("1")
    assert earlier is not None
    assert journal.batches() == [earlier, later]
    assert journal.waiting() == [second, first]
    assert read_batch(later) == [first]
    Path(later).unlink()
    Path(earlier).unlink()
    assert journal.is_empty()
    (folder.state / "journal.jsonl").touch()
    assert journal.is_empty()
    assert (journal.take("4"), journal.batches()) == (None, [])


@pytest.mark.parametrize("taken_first", [True, False])
def test_an_operation_is_read_once_if_the_journal_is_taken_meanwhile(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, *, taken_first: bool
) -> None:
    journal = folder.files.journal
    folder.files.apply([operation(write("a.md"))])
    list_batches = journal.batches

    def batches() -> list[str]:
        """List the batches while another process takes the journal: just before, or just after."""
        before = list_batches()
        journal.take("other")
        return list_batches() if taken_first else before

    monkeypatch.setattr(journal, "batches", batches)
    assert [change.path for one in journal.waiting() for change in one.changes] == ["a.md"]


def test_a_journal_with_lines_and_a_waiting_batch_is_not_empty(folder: Folder) -> None:
    folder.files.apply([operation(write("a.md"))])
    folder.files.journal.take("1")
    (folder.state / "journal.jsonl").touch()
    assert not folder.files.journal.is_empty()


def test_the_journal_of_a_missing_folder_is_empty(folder: Folder) -> None:
    folder.state.rmdir()
    assert folder.files.journal.is_empty()
    assert folder.files.journal.waiting() == []


@pytest.fixture(params=["journal", "batch"])
def after_kill(request: pytest.FixtureRequest, folder: Folder) -> Folder:
    """A process was killed before the second of three moves; its journal may have been taken for a commit since."""
    folder.file("lore/deep/b.md", OLD)
    folder.file("lore/c.md", OLD)
    killed(
        lambda: folder.files.apply(
            [
                operation(write("lore/a.md"), op="01A"),
                operation(write("lore/deep/b.md", NEW, OLD), op="01B"),
                operation(write("lore/c.md", None, OLD), op="01C"),
            ]
        ),
        "replace",
        at=2,
    )
    assert folder.file("lore/a.md").read_bytes() == NEW
    assert folder.file("lore/deep/b.md").read_bytes() == folder.file("lore/c.md").read_bytes() == OLD
    assert len(folder.temporaries()) == 2
    if request.param == "batch":
        assert folder.files.journal.take("1")
    return folder


def test_recovery_finishes_the_moves_and_deletions_in_a_killed_processs_journal(
    after_kill: Folder,
) -> None:
    assert after_kill.files.recover() == 2
    assert after_kill.file("lore/a.md").read_bytes() == after_kill.file("lore/deep/b.md").read_bytes() == NEW
    assert not after_kill.file("lore/c.md").exists()
    assert after_kill.temporaries() == []
    assert len(after_kill.files.journal.waiting()) == 3


def test_recovery_does_nothing_a_second_time(after_kill: Folder) -> None:
    after_kill.files.recover()
    for name in ("lore/a.md", "lore/deep/b.md"):
        after_kill.file(name).unlink()  # by a person, since
    after_kill.file("lore/c.md", OLD)
    assert after_kill.files.recover() == 0
    assert [path.name for path in after_kill.root.rglob("*.md")] == ["c.md"]


def test_recovery_keeps_what_a_person_wrote_after_the_kill(after_kill: Folder) -> None:
    for name in ("lore/deep/b.md", "lore/c.md"):
        after_kill.file(name, EDITED)
    assert after_kill.files.recover() == 0
    for name in ("lore/deep/b.md", "lore/c.md"):
        assert after_kill.file(name).read_bytes() == EDITED
    assert after_kill.temporaries() == []


def test_recovery_does_not_restore_a_file_deleted_after_the_kill(after_kill: Folder) -> None:
    for name in ("lore/deep/b.md", "lore/c.md"):
        after_kill.file(name).unlink()
    assert after_kill.files.recover() == 0
    assert sorted(path.name for path in after_kill.root.rglob("*")) == ["a.md", "deep", "lore"]


def test_recovery_keeps_a_file_that_a_person_made_at_the_path_of_a_new_one(folder: Folder) -> None:
    killed(lambda: folder.files.apply([operation(write("a.md"))]), "replace")
    folder.file("a.md", EDITED)
    assert folder.files.recover() == 0
    assert [path.name for path in folder.root.iterdir()] == ["a.md"]
    assert folder.file("a.md").read_bytes() == EDITED


def test_a_deletion_killed_before_its_temporary_was_cleared_is_recovered(folder: Folder) -> None:
    folder.file("a.md", OLD)
    killed(lambda: folder.files.apply([operation(write("a.md", None, OLD))]), "unlink", at=2)
    assert folder.temporaries() != []
    assert folder.files.recover() == 0
    assert list(folder.root.iterdir()) == []


def test_recovery_waits_until_the_folder_is_writable_unless_it_must_not(
    after_kill: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "replace", refuse(lambda *_: True))
    assert after_kill.files.recover() == 0
    with pytest.raises(StoreError, match="No permission to write"):
        after_kill.files.recover(must=True)
    monkeypatch.undo()
    assert after_kill.files.recover(must=True) == 2


def test_an_operation_that_finds_no_room_in_the_journal_leaves_it_as_it_was(folder: Folder) -> None:
    first, second = operation(write("a.md"), op="01A"), operation(write("b.md"), op="01B")
    folder.files.apply([first])
    before = folder.journal_bytes()
    with (
        disk_full_after(len(before) + 40),
        pytest.raises(StoreError, match=r"journal\.jsonl could not be written"),
    ):
        folder.files.apply([second])
    assert folder.journal_bytes() == before
    assert [path.name for path in folder.root.iterdir()] == ["a.md"]
    folder.files.apply([second])
    assert folder.files.journal.waiting() == [first, second]


@pytest.mark.parametrize("held", [b"", b"x"])
def test_a_refused_operation_leaves_an_empty_journal_empty(folder: Folder, held: bytes) -> None:
    (folder.state / "journal.jsonl").write_bytes(held)
    with disk_full_after(60), pytest.raises(StoreError):
        folder.files.apply([operation(write("a.md"))])
    assert folder.journal_bytes() == held


@pytest.mark.parametrize("step", ["fstat", "fsync", "ftruncate"])
def test_a_disk_error_at_any_step_of_the_journal_is_one_error_and_loses_no_operation(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """As on a network drive that goes away."""
    first, second = operation(write("a.md"), op="01A"), operation(write("b.md"), op="01B")
    folder.files.apply([first])
    journal, fsync = (folder.state / "journal.jsonl").stat(), os.fsync
    before = folder.journal_bytes()

    def fail(handle: int, *_: int) -> os.stat_result:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def fail_for_the_journal(handle: int) -> None:
        if os.path.samestat(os.stat(handle), journal):
            fail(handle)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", fsync if step == "fstat" else fail_for_the_journal)
    if step != "fsync":
        monkeypatch.setattr(os, step, fail)
    with pytest.raises(StoreError, match=r"journal\.jsonl could not be written: Input/output error"):
        folder.files.apply([second])
    monkeypatch.undo()
    assert folder.journal_bytes().startswith(before)
    assert (folder.journal_bytes() == before) == (step != "ftruncate")
    assert [path.name for path in folder.root.iterdir()] == ["a.md"]


def test_a_journal_that_cannot_be_opened_can_be_neither_appended_to_nor_read(folder: Folder) -> None:
    (folder.state / "journal.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"journal\.jsonl could not be written"):
        folder.files.apply([operation(write("a.md"))])
    assert list(folder.root.iterdir()) == []
    with pytest.raises(StoreError, match=r"journal\.jsonl cannot be read: Is a directory"):
        folder.files.journal.waiting()


def test_an_unfinished_line_of_a_killed_writer_does_not_swallow_the_next_one(folder: Folder) -> None:
    first, second = operation(write("a.md"), op="01A"), operation(write("b.md"), op="01B")
    folder.files.apply([first])
    with open(folder.state / "journal.jsonl", "ab") as file:
        file.write(folder.journal_bytes()[:-20])
    folder.files.apply([second])
    assert folder.files.journal.waiting() == [first, second]
    assert b"\n\n" not in folder.journal_bytes()


CHANGE = {"path": "a.md", "content": None, "before": None, "temporary": ".a.md.x.engram-tmp"}
LINE = {"op": "X", "moment": 1, "subject": "s", "trailers": [["k", "v"]], "changes": [CHANGE]}


@pytest.mark.parametrize(
    "line",
    [
        *({key: value for key, value in LINE.items() if key != missing} for missing in LINE),
        {**LINE, "moment": "soon"},
        {**LINE, "trailers": [["k"]]},
        {**LINE, "trailers": 1},
        {**LINE, "changes": [{**CHANGE, "path": 1}]},
        {**LINE, "changes": [{**CHANGE, "temporary": None}]},
        {**LINE, "changes": [CHANGE, {**CHANGE, "path": None}]},
        {**LINE, "changes": [{**CHANGE, "content": 1}]},
        *({**LINE, "changes": [{k: v for k, v in CHANGE.items() if k != missing}]} for missing in CHANGE),
        [LINE],
        None,
        "text",
    ],
    ids=json.dumps,
)
def test_a_damaged_line_is_skipped_and_those_around_it_are_read(folder: Folder, line: object) -> None:
    first, second = operation(write("a.md"), op="01A"), operation(write("b.md"), op="01B")
    folder.files.apply([first])
    with open(folder.state / "journal.jsonl", "ab") as file:
        file.write(json.dumps(line).encode() + b"\n")
    folder.files.apply([second])
    assert folder.files.journal.waiting() == [first, second]
    assert folder.files.recover() == 0


def refuse(condition: Callable[..., bool]) -> Callable[..., None]:
    real = os.replace

    def replace(source: str, target: str) -> None:
        if condition(source, target):
            raise REFUSED
        real(source, target)

    return replace


@pytest.mark.parametrize("refused", ["b.md", "c.md", "d.md", "e.md"])
def test_operations_before_a_refused_move_stay_and_those_after_it_are_withdrawn(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    """As on Windows, where a file that somebody reads cannot be replaced."""
    operations = [operation(write(f"{name}.md"), op=f"01{name}") for name in "abcde"]
    folder.files.apply(operations[:1])
    monkeypatch.setattr(os, "replace", refuse(lambda _, target: target.endswith(refused)))
    with pytest.raises(StoreError, match="No permission"):
        folder.files.apply(operations[1:])
    stays = "abcde".index(refused[0])
    assert folder.files.journal.waiting() == operations[:stays]
    assert sorted(path.stem for path in folder.root.iterdir()) == list("abcde"[:stays])


def test_an_operation_with_one_refused_move_stays_in_the_journal_and_is_finished_later(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = operation(write("a.md"), write("b.md"))
    monkeypatch.setattr(os, "replace", refuse(lambda _, target: target.endswith("b.md")))
    with pytest.raises(StoreError, match="No permission"):
        folder.files.apply([both])
    monkeypatch.undo()
    assert folder.files.journal.waiting() == [both]
    assert folder.files.recover() == 1
    assert sorted(path.name for path in folder.root.iterdir()) == ["a.md", "b.md"]


def test_a_file_that_changed_since_it_was_read_refuses_all_operations_of_a_call(folder: Folder) -> None:
    folder.file("b.md", EDITED)
    with pytest.raises(ConflictError, match=r"b\.md was changed by someone else"):
        folder.files.apply([operation(write("a.md"), op="01A"), operation(write("b.md", NEW, OLD), op="01B")])
    assert [path.name for path in folder.root.iterdir()] == ["b.md"]
    assert folder.file("b.md").read_bytes() == EDITED
    assert folder.files.journal.is_empty()


@pytest.mark.parametrize("path", ["../a.md", "lore/../../a.md", "/a.md", "lore//a.md", "", ".."])
def test_a_path_that_leads_out_of_the_folder_is_refused(folder: Folder, path: str) -> None:
    with pytest.raises(StoreError, match="leads out of the store"):
        folder.files.apply([operation(write(path))])
    assert list(folder.root.iterdir()) == []


def test_a_folder_that_is_a_link_is_not_written_to(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (folder.root / "lore").symlink_to(tmp_path / "elsewhere")
    for path in ("lore/a.md", "lore/deep/a.md"):
        with pytest.raises(StoreError, match="is a symbolic link"):
            folder.files.apply([operation(write(path))])
    assert [path.name for path in (tmp_path / "elsewhere").rglob("*")] == ["deep"]


def test_a_store_whose_own_folder_is_a_link_is_written_to(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder.root)
    linked = LoreFolder(str(tmp_path / "link"), str(folder.state), journaled=True)
    linked.apply([operation(write("a.md"), write("lore/b.md"))])
    assert linked.read("a.md") == folder.file("lore/b.md").read_bytes() == NEW


def test_a_missing_file_reads_as_none_and_an_unreadable_one_only_on_request(
    folder: Folder,
) -> None:
    folder.file("a.md", OLD)
    folder.file("folder/b.md", NEW)
    assert folder.files.read_if_there("a.md") == folder.files.read_if_possible("a.md") == OLD
    assert folder.files.read_if_there("b.md") is folder.files.read_if_possible("b.md") is None
    assert folder.files.read_if_possible("folder") is None
    with pytest.raises(StoreError):
        folder.files.read_if_there("folder")


def test_no_file_is_left_open(folder: Folder) -> None:
    def free() -> list[int]:
        """The lowest numbers that are free."""
        handles = [os.open(os.devnull, os.O_RDONLY) for _ in range(9)]
        for handle in handles:
            os.close(handle)
        return handles

    before = free()
    folder.files.apply([operation(write("a.md"), op="01A")])
    folder.files.recover()
    with disk_full_after(60), pytest.raises(StoreError):
        folder.files.apply([operation(write("b.md"), op="01B")])
    assert free() == before


def test_temporary_files_of_killed_writers_are_swept_unless_a_writer_is_active(folder: Folder) -> None:
    left = folder.file("lore/.a.md.01X.engram-tmp", b"half")
    with folder.files.lock():
        folder.files.sweep(["lore/.a.md.01X.engram-tmp"])
        assert left.exists()
    folder.files.sweep(["lore/.a.md.01X.engram-tmp"])
    assert not left.exists()
    assert folder.files.lock().try_acquire()


def test_sweeping_finishes_a_move_in_the_journal_instead_of_deleting_its_temporary(folder: Folder) -> None:
    killed(lambda: folder.files.apply([operation(write("a.md"))]), "replace")
    folder.files.sweep(folder.temporaries())
    assert [path.name for path in folder.root.iterdir()] == ["a.md"]


def test_applying_no_operations_does_not_take_the_lock(folder: Folder) -> None:
    folder.files.apply([])
    assert folder.files.recover() == 0
    assert list(folder.state.iterdir()) == []
