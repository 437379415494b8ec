"""Local changes to files that Engram does not commit, such as a README, stay and never stop a sync."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import Self

import prepared
import pytest
from apikit import COLOUR, QUEUE, TIDES, cli, git, ok
from effort import is_thorough
from storekit import run
from sync_kit import KILLED_SYNC, copy_clones, make_clones

from engram.domain.sync.sync_plan import other_version_path
from tests.opening.test_branch_placement import BRANCH, hidden, made, record

OLD = "# Lore of the team\n\nAsk Ada.\n\nSee the wiki.\n"
THEIRS = OLD.replace("Ask Ada.", "Ask Grace.")
APART = OLD.replace("See the wiki.", "See the handbook.")  # does not touch what THEIRS changes
AGAINST = OLD.replace("Ask Ada.", "Ask Edsger.")

PARTS = 4  # of the points at which a sync is killed: every day one of each is tried, with `--thorough` all


class Here:
    """A store here, and a plain git clone of its branch in which somebody else changes the README."""

    def __init__(self, folder: Path, placement: str) -> None:
        self._open(folder, placement)
        if placement == "dedicated":
            make_clones(folder)[0].leave()
        else:
            made(self.cwd)
            git(folder, "init", "-q", "--bare", "-b", "main", str(folder / "hub.git"))
            git(self.cwd, "remote", "add", "origin", str(folder / "hub.git"))
            record(self.cwd, QUEUE)
            ok("sync", cwd=self.cwd)
        git(folder, "clone", "-q", "-b", self.branch, str(folder / "hub.git"), str(self.there))

    def _open(self, folder: Path, placement: str) -> None:
        if placement == "dedicated":
            self.cwd = self.root = folder / "a"
            self.branch = "main"
        else:
            self.cwd = folder / "code"
            self.root, self.branch = hidden(self.cwd), BRANCH
        self.there = folder / "there"

    @classmethod
    def again(cls, folder: Path, placement: str) -> Self:
        """Return the same in a copy of the folder."""
        found = cls.__new__(cls)
        found._open(folder, placement)
        for root in dict.fromkeys((found.cwd, found.root, found.there)):
            git(root, "update-index", "--refresh")
        return found

    def push(self, **files: str | None) -> None:
        """Push these files as somebody else (None: delete)."""
        git(self.there, "pull", "-q", "--ff-only", "origin", self.branch)
        for name, text in files.items():
            path = self.there / name.replace("_", ".")
            if text is None:
                path.unlink()
            else:
                path.write_text(text, "utf-8")
        git(self.there, "add", "-A")
        git(self.there, "commit", "-q", "-m", "readme")
        git(self.there, "push", "-q", "origin", self.branch)

    def sync(self) -> list[str]:
        """Sync, and return the notes on files that stay."""
        return list(ok("sync", "--json", cwd=self.cwd).json["notes"])

    def assert_goes_on(self) -> None:
        """Check that lore still goes out and comes in, by one more sync each."""
        record(self.cwd, COLOUR)
        assert ok("sync", "--json", cwd=self.cwd).json["pushed"] == 1
        self.push(note_txt="more\n")
        ok("sync", cwd=self.cwd)
        assert (self.root / "note.txt").read_text() == "more\n"
        git(self.root, "fetch", "-q", "origin", self.branch)
        assert git(self.root, "rev-parse", "HEAD") == git(self.root, "rev-parse", "FETCH_HEAD")

    @property
    def readme(self) -> Path:
        return self.root / "README.md"

    def status(self) -> set[str]:
        return set(git(self.root, "status", "--porcelain", "-uall").splitlines())


def _make(placement: str, folder: Path) -> None:
    Here(folder, placement)


@pytest.fixture(params=["branch", pytest.param("dedicated", marks=pytest.mark.slow)])
def here(tmp_path: Path, request: pytest.FixtureRequest) -> Here:
    prepared.copy(f"here {request.param}", tmp_path, partial(_make, request.param))
    return Here.again(tmp_path, request.param)


@pytest.fixture(params=["branch", pytest.param("dedicated", marks=pytest.mark.slow)])
def shared(tmp_path: Path, request: pytest.FixtureRequest) -> Here:
    """The README is committed on both sides."""

    def make(folder: Path) -> None:
        made = Here(folder, request.param)
        made.push(README_md=OLD)
        assert made.sync() == []
        assert made.readme.read_text() == OLD

    prepared.copy(f"shared {request.param}", tmp_path, make)
    return Here.again(tmp_path, request.param)


def test_an_untracked_readme_stays_and_the_remotes_version_is_written_next_to_it(here: Here) -> None:
    here.readme.write_text("Mine.\n", "utf-8")
    here.push(README_md=OLD)
    name = other_version_path("README.md", OLD.encode())
    (note,) = here.sync()
    assert name in note
    assert here.readme.read_text() == "Mine.\n"
    assert (here.root / name).read_text() == OLD
    assert git(here.root, "show", "HEAD:README.md") == OLD.strip()
    here.assert_goes_on()
    assert here.readme.read_text() == "Mine.\n"
    findings = ok("doctor", "--json", cwd=here.cwd).json["findings"]
    assert [one["where"] for one in findings if one["kind"] == "conflict"] == [name]
    assert "README.md" in next(one["hint"] for one in findings if one["kind"] == "conflict")


def test_an_untracked_readme_equal_to_the_remotes_becomes_tracked(here: Here) -> None:
    here.readme.write_text(OLD, "utf-8")
    here.push(README_md=OLD)
    assert here.sync() == []
    assert here.status() == set()


def test_the_remotes_changes_are_merged_into_an_edited_readme_that_stays_uncommitted(shared: Here) -> None:
    shared.readme.write_text(APART, "utf-8")
    shared.push(README_md=THEIRS)
    (note,) = shared.sync()
    assert "merged into it" in note
    both = APART.replace("Ask Ada.", "Ask Grace.")
    assert shared.readme.read_text() == both
    assert git(shared.root, "show", "HEAD:README.md") == THEIRS.strip()
    assert shared.status() == {" M README.md"}
    shared.assert_goes_on()
    assert shared.readme.read_text() == both


def test_an_edited_readme_that_the_remote_changed_at_the_same_place_stays_as_it_is(shared: Here) -> None:
    shared.readme.write_text(AGAINST, "utf-8")
    shared.push(README_md=THEIRS)
    shared.sync()
    assert shared.readme.read_text() == AGAINST
    assert (shared.root / other_version_path("README.md", THEIRS.encode())).read_text() == THEIRS
    shared.assert_goes_on()
    assert shared.readme.read_text() == AGAINST
    git(shared.root, "commit", "-q", "-m", "readme", "README.md")
    ok("sync", cwd=shared.cwd)
    git(shared.there, "pull", "-q", "--ff-only", "origin", shared.branch)
    assert (shared.there / "README.md").read_text() == AGAINST


def test_an_edited_readme_that_the_remote_deleted_stays(shared: Here) -> None:
    shared.readme.write_text(AGAINST, "utf-8")
    shared.push(README_md=None)
    (note,) = shared.sync()
    assert "deleted by the remote" in note
    assert shared.readme.read_text() == AGAINST
    assert shared.status() == {"?? README.md"}
    shared.assert_goes_on()


def test_a_readme_deleted_here_and_not_committed_comes_back_when_the_remote_changes_it(shared: Here) -> None:
    shared.readme.unlink()
    shared.push(README_md=THEIRS)
    assert shared.sync() == []
    assert shared.readme.read_text() == THEIRS


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_folder_or_link_in_the_place_of_an_incoming_file_stays(
    here: Here, kind: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("Mine.\n", "utf-8")
    if kind == "folder":
        here.readme.mkdir()
        (here.readme / "mine.txt").write_text("Mine.\n", "utf-8")
    else:
        here.readme.symlink_to(outside)
    here.push(README_md=OLD)
    (note,) = here.sync()
    assert "git show HEAD:README.md" in note
    assert (here.readme / "mine.txt" if kind == "folder" else here.readme).read_text() == "Mine.\n"
    assert here.readme.is_symlink() == (kind == "link")
    here.assert_goes_on()


def test_a_file_where_the_remote_has_a_folder_and_a_link_to_a_folder_stay(here: Here, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (here.root / "one").write_text("Mine.\n", "utf-8")
    (here.root / "two").symlink_to(tmp_path / "outside")
    for name in ("one", "two"):
        (here.there / name).mkdir()
        (here.there / name / "page.txt").write_text("Theirs.\n", "utf-8")
    here.push(note_txt="first\n")
    assert len(here.sync()) == 2
    assert (here.root / "one").read_text() == "Mine.\n"
    assert list((tmp_path / "outside").iterdir()) == []
    here.assert_goes_on()


def test_an_uncommitted_picture_in_the_lore_folder_stays(here: Here) -> None:
    picture, mine, theirs = "lore/picture.png", b"\x89PNG\xff mine", b"\x89PNG\xff theirs"
    (here.root / picture).write_bytes(mine)
    (here.there / picture).write_bytes(theirs)
    here.push(note_txt="first\n")
    here.sync()
    assert (here.root / picture).read_bytes() == mine
    assert (here.root / other_version_path(picture, theirs)).read_bytes() == theirs
    here.assert_goes_on()


def test_an_edited_readme_does_not_stop_a_merge_of_both_sides(shared: Here) -> None:
    shared.readme.write_text(AGAINST, "utf-8")
    record(shared.cwd, TIDES)
    shared.push(README_md=THEIRS)
    done = ok("sync", "--json", cwd=shared.cwd).json
    assert (done["pushed"], len(done["notes"]), done["errors"]) == (1, 1, [])
    assert shared.readme.read_text() == AGAINST
    shared.assert_goes_on()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_killed_sync_keeps_uncommitted_local_changes(tmp_path: Path, part: int) -> None:
    total = prepared.copy("a sync to be killed", tmp_path, _make_scene)
    folder = tmp_path / "scene"
    for step in range(part + 1, total, PARTS) if is_thorough() else [total * (part + 1) // (PARTS + 1)]:
        root = copy_clones(folder, tmp_path / f"killed-at-{step}") / "a"
        killed = run(KILLED_SYNC, root, step)
        assert killed.returncode in (-signal.SIGKILL, 0), killed.stderr.decode()
        cli("sync", cwd=root)  # may fail while the killed one's fetch still holds the remote-tracking branch
        ok("sync", cwd=root)
        assert (root / "README.md").read_text() == APART.replace("Ask Ada.", "Ask Grace."), step
        assert (root / "note.txt").read_text() == "Mine.\n"
        assert (root / other_version_path("note.txt", b"Theirs.\n")).read_text() == "Theirs.\n"
        assert git(root, "rev-parse", "HEAD") == git(root.parent / "hub.git", "rev-parse", "main")
        assert git(root, "show", "HEAD:note.txt") == "Theirs."
        assert git(root, "status", "--porcelain", "lore") == ""


def _make_scene(folder: Path) -> int:
    """Return clones with changes on both sides, and the number of points at which their sync can be killed."""
    scene = folder / "scene"
    here = Here(scene, "dedicated")
    here.push(README_md=OLD)
    here.sync()
    here.readme.write_text(APART, "utf-8")
    (here.root / "note.txt").write_text("Mine.\n", "utf-8")
    record(here.cwd, TIDES)
    here.push(README_md=THEIRS, note_txt="Theirs.\n")
    return int(run(KILLED_SYNC, copy_clones(scene, folder / "whole") / "a", 0).stdout.split()[0])
