"""Files that other clones would refuse are not committed but reported, and such files of others stop no sync."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from apikit import cli, git
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sync_kit import SOON, Clones, files, make_clones

from engram.domain.admission.safe_paths import twins
from engram.domain.errors import NEEDS_HUMAN, SecretFoundError, StayedBehindError
from engram.domain.sync.sync_plan import REGULAR, judge_file
from engram.usecases.sync.sync import sync

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
NOTE = "# Note\n\nThe cache is warmed after a deploy.\n"
ODD = [
    "a",
    "A",
    "ß",
    "SS",
    "é",
    "e\u0301",
    ".",
    " ",
    "\\",
    "\x07",
    "\u202e",
    "\u200c",
    "\udce9",
    ":",
    "x" * 130,
    ".md",
]
ODD += [
    ".git",
    "git~1",
    ".claude",
    ".envrc",
    ".Engram.toml",
    "LORE",
    "con",
    "..",
    "\U000e0041",
    "\u0131",
    "K",
    "CON",
    "aux",
    "Nul.tar",
    "com¹",
    "lpt0",
    "?",
    "*",
    '"',
    "|",
    "<",
    "ab",
]
DEVICES = {"con", "prn", "aux", "nul"} | {f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³"}
PARTS = st.lists(st.sampled_from(ODD), min_size=1, max_size=3).map("".join)
PATHS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
MODES = st.sampled_from([*REGULAR, "120000", "160000"])


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return make_clones(tmp_path)[0]


def write(root: Path, name: str | bytes, text: str = NOTE) -> None:
    path = os.path.join(os.fsencode(root), b"lore", os.fsencode(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(text.encode())


def behind(errors: object) -> list[str]:
    assert isinstance(errors, tuple)
    assert all(isinstance(error, StayedBehindError) for error in errors), errors
    return [error.path for error in errors]


def lore_names(root: Path) -> set[str]:
    return {name.partition("/")[2] for name in files(root) if name.startswith("lore/")}


def test_a_file_that_other_clones_would_refuse_is_not_committed_and_all_others_are(clones: Clones) -> None:
    a, b = clones.root("a"), clones.root("b")
    write(a, "Note.md")
    write(a, "note.md", NOTE + "\nAgain, in other words.\n")
    write(a, b"caf\xe9.md")
    write(a, "back\\slash.md")
    write(a, f"{KEY}.md")
    write(a, ".envrc", "export A=1\n")
    write(a, "key.md", f"{NOTE}\nIt needs {KEY} to run.\n")
    write(a, "fine.md", NOTE + "\nThis one is fine.\n")
    result = cli("sync", cwd=a)
    assert result.code == NEEDS_HUMAN
    assert KEY not in result.err
    for words in ("lore/note.md", "the same path as 'lore/Note.md'", "caf\\xe9.md", "not UTF-8"):
        assert words in result.err
    [done] = clones.sync("a")
    assert set(behind(done.errors)) <= {
        "lore/note.md", "lore/caf\\xe9.md", "lore/back\\slash.md", "lore/key.md", "lore/.envrc",
        "lore/[redacted: github-token].md",
    }  # fmt: skip
    clones.sync("b")
    assert {"Note.md", "fine.md"} <= lore_names(b)
    assert not {"note.md", "key.md", ".envrc"} & lore_names(b)
    assert KEY not in git(clones.hub, "log", "-p", "--all")
    clones.add("c")  # a fresh clone takes all that there is
    assert lore_names(clones.root("c")) == lore_names(b)


def test_a_corrected_file_is_sent_with_the_next_sync(clones: Clones) -> None:
    a = clones.root("a")
    write(a, "Note.md")
    write(a, "note.md", NOTE + "\nAgain, in other words.\n")
    assert behind(clones.sync("a")[0].errors) == ["lore/note.md"]
    assert behind(clones.sync("a")[0].errors) == ["lore/note.md"]
    (a / "lore/note.md").rename(a / "lore/other.md")
    assert clones.sync("a", "b")[0].errors == ()
    assert {"Note.md", "other.md"} <= lore_names(clones.root("b"))


def commit_behind(root: Path, *, push: bool) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "by hand")
    if push:
        git(root, "push", "-q", "origin", "HEAD:main")


def test_files_that_other_clones_would_refuse_are_removed_from_a_commit_by_hand_before_a_push(
    clones: Clones,
) -> None:
    a = clones.root("a")
    write(a, b"caf\xe9.md")
    (a / "lore/link.md").symlink_to("Note.md")
    write(a, "Note.md")
    write(a, "aux.md")
    write(a, "run.md", NOTE + "\nThis one is a program, too.\n")
    (a / "lore/run.md").chmod(0o755)
    commit_behind(a, push=False)
    [done] = clones.sync("a")
    assert behind(done.errors) == ["lore/aux.md", "lore/caf\\xe9.md", "lore/link.md"]
    assert git(clones.hub, "ls-tree", "main", "lore/run.md").startswith("100644")
    assert "run.md" not in git(a, "status", "--porcelain")
    assert (a / "lore/link.md").is_symlink()
    assert os.path.exists(os.fsencode(a) + b"/lore/caf\xe9.md")
    clones.add("c")
    assert {"Note.md", "run.md"} <= lore_names(clones.root("c"))
    assert behind(clones.sync("a")[0].errors) == ["lore/aux.md", "lore/caf\\xe9.md", "lore/link.md"]


def test_a_bad_file_pushed_by_git_stops_no_other_clone(clones: Clones) -> None:
    a, b = clones.root("a"), clones.root("b")
    write(a, "Note.md")
    write(a, "note.md", NOTE + "\nAgain, in other words.\n")
    write(a, b"caf\xe9.md")
    write(a, "con.md")
    write(a, "run.md")
    (a / "lore/run.md").chmod(0o755)
    (a / "lore/link.md").symlink_to("Note.md")
    commit_behind(a, push=True)
    clones.record("b", "Something of our own, which is merged with it.")
    [done] = clones.sync("b")
    assert done.errors == ()
    assert [note.split(" ")[0] for note in done.notes] == [
        "lore/caf\\xe9.md", "lore/con.md", "lore/link.md", "lore/note.md", "lore/run.md",
    ]  # fmt: skip
    assert {"note.md", "link.md", "con.md", "run.md"}.isdisjoint(lore_names(b))
    for command in (("log",), ("log", "--json"), ("list",), ("doctor",), ("reindex",), ("status",)):
        assert cli(*command, cwd=b).code in (0, 1), command
    assert git(b, "status", "--porcelain") == ""
    assert clones.sync("b")[0].pushed == 0
    assert "lore/note.md" in git(clones.hub, "ls-tree", "-r", "--name-only", "main")  # nobody deleted it
    git(a, "rm", "-q", "lore/Note.md")
    git(a, "commit", "-q", "-m", "one of them")
    git(a, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    git(a, "push", "-q", "origin", "HEAD:main")
    clones.sync("b")
    assert "note.md" in lore_names(b)
    assert cli("clone", str(clones.hub), str(clones.folder / "new")).code == 0
    assert git(clones.folder / "new", "status", "--porcelain") == ""


def test_a_secret_in_the_message_or_a_file_name_of_an_outgoing_commit_is_refused(clones: Clones) -> None:
    a = clones.root("a")
    for options in (("-m", f"rotate {KEY}"), ("-m", "x", f"--author={KEY} <x@example.org>")):
        head = git(a, "rev-parse", "HEAD")
        git(a, "commit", "-q", "--allow-empty", *options)
        with pytest.raises(SecretFoundError, match="commit") as found:
            sync(clones["a"].store, SOON)
        assert KEY not in found.value.message
        git(a, "reset", "-q", "--hard", head)
    write(a, f"x-{KEY}.md")
    commit_behind(a, push=False)
    with pytest.raises(SecretFoundError, match="name"):
        sync(clones["a"].store, SOON)
    assert KEY not in git(clones.hub, "log", "--all", "--name-only", "--format=fuller")


def test_following_the_hint_keeps_a_committed_secret_local_and_sends_the_rest(
    clones: Clones,
) -> None:
    a, b = clones.root("a"), clones.root("b")
    write(a, "first.md", NOTE + "\nWritten first.\n")
    commit_behind(a, push=False)
    write(a, "key.md", f"{NOTE}\nIt needs {KEY} to run.\n")
    write(a, "second.md", NOTE + "\nWritten with it.\n")
    commit_behind(a, push=False)
    bad = git(a, "rev-parse", "HEAD")
    clones.record("b", "Something of another clone comes in between.")
    clones.sync("b")
    write(a, "third.md", NOTE + "\nWritten after it.\n")
    commit_behind(a, push=False)
    result = cli("sync", cwd=a)
    assert result.code == NEEDS_HUMAN
    assert KEY not in result.err
    [command] = re.findall(r"`git (reset [0-9a-f]{10}~1)`", result.err)
    assert git(a, "rev-parse", command.split()[1]) == git(a, "rev-parse", f"{bad}~1")
    git(a, *command.split())
    [done] = clones.sync("a")
    assert behind(done.errors) == ["lore/key.md"]
    assert KEY in (a / "lore/key.md").read_text()
    clones.sync("b")
    assert {"first.md", "second.md", "third.md"} <= lore_names(b)
    assert "key.md" not in lore_names(b)
    assert lore_names(b) == lore_names(a) - {"key.md"}
    assert KEY not in git(clones.hub, "log", "-p", "--all")


def let_out(tree: set[str], batch: list[tuple[str, str]]) -> None:
    """Add the files that may be committed to a tree, as a commit of these files does."""
    fine = [path for path, mode in batch if path not in tree and judge_file(path, mode, 1, "lore") is None]
    there: dict[str, set[str]] = {}
    for path in tree:
        while path:
            folder, _, name = path.rpartition("/")
            there.setdefault(folder, set()).add(name)
            path = folder
    tree.update(set(fine) - twins(fine, there).keys())


@settings(max_examples=examples(150, 3000))
@given(st.lists(st.lists(st.tuples(PATHS, MODES), max_size=8), max_size=4))
def test_files_sent_in_any_order_are_accepted_by_a_fresh_clone(batches: list[list[tuple[str, str]]]) -> None:
    tree: set[str] = set()
    for batch in batches:
        let_out(tree, batch)
    assert twins(tree, {}) == {}
    for part in {part for path in tree for part in path.split("/")}:
        assert not set('<>:"|?*') & set(part)
        assert not part.endswith((" ", "."))
        assert part.split(".")[0].rstrip().lower() not in DEVICES
    for path in tree:
        assert judge_file(path, REGULAR[0], 1, "lore") is None
        assert judge_file(path, REGULAR[1], 1, "lore") is not None or path == ".engram.toml"


@pytest.mark.slow
def test_any_files_in_a_work_tree_result_in_a_branch_that_a_fresh_clone_accepts(clones: Clones) -> None:
    a = clones.root("a")

    @settings(max_examples=examples(5, 60), deadline=None)
    @given(st.lists(PATHS, min_size=3, max_size=12))
    def travels(paths: list[str]) -> None:
        for number, path in enumerate(paths):
            try:
                write(a, path, f"{NOTE}\nNumber {number}.\n")
            except (OSError, ValueError):
                continue  # no name here either, or below a file
        clones.sync("a")
        target = clones.folder / f"new-{len(os.listdir(clones.folder))}"
        done = cli("clone", str(clones.hub), str(target))
        assert done.code == 0, done.err
        listed = subprocess.run(
            ["git", "ls-tree", "-rz", "--name-only", "HEAD"], cwd=target, capture_output=True, check=True
        )
        names = [name for name in listed.stdout.split(b"\0") if name]
        assert all(os.path.lexists(os.path.join(os.fsencode(target), name)) for name in names)

    travels()
