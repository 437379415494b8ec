"""Moving a store between placements: nothing is lost, history is kept, and a kill at any point is harmless."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import prepared
import pytest
from apikit import QUEUE, SECRET, TIDES, cli, dedicated, git, lore_files, make_plain_store, ok, repository
from effort import is_thorough

import engram
from engram.adapters.git.run import layout
from engram.adapters.git.write import hidden_tree, ledger_branch
from engram.domain.judgements import ledger
from engram.domain.judgements.ledger import CONFIRMED, Judgement
from engram.usecases.opening.init import init
from engram.usecases.placement import move as moving
from engram.usecases.placement import move_source

if TYPE_CHECKING:
    from collections.abc import Callable

BRANCH = "engram/lore"
MORE = "Deploys run from the release branch only, never from main."


def hidden(root: Path) -> Path:
    return root / ".git/engram/worktree"


def record(root: Path, text: str, *where: str) -> str:
    return str(ok(*where, "record", text, "-c", "fact", "--json", cwd=root).json["lore"]["id"])


def subjects(root: Path, ref: str = "HEAD") -> list[str]:
    return git(root, "log", "--format=%s", ref).splitlines()


def contents(root: Path) -> dict[str, bytes]:
    """Every entry's file of a store."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in lore_files(root)}


def used(root: Path, *where: str) -> None:
    """Two entries, one of which was recalled and judged."""
    record(root, QUEUE, *where)
    record(root, TIDES, *where)
    ok(*where, "query", "queue consumer", cwd=root)
    ok(*where, "feedback", "--helpful", "L1", cwd=root)


def private(root: Path, *where: str) -> tuple[object, ...]:
    """What only this clone knows of a store."""
    status = ok(*where, "status", "--json", cwd=root).json
    session = ok(*where, "session", "--json", cwd=root).json
    judged = ok(*where, "show", "L1", "--json", cwd=root).json
    return status["store"]["source"], session, status["lore_count"], judged["lore"]["votes"]


def make(folder: Path, placement: str) -> None:
    """A code repository, and beside or in it a store that was used."""
    code, own = repository(folder / "code"), folder / "own"
    if placement == "dedicated":
        dedicated(own)
    else:
        init(str(code), placement=placement)
    used(code, *(("--store", str(own)) if placement == "dedicated" else ()))
    if placement == "in-tree":
        git(code, "add", ".")
        git(code, "commit", "-q", "-m", "lore and code")


class Case:
    """A store with a history in one placement, and the code repository beside it."""

    def __init__(self, folder: Path, placement: str) -> None:
        self.placement = placement
        prepared.copy(f"to be moved from {placement}", folder, lambda place: make(place, placement))
        self.code, self.own = folder / "code", folder / "own"
        self.named = ("--store", str(self.own)) if placement == "dedicated" else ()
        self.root = {"dedicated": self.own, "branch": hidden(self.code), "in-tree": self.code}[placement]
        for place in {self.code, self.root}:
            git(place, "update-index", "--refresh")

    def target(self, to: str) -> Path:
        new = self.code.parent / "new"
        return {"dedicated": new, "branch": hidden(self.code), "in-tree": self.code}[to]

    def words(self, to: str) -> tuple[str, ...]:
        path = (str(self.target(to)),) if to == "dedicated" else ()
        return (*self.named, "move", "--to", to, *path)


WAYS = [
    (start, to)
    for start in ("branch", "dedicated", "in-tree")
    for to in ("branch", "dedicated", "in-tree")
    if start != to
]


SLOW_WAYS = {("dedicated", "branch"), ("dedicated", "in-tree"), ("in-tree", "dedicated")}


@pytest.mark.parametrize(
    ("start", "to"), [pytest.param(*way, marks=pytest.mark.slow if way in SLOW_WAYS else ()) for way in WAYS]
)
def test_everything_is_moved(tmp_path: Path, start: str, to: str) -> None:
    case = Case(tmp_path, start)
    before, known, end = contents(case.root), private(case.code, *case.named), case.target(to)
    code = [line for line in git(case.code, "for-each-ref").splitlines() if BRANCH not in line]
    history = subjects(case.root)
    planned = ok(*case.words(to), "--dry-run", "--json", cwd=case.code).json
    assert contents(case.root) == before
    done = ok(*case.words(to), "--json", cwd=case.code).json
    assert done == {**planned, "dry_run": False}
    assert (done["from"]["path"], done["to"]["path"], done["lore_count"]) == (str(case.root), str(end), 2)
    assert contents(end) == before
    where = ("--store", str(end)) if to == "dedicated" else ()
    assert private(case.code, *where) == known
    assert ok(*where, "doctor", cwd=case.code).out == "All is well.\n"
    assert [line for line in git(case.code, "for-each-ref").splitlines() if BRANCH not in line] == code
    if to == "in-tree":
        assert git(case.code, "status", "--porcelain").splitlines() == ["?? .engram.toml", "?? lore/"]
    else:
        moved = f"Move the store from {start} to {to}"
        assert subjects(end) == [moved, *(history if start != "in-tree" else ["lore and code"])]
        assert git(end, "status", "--porcelain") == ""
    record(case.code, MORE, *where)
    assert ok(*where, "query", "release branch", "--json", cwd=case.code).json["lore"]
    check_old_place(case, known[0])


