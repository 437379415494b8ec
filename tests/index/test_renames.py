"""A renamed note keeps its id in every clone, even if it was edited.

Mutants that make no difference: a tenth more of the shares that were fitted, a hundredth for none; `None` for `False`, and for
`""` of a file that cannot be read.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from gitkit import git, isolate
from storekit import open_test_store

import engram
from engram.adapters.files.frontmatter.codec import provisional_id
from engram.usecases.index.refresh import refresh
from engram.usecases.opening.init import init_here
from engram.usecases.store.sync_state import write_watermark
from tests.opening.vault_kit import commit, ids, vault, write

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)


def lines(of: str, *numbers: int) -> str:
    return "".join(f"{of} has line {number}.\n" for number in numbers)


# Deleted notes, new notes, and the origins of the new ones. No two cases share a line.
BEFORE = {
    "best a.md": lines("best", *range(10)),
    "best b.md": lines("best", *range(4), *range(20, 26)),
    "bytes a.md": lines("bytes", *range(9)),
    "bytes b.md": lines("bytes", *range(8)),
    "copied.md": lines("copied", *range(9)),
    "a/named.md": lines("named", 1, 2, 3, 4, 5, 6),
    "a/called.md": lines("named", 1, 2, 3, 4, 5, 6, 7),
    "a/replaced.md": lines("replaced", *range(9)),
    "own.md": f"---\nengram_id: {provisional_id('own')}\n---\n{lines('own', *range(9))}",
    "list.md": "- [ ] water the plants\n" * 250,
    "two\nlines.md": lines("two", *range(9)),
    "damaged.md": "\udcff\udcfe",
}
AFTER = {
    "z/best.md": lines("best", *range(11)),
    "z/bytes.md": BEFORE["bytes a.md"],
    "y/copied 1.md": BEFORE["copied.md"],
    "z/copied 2.md": BEFORE["copied.md"] + "One more.\n",
    "z/named.md": lines("named", 1, 2, 3, 4, 5, 6, 7, 8),
    "z/replaced.md": lines("anew", *range(9)),
    "z/own.md": lines("own", *range(9)),
    "z/todo.md": "- [x] repot\n" + BEFORE["list.md"],
    "z/text.md": lines("text", *range(9)),
    "z/damaged.md": BEFORE["damaged.md"],
}
CAME_FROM = {
    "z/best.md": "best a.md", "z/bytes.md": "bytes a.md", "y/copied 1.md": "copied.md", "z/named.md": "a/named.md",
    "z/todo.md": "list.md",
}  # fmt: skip


def write_notes(folder: Path, notes: dict[str, str]) -> None:
    for path, text in notes.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode(errors="surrogateescape"))


def ids_by_first_path(paths: dict[str, str]) -> dict[str, str]:
    """Return the ids of notes from the paths where they were first seen."""
    return {path: provisional_id(first) for path, first in paths.items()}


def without_index(lore: Engram) -> None:
    lore.store.index.drop()
    shutil.rmtree(lore.store.index.folder)


@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_new_note_is_matched_with_the_most_similar_deleted_one(tmp_path: Path, is_indexed: bool) -> None:
    folder = tmp_path / "v"
    with vault(folder, {"text.txt": lines("text", *range(9))}) as lore:
        write_notes(folder, BEFORE)
        commit(folder)
        ids(lore)
        for path in BEFORE:
            (folder / path).unlink()
        write_notes(folder, AFTER)
        if not is_indexed:
            without_index(lore)
        wanted = ids_by_first_path(
            {path: CAME_FROM.get(path, path) for path in AFTER if "damaged" not in path}
        )
        assert ids(lore) == wanted
        assert lore.store.note_ids.all() == CAME_FROM


def test_uncommitted_notes_are_matched_by_bytes_or_file_name(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    with vault(folder, {}) as lore:
        same = {
            "one.md": "Same\n",
            "two.md": "Same\n",
            "alone.md": "Alone\n",
            "a/kept.md": "Kept\n",
            "lost.md": "Lost\n",
        }
        write(folder, same)
        ids(lore)
        for path in same:
            (folder / path).unlink()
        new = {
            "a/two.md": "Same\n",
            "b/one.md": "Same\n",
            "c.md": "Alone\n",
            "d.md": "Alone\n",
            "z/kept.md": "Other\n",
        }
        write(folder, {**new, "found.md": "Lost and found\n"})
        first = {"a/two.md": "two.md", "b/one.md": "one.md", "c.md": "alone.md", "z/kept.md": "a/kept.md"}
        assert ids(lore) == ids_by_first_path({**first, "d.md": "d.md", "found.md": "found.md"})


@pytest.mark.parametrize("count", [40, 41])
def test_very_many_notes_are_matched_only_by_bytes(tmp_path: Path, count: int) -> None:
    with vault(
        tmp_path / "v", {f"{number}.md": lines(str(number), 1, 2, 3) for number in range(count)}
    ) as lore:
        before = ids(lore)
        for number in range(count):
            text = lines(str(number), 1, 2, 3, 4)
            (tmp_path / f"v/{number}.md").unlink()
            write(tmp_path / "v", {f"new {number}.md": text})
        after = ids(lore)
        for number in range(count):
            assert (after[f"new {number}.md"] == before[f"{number}.md"]) == (count == 40)


def test_a_note_at_the_first_path_of_another_gets_a_numbered_id(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    with vault(folder, {"A.md": "One\n"}) as lore:
        ids(lore)
        for path in ("X.md", "Y.md"):
            before = next(folder.glob("*.md"))
            before.rename(folder / path)
            assert ids(lore) == ids_by_first_path({path: "A.md"})
        assert lore.store.note_ids.all() == {"Y.md": "A.md"}
        write(folder, {"A.md": "Two\n"})
        assert ids(lore) == ids_by_first_path({"Y.md": "A.md", "A.md": "A.md#2"})
        (folder / "A.md").rename(folder / "Z.md")
        ids(lore)
        write(folder, {"A.md": "Three\n"})
        wanted = {"Y.md": "A.md", "Z.md": "A.md#2", "A.md": "A.md#3"}
        assert ids(lore) == ids_by_first_path(wanted)
        refresh(lore.store, paths=["gone.md", "A.md"])
        assert ids(lore) == ids_by_first_path(wanted)


@pytest.mark.parametrize("seen", ["", "0" * 40])
def test_a_note_at_the_first_path_of_another_stays_separate_without_an_index(
    tmp_path: Path, seen: str
) -> None:
    folder = tmp_path / "v"
    with vault(folder, {"A.md": "One\n"}) as lore:
        ids(lore)
        (folder / "A.md").rename(folder / "X.md")
        ids(lore)
        commit(folder)
        ids(lore)
        write(folder, {"A.md": "Two\n", "N.md": "Three\n"})
        if seen:
            write_watermark(lore.store, "notes-seen", seen)
        without_index(lore)
        assert ids(lore) == ids_by_first_path({"X.md": "A.md", "A.md": "A.md#2", "N.md": "N.md"})


def test_a_new_index_records_the_commit_whose_notes_it_has(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    with vault(folder, {"A.md": "One\n"}) as lore:
        refresh(lore.store)
        without_index(lore)
        git(folder, "mv", "A.md", "B.md")
        commit(folder)
        assert ids(lore) == ids_by_first_path({"B.md": "A.md"})


@pytest.mark.parametrize("git_has", ["nothing", "no commit", "another folder", "damage"])
def test_renames_are_followed_with_or_without_git(tmp_path: Path, git_has: str) -> None:
    top = tmp_path / "v"
    folder = top / "notes" if git_has == "another folder" else top
    write(folder, {"A.md": "One\n", "B.md": lines("b", *range(9))})
    write(top, {"README.md": "Of all\n"})
    if git_has != "nothing":
        git(top, "init", "-q")
    init_here(str(folder))
    if git_has in ("another folder", "damage"):
        commit(top)
    with engram.open(str(folder), background=False) as lore:
        before = ids(lore)
        (folder / "A.md").rename(folder / "X.md")
        assert ids(lore)["X.md"] == before["A.md"]
        if git_has == "damage":
            (top / ".git/HEAD").write_text("damaged\n")
        (folder / "B.md").unlink()
        write(folder, {"C.md": lines("b", *range(10))})
        came_from = "B.md" if git_has == "another folder" else "C.md"
        assert ids(lore)["C.md"] == provisional_id(came_from)
        (folder / "X.md").unlink()
        (top / "README.md").rename(folder / "R.md")
        without_index(lore)
        assert ids(lore) == ids_by_first_path({"C.md": came_from, "R.md": "R.md"})


def test_renames_in_a_dedicated_store_are_not_recorded(tmp_path: Path) -> None:
    with open_test_store(tmp_path / "store") as lore:
        write(tmp_path / "store", {"lore/a.md": "Text\n"})
        commit(tmp_path / "store")
        ids(lore)
        (tmp_path / "store/lore/a.md").rename(tmp_path / "store/lore/b.md")
        without_index(lore)
        assert [*ids(lore)] == ["lore/b.md"]
        assert lore.store.note_ids.all() == {}


class TestRenames:
    def test_an_id_survives_renames_and_is_the_same_in_another_clone(self, tmp_path: Path) -> None:
        folder, clone = tmp_path / "v", tmp_path / "w"
        with vault(folder, {"A.md": "One\n", "B.md": "Two\n"}) as lore:
            git(tmp_path, "clone", "-q", "v", "w")
            first = ids(lore)["A.md"]
            (folder / "Sub").mkdir()
            (folder / "A.md").rename(folder / "Sub/C.md")
            assert ids(lore)["Sub/C.md"] == first
            write(folder, {"A.md": "Another note at the old path\n"})
            now = ids(lore)
            assert now["A.md"] not in (first, now["B.md"])
            commit(folder)
        with engram.open(str(clone), background=False) as there:
            assert ids(there)["A.md"] == first
            (clone / "B.md").rename(clone / "D.md")
            assert ids(there)["D.md"] == now["B.md"]
            commit(clone)
            git(clone, "pull", "-q", "--no-rebase", "--no-edit")
            assert ids(there) == {"A.md": now["A.md"], "D.md": now["B.md"], "Sub/C.md": first}
            assert git(clone, "status", "--short") == ""

    @pytest.mark.parametrize("is_committed", [False, True])
    def test_a_rename_while_the_index_is_gone_keeps_the_id(self, tmp_path: Path, is_committed: bool) -> None:
        folder = tmp_path / "v"
        with vault(folder, {"A.md": "One\n", "B.md": "Two\n"}) as lore:
            before = ids(lore)
            (folder / "Sub").mkdir()
            (folder / "A.md").rename(folder / "Sub/A.md")
            assert ids(lore)["Sub/A.md"] == before["A.md"]
            commit(folder)
        shutil.rmtree(folder / ".git/engram/index")
        git(folder, "mv", "B.md", "C.md")
        (folder / "Sub/A.md").rename(folder / "Z.md")
        if is_committed:
            commit(folder)
        with engram.open(str(folder), background=False) as lore:
            assert ids(lore) == {"C.md": before["B.md"], "Z.md": before["A.md"]}

    def test_two_new_notes_at_earlier_paths_of_one_note_have_different_ids(self, tmp_path: Path) -> None:
        with vault(tmp_path / "v", {"A.md": "One\n"}) as lore:
            first = ids(lore)["A.md"]
            (tmp_path / "v/A.md").rename(tmp_path / "v/X.md")
            assert ids(lore) == {"X.md": first}
            (tmp_path / "v/X.md").unlink()
            assert ids(lore) == {}
            write(tmp_path / "v", {"A.md": "Herons wait.\n", "X.md": "Cranes dance.\n"})
            assert len({*ids(lore).values()}) == 2

    def test_several_renamed_and_edited_notes_each_keep_their_id(self, tmp_path: Path) -> None:
        """A new note gets its own id although others were deleted at the same time."""
        lines = {name: "".join(f"{name} has line {number}.\n" for number in range(9)) for name in "ABC"}
        with vault(tmp_path / "v", {f"{name}.md": text for name, text in lines.items()}) as lore:
            before = ids(lore)
            for name in "ABC":
                (tmp_path / "v" / f"{name}.md").unlink()
            changed = {f"Z{name}.md": f"{lines[name]}One more.\n" for name in "BA"}
            write(tmp_path / "v", {**changed, "New.md": "Herons wait.\n"})
            after = ids(lore)
            assert (after["ZA.md"], after["ZB.md"]) == (before["A.md"], before["B.md"])
            assert after["New.md"] not in before.values()

    def test_a_renamed_and_edited_note_keeps_its_id(self, tmp_path: Path) -> None:
        text = "".join(f"Line {number}\n" for number in range(8))
        with vault(tmp_path / "v", {"A.md": text, "B.md": "Two\n"}) as lore:
            first = ids(lore)["A.md"]
            (tmp_path / "v/A.md").unlink()
            write(tmp_path / "v", {"Z.md": text + "One more\n"})
            assert ids(lore)["Z.md"] == first
