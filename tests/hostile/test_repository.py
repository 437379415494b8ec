"""Hostile repositories around a store: none of their programs is run, and damage is reported in one message."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import QUEUE, dedicated, open_test_store
from effort import sampled
from hostile_kit import RECALLED, check_result, cli, copy_to_harm, run_process
from storekit import git

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS = (
    ("query", "idempotent queue consumer"),
    ("list",),
    ("status",),
    ("export",),
    ("record", "Another one.", "-c", "fact"),
)


@pytest.fixture(scope="session")
def repository_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a store in a repository of its own, with a committed entry."""
    root = dedicated(tmp_path_factory.mktemp("repository") / "store")
    with open_test_store(root) as engram:
        engram.record(QUEUE, category="PATTERN_OUTCOME")
    return root


@pytest.fixture
def repository(repository_template: Path, tmp_path: Path) -> Iterator[Path]:
    """Yield a copy of the store, and check afterwards that its lore is unchanged."""
    with copy_to_harm(repository_template, tmp_path) as root:
        yield root


MARKERS = {
    "nowhere": b"gitdir: /no/such\n",
    "a system folder": b"gitdir: /etc\n",
    "itself": b"gitdir: .git\n",
    "binary": bytes(range(256)),
    "10 MB": b"gitdir: " + b"x" * 10_000_000,
    "nul": b"gitdir: a\0b\n",
    "empty": b"",
    "above": b"gitdir: ../../../..\n",
}


@sampled("content", MARKERS.values(), 3, ids=MARKERS)
def test_a_git_file_that_points_nowhere_leaves_a_store_without_git(repository: Path, content: bytes) -> None:
    shutil.rmtree(repository / ".git")
    (repository / ".git").write_bytes(content)
    for command in COMMANDS:
        check_result(cli(*command, cwd=repository), 0)
    assert RECALLED in cli(*COMMANDS[0], cwd=repository).out
    assert (repository / ".git").read_bytes() == content


HEADS = {
    "garbage": b"garbage\xff\n",
    "empty": b"",
    "outside": b"ref: ../../../../etc/passwd\n",
    "a system file": b"ref: /etc/passwd\n",
    "long": b"ref: " + b"x" * 100_000,
    "no commit": b"f" * 40 + b"\n",
}


@pytest.mark.parametrize("content", HEADS.values(), ids=HEADS)
def test_a_broken_head_is_reported_and_recorded_entries_are_kept(repository: Path, content: bytes) -> None:
    (repository / ".git" / "HEAD").write_bytes(content)
    for command in COMMANDS:
        said = cli(*command, cwd=repository)
        assert said.code in (0, 1), said
        assert "Traceback" not in said.err
        assert "should not happen" not in said.err
        assert "root:" not in said.err + said.out
    assert "Another one." in "".join(path.read_text() for path in repository.glob("lore/**/*.md"))


@pytest.mark.parametrize(
    "content",
    [b"\0\xffgarbage", b"", b"0" * 39 + b"1\n", b"ref: refs/heads/main\n"],
    ids=["bytes", "empty", "no commit", "circle"],
)
def test_a_broken_branch_is_reported_and_recorded_entries_are_kept(repository: Path, content: bytes) -> None:
    (repository / ".git" / "refs" / "heads" / "main").write_bytes(content)
    test_a_broken_head_is_reported_and_recorded_entries_are_kept(repository, b"ref: refs/heads/main\n")


@pytest.mark.parametrize(
    "content",
    [
        b"garbage\n",
        b"",
        b"ref: a\0b\n",
    ],
    ids=["garbage", "empty", "nul"],
)
def test_lore_is_recalled_whatever_head_contains(repository: Path, content: bytes) -> None:
    (repository / ".git" / "HEAD").write_bytes(content)
    assert RECALLED in check_result(cli(*COMMANDS[0], cwd=repository), 0).out


PROGRAMS = {
    "fsmonitor": ("[core]\nfsmonitor = {0}\n", ""),
    "external diff": ("[diff]\nexternal = {0}\n", ""),
    "text conversion": ('[diff "y"]\ntextconv = {0}\n', "* diff=y\n"),
    "merge driver": ('[merge "z"]\ndriver = {0}\n', "* merge=z\n"),
    "pager": ("[core]\npager = {0}\neditor = {0}\nsshCommand = {0}\n", ""),
    "alias": ("[alias]\nlog = !{0}\nstatus = !{0}\n", ""),
    "hooks": ("[core]\nhooksPath = {1}\n", ""),
}


@pytest.mark.parametrize(("config", "attributes"), PROGRAMS.values(), ids=PROGRAMS)
def test_no_program_that_a_repository_names_is_run(
    repository: Path, tmp_path: Path, config: str, attributes: str
) -> None:
    trace = tmp_path / "it-ran"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for place in (hooks, repository / ".git" / "hooks"):
        place.mkdir(exist_ok=True)
        for name in (
            "pre-commit",
            "post-commit",
            "reference-transaction",
            "post-index-change",
            "pre-auto-gc",
            "fsmonitor-watchman",
        ):
            (place / name).write_text(f"#!/bin/sh\ntouch '{trace}'\n")
            (place / name).chmod(0o755)
    with (repository / ".git" / "config").open("a") as file:
        file.write(config.format(hooks / "pre-commit", hooks))
    if attributes:
        (repository / ".gitattributes").write_text(attributes)
    note = next(repository.glob("lore/*/*/*/*.md"))
    original = note.read_bytes()
    for command in (*COMMANDS, ("doctor", "--fix")):
        check_result(cli(*command, cwd=repository), 0)
    note.write_bytes(original + b"Edited by hand.\n")
    for command in (*COMMANDS, ("doctor", "--fix"), ("log", "01")):
        cli(*command, cwd=repository)
    assert not trace.exists()
    note.write_bytes(original)


def test_a_store_in_a_submodule_stays_in_it(repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repository), "inner")
    git(outer, "commit", "-qm", "add")
    head = git(outer, "rev-parse", "HEAD")
    inner = outer / "inner"
    for command in COMMANDS:
        check_result(cli(*command, cwd=inner), 0)
    assert git(outer, "rev-parse", "HEAD") == head
    assert git(outer, "status", "--porcelain").strip() in ("", "M inner", "m inner")
    assert not (outer / ".git" / "engram").exists()


def test_a_lore_folder_that_is_a_repository_of_its_own_works(repository: Path) -> None:
    nested = repository / "lore" / "nested"
    nested.mkdir()
    (nested / "note.md").write_text("A hostile note in a repository inside the store.\n")
    git(nested, "init", "-q")
    git(nested, "add", ".")
    git(nested, "commit", "-qm", "x")
    for command in (*COMMANDS, ("doctor", "--fix")):
        said = cli(*command, cwd=repository)
        assert check_result(said._replace(code=0), 0)
        assert said.code in (0, 1)
    assert (nested / "note.md").read_text().startswith("A hostile note")


@pytest.mark.parametrize("kind", ["file", "link to nothing", "link to itself"])
def test_a_private_folder_that_is_no_folder_is_reported(repository: Path, kind: str) -> None:
    state = repository / ".git" / "engram"
    shutil.rmtree(state)
    if kind == "file":
        state.write_text("x")
    else:
        state.symlink_to("/no/such/folder" if "nothing" in kind else "engram")
    for command in COMMANDS:
        said = (
            run_process(*command, cwd=repository) if command == COMMANDS[0] else cli(*command, cwd=repository)
        )
        assert "private folder" in check_result(said, 1).err
    assert os.path.lexists(state)
