"""Three real clones, a bare remote and a host do random things; in the end all have the same bytes and every vote once.

Real git all the way: hand edits as editors make them, renames, deletions, squash merges, cherry-picks, work on a topic
branch, clocks a day apart, syncs that are killed, plain `git pull`, and a host that merges without our driver.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from apikit import cli, git
from effort import examples, sampled
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from storekit import commit, run
from sync_kit import KILLED_SYNC, SOON, Clones, ManyClock

from engram.domain.errors import NotFoundError
from engram.usecases.recording.edit import Edit
from engram.usecases.sync.incoming import merge_incoming
from engram.usecases.sync.local_changes import commit_local_changes
from engram.usecases.sync.sync import sync

NAMES = "abc"
SKEWS = {"a": timedelta(), "b": timedelta(days=1), "c": timedelta(days=-1)}
PARTS = examples(3, 20)  # so that several processes share the work
CLONE = st.sampled_from(NAMES)
NUMBER = st.integers(0, 3)


class SkewedClock(ManyClock):
    """The common clock as a machine shows it whose own is wrong by a day."""

    def __init__(self, common: ManyClock, skew: timedelta) -> None:
        self.common, self.skew = common, skew

    def nanoseconds(self) -> int:
        return self.common.nanoseconds() + int(self.skew.total_seconds()) * 1_000_000_000

    def new_id(self) -> str:
        return self.common.new_id(self.nanoseconds())


class Histories(RuleBasedStateMachine):
    """What people and agents do in clones of one store."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="histories-"))
        self.clones = Clones(self.folder, NAMES)
        self.lore = [
            self.clones.record("a", f"Lesson {n}.\n\nMore of {n}.\n\nThe end of {n}.").id for n in range(2)
        ]
        self.helpful: dict[str, int] = {}
        self.deleted: set[str] = set()
        self.words: list[tuple[str, str]] = []
        self.clones.settle()
        git(self.folder, "clone", "-q", str(self.clones.hub), str(self.folder / "host"))
        for name in NAMES:
            self.clones[name].store.clock = SkewedClock(self.clones.clock, SKEWS[name])

    def root(self, clone: str) -> Path:
        return self.clones.root(clone)

    def known(self, clone: str, number: int) -> str:
        """An entry that a clone has; "" if it has none."""
        lore = self.lore[number % len(self.lore)]
        try:
            self.clones[clone].get(lore)
        except NotFoundError:
            return ""
        return lore

    def is_home(self, clone: str) -> bool:
        return git(self.root(clone), "branch", "--show-current") == "main"

    def settled(self, clone: str) -> Path:
        """Everything in a clone is committed, so that git will work in it; its folder."""
        self.clones.clock.advance(seconds=1)
        commit_local_changes(self.clones[clone].store)
        commit(self.clones[clone])
        return self.root(clone)

    def word(self, lore: str) -> str:
        self.words.append((lore, f"word{len(self.words)}w"))
        return self.words[-1][1]

    # What people and agents do to lore.

    @rule(clone=CLONE)
    def record(self, clone: str) -> None:
        number = len(self.lore)
        text = f"Lesson {number}.\n\nMore of {number}.\n\nThe end of {number}."
        self.lore.append(self.clones.record(clone, text).id)

    @rule(clone=CLONE, number=NUMBER)
    def record_what_others_know(self, clone: str, number: int) -> None:
        """The text that another entry began with: sooner or later the two are folded."""
        number %= len(self.lore)
        text = f"Lesson {number}.\n\nMore of {number}.\n\nThe end of {number}."
        self.lore.append(self.clones.record(clone, text).id)

    @rule(clone=CLONE, number=NUMBER)
    def mark_helpful(self, clone: str, number: int) -> None:
        lore = self.known(clone, number)
        if lore:
            self.clones.clock.advance(seconds=1)
            self.clones[clone].feedback(helpful=[lore], again=True)
            self.helpful[lore] = self.helpful.get(lore, 0) + 1

    @rule(clone=CLONE, number=NUMBER, tag=st.integers(0, 3))
    def edit_a_field(self, clone: str, number: int, tag: int) -> None:
        lore = self.known(clone, number)
        if lore:
            self.clones.clock.advance(seconds=1)
            self.clones[clone].edit(lore, Edit(add_tags=(f"tag{tag}",), pinned=tag == 0))

    @rule(clone=CLONE, number=NUMBER)
    def rewrite_the_first_sentence(self, clone: str, number: int) -> None:
        lore = self.known(clone, number)
        if lore:
            self.clones.clock.advance(seconds=1)
            before = self.clones[clone].get(lore).lore.content
            first, gap, rest = before.partition("\n\n")
            self.clones[clone].edit(lore, Edit(content=f"{first} {self.word(lore)}{gap}{rest}"))

    @rule(clone=CLONE, number=NUMBER, line=st.integers(0, 2))
    def edit_by_hand(self, clone: str, number: int, line: int) -> None:
        """In an editor, which writes a new file beside the old one and moves it over that."""
        lore = self.known(clone, number)
        if not lore:
            return
        self.clones.clock.advance(seconds=1)
        file = self.root(clone) / self.clones[clone].get(lore).path
        head, _, body = file.read_text("utf-8").rpartition("---\n")
        paragraphs = body.split("\n\n")
        at = line % len(paragraphs)
        paragraphs[at] = f"{paragraphs[at].rstrip()} {self.word(lore)}" + "\n" * (at == len(paragraphs) - 1)
        beside = file.with_suffix(".swp")
        beside.write_text(f"{head}---\n" + "\n\n".join(paragraphs), "utf-8")
        os.replace(beside, file)

    @rule(clone=CLONE, number=NUMBER, to=st.integers(0, 2))
    def rename(self, clone: str, number: int, to: int) -> None:
        lore = self.known(clone, number)
        if lore:
            file = self.root(clone) / self.clones[clone].get(lore).path
            target = self.root(clone) / f"lore/moved{to}/{lore[-6:]}.md"
            target.parent.mkdir(exist_ok=True)
            file.rename(target)

    @rule(clone=CLONE, number=NUMBER)
    def forget(self, clone: str, number: int) -> None:
        lore = self.known(clone, number)
        if lore:
            self.clones[clone].forget(lore)
            self.deleted.add(lore)

    # What they do to commits.

    @rule(clone=CLONE)
    def sync(self, clone: str) -> None:
        if self.is_home(clone):
            self.clones.clock.advance(seconds=1)
            assert sync(self.clones[clone].store, SOON).errors == ()

    @rule(clone=CLONE)
    def pull_only(self, clone: str) -> None:
        if self.is_home(clone):
            sync(self.clones[clone].store, SOON._replace(push=False))

    @rule(clone=CLONE, step=st.integers(1, 60))
    def sync_killed_at_some_step(self, clone: str, step: int) -> None:
        if self.is_home(clone):
            now = self.clones[clone].store.clock.nanoseconds()
            assert run(KILLED_SYNC, self.root(clone), step, now).returncode in (0, -9)

    @rule(clone=CLONE)
    def plain_git_pull(self, clone: str) -> None:
        if self.is_home(clone):
            self._merge(self.settled(clone), "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")

    @rule(clone=CLONE)
    def squash_the_remotes_branch(self, clone: str) -> None:
        root = self.settled(clone)
        git(root, "fetch", "-q", "origin")
        self._merge(root, "merge", "-q", "--squash", "origin/main")

    @rule(clone=CLONE, other=CLONE)
    def cherry_pick(self, clone: str, other: str) -> None:
        if clone == other:
            return
        theirs, root = self.settled(other), self.settled(clone)
        if len(git(theirs, "log", "-1", "--format=%P").split()) == 1:
            git(root, "fetch", "-q", str(theirs), "HEAD")
            self._merge(root, "cherry-pick", "FETCH_HEAD")

    @rule(clone=CLONE)
    def switch_branch(self, clone: str) -> None:
        """To a topic branch, or home."""
        self._go(clone, "topic" if self.is_home(clone) else "main")

    @rule(pair=st.sampled_from(("ab", "bc", "ca")))
    def cross(self, pair: str) -> None:
        """Both take in the other's head at the same moment, without the remote."""
        heads = {name: git(self.settled(name), "rev-parse", "HEAD") for name in pair}
        for mine, other in (pair, pair[::-1]):
            git(self.root(mine), "fetch", "-q", str(self.root(other)), heads[other])
        for mine, other in (pair, pair[::-1]):
            merge_incoming(self.clones[mine].store, heads[other])

    @rule(clone=CLONE, options=st.sampled_from([(), ("-X", "ours"), ("-X", "theirs")]))
    def merged_by_a_host(self, clone: str, options: tuple[str, ...]) -> None:
        """A host without our driver merges a clone's branch; where it cannot, markers are committed."""
        host = self.folder / "host"
        git(self.settled(clone), "push", "-q", "--force", "origin", "HEAD:refs/heads/request")
        git(host, "fetch", "-q", "origin")
        git(host, "reset", "-q", "--hard", "origin/main")
        quietly(host, "merge", "-q", "--no-edit", *options, "origin/request")
        git(host, "add", "-A")
        quietly(host, "commit", "-q", "-m", "Merge a request")
        git(host, "push", "-q", "origin", "HEAD:main")

    def _go(self, clone: str, branch: str) -> None:
        root = self.settled(clone)
        is_new = quietly(root, "rev-parse", "-q", "--verify", f"refs/heads/{branch}")
        git(root, "switch", "-q", *(["-c"] if is_new else []), branch)

    def _merge(self, root: Path, *words: str) -> None:
        """Let git merge by the driver; what git itself could not decide is put right as a person is told to."""
        failed = quietly(root, *words)
        if failed and git(root, "ls-files", "-u"):
            cli("doctor", "--fix", cwd=root)
            git(root, "add", "-A")
        quietly(root, "commit", "-q", "--no-edit", "-m", " ".join(words[:2]))
        for unfinished in ("cherry-pick", "merge"):
            quietly(root, unfinished, "--abort")  # of nothing, or of what was there already

    # What has to be true in the end.

    def teardown(self) -> None:
        if not hasattr(self, "words"):
            return
        try:
            for name in NAMES:
                self._go(name, "main")
                if not quietly(self.root(name), "rev-parse", "-q", "--verify", "refs/heads/topic"):
                    merge_incoming(self.clones[name].store, git(self.root(name), "rev-parse", "topic"))
            self.clones.settle()
            self.clones.sync(*NAMES)
            self.clones.assert_equal()
            self.check()
        finally:
            for name in NAMES:
                self.clones[name].store.close()
            shutil.rmtree(self.folder)

    def check(self) -> None:
        """Every vote is counted once, and every entry and word exists or was deleted by somebody."""
        listed = self.clones["a"].list(limit=None).lore
        found = {shown.lore.id: shown.lore for shown in listed}
        assert len(found) == len(listed)
        hosts = {
            gone: shown.id for shown in found.values() for gone in shown.merged_from if gone not in found
        }
        twins = self.twins()
        for lore in self.lore:
            assert lore in found or lore in self.deleted or lore in hosts
        for lore in found.values():
            parts = (lore.id, *lore.merged_from)
            if (
                lore.id not in twins
                and not self.deleted & {*parts}
                and not found.keys() & {*lore.merged_from}
            ):
                assert lore.validation_count == sum(self.helpful.get(part, 0) for part in parts)
        for lore, word in self.words:
            if lore in found and lore not in self.deleted:
                texts = [found[lore].content, *(entry.value for entry in found[lore].conflicts)]
                texts += twins.get(lore, ())
                assert any(word in text for text in texts), (lore, word)
            assert lore not in hosts or lore in self.deleted, "what only one of them said was folded away"

    def twins(self) -> dict[str, list[str]]:
        """The second files of lore, which a person is told of: a cherry-pick puts a file back from which it was moved.

        They might as well be copies that somebody made to write another entry, so nobody unites them unasked.
        """
        generation = self.clones["a"].store.index.look()
        assert generation is not None
        found: dict[str, list[str]] = {}
        for problem in generation.catalog.problems():
            if problem.message.startswith("another file already has the id "):
                text = (self.root("a") / problem.path).read_text("utf-8")
                found.setdefault(problem.message.rpartition(" ")[2], []).append(text)
        return found


