"""A folder of notes as a store, in place: a vault edited by hand, by Engram and by plain git at once."""

from __future__ import annotations

import os
import random
import re
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest
from apikit import cli
from effort import examples, sampled
from gitkit import git, isolate
from storekit import PROJECT

import engram
from benchmarks.vaults.notes import WORDS
from engram.domain.entry.lore import MAX_NOTE
from engram.domain.errors import EngramError, UsageError
from engram.usecases.graph.broken_links import all_bad_links
from engram.usecases.history.blame import blame
from engram.usecases.history.log import history
from engram.usecases.index.index_query import query_index
from engram.usecases.opening.init import init_here
from engram.usecases.recording.edit import Edit
from tests.opening.vault_kit import commit, ids, vault, write

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram

OURS = re.compile(
    rb"^(?:engram_\w+|id|category|created_at|updated_at)(?: *:.*)\n|^tags:.*\n(?:  - .*\n)*", re.MULTILINE
)


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, tmp_path)


def everything(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and ".git" not in file.relative_to(folder).parts
    }


def broken(lore: Engram) -> list[str]:
    found = query_index(lore.store, lambda generation: all_bad_links(lore.store, generation))
    return [f"{one.path}: {one.message}" for one in found]


class TestNotes:
    def test_only_the_note_that_is_edited_changes_and_only_by_new_lines(self, tmp_path: Path) -> None:
        with vault(tmp_path / "v", 12) as lore:
            before = everything(tmp_path / "v")
            assert len(ids(lore)) == 12
            assert lore.query("session").strength
            assert git(tmp_path / "v", "status", "--short") == ""
            for path, one in ids(lore).items():
                lore.edit(one, Edit(add_tags=("seen",)))
                after = everything(tmp_path / "v")
                assert {name for name in after if after[name] != before.get(name)} == {path}
                assert without_ours(after[path]) == without_ours(before[path])
                assert ids(lore)[path] == one
                before = after
            assert broken(lore) == []

    def test_properties_that_are_no_fields_stay_and_fields_go_beside_them(self, tmp_path: Path) -> None:
        text = "---\nid: 2024\nstatus: done   # mine\ntype: book\ncategory: Novels\n---\nText\n"
        with vault(tmp_path / "v", {"A.md": text}) as lore:
            one = ids(lore)["A.md"]
            lore.edit(one, Edit(status="archived"))
            now = (tmp_path / "v" / "A.md").read_text()
            for line in ("id: 2024\n", "status: done   # mine\n", "type: book\n", "category: Novels\n"):
                assert f"\n{line}" in now
            assert f"\nengram_id: {one}\n" in now
            assert "\nengram_status: archived\n" in now
            assert lore.get(one).lore.status == "archived"
            lore.edit(one, Edit(status="active", content="Other text"))
            assert (ids(lore)["A.md"], lore.get(one).lore.category) == (one, "FACT")
            assert (tmp_path / "v" / "A.md").read_text().endswith("---\nOther text\n")

    def test_a_note_without_text_and_a_template_are_entries_too(self, tmp_path: Path) -> None:
        notes = {"Empty.md": "", "Template.md": "---\ntitle: {{title}}\n---\nFill this in\n"}
        with vault(tmp_path / "v", notes) as lore:
            assert set(ids(lore)) == {*notes}
            assert lore.get(ids(lore)["Empty.md"]).lore.title == "Empty"
            with pytest.raises(EngramError, match="cannot add its fields"):
                lore.edit(ids(lore)["Template.md"], Edit(add_tags=("x",)))
            assert git(tmp_path / "v", "status", "--short") == ""

    def test_a_long_note_is_found_by_its_last_passage_and_can_be_edited(self, tmp_path: Path) -> None:
        chance = random.Random(3)
        long = "# Handbook\n\n" + "".join(
            f"## Part {part}\n\n{' '.join(chance.choices(WORDS, k=80))}.\n\n" for part in range(40)
        )
        with vault(tmp_path / "v", 30) as lore:
            write(tmp_path / "v", {"Long.md": f"{long}The gasket is made of cork.\n"})
            found = lore.query("gasket")
            assert [hit.path for hit in found.lore][:1] == ["Long.md"]
            lore.edit(found.lore[0].lore.id, Edit(content=f"{long}The gasket is made of tin."))
            assert (tmp_path / "v" / "Long.md").read_text().endswith("made of tin.\n")

    def test_a_note_of_several_hundred_kilobytes_is_searched_and_edited_like_any_other(
        self, tmp_path: Path
    ) -> None:
        line = "Deploy, retry, restore and review the queue of the broker.\n\n"
        with vault(tmp_path / "v", {"Big.md": line * 6000 + "The gasket is made of cork.\n"}) as lore:
            found = lore.query("what is the gasket made of")
            assert [hit.path for hit in found.lore] == ["Big.md"]
            lore.edit(found.lore[0].lore.id, Edit(add_tags=("pump",)))
            assert (tmp_path / "v/Big.md").read_text().endswith("made of cork.\n")

    def test_a_note_too_large_to_read_is_named_with_what_to_do(self, tmp_path: Path) -> None:
        with vault(tmp_path / "v", {"Huge.md": "x" * (MAX_NOTE + 1), "A.md": "Text\n"}) as lore:
            assert set(ids(lore)) == {"A.md"}
            told = cli("doctor", cwd=tmp_path / "v").out
            assert "Huge.md: this note has 4,194,305 bytes" in told
            assert ".engramignore" in told

    def test_what_ignore_files_name_and_hidden_folders_are_not_lore(self, tmp_path: Path) -> None:
        notes = {
            "Note.md": "Text", "build/o.md": "Text", "a/Draft x.md": "Text", "a/keep/Draft y.md": "Text",
            ".obsidian/x.md": "Text", "node_modules/p/README.md": "Text", "Private 1.md": "Text",
            ".gitignore": "build/\n", ".engramignore": "/Private*\nDraft *\n!a/keep/Draft y.md\n",
        }  # fmt: skip
        with vault(tmp_path / "v", notes) as lore:
            assert set(ids(lore)) == {"Note.md", "a/keep/Draft y.md"}

    def test_new_entries_go_to_a_folder_of_their_own_with_their_title_as_alias(self, tmp_path: Path) -> None:
        with vault(tmp_path / "v", {"Note.md": "See [[Cats sleep]].\n"}) as lore:
            done = lore.record("# Cats sleep\n\nA lot.", category="FACT")
            assert done.path.startswith("lore/20")
            assert "\naliases: [Cats sleep]\n" in (tmp_path / "v" / done.path).read_text()
            assert broken(lore) == []

    def test_a_note_is_called_what_its_file_is_unless_it_has_a_title(self, tmp_path: Path) -> None:
        notes = {
            "2024-03-02.md": "## Morning\n\nBoards.\n", "Ada.md": "Knows wood.\n", "larch.md": "# On larch\n\nLasts.\n",
        }  # fmt: skip
        with vault(tmp_path / "v", notes) as lore:
            titles = {one.path: one.lore.title for one in lore.list(limit=None).lore}
            assert titles == {"2024-03-02.md": "2024-03-02", "Ada.md": "Ada", "larch.md": "On larch"}
            lore.edit(ids(lore)["Ada.md"], Edit(add_tags=("people",)))
            assert lore.get(ids(lore)["Ada.md"]).lore.title == "Ada"
            (tmp_path / "v/Ada.md").rename(tmp_path / "v/Ada Lovelace.md")
            ids(lore)
            assert {one.lore.title for one in lore.query("who knows wood").lore} == {"Ada Lovelace"}

    def test_init_alone_uses_the_notes_of_a_vault_in_place(self, tmp_path: Path) -> None:
        write(tmp_path / "v", {".obsidian/app.json": "{}\n", "Note.md": "Herons wait.\n"})
        before = everything(tmp_path / "v")
        assert "In place" in cli("init", cwd=tmp_path / "v").out
        after = everything(tmp_path / "v")
        assert {name for name in after if after[name] != before.get(name)} <= {
            ".engram.toml",
            ".engram/.gitignore",
        }
        assert not (tmp_path / "v/.git").exists()
        assert "Herons wait" in cli("query", "herons", cwd=tmp_path / "v").out
        assert "There is a store" in cli("init", cwd=tmp_path / "v").out

    def test_an_old_note_is_found_like_a_new_one_and_stays_so_when_it_is_edited(self, tmp_path: Path) -> None:
        text = "---\ncreated: 2015-03-02\n---\nLine raised beds with dimpled sheet, not with pond liner.\n"
        with vault(
            tmp_path / "v", {"Beds.md": text, "Dateless.md": "Stainless screws hold larch.\n"}
        ) as lore:
            os.utime(tmp_path / "v/Dateless.md", (1_400_000_000, 1_400_000_000))
            for question, path in (("pond liner", "Beds.md"), ("stainless screws", "Dateless.md")):
                found = lore.query(question)
                assert ([one.path for one in found.lore], found.strength) == ([path], "strong")
            one = lore.edit(ids(lore)["Beds.md"], Edit(add_tags=("wood",))).lore
            assert (one.created_at.year, one.confidence) == (2015, 0.7)
            os.utime(tmp_path / "v/Beds.md", (1_400_000_000, 1_400_000_000))
            assert [hit.path for hit in lore.query("pond liner").lore] == ["Beds.md"]

    def test_all_notes_are_not_adopted_at_once(self, tmp_path: Path) -> None:
        from engram.usecases.recording.adopt import adopt

        with vault(tmp_path / "v", {"Note.md": "Text\n"}) as lore, pytest.raises(UsageError):
            adopt(lore.store)


