"""Entries whose code changed are listed with the exact difference; once confirmed, not again until the next change."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import START, SetClock, git, ok, open_test_store

from engram.domain.review.review import ACCEPT, EDIT
from engram.usecases.opening.init import init
from engram.usecases.review.decisions import decide
from engram.usecases.review.review import review
from engram.usecases.store.commit import commit_pending

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engram.app import Engram
    from engram.domain.review.review import Item

WORKER = '''RETRIES = 3


def take_next(queue):
    """The oldest entry."""
    return queue.pop(0)


def drain(queue):
    while queue:
        take_next(queue)
'''
LOCK = '[[package]]\nname = "textual"\nversion = "{}"\n'
PYPROJECT = '[project]\nname = "x"\nrequires-python = ">={}"\ndependencies = ["httpx>=0.27"]\n'


def code(root: Path, commits: Iterable[tuple[float, Mapping[str, str | None], str]]) -> Path:
    """Make a repository at `root` with these commits: days after `START`, files (None: deleted), subject."""
    root.mkdir(parents=True, exist_ok=True)
    if not (root / ".git").exists():
        git(root, "init", "-q", "-b", "main")
    add(root, commits)
    return root


def add(root: Path, commits: Iterable[tuple[float, Mapping[str, str | None], str]]) -> None:
    """Add commits to the checked out branch; the work tree follows."""
    branch = git(root, "symbolic-ref", "HEAD")
    tip = git(root, "rev-parse", "--verify", "-q", "HEAD", check=False)
    parts = [_commit(branch, tip if not n else "", *one) for n, one in enumerate(commits)]
    stream = b"feature done\n" + b"".join(parts) + b"done\n"
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input=stream, check=True, capture_output=True)
    git(root, "reset", "-q", "--hard")


def day(after: float) -> datetime:
    """Return the time this many days after `START`."""
    return START + timedelta(days=after)


def _commit(branch: str, tip: str, after: float, files: Mapping[str, str | None], subject: str) -> bytes:
    said = f"commit {branch}\ncommitter Ada <ada@example.org> {int(day(after).timestamp())} +0000\n".encode()
    said += _data(subject) + (f"from {tip}\n".encode() if tip else b"")
    for path, text in files.items():
        said += f"D {path}\n".encode() if text is None else f"M 100644 inline {path}\n".encode() + _data(text)
    return said


def _data(text: str) -> bytes:
    raw = text.encode()
    return b"data %d\n%s\n" % (len(raw), raw)


@pytest.fixture
def clock() -> SetClock:
    return SetClock(day(10))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    first = {
        "src/worker.py": WORKER,
        "src/other.py": "x = 1\n",
        "uv.lock": LOCK.format("8.2.1"),
        "pyproject.toml": PYPROJECT.format("3.12"),
    }
    return code(tmp_path / "code", [(0, first, "Begin"), (5, {"src/worker.py": WORKER + "# end\n"}, "Tidy")])


@pytest.fixture
def store(repository: Path, clock: SetClock) -> Engram:
    init(str(repository), placement="in-tree")
    return open_test_store(repository, clock=clock)


def stale(store: Engram) -> list[Item]:
    return list(review(store.store, kinds=["stale"]).items)


def only(store: Engram) -> Item:
    (item,) = stale(store)
    return item


def short(repository: Path) -> str:
    return git(repository, "rev-parse", "HEAD")[:10]


def test_a_changed_file_is_reported_with_commits_and_lines_until_confirmed(
    store: Engram, repository: Path, clock: SetClock
) -> None:
    lore = store.record("The worker takes the oldest entry.", category="FACT", files="src/worker.py").lore
    store.record("The other one is never imported.", category="FACT", files="src/other.py")
    store.record("Releases are cut on Mondays by whoever is there.", category="FACT")
    assert stale(store) == []
    changed = WORKER.replace("RETRIES = 3", "RETRIES = 5\nPAUSE = 1")
    add(
        repository,
        [(11, {"src/worker.py": "# new\n"}, "Draft"), (12, {"src/worker.py": changed}, "Retry more")],
    )
    item = only(store)
    assert (item.lore, item.proposal) == ((lore.id,), ACCEPT)
    assert item.why == "Since 2026-03-14 src/worker.py changed."
    assert item.evidence == (
        f"src/worker.py: 2 commits, +2 −2 lines; last {short(repository)} of 2026-03-16, Retry more",
    )
    clock.advance(days=5)
    decide(store.store, item, ACCEPT)
    assert stale(store) == []
    clock.advance(days=5)
    add(repository, [(16, {"src/worker.py": "pass\n"}, "Give up")])
    assert "1 commit" in only(store).evidence[0]


def test_a_long_file_counts_as_changed_when_a_third_of_it_is_gone(store: Engram, repository: Path) -> None:
    long = "".join(f"line {number}\n" for number in range(90))
    add(repository, [(6, {"src/long.py": long}, "Long")])
    store.record("The table of lines is made by hand.", category="FACT", files=["src/long.py"])
    some = long.replace("line 1", "row 1").replace("line 2", "row 2")  # 22 of them
    add(repository, [(11, {"src/long.py": some + long}, "More, and some others")])
    assert stale(store) == []
    add(repository, [(12, {"src/long.py": long.replace("line", "row", 30)}, "A third")])
    assert "+30 −30 lines" in only(store).evidence[0]


def test_a_name_that_is_gone_from_a_long_file_is_found_though_little_else_changed(
    store: Engram, repository: Path
) -> None:
    manifests = {"uv.lock": None, "pyproject.toml": None}
    long = "def take_next(queue): pass\n" + "".join(f"line {number}\n" for number in range(90))
    add(repository, [(6, {"src/long.py": long, **manifests}, "Long")])
    store.record("`take_next` is not reentrant.", category="FACT", files=["src/long.py"])
    add(repository, [(11, {"src/long.py": long.replace("take_next", "pop")}, "Rename")])
    assert only(store).why.startswith("Since 2026-03-14 `take_next` is gone from src/long.py")


def test_an_entry_stale_only_by_its_code_is_not_archived_by_consolidation(
    store: Engram, repository: Path, clock: SetClock
) -> None:
    store.record("The worker retries three times.", category="FACT", files=["src/worker.py"])
    add(repository, [(11, {"src/worker.py": WORKER.replace("3", "5")}, "More patience")])
    clock.advance(days=5)
    assert [item.kind for item in stale(store)] == ["stale"]
    assert store.consolidate(kinds=["archive"]).steps == ()


def test_a_reverted_change_is_not_reported(store: Engram, repository: Path) -> None:
    store.record("The worker takes the oldest entry.", category="FACT", files="src/worker.py")
    add(
        repository,
        [(11, {"src/worker.py": "x\n"}, "Try"), (12, {"src/worker.py": WORKER + "# end\n"}, "Revert")],
    )
    assert stale(store) == []


def test_a_moved_file_is_followed_and_a_deleted_one_reported(store: Engram, repository: Path) -> None:
    store.record("The worker takes the oldest entry.", category="FACT", files="src/worker.py")
    store.record("The other one is never imported.", category="FACT", files="src/other.py")
    moves = [
        (11, {"src/worker.py": None, "src/queue/worker.py": WORKER}, "Move"),
        (12, {"src/queue/worker.py": None, "lib/worker.py": WORKER + "# more\n"}, "Move on"),
        (13, {"src/other.py": None}, "Remove"),
    ]
    add(repository, moves)
    found = {item.why: item for item in stale(store)}
    assert sorted(found) == [
        "Since 2026-03-14 src/other.py was deleted.",
        "Since 2026-03-14 src/worker.py moved to lib/worker.py.",
    ]
    assert {item.proposal for item in found.values()} == {EDIT}
    assert any("was deleted, by" in item.evidence[0] for item in found.values())


def test_a_removed_name_is_reported_and_one_that_moved_within_its_file_is_not(
    store: Engram, repository: Path, clock: SetClock
) -> None:
    store.record(
        "`take_next` is not safe for two threads; `drain` is.", category="FACT", files="src/worker.py"
    )
    add(repository, [(11, {"src/worker.py": WORKER.replace("take_next", "pop_oldest")}, "Rename")])
    item = only(store)
    assert item.why == "Since 2026-03-14 `take_next` is gone from src/worker.py (and 1 more)."
    assert item.evidence[0].startswith("src/worker.py −def take_next(queue):; last ")
    assert item.proposal == EDIT
    clock.advance(days=5)
    decide(store.store, item, ACCEPT)
    assert stale(store) == []


@pytest.mark.parametrize(
    ("text", "files", "difference"),
    [
        ("Textual 8.2 drops focus when a screen goes.", {"uv.lock": LOCK.format("9.0.0")}, "uv.lock: 8.2.1 → 9.0.0"),
        ("Pin `textual==8.2.1`, later ones flicker.", {"uv.lock": LOCK.format("8.2.3")}, "uv.lock: 8.2.1 → 8.2.3"),
        ("It needs python >= 3.12 for generics.", {"pyproject.toml": PYPROJECT.format("3.13")}, "pyproject.toml: >=3.12 → >=3.13"),
        ("Textual 8.2 drops focus when a screen is replaced.", {"uv.lock": 'version = 1\n'}, "uv.lock: 8.2.1 → none"),
    ],
)  # fmt: skip
def test_a_version_that_changed_is_reported(
    store: Engram, repository: Path, text: str, files: dict[str, str], difference: str
) -> None:
    store.record(text, category="DEPENDENCY_BEHAVIOR")
    assert stale(store) == []
    add(repository, [(11, files, "Upgrade")])
    assert only(store).evidence[0].startswith(difference)


def test_a_version_not_in_use_when_it_was_mentioned_is_not_reported(store: Engram, repository: Path) -> None:
    store.record("Textual 7.1 had no command palette; retry textual 5 times.", category="FACT")
    store.record("Textual >= 8 has the palette.", category="FACT")
    add(repository, [(11, {"uv.lock": LOCK.format("9.0.0")}, "Upgrade")])
    assert stale(store) == []


def test_changes_committed_together_with_the_entry_are_not_reported(
    store: Engram, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lore = store.record("The worker takes the oldest entry.", category="FACT", files="src/worker.py")
    for number, subject in enumerate(("All of it", "More"), 11):
        (repository / "src/worker.py").write_text(subject)
        git(repository, "add", "-A")
        monkeypatch.setenv("GIT_COMMITTER_DATE", day(number).isoformat())
        git(repository, "commit", "-q", "-m", subject)
        assert len(stale(store)) == (subject == "More")
    assert lore.path in git(repository, "show", "--name-only", "--format=", "HEAD~1")
    assert "1 commit," in only(store).evidence[0]


def test_files_added_later_and_names_outside_the_repository_are_not_reported(
    store: Engram, repository: Path
) -> None:
    store.record(
        "A planned module.",
        category="PLAN",
        files=["src/new.py", "../elsewhere.py", "/etc/passwd", "no/such"],
    )
    add(repository, [(11, {"src/new.py": "a\n"}, "Begin it")])
    assert stale(store) == []
    add(repository, [(12, {"src/new.py": "a\nb\n"}, "Go on")])
    assert "src/new.py: 1 commit, +1 −0 lines" in only(store).evidence[0]


def test_a_folder_stands_for_the_files_below_it(store: Engram, repository: Path) -> None:
    store.record("All of it runs in one thread.", category="FACT", files="src/")
    add(repository, [(11, {"src/other.py": "x = 2\n"}, "Two")])
    assert only(store).evidence[0].startswith("src: 1 commit, +1 −1 lines")


def test_lore_on_a_branch_or_in_a_dedicated_store_is_compared_with_the_working_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    init(str(repository), placement="branch")
    init(str(tmp_path / "notes"), placement="dedicated")
    for place in (repository, tmp_path / "notes"):
        with open_test_store(place, clock=SetClock(day(10))) as engram:
            engram.record("The worker takes the oldest entry.", category="FACT", files="src/worker.py")
            commit_pending(engram.store)
    add(repository, [(11, {"src/worker.py": "x\n"}, "Less")])
    monkeypatch.chdir(repository)
    for place in (repository, tmp_path / "notes"):
        with open_test_store(place, clock=SetClock(day(20))) as engram:
            assert only(engram).why == "Since 2026-03-14 src/worker.py changed."
    monkeypatch.chdir(tmp_path)
    with open_test_store(repository, clock=SetClock(day(20))) as engram:
        assert len(stale(engram)) == 1
    with open_test_store(tmp_path / "notes", clock=SetClock(day(20))) as engram:
        assert stale(engram) == []
    ok("config", "stale.repository", str(repository), "--user", cwd=tmp_path / "notes")
    with open_test_store(tmp_path / "notes", clock=SetClock(day(20))) as engram:
        assert len(stale(engram)) == 1


def test_the_command_line_shows_and_confirms_a_stale_entry(repository: Path) -> None:
    ok("init", str(repository), "--placement", "in-tree")
    ok(
        "record",
        "The worker takes the oldest entry.",
        "-c",
        "fact",
        "--file",
        "src/worker.py",
        cwd=repository,
    )
    add(repository, [(4000, {"src/worker.py": "x\n"}, "In the year 2037")])
    shown = ok("review", "--kind", "stale", cwd=repository).out
    assert "src/worker.py: 1 commit, +1 −12 lines; last " in shown
    (item,) = ok("review", "--json", cwd=repository).json["items"]
    assert item["evidence"][0].endswith("In the year 2037")
    assert ok("review", "accept", item["id"], "--json", cwd=repository).json["decided"]


def test_an_unreadable_repository_makes_nothing_stale(store: Engram, repository: Path) -> None:
    store.record("The worker takes the oldest entry.", category="FACT", files="src/worker.py")
    add(repository, [(11, {"src/worker.py": "x\n"}, "Less")])
    (repository / ".git/refs/heads/main").write_text("0" * 39 + "1\n")
    assert stale(store) == []