def quietly(root: Path, *words: str) -> int:
    """Run git as a person would, whatever comes of it; the exit code."""
    return subprocess.run(["git", *words], cwd=root, capture_output=True, check=False).returncode


@pytest.mark.slow
@sampled("part", range(PARTS), examples(2, 20))
def test_all_clones_end_with_the_same_bytes_whatever_happened(part: int) -> None:
    machine = seed(part)(type("Histories", (Histories,), {}))
    chosen = settings(
        max_examples=examples(1, 16),
        stateful_step_count=examples(10, 12),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=chosen)


@pytest.mark.slow
def test_conflict_markers_left_by_hosts_in_one_version_do_not_reach_another() -> None:
    """A history that the search found: both sides of a merge had been merged by a host, one of them into markers."""
    state = Histories()
    state.begin()
    state.record_what_others_know(clone="a", number=0)
    state.sync(clone="b")
    state.record_what_others_know(clone="c", number=1)
    state.cherry_pick(clone="c", other="b")
    state.record_what_others_know(clone="c", number=0)
    state.edit_by_hand(clone="a", line=2, number=1)
    state.record_what_others_know(clone="b", number=1)
    state.merged_by_a_host(clone="c", options=("-X", "theirs"))
    state.merged_by_a_host(clone="b", options=())
    state.merged_by_a_host(clone="a", options=("-X", "theirs"))
    state.merged_by_a_host(clone="a", options=())
    state.teardown()