def without_ours(raw: bytes) -> bytes:
    """A note without the lines that Engram may write, and with line feeds."""
    raw = raw.replace(b"\r\n", b"\n")
    head, fence, text = raw.partition(b"\n---\n")
    if not raw.startswith(b"---\n"):
        return raw
    kept = OURS.sub(b"", head + b"\n").removesuffix(b"\n")
    return text.removeprefix(b"\n") if kept == b"---" else kept + fence + text


@sampled("seed", range(8))
def test_a_vault_in_three_hands_loses_no_byte_and_no_link(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder = tmp_path / "v"
    with vault(folder, 8) as lore:
        known = ids(lore)
        expected = everything(folder)
        for step in range(examples(12, 24)):
            path = chance.choice(sorted(known))
            deed = chance.choice(
                ("append", "rename", "engram text", "engram tag", "record", "commit", "merge", "look")
            )
            if deed == "append":
                expected[path] += f"By hand {step}\n".encode()
                (folder / path).write_bytes(expected[path])
            elif deed == "rename":
                expected, known = renamed(
                    folder, expected, known, path, f"Moved/{chance.randrange(3)}/R{step}.md"
                )
            elif deed.startswith("engram"):
                before = expected[path]
                shown = lore.get(known[path]).lore
                text = f"{shown.content}\n\nBy Engram {step}"
                lore.edit(
                    known[path], Edit(content=text) if deed == "engram text" else Edit(add_tags=(f"t{step}",))
                )
                expected[path] = (folder / path).read_bytes()
                left = without_ours(expected[path]).replace(f"\n\nBy Engram {step}".encode(), b"")
                assert left.strip() == without_ours(before).strip(), deed
            elif deed == "record":
                done = lore.record(
                    f"# Entry {step}\n\nAbout [[alias {step % 8}]], step {step} of {seed}.", category="FACT"
                )
                expected[done.path] = (folder / done.path).read_bytes()
                known[done.path] = done.lore.id
            elif deed == "commit":
                commit(folder)
            elif deed == "merge":
                expected = merged(folder, expected, path, step)
                known[f"Branch/N{step}.md"] = ids(lore)[f"Branch/N{step}.md"]
            assert ids(lore) == known, (step, deed)
            there = {
                name: raw for name, raw in everything(folder).items() if not name.startswith(".engram-notes/")
            }
            assert there == expected, (step, deed)
            assert broken(lore) == [], (step, deed)
        lore.refresh()
        assert ids(lore) == known


def renamed(
    folder: Path, expected: dict[str, bytes], known: dict[str, str], path: str, to: str
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Rename a note as Obsidian does: links to it by its name or path are written anew in the other notes."""
    (folder / to).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).rename(folder / to)
    expected = {(to if name == path else name): raw for name, raw in expected.items()}
    known = {(to if name == path else name): one for name, one in known.items()}
    name, new = path.rpartition("/")[2].removesuffix(".md"), to.rpartition("/")[2].removesuffix(".md")
    for other, raw in expected.items():
        if other.endswith(".md") and other in known:
            text = raw.decode().replace(f"[[{path.removesuffix('.md')}", f"[[{new}")
            expected[other] = text.replace(f"[[{name}", f"[[{new}").encode()
            (folder / other).write_bytes(expected[other])
    return expected, known


def merged(folder: Path, expected: dict[str, bytes], path: str, step: int) -> dict[str, bytes]:
    """Merge a branch of plain git's that added a note with a link."""
    commit(folder)
    git(folder, "checkout", "-qb", f"b{step}", "HEAD")
    write(folder, {f"Branch/N{step}.md": f"From a branch, see [[{path.removesuffix('.md')}]]\n"})
    commit(folder)
    git(folder, "checkout", "-q", "-")
    (folder / path).write_bytes(expected[path] + b"Meanwhile\n")
    commit(folder)
    git(folder, "merge", "-q", "--no-edit", f"b{step}")
    there = {name: raw for name, raw in everything(folder).items() if not name.startswith(".engram-notes/")}
    added = {f"Branch/N{step}.md": there[f"Branch/N{step}.md"]}
    return {**expected, path: expected[path] + b"Meanwhile\n", **added}


def test_the_commands_of_the_page_work_in_a_vault(tmp_path: Path) -> None:
    page = (PROJECT / "docs/vault.md").read_text("utf-8")
    commands = [
        line.partition("  #")[0]
        for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
        for line in block.splitlines()
    ]
    folder = tmp_path / "v"
    folder.mkdir()
    git(folder, "-c", "init.defaultBranch=main", "init", "-q")
    write(folder, {"Deploy.md": "# Deploy\n\nFreeze the queue first.\n"})
    for command in commands:
        assert command.startswith("engram ")
        done = cli(*shlex.split(command)[1:], cwd=folder)
        assert done.code == 0, (command, done.out, done.err)
    assert "tags: [deploy]" in (folder / "Deploy.md").read_text()


def test_titles_become_aliases_of_entries_where_that_is_wanted(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "s")
    root = tmp_path / "s"
    assert cli("init", "--placement", "in-tree", cwd=root).code == 0
    cli("record", "# Old entry\n\nText.", "--category", "fact", cwd=root)
    assert cli("config", "store.aliases", "true", cwd=root).code == 0
    new = cli("record", "# New entry\n\nSee [[Old entry]].", "--category", "fact", "--json", cwd=root).json[
        "lore"
    ]
    assert "\naliases: [New entry]\n" in (root / new["path"]).read_text()
    assert cli("edit", new["id"], "--content", "# Renamed\n\nSee [[Old entry]].", cwd=root).code == 0
    assert "\naliases: [New entry, Renamed]\n" in (root / new["path"]).read_text()
    assert cli("adopt", "--aliases", "--json", cwd=root).code == 0
    texts = [file.read_text() for file in root.rglob("lore/**/*.md")]
    assert sum("\naliases: [Old entry]\n" in text for text in texts) == 1
    assert cli("adopt", "--aliases", "--json", cwd=root).json == {"aliases": []}
    assert cli("doctor", cwd=root).code == 0


class TestMerges:
    def edited_apart(
        self, tmp_path: Path, here: dict[str, str], there: dict[str, str], *, tags: bool
    ) -> tuple[Path, int]:
        """A vault whose clone pulls after both edited: by hand, or (`tags`) also through Engram; the pull's exit code."""
        folder, clone = tmp_path / "v", tmp_path / "a clone"
        with vault(folder, {"A.md": "One\n\nTwo\n\nThree\n", "B.md": "Other\n"}) as lore:
            git(tmp_path, "clone", "-q", "v", "a clone")
            init_here(str(clone))
            for root, opened, notes in ((folder, lore, here), (clone, engram.open(str(clone)), there)):
                with opened:
                    if tags:
                        opened.edit(ids(opened)["A.md"], Edit(add_tags=(root.name.replace(" ", "-"),)))
                    for path, text in notes.items():
                        file = root / path
                        head, fence, _ = file.read_text().rpartition("---\n\n")
                        file.write_text(head + fence + text)
                commit(root)
        done = subprocess.run(
            ["git", "pull", "-q", "--no-rebase", "--no-edit"], cwd=clone, capture_output=True, check=False
        )
        return clone, done.returncode

    def test_an_entry_that_both_edited_through_engram_merges_by_field(self, tmp_path: Path) -> None:
        clone, code = self.edited_apart(
            tmp_path, {"A.md": "One\n\nDeux\n"}, {"A.md": "One\n\nZwei\n"}, tags=True
        )
        assert code == 0
        with engram.open(str(clone), background=False) as lore:
            merged = lore.get(ids(lore)["A.md"]).lore
            assert set(merged.tags) == {"a-clone", "v"}
            assert {merged.content, *(one.value for one in merged.conflicts)} == {
                "One\n\nDeux",
                "One\n\nZwei",
            }
        assert git(clone, "status", "--short") == ""

    def test_notes_edited_by_hand_merge_as_text(self, tmp_path: Path) -> None:
        clone, code = self.edited_apart(
            tmp_path, {"A.md": "Uno\n\nTwo\n\nThree\n"}, {"A.md": "One\n\nTwo\n\nTres\n"}, tags=False
        )
        assert (code, (clone / "A.md").read_text()) == (0, "Uno\n\nTwo\n\nTres\n")

    def test_the_same_line_edited_by_hand_on_both_sides_conflicts_as_text_does(self, tmp_path: Path) -> None:
        clone, code = self.edited_apart(
            tmp_path, {"A.md": "Uno\n\nTwo\n"}, {"A.md": "Eins\n\nTwo\n"}, tags=False
        )
        assert code == 1
        assert git(clone, "status", "--short") == "UU A.md"
        assert (clone / "A.md").read_text() == ("<<<<<<< ours\nEins\n=======\nUno\n>>>>>>> theirs\n\nTwo\n")

    def test_a_clone_without_the_driver_is_told_and_gets_it(self, tmp_path: Path) -> None:
        vault(tmp_path / "v", {"sub/A.md": "Text\n"}).close()
        git(tmp_path, "clone", "-q", "v", "w")
        told = cli("doctor", cwd=tmp_path / "w")
        assert "merge driver" in told.out
        assert cli("doctor", "--fix", cwd=tmp_path / "w").code == 0
        assert cli("doctor", cwd=tmp_path / "w").code == 0
        assert git(tmp_path / "w", "status", "--short") == ""
        assert git(tmp_path / "w", "check-attr", "merge", "sub/A.md").endswith(": engram")


def test_the_log_and_blame_of_a_note_go_back_beyond_its_renames(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    text = "# Cranes\n\nCranes nest in wetlands.\nThey are grey.\nThey dance.\n"
    with vault(folder, {"cranes.md": text}) as lore:
        write(folder, {"cranes.md": text + "They fly south.\n"})
        commit(folder)
        (folder / "birds").mkdir()
        git(folder, "mv", "cranes.md", "birds/cranes.md")
        commit(folder)
        git(folder, "mv", "birds/cranes.md", "birds/big cranes.md")
        write(folder, {"birds/big cranes.md": text + "They fly north.\n", "cranes.md": "Of machines.\n"})
        commit(folder)
        name = ids(lore)["birds/big cranes.md"]
        events = history(lore.store, name)[1]
        assert [(one.kind, one.path) for one in events] == [
            ("moved", "birds/big cranes.md"),
            ("moved", "birds/cranes.md"),
            ("changed", "cranes.md"),
            ("added", "cranes.md"),
        ]
        oldest = {row.commit for row in blame(lore.store, name)[1] if "grey" in row.text}
        assert oldest == {events[-1].commit}


def test_the_log_of_a_note_that_was_gone_for_a_commit_goes_back_to_its_first(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    with vault(folder, {"cranes.md": "Cranes nest in wetlands.\nThey are grey.\n"}) as lore:
        ids(lore)
        (folder / "cranes.md").rename(tmp_path / "kept.md")
        commit(folder)
        (tmp_path / "kept.md").rename(folder / "grus.md")
        name = ids(lore)["grus.md"]
        commit(folder)
        assert [(one.kind, one.path) for one in history(lore.store, name)[1]] == [
            ("added", "grus.md"),
            ("removed", "cranes.md"),
            ("added", "cranes.md"),
        ]
