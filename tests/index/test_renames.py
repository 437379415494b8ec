"""A renamed note keeps its id, in every clone, also if it was edited."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from gitkit import git, isolate

import engram
from tests.opening.vault_kit import commit, ids, vault, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)


class TestRenames:
    def test_an_id_outlives_renames_and_is_the_same_in_another_clone(self, tmp_path: Path) -> None:
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

    def test_two_notes_that_come_at_once_to_paths_of_one_note_have_ids_of_their_own(
        self, tmp_path: Path
    ) -> None:
        with vault(tmp_path / "v", {"A.md": "One\n"}) as lore:
            first = ids(lore)["A.md"]
            (tmp_path / "v/A.md").rename(tmp_path / "v/X.md")
            assert ids(lore) == {"X.md": first}
            (tmp_path / "v/X.md").unlink()
            assert ids(lore) == {}
            write(tmp_path / "v", {"A.md": "Herons wait.\n", "X.md": "Cranes dance.\n"})
            assert len({*ids(lore).values()}) == 2

    def test_of_several_notes_that_were_renamed_and_edited_each_keeps_its_id(self, tmp_path: Path) -> None:
        """And one that is new has its own, though others went at the same time."""
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

    def test_a_note_that_was_renamed_and_edited_at_once_keeps_its_id(self, tmp_path: Path) -> None:
        text = "".join(f"Line {number}\n" for number in range(8))
        with vault(tmp_path / "v", {"A.md": text, "B.md": "Two\n"}) as lore:
            first = ids(lore)["A.md"]
            (tmp_path / "v/A.md").unlink()
            write(tmp_path / "v", {"Z.md": text + "One more\n"})
            assert ids(lore)["Z.md"] == first
