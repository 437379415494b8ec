"""Files that a tool without the merge driver left with conflict markers are merged by `engram doctor --fix`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import prepared
import pytest
from apikit import QUEUE, cli, dedicated, git, lore_files, make_plain_store, ok


@pytest.fixture
def disputed(tmp_path: Path) -> Path:
    """A clone that does not know the driver, with `origin/main` and `main` that tag one entry differently."""
    prepared.copy("disputed", tmp_path, _make_disputed)
    for name in ("first", "second"):
        git(tmp_path / name, "update-index", "--refresh")
    return tmp_path / "second"


def _make_disputed(folder: Path) -> None:
    first, second = dedicated(folder / "first"), folder / "second"
    ok("record", QUEUE + "\n\nMeasure it.", "-c", "fact", cwd=first)
    git(folder, "clone", "-q", str(first), str(second))
    for root, tag in ((first, "one"), (second, "two")):
        ok("query", "queue consumer", cwd=root)
        ok("edit", "L1", "--add-tag", tag, cwd=root)
    git(second, "fetch", "-q")


def merged_by_the_driver(root: Path) -> bytes:
    """What the merge is where git knows the driver: in another clone, from the same two commits."""
    other = root.parent / "told"
    git(root.parent, "clone", "-q", str(root), str(other))
    ok("init", cwd=other)
    git(other, "fetch", "-q", str(root.parent / "first"), "main")
    git(other, "merge", "-q", "--no-edit", "FETCH_HEAD")
    return lore_files(other)[0].read_bytes()


def merge_as_text(root: Path, *options: str) -> None:
    done = subprocess.run(
        ["git", *options, "merge", "-q", "origin/main"], cwd=root, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"<<<<<<<" in lore_files(root)[0].read_bytes()


def assert_well(root: Path) -> None:
    assert ok("doctor", cwd=root).out == "All is well.\n"
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "fsck", "--no-dangling", "--no-progress") == ""


def test_a_merge_in_progress_is_resolved_but_not_committed(disputed: Path) -> None:
    wanted = merged_by_the_driver(disputed)
    merge_as_text(disputed)
    told = cli("doctor", cwd=disputed)
    assert told.code == 1
    assert "two versions of this file were not merged" in told.out
    found = cli("doctor", "--fix", cwd=disputed).out
    assert "merged from the merge under way; finish the merge with `git commit`" in found
    assert lore_files(disputed)[0].read_bytes() == wanted
    git(disputed, "commit", "-q", "--no-edit")
    ok("doctor", "--fix", cwd=disputed)
    assert_well(disputed)
    assert git(disputed, "log", "-1", "--format=%s").startswith("Merge")


@pytest.mark.parametrize("style", ["merge", "diff3"])
def test_committed_markers_are_merged_from_the_parents(disputed: Path, style: str) -> None:
    wanted = merged_by_the_driver(disputed)
    merge_as_text(disputed, "-c", f"merge.conflictStyle={style}")
    git(disputed, "commit", "-qam", "a host's merge button")
    ok("record", "Another one, later.", "-c", "fact", cwd=disputed)
    assert "from the parents of the merge" in ok("doctor", "--fix", cwd=disputed).out
    assert wanted in [path.read_bytes() for path in lore_files(disputed)]
    assert git(disputed, "log", "-1", "--format=%s").startswith("repair: queue-consumer")
    assert_well(disputed)


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
def test_without_parents_the_markers_show_the_versions(disputed: Path, style: str) -> None:
    merge_as_text(disputed, "-c", f"merge.conflictStyle={style}")
    (disputed / ".git/MERGE_HEAD").unlink()
    git(disputed, "commit", "-qam", "squashed")
    assert "merged from the markers" in ok("doctor", "--fix", cwd=disputed).out
    lore = ok("show", "L1", "--json", cwd=disputed).json["lore"]
    assert (lore["tags"], lore["conflicts"]) == (["one", "two"], [])
    assert_well(disputed)


def test_outside_git_the_versions_are_read_from_the_markers(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path)
    (root / "lore").mkdir()
    tags = "<<<<<<< a\ntags: [one]\n=======\ntags: [two]\n>>>>>>> b"
    text = f"---\nid: 01M806ZZWH03EWHXWBG1FA47RA\ncategory: FACT\n{tags}\n---\n\nText\n"
    (root / "lore/a.md").write_text(text)
    ok("doctor", "--fix", cwd=root)
    assert "tags: [one, two]\n" in (root / "lore/a.md").read_text()
    assert ok("doctor", cwd=root).out == "All is well.\n"


def test_markers_that_do_not_fit_together_are_left_to_a_person(tmp_path: Path) -> None:
    root = make_plain_store(tmp_path)
    (root / "lore").mkdir()
    text = "---\nid: 01M806ZZWH03EWHXWBG1FA47RA\n---\n<<<<<<< a\nText\n"
    (root / "lore/a.md").write_text(text)
    done = cli("doctor", "--fix", cwd=root)
    assert done.code == 1
    assert "keep the right lines by hand" in done.out
    assert (root / "lore/a.md").read_text() == text


def test_deleted_on_one_side_and_voted_in_format_1_on_the_other_stays_deleted(tmp_path: Path) -> None:
    first, second = dedicated(tmp_path / "first"), tmp_path / "second"
    ok("record", QUEUE, "-c", "fact", cwd=first)
    git(tmp_path, "clone", "-q", str(first), str(second))
    (file,) = lore_files(first)
    votes = "\nvotes: {K7QM2X9T: {up: 80, down: 0, n: 1}}\n"
    file.write_text(file.read_text("utf-8").replace("\n", votes, 1), "utf-8")
    git(first, "commit", "-qam", "helpful, as a version before said it")
    git(second, "rm", "-q", str(lore_files(second)[0]))
    git(second, "commit", "-qm", "gone")
    git(second, "fetch", "-q")
    subprocess.run(["git", "merge", "-q", "origin/main"], cwd=second, capture_output=True, check=False)
    assert lore_files(second)
    assert "merged from the merge under way" in cli("doctor", "--fix", cwd=second).out
    assert lore_files(second) == []
    git(second, "commit", "-q", "--no-edit")
    ok("doctor", "--fix", cwd=second)
    assert_well(second)


def test_in_a_code_repository_the_file_is_repaired_and_git_left_alone(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "sub").mkdir()
    store = tmp_path / "sub"
    ok("init", "--placement", "in-tree", cwd=store)
    ok("record", QUEUE, "-c", "fact", cwd=store)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "start")
    ok("query", "queue consumer", cwd=store)
    for branch, tag in (("side", "a"), ("main", "b")):
        git(tmp_path, "switch", "-q", *(["-c"] if branch == "side" else []), branch)
        ok("edit", "L1", "--add-tag", tag, cwd=store)
        git(tmp_path, "commit", "-qam", branch)
    subprocess.run(["git", "merge", "-q", "side"], cwd=tmp_path, capture_output=True, check=False)
    assert ok("query", "queue consumer", "--json", cwd=store).json["lore"] == []
    assert "stage it with `git add`" in ok("doctor", "--fix", cwd=store).out
    (file,) = lore_files(store)
    assert "tags: [a, b]\n" in file.read_text("utf-8")
    assert git(tmp_path, "status", "--porcelain").startswith("UU")
    # What a person writes before they end the merge is theirs.
    file.write_text(file.read_text("utf-8") + "\nBy hand.\n", "utf-8")
    ok("doctor", "--fix", cwd=store)
    assert file.read_text("utf-8").endswith("By hand.\n")


def test_a_failed_cherry_pick_is_resolved_too(disputed: Path) -> None:
    subprocess.run(["git", "cherry-pick", "origin/main"], cwd=disputed, capture_output=True, check=False)
    assert "merged from the merge under way" in cli("doctor", "--fix", cwd=disputed).out
    git(disputed, "cherry-pick", "--continue")
    ok("doctor", "--fix", cwd=disputed)
    assert "tags: [one, two]" in lore_files(disputed)[0].read_text("utf-8")
    assert_well(disputed)
