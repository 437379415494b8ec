"""Three real clones do random things and sync in any order; in the end all have the same bytes and every vote counts once."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from apikit import git
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from sync_kit import SOON, Clones, commit

from engram.domain.errors import NotFoundError
from engram.usecases.sync import sync
from engram.usecases.sync_settle import bring_in, settle

NAMES = "abc"
CLONE = st.sampled_from(NAMES)
NUMBER = st.integers(0, 3)


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

    def known(self, clone: str, number: int) -> str:
        """A lore that a clone has; "" where it has not."""
        lore = self.lore[number % len(self.lore)]
        try:
            self.clones[clone].get(lore)
        except NotFoundError:
            return ""
        return lore

    @rule(clone=CLONE)
    def record(self, clone: str) -> None:
        self.lore.append(self.clones.record(clone, f"Lesson {len(self.lore)}.\n\nMore.\n\nEnd.").id)

    @rule(clone=CLONE, number=NUMBER)
    def mark_helpful(self, clone: str, number: int) -> None:
        lore = self.known(clone, number)
        if lore:
            self.clones.clock.advance(seconds=1)
            self.clones[clone].feedback(helpful=[lore], again=True)
            self.helpful[lore] = self.helpful.get(lore, 0) + 1

    @rule(clone=CLONE, number=NUMBER, line=st.integers(0, 2))
    def edit_by_hand(self, clone: str, number: int, line: int) -> None:
        lore = self.known(clone, number)
        if not lore:
            return
        self.clones.clock.advance(seconds=1)
        word = f"word{len(self.words)}"
        file = self.clones.root(clone) / self.clones[clone].get(lore).path
        head, _, body = file.read_text("utf-8").rpartition("---\n")
        paragraphs = body.split("\n\n")
        paragraphs[line % len(paragraphs)] += f" {word}"
        file.write_text(f"{head}---\n" + "\n\n".join(paragraphs), "utf-8")
        self.words.append((lore, word))

    @rule(clone=CLONE, number=NUMBER)
    def forget(self, clone: str, number: int) -> None:
        lore = self.known(clone, number)
        if lore:
            self.clones[clone].forget(lore)
            self.deleted.add(lore)

    @rule(clone=CLONE)
    def sync(self, clone: str) -> None:
        assert sync(self.clones[clone].store, SOON).errors == ()

    @rule(clone=CLONE)
    def pull_only(self, clone: str) -> None:
        sync(self.clones[clone].store, SOON._replace(push=False))

    @rule(pair=st.sampled_from(("ab", "bc", "ca")))
    def cross(self, pair: str) -> None:
        """Both take in the other's head at the same moment, without the remote."""
        heads = {}
        for name in pair:
            settle(self.clones[name].store)
            commit(self.clones[name])
            heads[name] = git(self.clones.root(name), "rev-parse", "HEAD")
        for mine, other in (pair, pair[::-1]):
            git(self.clones.root(mine), "fetch", "-q", str(self.clones.root(other)), heads[other])
        for mine, other in (pair, pair[::-1]):
            bring_in(self.clones[mine].store, heads[other])

    def teardown(self) -> None:
        try:
            self.clones.settle()
            self.clones.sync(*NAMES)
            self.clones.assert_equal()
            self.check()
        finally:
            for name in NAMES:
                self.clones[name].store.close()
            shutil.rmtree(self.folder)

    def check(self) -> None:
        """Every vote is counted once, and every lore and word is there or was deleted by somebody."""
        found = {shown.lore.id: shown.lore for shown in self.clones["a"].list(limit=None).lore}
        for lore in self.lore:
            if lore not in found:
                assert lore in self.deleted
            elif lore not in self.deleted:
                assert found[lore].validation_count == self.helpful.get(lore, 0)
        for lore, word in self.words:
            if lore in found and lore not in self.deleted:
                texts = [found[lore].content, *(entry.value for entry in found[lore].conflicts)]
                assert any(word in text for text in texts), (lore, word)


@pytest.mark.slow
def test_all_clones_end_with_the_same_bytes_whatever_happened() -> None:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    thorough = (
        settings.default is not None and settings.default.max_examples > 1000
    )  # --hypothesis-profile thorough
    count, steps = (200, 25) if thorough else (3, 12)
    chosen = settings(
        max_examples=count, stateful_step_count=steps, deadline=None, suppress_health_check=checks
    )
    run_state_machine_as_test(Histories, settings=chosen)