def check_old_place(case: Case, source: object) -> None:
    """The place that was left is a store no more, and its history is there."""
    if case.placement == "branch":
        assert subjects(case.code, BRANCH)[-1] == "Start an Engram store"
        assert len(git(case.code, "worktree", "list").splitlines()) == 1
        assert not hidden(case.code).exists()
    elif case.placement == "dedicated":
        assert subjects(case.own)[-1] == "Start an Engram store"
        used_again = ok(*case.named, "status", "--json", cwd=case.code).json
        assert used_again["store"]["source"] != source, "used again, it must not vote as the moved one"
    else:
        assert {line[:3] for line in git(case.code, "status", "--porcelain").splitlines()} == {" D "}
        assert not (case.code / "lore").exists()
        git(case.code, "commit", "-q", "-a", "-m", "lore has moved")
        assert git(case.code, "ls-files") == "src/main.py"


def test_the_history_of_the_lore_folder_is_extracted_from_that_of_the_code(tmp_path: Path) -> None:
    root = repository(tmp_path / "code")
    make_plain_store(
        root / "docs", '[store]\nplacement = "in-tree"\nfolder = "notes/lore"\n\n[recall]\nlimit = 7\n'
    )
    lore = record(root / "docs", QUEUE)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first lore", "--author=Ada <ada@example.org>")
    (root / "src/main.py").write_text("code only\n", "utf-8")
    git(root, "commit", "-q", "-am", "code only")
    git(root, "checkout", "-q", "-b", "side")
    record(root / "docs", TIDES)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "a second, with «letters»\n\nand a body")
    git(root, "checkout", "-q", "main")
    record(root / "docs", MORE)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "a third")
    git(root, "merge", "-q", "--no-edit", "side")
    loose = record(root / "docs", "What nobody committed comes along as well.")
    before = contents_of(root / "docs/notes")
    done = ok("move", "--to", "branch", "--json", cwd=root / "docs").json
    assert (done["lore_count"], done["commits"]) == (4, 4)
    log = git(root, "log", "--topo-order", "--format=%an|%s|%b", BRANCH).splitlines()
    assert "Ada|first lore|" in log
    assert "Engram Test|a second, with «letters»|and a body" in log
    assert not any("code only" in line for line in log)
    assert git(root, "log", "-1", "--format=%P", f"{BRANCH}~1").count(" ") == 1, "the merge is one still"
    assert git(root, "ls-tree", "--name-only", BRANCH).split() == [".engram.toml", ".gitattributes", "notes"]
    assert contents_of(hidden(root) / "notes") == before
    assert loose in git(root, "show", "--stat", "--stat-width=200", BRANCH)
    assert "limit = 7" in (hidden(root) / ".engram.toml").read_text("utf-8")
    assert ok("log", lore, "--json", cwd=root).json["history"][-1]["subject"] == "first lore"
    git(root, "fsck", "--strict", "--no-dangling")


def contents_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.md")}


def test_a_store_that_was_never_committed_can_be_moved(tmp_path: Path) -> None:
    root = repository(tmp_path / "code")
    init(str(root), placement="in-tree")
    used(root)
    (root / ".gitignore").write_text("lore/\n", "utf-8")
    before = contents(root)
    ok("move", "--to", "branch", cwd=root)
    assert contents(hidden(root)) == before
    assert subjects(root, BRANCH) == ["Move the store from in-tree to branch"]
    assert git(root, "status", "--porcelain").splitlines() == ["?? .gitignore"]


@pytest.mark.parametrize(
    ("start", "to"), [pytest.param(*way, marks=pytest.mark.slow if way in SLOW_WAYS else ()) for way in WAYS]
)
def test_judgements_of_others_are_moved(tmp_path: Path, start: str, to: str) -> None:
    case = Case(tmp_path, start)
    [entry] = [
        one["id"] for one in ok(*case.named, "list", "--json", cwd=case.code).json["lore"] if one["votes"]
    ]
    other = Judgement("01KJPY44E039MMV97SZGY6V9EZ", entry, CONFIRMED, source="01KJPY44E039MMV97SZGY6V9E0")
    path = ledger.path_of(other.source, other.id)
    repo = layout.repository_at(str(case.root))
    assert repo is not None
    tip = ledger_branch.write(repo, None, {path: ledger.render(other)}, "O <o@o>", 1, "Add judgements")
    assert ledger_branch.move(repo, ledger_branch.BRANCH, None, tip)
    shown = ok(*case.named, "show", entry, "--json", cwd=case.code).json["lore"]
    assert (shown["confidence"], shown["validation_count"]) == (0.88, 1)
    ok(*case.words(to), cwd=case.code)
    where = ("--store", str(case.target(to))) if to == "dedicated" else ()
    moved = ok(*where, "show", entry, "--json", cwd=case.code).json["lore"]
    assert moved["votes"] == shown["votes"]


