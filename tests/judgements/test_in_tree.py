"""Entries in a code repository that people merge with plain git: judgements cause no conflicts, and all count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import prepared
import pytest
from apikit import START, git, lore_files, ok, repository
from effort import sampled
from sync_kit import ManyClock, bare, open_test_store

from engram.adapters.files import config_file, places
from engram.adapters.files.frontmatter import codec
from engram.domain.entry import ulid
from engram.domain.entry.categories import Categories
from engram.domain.entry.confidence import Vote
from engram.domain.entry.lore import Lore
from engram.usecases.opening.init import init
from engram.usecases.recording.edit import Edit
from engram.usecases.upkeep.maintain import maintain

if TYPE_CHECKING:
    from engram.app import Engram

JUDGED, HERE, THERE = (
    "Retries have full jitter.",
    "Money is in integer cents.",
    "Sessions last for 12 hours.",
)
ADDED = " It was measured."
TOPIC = "origin/topic"


def _merge(root: Path) -> set[str]:
    git(root, "merge", "-q", "--no-edit", TOPIC)
    return {HERE, THERE}


def _squash(root: Path) -> set[str]:
    git(root, "merge", "-q", "--squash", TOPIC)
    git(root, "commit", "-qm", "squashed")
    return {HERE, THERE}


def _rebase(root: Path) -> set[str]:
    git(root, "rebase", "-q", TOPIC)
    return {HERE, THERE}


def _cherry_pick(root: Path) -> set[str]:
    git(root, "cherry-pick", TOPIC)
    return {HERE, THERE}


def _revert(root: Path) -> set[str]:
    git(root, "merge", "-q", "--no-edit", TOPIC)
    git(root, "revert", "--no-edit", "-m", "1", "HEAD")
    return {HERE}


def _ours(root: Path) -> set[str]:
    git(root, "merge", "-q", "--no-edit", "-s", "ours", TOPIC)
    return {HERE}


WAYS: list[Callable[[Path], set[str]]] = [_revert, _merge, _squash, _rebase, _cherry_pick, _ours]


@pytest.fixture(autouse=True)
def _published(home: Path) -> None:
    assert home.exists()
    config_file.change(places.user_config_file(), "judgements.publish", "true")


def person_commits(root: Path, branch: str, message: str, *options: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message, *options)
    git(root, "push", "-q", "origin", f"HEAD:{branch}")


def clones_of_code(folder: Path) -> list[str]:
    """A repository of code with three entries and two clones of it; the ids of the entries."""
    root = repository(folder / "a")
    git(root, "branch", "-M", "main")
    git(root, "remote", "add", "origin", str(bare(folder / "hub.git")))
    init(str(root), placement="in-tree")
    with open_test_store(root, ManyClock()) as engram:
        found = [engram.record(text, category="FACT").lore.id for text in (JUDGED, HERE, THERE)]
    person_commits(root, "main", "lore")
    git(folder, "clone", "-q", "-b", "main", "hub.git", "b")
    for name in "ab":
        git(folder / name, "config", "branch.main.remote", "origin")
        git(folder / name, "config", "branch.main.merge", "refs/heads/main")
    return found


def vote(engram: Engram, lore_id: str) -> None:
    engram.feedback(helpful=lore_id)
    assert git(Path(engram.store.places.root), "status", "--porcelain") == ""


def counted(engram: Engram, lore_id: str) -> tuple[int, int]:
    engram.sync()
    engram.refresh()
    lore = engram.get(lore_id).lore
    return lore.validation_count, lore.thousandths


@sampled("way", WAYS, everyday=1, ids=lambda way: way.__name__)
def test_votes_on_branches_merged_by_plain_git_count_once(
    tmp_path: Path, way: Callable[[Path], set[str]]
) -> None:
    judged, *edited = prepared.copy("code with lore", tmp_path, clones_of_code)
    a, b = tmp_path / "a", tmp_path / "b"
    clock = ManyClock()
    here, there = open_test_store(a, clock), open_test_store(b, clock)
    for engram, branch, lore_id, text in (
        (here, "main", edited[0], HERE),
        (there, "topic", edited[1], THERE),
    ):
        clock.advance(seconds=1)
        root = Path(engram.store.places.root)
        git(root, "switch", "-q", "-C", branch)
        vote(engram, judged)
        engram.edit(lore_id, Edit(content=text + ADDED))
        person_commits(root, branch, f"edit on {branch}")
    git(a, "fetch", "-q", "origin")
    kept = way(a)
    assert git(a, "status", "--porcelain") == ""
    there.sync()
    assert counted(here, judged) == counted(there, judged) == (2, 860)
    for lore_id, text in zip(edited, (HERE, THERE), strict=True):
        lore = here.get(lore_id).lore
        assert lore.content == (text + ADDED if text in kept else text)
        assert not lore.conflicts
    here.feedback(helpful=judged, again=True)
    assert git(a, "status", "--porcelain") == ""
    assert counted(here, judged) == counted(there, judged) == (3, 940)
    here.close()
    there.close()


def write_format_1(folder: Path, votes: dict[str, Vote]) -> Lore:
    """Write an entry as a version of before has it."""
    lore = Lore(
        ulid.encode(1_770_000_000_000, 7 << 68 | 7), JUDGED, "FACT", created_at=START, updated_at=START, votes=votes,
        last_validated=START,
    )  # fmt: skip
    path = folder / "lore" / f"{lore.id}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(codec.write_new(lore, Categories()))
    return lore


class Older(NamedTuple):
    """Two clones, the first migrated with one vote since, and the entry: an older branch `topic` has it as format 1."""

    here: Engram
    there: Engram
    lore_id: str


@pytest.fixture
def older(tmp_path: Path) -> Iterator[Callable[[Callable[[Path, str, str], None]], Older]]:
    """Make such clones, given what the version of before did on the branch (root, short names of the two sources)."""
    made: list[Engram] = []

    def make(change: Callable[[Path, str, str], None]) -> Older:
        prepared.copy("code with lore", tmp_path, clones_of_code)
        a, b = tmp_path / "a", tmp_path / "b"
        here, there = open_test_store(a, ManyClock()), open_test_store(b, ManyClock())
        made.extend((here, there))
        first, second = (ulid.short(engram.store.source_id) for engram in (here, there))
        lore_id = write_format_1(a, {first: Vote(80, 0, 1)}).id
        person_commits(a, "main", "as the version of before wrote it")
        git(b, "pull", "-q")
        git(b, "switch", "-q", "-c", "topic")
        change(b, first, second)
        person_commits(b, "topic", "by the version of before")
        here.refresh()
        maintain(here.store)
        assert not any(b"votes:" in file.read_bytes() for file in lore_files(a))
        person_commits(a, "main", "migrated")
        vote(here, lore_id)
        assert counted(here, lore_id) == (2, 860)
        git(a, "fetch", "-q", "origin")
        return Older(here, there, lore_id)

    yield make
    for engram in made:
        engram.close()


@pytest.mark.slow
def test_words_of_an_older_branch_are_merged_after_the_migration_and_no_sum_changes(
    older: Callable[..., Older], tmp_path: Path
) -> None:
    def edit(root: Path, *_: str) -> None:
        (file,) = [file for file in lore_files(root) if b"votes:" in file.read_bytes()]
        file.write_text(file.read_text("utf-8").replace(JUDGED, JUDGED + ADDED), "utf-8")

    found = older(edit)
    git(tmp_path / "a", "merge", "-q", "--no-edit", TOPIC)
    person_commits(tmp_path / "a", "main", "merged", "--allow-empty")
    git(tmp_path / "b", "fetch", "-q")
    git(tmp_path / "b", "merge", "-q", "origin/main")
    for engram in (found.here, found.there):
        assert counted(engram, found.lore_id) == (2, 860)
        assert engram.get(found.lore_id).lore.content == JUDGED + ADDED


def test_votes_in_files_of_an_older_branch_count_once_after_the_migration(
    older: Callable[..., Older], tmp_path: Path
) -> None:
    def judge(root: Path, first: str, second: str) -> None:
        write_format_1(root, {first: Vote(80, 0, 1), second: Vote(80, 150, 1)})

    found = older(judge)
    assert counted(found.there, found.lore_id) == (3, 790), (
        "of the older branch, with the line of the other clone"
    )
    a = tmp_path / "a"
    git(a, "merge", "-q", "--no-edit", TOPIC, check=False)
    assert git(a, "status", "--porcelain").startswith("UU"), (
        "the version of before keeps votes among the words"
    )
    ok("doctor", "--fix", cwd=a)
    person_commits(a, "main", "merged")
    git(tmp_path / "b", "fetch", "-q")
    git(tmp_path / "b", "merge", "-q", "origin/main")
    for _ in range(2):
        for engram in (found.here, found.there):
            assert counted(engram, found.lore_id) == (3, 790)
        maintain(found.here.store)
        assert not any(b"votes:" in file.read_bytes() for file in lore_files(a))
    assert len(lore_files(a)) == 4
