"""A plain `git pull`, `git merge` or `git rebase` with the driver merges lore as Engram does, byte for byte."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from apikit import SetClock, cli, git, lore_files, ok, open_test_store

from engram.adapters.files.merge.merge_file import merge_files
from engram.adapters.git.run.layout import find_repository
from engram.adapters.git.write.merge_driver import command_line, configure, configured_command, merged_heads
from engram.domain.entry.categories import Categories
from engram.domain.merge.merge import reference_time
from engram.usecases.merge.last_edits import edits_of_merge
from engram.usecases.merge.merge_driver import merge_driver


def edit(root: Path, old: str, new: str, message: str = "by hand") -> None:
    (file,) = lore_files(root)
    file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")
    git(root, "commit", "-qam", message)


def by_rules(root: Path, one: str, other: str, path: str) -> bytes | None:
    """What the merge of two commits has to be, by the function that every other way uses."""

    def held(commit: str) -> bytes | None:
        done = subprocess.run(["git", "show", f"{commit}:{path}"], cwd=root, capture_output=True, check=False)
        return done.stdout if done.returncode == 0 else None

    moments = [
        datetime.fromtimestamp(int(git(root, "log", "-1", "--format=%ct", commit)), UTC)
        for commit in (one, other)
    ]
    now = reference_time(datetime.now(UTC), moments)
    base = git(root, "merge-base", one, other)
    edits = edits_of_merge(find_repository(str(root)), (one, other), path, "lore", Categories({}))
    return merge_files(held(base), held(one), held(other), path, Categories({}), now, edits).content


def pulled(root: Path) -> bytes:
    """Pull as a person does, and check the result against the rules; its bytes."""
    before = git(root, "rev-parse", "HEAD")
    git(root, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    (file,) = lore_files(root)
    other = git(root, "rev-parse", "FETCH_HEAD")
    assert file.read_bytes() == by_rules(root, before, other, file.relative_to(root).as_posix())
    assert git(root, "status", "--porcelain") == ""
    return file.read_bytes()


def vote(root: Path, clone: str, before: str, after: str) -> None:
    """Vote as a version of format 1 does: change the account of a clone in the file ("": it has none yet)."""
    if before:
        edit(root, f"{clone}: {{{before}}}", f"{clone}: {{{after}}}")
    else:
        edit(root, "category: FACT\n", f"category: FACT\nvotes: {{{clone}: {{{after}}}}}\n")


def test_helpful_here_and_incorrect_there_both_count_in_format_1(pair: tuple[Path, Path]) -> None:
    first, second = pair
    vote(first, "AAAAAAAA", "", "up: 80, down: 0, n: 1")
    vote(second, "BBBBBBBB", "", "up: 0, down: 150, n: 0")
    text = pulled(second).decode()
    assert "confidence: 0.63\n" in text
    assert "validation_count: 1\n" in text
    git(first, "pull", "-q", "--no-rebase", str(second), "main")
    assert lore_files(first)[0].read_text("utf-8") == text


def test_different_paragraphs_merge_and_the_same_sentence_keeps_both(pair: tuple[Path, Path]) -> None:
    first, second = pair
    edit(first, "Measure it.", "Measure it twice.")
    edit(second, "Then decide.", "Then decide alone.")
    text = pulled(second).decode()
    assert "twice.\n\nThen decide alone." in text
    assert "conflicts" not in text
    edit(first, "twice", "thrice")
    edit(second, "twice", "once")
    text = pulled(second).decode()
    assert ("Measure it thrice." in text, "Measure it once." in text) == (True, True)
    assert "conflicts:\n  - field: content" in text
    assert "<<<<<<<" not in text
    assert ok("show", text.split("id: ")[1][:26], "--json", cwd=second).json["lore"]["conflicts"]


def test_a_rebase_and_a_cherry_pick_merge_by_field_too(pair: tuple[Path, Path]) -> None:
    first, second = pair
    edit(first, "category: FACT", "category: FACT\ntags: [a]")
    edit(second, "category: FACT", "category: FACT\ntags: [b]")
    git(second, "pull", "-q", "--rebase", "origin", "main")
    assert "tags: [a, b]\n" in lore_files(second)[0].read_text("utf-8")
    git(first, "fetch", "-q", str(second), "main")
    git(first, "cherry-pick", "FETCH_HEAD")
    assert lore_files(first)[0].read_bytes() == lore_files(second)[0].read_bytes()


def test_a_stash_merges_by_field(pair: tuple[Path, Path]) -> None:
    (file,) = lore_files(pair[0])
    text = file.read_text("utf-8")
    file.write_text(text.replace("FACT", "FACT\ntags: [one]"), "utf-8")
    git(pair[0], "stash", "-q")
    edit(pair[0], "FACT", "FACT\ntags: [two]")
    git(pair[0], "stash", "pop", "-q")
    assert "tags: [one, two]\n" in file.read_text("utf-8")


def test_a_criss_cross_merge_counts_every_vote_of_format_1_once(pair: tuple[Path, Path]) -> None:
    first, second = pair
    names = ("AAAAAAAA", "BBBBBBBB")
    for root, name in zip(pair, names, strict=True):
        vote(root, name, "", "up: 0, down: 150, n: 0")
        git(root, "branch", "before")
    git(first, "pull", "-q", "--no-rebase", str(second), "before")
    git(second, "pull", "-q", "--no-rebase", str(first), "before")
    for root, name in zip(pair, names, strict=True):
        vote(root, name, "up: 0, down: 150, n: 0", "up: 80, down: 150, n: 1")
        edit(root, "confidence: 0.40", "confidence: 0.48")
    git(second, "pull", "-q", "--no-rebase", "origin", "main")
    git(first, "pull", "-q", "--no-rebase", str(second), "main")
    text = lore_files(first)[0].read_text("utf-8")
    assert text == lore_files(second)[0].read_text("utf-8")
    assert "confidence: 0.56\n" in text  # 0.70 − 2·0.15 + 2·0.08


def test_a_version_too_large_for_the_file_is_kept_next_to_it(pair: tuple[Path, Path]) -> None:
    first, second = pair
    (one,), (other,) = lore_files(first), lore_files(second)
    one.write_bytes(b"\xff\xfe one")
    other.write_bytes(b"\xff\xfe two")
    for root in pair:
        git(root, "commit", "-qam", "damaged")
    git(second, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert {path.read_bytes() for path in lore_files(second)} == {b"\xff\xfe one", b"\xff\xfe two"}


def test_a_clock_that_runs_ahead_does_not_win(pair: tuple[Path, Path]) -> None:
    first, second = pair
    # Commits of the tests are of 2026-01-02: that, and not this machine's clock, is the time of the merge.
    for root, category, stamp in (
        (first, "SKILL", "2026-01-02T00:00:00Z"),
        (second, "PREFERENCE", "2026-01-09T00:00:00Z"),
    ):
        (file,) = lore_files(root)
        kept = [line for line in file.read_text("utf-8").splitlines() if "ated_at:" not in line]
        text = "\n".join(kept).replace("category: FACT", f"category: {category}\nupdated_at: {stamp}")
        file.write_text(f"{text}\n", "utf-8")
        git(root, "commit", "-qam", "by hand")
    text = pulled(second).decode()
    assert "category: SKILL\n" in text
    assert "value: PREFERENCE" in text


def test_a_failed_merge_is_an_error_and_leaves_ours_unchanged(tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    ours.write_bytes(b"mine")
    done = cli(
        "merge-driver", str(tmp_path / "none"), str(ours), str(tmp_path / "no"), "lore/a.md", cwd=tmp_path
    )
    assert (done.code, ours.read_bytes()) == (3, b"mine")
    assert "does not exist" in done.err or "no" in done.err


def test_both_sides_are_told_when_a_person_has_to_decide(tmp_path: Path) -> None:
    for name, text in (("base", ""), ("ours", "---\nid: 01M806ZZWH03EWHXWBG1FA47RA\n---\nOne\n"),
                       ("theirs", "---\nid: 01M806ZZWH03EWHXWBG1FA47RA\n---\nTwo\n")):  # fmt: skip
        (tmp_path / name).write_text(text, "utf-8")
    done = cli("merge-driver", "base", "ours", "theirs", "lore/a.md", cwd=tmp_path)
    assert done.code == 0
    assert "content" in done.err
    again = cli("merge-driver", "base", "ours", "theirs", "lore/a.md", "--json", cwd=tmp_path)
    assert again.json["path"] == "lore/a.md"
    assert again.json["kept"] == []


def test_outside_a_repository_the_clock_gives_the_time_of_the_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("o", "a", "b"):
        (tmp_path / name).write_text(f"{name}\n")
    merged = merge_driver("o", "a", "b", "lore/x.md", {}, SetClock())
    assert (tmp_path / "a").read_bytes() == merged.content


def test_the_other_head_is_known_from_the_environment_or_a_file(pair: tuple[Path, Path]) -> None:
    repo = find_repository(str(pair[0]))
    assert repo is not None
    head, other = git(pair[0], "rev-parse", "HEAD"), "0" * 39 + "1"
    assert merged_heads(repo, {}) == [head]
    assert merged_heads(repo, {f"GITHEAD_{other}": "main", "GITHEAD_x": "y"}) == [head, other]
    Path(repo.git_dir, "MERGE_HEAD").write_text(f"{other}\n")
    assert merged_heads(repo, {}) == [head, other]


@pytest.mark.parametrize("folder", ["with blank", "it's", "100%O", 'a"b', "$HOME"])
def test_the_command_survives_odd_paths(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    program = tmp_path / folder / "python"
    program.symlink_to(sys.executable)
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q")
    repo = find_repository(str(root))
    assert repo is not None
    configure(repo, command_line((str(program), "-P", "-m", "engram"), str(tmp_path / folder)))
    said = configured_command(repo).replace("%%", "%").removesuffix(" %O %A %B %P")
    assert shlex.split(said)[1:] == [str(program), "-P", "-m", "engram", "merge-driver"]
    probe = said.replace("-m engram merge-driver", "-c 'import os; print(os.environ[\"PYTHONPATH\"])'")
    ran = subprocess.run(["sh", "-c", probe], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{tmp_path / folder}\n"


def test_a_package_in_the_pulled_files_is_not_imported(pair: tuple[Path, Path]) -> None:
    first, second = pair
    trace = first.parent / "it-ran"
    for root in pair:
        (root / "engram").mkdir()
        (root / ".git/info/exclude").write_text("/engram/\n")
        (root / "engram/__init__.py").write_text(f"open({str(trace)!r}, 'w')\n")
    edit(first, "Measure", "Weigh")
    edit(second, "decide", "act")
    assert b"Weigh" in pulled(second)
    assert not trace.exists()


def test_the_library_opens_a_store_that_was_merged_by_git(pair: tuple[Path, Path]) -> None:
    first, second = pair
    edit(first, "Measure", "Weigh")
    edit(second, "decide", "act")
    pulled(second)
    with open_test_store(second) as store:
        (hit,) = store.query("queue consumer").lore
        assert "Weigh it.\n\nThen act." in hit.lore.content
    assert os.listdir(second / "lore")