def test_judgements_made_after_a_kill_are_moved(tmp_path: Path) -> None:
    case = Case(tmp_path, "in-tree")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moving.source, "remove_left", die)
        with pytest.raises(KilledError):
            cli(*case.words("dedicated"), cwd=case.code)
    ok("feedback", "--incorrect", "L1", cwd=case.code)
    ok(*case.words("dedicated"), cwd=case.code)
    moved = ok("--store", str(case.target("dedicated")), "show", "L1", "--json", cwd=case.code).json["lore"]
    assert (moved["confidence"], moved["validation_count"]) == (0.63, 1)


@pytest.mark.slow
def test_undo_works_across_a_move(tmp_path: Path) -> None:
    case = Case(tmp_path, "branch")
    ok(*case.words("dedicated"), cwd=case.code)
    end = case.target("dedicated")
    assert "feedback: helpful" in ok("undo", cwd=end).out


def test_a_program_moves_a_store_and_opens_it_again(tmp_path: Path) -> None:
    case = Case(tmp_path, "branch")
    with engram.open(case.code) as store:
        assert store.move("dedicated", str(tmp_path / "new"), dry_run=True).commits == 3
        lore = store.record(MORE, category="FACT", key="k").lore
        cursor = store.delta().cursor
        found = store.move("dedicated", str(tmp_path / "new"))
    with engram.open(found.end.path) as store:
        assert store.get(lore.id).lore == lore
        assert store.record(MORE, category="FACT", key="k").lore == lore
        assert store.delta(cursor)[:3] == ((), (), ())


# --- what is in the way


def refused(*words: str, cwd: Path, code: int = 1) -> str:
    done = cli(*words, cwd=cwd)
    assert done.code == code, done
    assert "\n  " in done.err, "no hint"
    return done.err


def _uncommitted(case: Case) -> None:
    (case.root / "notes.txt").write_text("not lore", "utf-8")


def _rebase(case: Case) -> None:
    git_dir = git(case.root, "rev-parse", "--absolute-git-dir")
    Path(git_dir, "MERGE_HEAD").write_text(git(case.root, "rev-parse", "HEAD") + "\n")


def _secret(case: Case) -> None:
    file = lore_files(case.root)[0]
    file.write_text(file.read_text("utf-8") + f"\n{SECRET}\n", "utf-8")


def _unmerged(case: Case) -> None:
    path = lore_files(case.root)[0]
    oid = git(case.root, "hash-object", str(path))
    name = path.relative_to(case.root).as_posix()
    lines = "".join(f"100644 {oid} {stage}\t{name}\n" for stage in (1, 2, 3))
    git(case.root, "update-index", "--force-remove", name)
    subprocess.run(["git", "update-index", "--index-info"], cwd=case.root, input=lines.encode(), check=True)


@pytest.mark.parametrize(
    ("start", "to", "spoil", "why"),
    [
        ("branch", "dedicated", _uncommitted, "notes.txt"),
        ("branch", "in-tree", _rebase, "merge is under way"),
        ("in-tree", "branch", _rebase, "merge is under way"),
        ("in-tree", "branch", _unmerged, "not merged"),
        ("in-tree", "dedicated", _secret, "secret"),
        pytest.param("branch", "dedicated", _secret, "not committed", marks=pytest.mark.slow),
    ],
)
def test_files_that_cannot_be_moved_as_they_are_stop_the_move(
    tmp_path: Path, start: str, to: str, spoil: Callable[[Case], None], why: str
) -> None:
    case = Case(tmp_path, start)
    spoil(case)
    before, refs = contents(case.root), git(case.code, "for-each-ref", "refs/heads")
    assert why in refused(*case.words(to), cwd=case.code)
    assert contents(case.root) == before
    assert git(case.code, "for-each-ref", "refs/heads") == refs
    assert not case.target(to).exists() or to != "dedicated"
    assert ok(*case.named, "list", "--json", cwd=case.code).json["lore"]


