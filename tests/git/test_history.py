"""The log of a path: who, when, what, and the trailers of Engram's operations; and the trailers themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import gitkit
import pytest
from gitkit import AUTHOR, MOMENT, apply, change, git, make_repository, person_commits, state_folder
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.git.read.history import log, parse_trailers, with_trailer
from engram.adapters.git.write.commits import commit_all

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    config = "[log]\n\tfollow = true\n\tshowSignature = true\n[color]\n\tui = always\n[i18n]\n\tlogOutputEncoding = latin1\n"
    gitkit.isolate(monkeypatch, tmp_path, config)


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    made = make_repository(tmp_path / "repo")
    person_commits(made, {"lore/a.md": "a\n", "lore/b.md": "b\n"})
    return made


MESSAGE = "Feedback: höher ✓\n\nA body.\n\nEngram-Lore: 01A\nEngram-Lore: 01B\nEngram-Delta: +80"


def test_a_log_entry_has_all_facts_of_its_commit(repo: Repository) -> None:
    work = change(MESSAGE, ("lore/a.md", b"2"))
    apply(repo, work)
    oid = commit_all(repo, [work], "OP1", state_folder(repo))
    newest, oldest = log(repo, "lore/a.md", 10)
    assert (newest.oid, newest.author, newest.moment, newest.subject) == (
        oid,
        AUTHOR,
        MOMENT,
        "Feedback: höher ✓",
    )
    assert oid.startswith(newest.short)
    assert newest.trailers == {"Engram-Lore": ("01A", "01B"), "Engram-Delta": ("+80",), "Engram-Op": ("OP1",)}
    assert (oldest.author, oldest.subject, oldest.trailers) == ("Pat Person <pat@example.org>", "by hand", {})


def test_the_log_has_only_commits_of_the_path_newest_first_up_to_the_limit(repo: Repository) -> None:
    for number in range(4):
        person_commits(repo, {f"lore/{'ab'[number % 2]}.md": str(number)}, f"c{number}")
    assert [entry.subject for entry in log(repo, "lore/b.md", 10)] == ["c3", "c1", "by hand"]
    assert [entry.subject for entry in log(repo, "", 3)] == ["c3", "c2", "c1"]
    assert log(repo, "lore/none.md", 3) == ()


def test_a_branch_without_commits_has_no_history(tmp_path: Path) -> None:
    assert log(make_repository(tmp_path / "new"), "", 5) == ()


def test_the_history_of_a_path_does_not_go_beyond_a_rename(repo: Repository) -> None:
    git(repo, "mv", "lore/a.md", "lore/z.md")
    git(repo, "commit", "-qm", "moved")
    assert [entry.subject for entry in log(repo, "lore/z.md", 10)] == ["moved"]


def test_a_deleted_file_keeps_its_history(repo: Repository) -> None:
    git(repo, "rm", "-q", "lore/a.md")
    git(repo, "commit", "-qm", "gone")
    assert [entry.subject for entry in log(repo, "lore/a.md", 10)] == ["gone", "by hand"]


def test_control_characters_in_a_message_do_not_shift_fields(repo: Repository) -> None:
    git(repo, "commit", "-q", "--allow-empty", "-m", "odd \x1f\x1e\x07 subject")
    assert [entry.subject for entry in log(repo, "", 2)] == ["odd \x1f\x1e\x07 subject", "by hand"]


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1).filter(
    str.strip
)
keys = st.from_regex(r"\AEngram-[A-Z][a-z]{1,8}\Z")
values = st.from_regex(r"\A[A-Za-z0-9+-]{1,26}\Z")


@given(words, st.lists(st.tuples(keys, values), min_size=1, max_size=4))
def test_added_trailers_are_read_back(subject: str, pairs: list[tuple[str, str]]) -> None:
    message = subject
    for key, value in pairs:
        message = with_trailer(message, key, value)
    assert message.count("\n\n") == 1 + subject.rstrip().count("\n\n")
    found = parse_trailers(message.rpartition("\n\n")[2])
    assert {(key, value) for key, several in found.items() for value in several} == set(pairs)


@given(words, keys, values)
def test_a_trailer_is_added_only_once(subject: str, key: str, value: str) -> None:
    once = with_trailer(subject, key, value)
    assert with_trailer(once, key, value) == once


def test_a_subject_that_looks_like_a_trailer_stays_a_subject() -> None:
    assert with_trailer("fix: a thing", "Engram-Op", "1") == "fix: a thing\n\nEngram-Op: 1\n"
    with_body = with_trailer("fix: x\n\nNote: this\nis prose", "Engram-Op", "1")
    assert with_body == "fix: x\n\nNote: this\nis prose\n\nEngram-Op: 1\n"
