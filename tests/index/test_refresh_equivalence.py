"""Refresh equals rebuild: after any changes of the files, the index equals a new one.

Real files, git and model. The state machines stop the clock while two indexes are compared, and let it
run ahead of the times of files now and then, because a file changed within the last two seconds is read again
in any case.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from effort import examples
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from storekit import (
    SECONDS,
    SteadyClock,
    answers,
    commit,
    contents,
    git,
    later_tick,
    open_test_store,
    reopen_rebuilt,
)

from engram.adapters.index import delta
from engram.usecases.index import freshness
from engram.usecases.index.file_scan import RACY_NS
from engram.usecases.index.refresh import refresh

if TYPE_CHECKING:
    from engram.app import Engram

WORDS = [
    "retry", "queue", "consumer", "broker", "timeout", "parser", "flaky", "cache", "session", "database",
    "index", "lock", "idempotent", "selectinload", "fixture", "branch", "merge", "token", "budget", "nothing",
]  # fmt: skip
SECRET = "AKIA" + "Z7QX2M4KPL9TRWVB"  # of no account; put together so that no scanner finds it here
BROKEN = {
    "not YAML": b"---\nid: [\n---\nbroken\n",
    "not UTF-8": b"\xff\xfe not text\n",
    "a category that does not exist": b"---\ncategory: NO_SUCH\n---\nretry\n",
    "empty": b"",
    "huge": b"x" * 300_000,
}
FOLDERS = ("lore", "lore/notes", "lore/2026/01/02", "lore/notes/deep")
NAMES = ("a.md", "b.md", "parser.md")

sentences = st.lists(st.sampled_from(WORDS), min_size=2, max_size=9).map(" ".join)
categories = st.sampled_from(["FACT", "PATTERN_OUTCOME", "FAILURE", "PLAN"])
tags = st.lists(st.sampled_from(["slow", "db", "ci"]), max_size=2, unique=True)
confidences = st.sampled_from([None, 0.4, 0.5, 0.75, 0.9])
numbers = st.integers(0, 1 << 16)


class FilesAndIndex(RuleBasedStateMachine):
    """Everything that may happen to a store's files, and an index that follows by refreshes."""

    cheap = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="equivalence-"))
        self.root = self.folder / "store"
        self.clock = SteadyClock()
        self.engram: Engram = open_test_store(self.root, self.clock)
        self.other: Engram | None = None
        self.compared = 0

    def teardown(self) -> None:
        self.compare()
        for engram in (self.engram, self.other):
            if engram is not None:
                engram.close()
        shutil.rmtree(self.folder)

    @initialize(texts=st.lists(sentences, min_size=2, max_size=5), category=categories)
    def begin(self, texts: list[str], category: str) -> None:
        for text in texts:
            self.engram.record(text, category=category)
        self.engram.refresh()

    # What Engram itself does

    @rule(text=sentences, category=categories, tags=tags, confidence=confidences)
    def record(self, text: str, category: str, tags: list[str], confidence: float | None) -> None:
        self.at_once().record(text, category=category, tags=tags, confidence=confidence)

    @rule(number=numbers, helpful=st.booleans())
    def judge(self, number: int, helpful: bool) -> None:
        lore_id = self.chosen_id(number)
        if lore_id and helpful:
            self.at_once().feedback(helpful=lore_id, again=True)
        elif lore_id:
            self.at_once().feedback(incorrect=lore_id, again=True)

    @rule(number=numbers)
    def forget(self, number: int) -> None:
        lore_id = self.chosen_id(number)
        if lore_id:
            self.at_once().forget(lore_id)

    # What people do to files

    @rule(number=numbers, text=sentences)
    def replace(self, number: int, text: str) -> None:
        path = self.chosen(number)
        if path:
            self.put(path, self.with_body(path, text), in_place=False)

    @rule(number=numbers, text=sentences, same_time=st.booleans())
    def edit_in_place(self, number: int, text: str, same_time: bool) -> None:
        path = self.chosen(number)
        if path and not self.cheap:
            self.put(path, self.with_body(path, text), in_place=True, same_time=same_time)

    @rule(number=numbers, in_place=st.booleans(), same_time=st.booleans())
    def edit_to_the_same_size(self, number: int, in_place: bool, same_time: bool) -> None:
        path = self.chosen(number)
        if path and not (self.cheap and in_place):
            raw = path.read_bytes()
            words = [word.encode() for word in WORDS if word.encode() in raw]
            if words:
                changed = raw.replace(words[0], words[0][::-1])
                self.put(path, changed, in_place=in_place, same_time=same_time)

    @rule(number=numbers, days=st.integers(0, 400))
    def touch(self, number: int, days: int) -> None:
        path = self.chosen(number)
        if path and not self.cheap:
            self.at_once()
            os.utime(path, ns=(1, 1_700_000_000 * SECONDS + days * 86_400 * SECONDS))

    @rule(folder=st.sampled_from(FOLDERS), name=st.sampled_from(NAMES), text=sentences)
    def drop_a_file(self, folder: str, name: str, text: str) -> None:
        self.put(self.root / folder / name, f"# {text}\n\nMore of it.\n".encode(), in_place=False)

    @rule(number=numbers, name=st.sampled_from(NAMES), folder=st.sampled_from(FOLDERS))
    def move(self, number: int, name: str, folder: str) -> None:
        path = self.chosen(number)
        if path:
            self.at_once()
            (self.root / folder).mkdir(parents=True, exist_ok=True)
            os.replace(path, self.root / folder / name)

    @rule(number=numbers, name=st.sampled_from(["0.md", "zz.md"]), folder=st.sampled_from(FOLDERS))
    def copy(self, number: int, name: str, folder: str) -> None:
        path = self.chosen(number)
        if path:
            self.put(self.root / folder / name, path.read_bytes(), in_place=False)

    @rule(number=numbers)
    def delete(self, number: int) -> None:
        path = self.chosen(number)
        if path:
            self.at_once()
            path.unlink()

    @rule(number=numbers)
    def delete_a_folder(self, number: int) -> None:
        path = self.chosen(number)
        if path and path.parent != self.root / "lore":
            self.at_once()
            shutil.rmtree(path.parent)

    @rule(number=numbers, name=st.sampled_from(["moved", "notes/moved"]))
    def move_a_folder(self, number: int, name: str) -> None:
        path, target = self.chosen(number), self.root / "lore" / name
        if path and path.parent != self.root / "lore" and not target.exists():
            self.at_once()
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.parent not in (target, *target.parents):
                path.parent.rename(target)

    @rule(number=numbers, how=st.sampled_from(list(BROKEN)), repair=st.booleans(), look=st.booleans())
    def break_a_file(self, number: int, how: str, repair: bool, look: bool) -> None:
        path = self.chosen(number)
        if path and path.is_file():
            before = path.read_bytes()
            self.put(path, BROKEN[how], in_place=not self.cheap)
            if look:
                self.query()
            if repair:
                self.put(path, before, in_place=not self.cheap)

    @rule(number=numbers)
    def put_a_secret_in(self, number: int) -> None:
        path = self.chosen(number)
        if path:
            self.put(path, self.with_body(path, f"the key of the queue is {SECRET}"), in_place=False)

    @rule(number=numbers, broken_first=st.booleans())
    def put_a_link_in_its_place(self, number: int, broken_first: bool) -> None:
        path = self.chosen(number)
        if path and path.is_file():
            if broken_first:
                self.put(path, BROKEN["not YAML"], in_place=False)
                self.query()
            self.at_once()
            path.unlink()
            path.symlink_to(self.root / ".engram.toml")

    # What happens behind Engram's back

    @rule()
    def commit(self) -> None:
        commit(self.at_once())

    @precondition(lambda self: self.is_clean())
    @rule(branch=st.sampled_from(["main", "other"]))
    def switch_branch(self, branch: str) -> None:
        self.at_once()
        known = git(self.root, "branch", "--list", branch)
        git(self.root, "checkout", "-q", "-f", *([] if known else ["-b"]), branch)

    @precondition(lambda self: self.is_clean())
    @rule(back=st.integers(1, 4))
    def reset(self, back: int) -> None:
        self.at_once()
        git(self.root, "reset", "-q", "--hard", f"HEAD~{back}", check=False)

    @rule()
    def open_again(self) -> None:
        self.engram.close()
        self.engram = open_test_store(self.root, self.clock)

    @rule()
    def let_another_process_refresh(self) -> None:
        if self.other is None:
            self.other = open_test_store(self.root, self.clock, session="other")
        refresh(self.other.store, thorough=False)

    @rule(what=st.sampled_from(["generation", "CURRENT", "index"]))
    def lose_the_index(self, what: str) -> None:
        index = self.root / ".git" / "engram" / "index"
        if what == "CURRENT":
            (index / "CURRENT").unlink(missing_ok=True)
        elif what == "index":
            shutil.rmtree(index, ignore_errors=True)
        else:
            for folder in index.glob("generation-*"):
                shutil.rmtree(folder)

    @rule()
    def let_time_pass(self) -> None:
        self.clock.ahead += 3 * SECONDS
        self.query()

    @rule()
    def query(self) -> None:
        self.at_once().query("retry the queue", keep=False)

    @rule()
    def compare(self) -> None:
        """Compare the refreshed index with a newly built one."""
        self.at_once()
        if self.cheap:
            refresh(self.engram.store, thorough=False)
        followed = answers(self.engram)
        self.compared += 1
        fresh = reopen_rebuilt(self.engram, self.folder / f"state-{self.compared}")
        assert followed == answers(fresh)
        assert contents(self.engram) == contents(fresh)
        generation = self.engram.store.index.look()
        assert generation is not None
        assert generation.verify() == []
        assert sorted(generation.stamps(RACY_NS)) == sorted(generation.catalog.stamps(RACY_NS))
        fresh.close()

    # Helpers

    def at_once(self) -> Engram:
        """The store, with the clock at the machine's time, and a change from now on showing in file times."""
        later_tick(self.folder)
        self.clock.catch_up()
        return self.engram

    def files(self) -> list[Path]:
        found = sorted(path for path in (self.root / "lore").rglob("*.md") if not path.is_symlink())
        return [path for path in found if path.is_file()]

    def chosen(self, number: int) -> Path | None:
        files = self.files()
        return files[number % len(files)] if files else None

    def chosen_id(self, number: int) -> str:
        """Choose the id of an entry that can be found and written."""
        if self.cheap:
            refresh(self.engram.store)
        found = self.engram.list(limit=None).lore
        return found[number % len(found)].lore.id if found else ""

    def with_body(self, path: Path, text: str) -> bytes:
        """The file with other text below its fields."""
        raw = path.read_bytes()
        head, mark, _ = raw.rpartition(b"---\n")
        return head + mark + b"\n" + text.encode() + b"\n"

    def put(self, path: Path, raw: bytes, *, in_place: bool, same_time: bool = False) -> None:
        """Write a file in place or by replacing it, perhaps restoring its previous time."""
        self.at_once()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            path.unlink()
        before = path.stat().st_mtime_ns if path.exists() else 0
        if in_place:
            path.write_bytes(raw)
        else:
            beside = path.with_name("beside.txt")
            beside.write_bytes(raw)
            os.replace(beside, path)
        if same_time and before:
            os.utime(path, ns=(before, before))

    def is_clean(self) -> bool:
        return git(self.root, "status", "--porcelain") == ""


class FilesAndIndexByFolderTimes(FilesAndIndex):
    """The same as in a large store, where only folder times are checked before answering."""

    cheap = True


def machine_settings() -> hypothesis.settings:
    """Few examples, as each has many steps with real files."""
    return hypothesis.settings(
        max_examples=examples(4, 40),
        stateful_step_count=18,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[
            hypothesis.Phase.explicit,
            hypothesis.Phase.reuse,
            hypothesis.Phase.generate,
        ],  # shrinking takes minutes
    )


@pytest.mark.slow
@pytest.mark.parametrize("waiting", [delta.MOST, 3])
def test_after_any_sequence_of_changes_a_refreshed_index_equals_a_rebuilt_one(
    monkeypatch: pytest.MonkeyPatch, waiting: int
) -> None:
    monkeypatch.setattr(delta, "MOST", waiting)
    run_state_machine_as_test(FilesAndIndex, settings=machine_settings())


@pytest.mark.slow
def test_refresh_equals_rebuild_if_only_folder_times_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freshness, "SWEEP_ALWAYS", -1)
    monkeypatch.setattr(freshness, "COLD_SWEEP_LIMIT", -1)
    run_state_machine_as_test(FilesAndIndexByFolderTimes, settings=machine_settings())