def test_a_target_that_is_in_use_stops_the_move(tmp_path: Path) -> None:
    case = Case(tmp_path, "branch")
    (tmp_path / "full/x").mkdir(parents=True)
    assert "not an empty folder" in refused("move", "--to", "dedicated", "../full", cwd=case.code, code=2)
    assert "inside the repository" in refused("move", "--to", "dedicated", "inner", cwd=case.code, code=2)
    (case.code / "lore").mkdir()
    (case.code / "lore/mine.md").write_text("mine", "utf-8")
    assert "mine.md is in the way" in refused("move", "--to", "in-tree", cwd=case.code)
    make_plain_store(case.code / "sub")
    assert "is a store already" in refused("move", "--to", "in-tree", "sub", cwd=case.code)
    assert "placement branch already" in refused("move", "--to", "branch", cwd=case.code, code=2)
    shutil.rmtree(case.code / "lore")
    ok("move", "--to", "in-tree", cwd=case.code)
    said = refused("move", "--to", "branch", cwd=case.code)
    assert f"git branch -m {BRANCH}" in said, "what an earlier move left is not overwritten"


def test_a_remote_that_has_the_branch_stops_the_move(tmp_path: Path) -> None:
    case = Case(tmp_path, "in-tree")
    git(case.code, "update-ref", f"refs/remotes/origin/{BRANCH}", "HEAD")
    assert "`engram init` takes the branch" in refused("move", "--to", "branch", cwd=case.code)


def test_stores_without_git_and_the_personal_store_cannot_be_moved(tmp_path: Path) -> None:
    make_plain_store(tmp_path / "plain")
    assert "engram import" in refused("move", "--to", "dedicated", "../x", cwd=tmp_path / "plain")
    record(tmp_path, QUEUE)
    assert "cannot be moved" in refused("move", "--to", "dedicated", "x", cwd=tmp_path, code=2)
    dedicated(tmp_path / "own")
    assert "not in a code repository" in refused("move", "--to", "branch", cwd=tmp_path / "own", code=2)


# --- killed


class KilledError(BaseException):
    """What a kill looks like to this process: no `except` of Engram's sees it."""


def die(*_: object, **__: object) -> None:
    raise KilledError


STEPS: dict[str, tuple[Any, str]] = {
    "before the private state": (move_source, "carry_state"),
    "before the last rename": (os, "rename"),
    "before the hidden work tree is in place": (hidden_tree, "move_into_place"),
    "before the old place is given up": (moving.source, "remove_left"),
    "while it is given up": (move_source, "_delete"),
    "before the end": (moving.history_copy, "forget"),
}
KILLS = [(start, to, step) for start, to in WAYS for step in STEPS if "hidden" not in step or to == "branch"]
QUICK = {
    *zip(
        ("branch", "dedicated", "in-tree"),
        ("in-tree", "branch", "dedicated"),
        [list(STEPS)[at] for at in (1, 2, 4)],
        strict=True,
    )
}
# Every day each way and each step, and twice what differs by the way; all of them together with --thorough.
KILLS = [kill for at, kill in enumerate(KILLS) if is_thorough() or kill in QUICK or at % 4 == 1]
KILLS_MARKED = [pytest.param(*kill, marks=() if kill in QUICK else pytest.mark.slow) for kill in KILLS]


@pytest.mark.parametrize(("start", "to", "step"), KILLS_MARKED)
def test_a_kill_leaves_a_whole_store_and_the_same_command_finishes_the_move(
    tmp_path: Path, start: str, to: str, step: str
) -> None:
    case = Case(tmp_path, start)
    before, known = contents(case.root), private(case.code, *case.named)
    module, name = STEPS[step]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, die)
        if step == "before the last rename" and to == "in-tree":  # the settings are the last file there
            patch.setattr(move_source, "config_for", die)
        with pytest.raises(KilledError):
            cli(*case.words(to), cwd=case.code)
    where = ("--store", str(case.target(to))) if to == "dedicated" else ()
    places = [place for place in (case.root, case.target(to)) if (place / ".engram.toml").exists()]
    assert any(contents(place) == before for place in places), "neither place is whole"
    again = cli(*case.words(to), cwd=case.code)
    if again.code:  # all was done but for what nobody sees
        assert step == "before the end", again
    assert contents(case.target(to)) == before
    assert private(case.code, *where) == known
    assert ok(*where, "doctor", cwd=case.code).out == "All is well.\n"
    assert not hidden(case.code).exists() or to == "branch"


def test_files_written_after_a_kill_are_not_deleted(tmp_path: Path) -> None:
    case = Case(tmp_path, "in-tree")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moving.source, "remove_left", die)
        with pytest.raises(KilledError):
            cli(*case.words("branch"), cwd=case.code)
    late = record(case.code, MORE)
    assert "was changed after" in refused(*case.words("branch"), cwd=case.code)
    assert [path.name[-29:-3] for path in lore_files(case.code)] == [late]
    assert (case.code / ".engram.toml").exists()
