"""Random histories over real git: whatever is done to the branch by hand, every line is there in the end."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pytest
from apikit import git
from effort import examples, is_thorough
from ledger_kit import BRANCH, REF, Judges, judge, lines_at, open_test_store, tree_of

from engram.usecases.judgements.commit_own import commit_own

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class History:
    """Three clones, their remote, and what can happen to them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.judges = Judges(folder, "abc")
        self.written: set[str] = set()
        self.did: list[str] = []

    def step(self) -> None:
        """Something happens, mostly what happens every day."""
        by_hand: list[Callable[[str], None]] = [
            self.squash, self.amend, self.merge_ours, self.set_back, self.delete, self.delete_at_remote,
            self.force_push, self.rebase, self.cherry_pick, self.revert, self.merge, self.copy,
        ]  # fmt: skip
        act = self.random.choices(
            [self.write, self.commit, self.exchange, self.random.choice(by_hand)], [4, 3, 3, 6]
        )[0]
        name = self.random.choice(list(self.judges.stores))
        self.did.append(f"{act.__name__} {name}")
        act(name)

    def write(self, name: str) -> None:
        self.written |= {one.id for one in judge(self.judges[name], self.random.randint(1, 3))}

    def commit(self, name: str) -> None:
        commit_own(self.judges[name])

    def exchange(self, name: str) -> None:
        self.judges.exchange(name)

    # By hand, with plain git

    def squash(self, name: str) -> None:
        if self.tip(name):
            self.point(name, git(self.root(name), "commit-tree", "-m", "all", f"{BRANCH}^{{tree}}"))

    def amend(self, name: str) -> None:
        parents = self.parents(name)
        if self.tip(name):
            words = [word for parent in parents for word in ("-p", parent)]
            self.point(
                name, git(self.root(name), "commit-tree", *words, "-m", "amended", f"{BRANCH}^{{tree}}")
            )

    def merge_ours(self, name: str) -> None:
        theirs = self.fetched(name)
        if theirs and self.tip(name):
            words = ("commit-tree", "-p", BRANCH, "-p", theirs, "-m", "ours", f"{BRANCH}^{{tree}}")
            self.point(name, git(self.root(name), *words))

    def set_back(self, name: str) -> None:
        if self.parents(name):
            self.point(name, self.random.choice(self.parents(name)))

    def delete(self, name: str) -> None:
        git(self.root(name), "update-ref", "-d", REF)

    def delete_at_remote(self, name: str) -> None:
        git(self.root(name), "push", "-q", "origin", "--delete", BRANCH, check=False)

    def force_push(self, name: str) -> None:
        if self.tip(name):
            git(self.root(name), "push", "-qf", "origin", BRANCH)

    def rebase(self, name: str) -> None:
        theirs = self.fetched(name)
        if theirs and self.tip(name):
            self.in_work_tree(name, ["rebase", "-q", theirs], ["rebase", "--abort"])

    def cherry_pick(self, name: str) -> None:
        """Begin anew from the remote's branch with our last commit alone."""
        theirs, tip = self.fetched(name), self.tip(name)
        side = ["-m1"] if len(self.parents(name)) > 1 else []
        if theirs and tip:
            self.point(name, theirs)
            self.in_work_tree(name, ["cherry-pick", *side, tip], ["cherry-pick", "--abort"])

    def revert(self, name: str) -> None:
        if self.parents(name):
            side = ["-m1"] if len(self.parents(name)) > 1 else []
            self.in_work_tree(name, ["revert", "--no-edit", *side, "HEAD"], ["revert", "--abort"])

    def merge(self, name: str) -> None:
        theirs = self.fetched(name)
        if theirs and self.tip(name):
            words = ["merge", "-q", "--no-edit", "--allow-unrelated-histories", theirs]
            self.in_work_tree(name, words, ["merge", "--abort"])

    def copy(self, name: str) -> None:
        """Copy a clone with its identity; both go on."""
        if "d" not in self.judges.stores:
            shutil.copytree(self.root(name), self.root("d"))
            self.judges.stores["d"] = open_test_store(self.root("d"), self.judges.clock)

    # What these use

    def root(self, name: str) -> Path:
        return self.judges.root(name)

    def tip(self, name: str) -> str:
        return git(self.root(name), "rev-parse", "-q", "--verify", REF, check=False)

    def parents(self, name: str) -> list[str]:
        return git(self.root(name), "rev-parse", f"{BRANCH}^@", check=False).split() if self.tip(name) else []

    def point(self, name: str, commit: str) -> None:
        git(self.root(name), "update-ref", REF, commit)

    def fetched(self, name: str) -> str:
        git(self.root(name), "fetch", "-q", "origin", f"+{REF}:refs/remotes/origin/{BRANCH}", check=False)
        return git(
            self.root(name), "rev-parse", "-q", "--verify", f"refs/remotes/origin/{BRANCH}", check=False
        )

    def in_work_tree(self, name: str, words: list[str], undo: list[str]) -> None:
        place = self.judges.folder / "by-hand"
        git(self.root(name), "worktree", "add", "-q", str(place), BRANCH)
        before = git(place, "rev-parse", "HEAD")
        git(place, *words, check=False)
        if git(place, "status", "--porcelain"):
            git(place, *undo, check=False)
        assert git(place, "rev-parse", "HEAD") != before or not git(place, "status", "--porcelain")
        git(self.root(name), "worktree", "remove", "--force", str(place))

    def check(self) -> None:
        """All clones and the remote agree, and nothing that was ever written is missing."""
        self.judges.settle()
        roots = [self.root(name) for name in self.judges.stores]
        assert len({tree_of(root) for root in (*roots, self.judges.hub)}) == 1, self.did
        assert lines_at(self.judges.hub).keys() == self.written, self.did
        for root in roots:
            assert git(root, "status", "--porcelain", "-uall") == ""
            assert git(root, "fsck", "--strict", "--no-progress", "--no-dangling") == ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(examples(2, 40)))
def test_no_line_is_lost_whatever_is_done_to_the_branch_by_hand(tmp_path: Path, seed: int) -> None:
    history = History(tmp_path / "scene", seed if is_thorough() else random.randrange(1_000_000))
    history.write("a")
    for _ in range(examples(14, 40)):
        history.step()
    history.check()
