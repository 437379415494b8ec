"""Git runs in a safe environment, ends at its deadline, and its failures are told in plain words."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gitkit import git, make_repository, repository_of
from hypothesis import given
from hypothesis import strategies as st

from engram.adapters.git.run import failures
from engram.adapters.git.run.process import SSH_OPTIONS, batch_mode, safe_environment
from engram.adapters.git.run.runner import run
from engram.domain.errors import GitError

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository


pytestmark = pytest.mark.usefixtures("persons_git")


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return repository_of(tmp_path / "repo", {"a.txt": "one\n"})


def program(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def test_output_is_raw_bytes_and_input_reaches_git(repo: Repository) -> None:
    oid = run(repo, "hash-object", "-w", "--stdin", stdin=b"\xff\x00raw").stdout.decode().strip()
    assert run(repo, "cat-file", "blob", oid).stdout == b"\xff\x00raw"


def test_inherited_git_variables_do_not_redirect_git(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repository(tmp_path / "other")
    hostile = {
        "GIT_DIR": other.git_dir,
        "GIT_WORK_TREE": other.worktree,
        "GIT_INDEX_FILE": str(tmp_path / "elsewhere"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "objects"),
        "GIT_NAMESPACE": "ns",
        "GIT_PREFIX": "deep/",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "Mallory",
        "GIT_CONFIG_PARAMETERS": "'user.email'='mallory@example.org'",
        "GIT_AUTHOR_NAME": "Mallory",
    }
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    assert run(repo, "rev-parse", "--absolute-git-dir").stdout.decode().strip() == repo.git_dir
    assert run(repo, "config", "user.name").stdout == b"Pat Person\n"
    assert run(repo, "var", "GIT_AUTHOR_IDENT").stdout.startswith(b"Pat Person <pat@example.org>")
    assert run(repo, "ls-files").stdout == b"a.txt\n"


def test_a_hook_and_a_file_system_monitor_never_run(repo: Repository, tmp_path: Path) -> None:
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        program(Path(repo.git_dir, "hooks"), hook, f"touch '{tmp_path}/ran-{hook}'")
    program(tmp_path, "monitor", f"touch '{tmp_path}/ran-monitor'")
    git(repo, "config", "core.fsmonitor", str(tmp_path / "monitor"))
    run(repo, "checkout", "-q", "-b", "new")
    run(repo, "status")
    assert [path.name for path in tmp_path.glob("ran-*")] == []
    git(repo, "checkout", "-q", "-b", "by-a-person")
    assert list(tmp_path.glob("ran-*")), "the hooks would have run"


def test_git_never_prompts(repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "ask", f"touch '{tmp_path}/asked'; echo secret")
    git(repo, "config", "core.askPass", str(tmp_path / "ask"))
    monkeypatch.setenv("SSH_ASKPASS", str(tmp_path / "ask"))
    with pytest.raises(GitError, match=r"could not read Username|terminal prompts disabled"):
        run(repo, "credential", "fill", stdin=b"protocol=https\nhost=example.org\n\n")
    assert not (tmp_path / "asked").exists()


def test_a_remote_helper_that_runs_any_command_is_refused(repo: Repository, tmp_path: Path) -> None:
    with pytest.raises(GitError, match="transport 'ext' not allowed"):
        run(repo, "-c", "protocol.ext.allow=always", "fetch", f"ext::sh -c touch% {tmp_path}/pwned")
    assert not (tmp_path / "pwned").exists()


def test_what_a_person_forbids_stays_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "https:ext")
    assert safe_environment()["GIT_ALLOW_PROTOCOL"] == "https"


def test_a_persons_ssh_command_is_kept_and_made_non_interactive(repo: Repository, tmp_path: Path) -> None:
    log = tmp_path / "called"
    program(tmp_path, "ssh", f'echo "$@" > "{log}"; exit 255')
    git(repo, "config", "core.sshCommand", f"{tmp_path}/ssh -i my-key")
    with pytest.raises(GitError):
        run(repo, "ls-remote", "ssh://git@example.invalid/x.git")
    assert log.read_text().startswith(f"-i my-key {SSH_OPTIONS}")


def test_another_program_than_ssh_gets_no_options_it_does_not_know() -> None:
    assert batch_mode("plink -batch") == "plink -batch"
    assert batch_mode("ssh").endswith(SSH_OPTIONS)


def test_git_and_its_children_end_at_the_deadline(repo: Repository, tmp_path: Path) -> None:
    child = tmp_path / "child"
    git(repo, "config", "alias.hang", f"!echo $$ > '{child}'; exec sleep 60")
    began = time.monotonic()
    with pytest.raises(GitError, match=r"git hang was stopped at its time limit of 0\.5 s") as caught:
        run(repo, "hang", deadline=0.5)
    assert time.monotonic() - began < 10
    assert failures.kind(caught.value.stderr) == failures.TIMEOUT
    with pytest.raises(ProcessLookupError):
        os.kill(int(child.read_text()), 0)


def test_a_failure_has_a_sentence_a_next_step_the_command_and_the_error_text(repo: Repository) -> None:
    with pytest.raises(GitError) as caught:
        run(repo, "-c", "a.b=c", "rev-parse", "--verify", "nosuch")
    assert caught.value.message == "git rev-parse failed: Needed a single revision."
    assert caught.value.hint
    assert caught.value.command == "-c a.b=c rev-parse --verify nosuch"
    assert "Needed a single revision" in caught.value.stderr


def test_without_check_a_failure_is_a_result(repo: Repository) -> None:
    assert run(repo, "rev-parse", "--verify", "-q", "nosuch", check=False).code == 1


def test_a_missing_git_says_to_install_it(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="not found") as caught:
        run(repo, "status")
    assert "Install git" in caught.value.hint


def test_a_missing_folder_is_not_taken_for_a_missing_git(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="does not exist"):
        run(str(tmp_path / "nowhere"), "status")


def test_outside_any_repository_the_sentence_says_so(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="is not a git repository") as caught:
        run(str(tmp_path), "status")
    assert failures.kind(caught.value.stderr) == failures.NOT_A_REPOSITORY


def test_a_repository_of_another_owner_is_named_with_the_way_out(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git's own test switch makes it see another owner; the safe environment drops it, so it is set by a wrapper."""
    real = next(folder for folder in os.environ["PATH"].split(":") if Path(folder, "git").exists())
    program(tmp_path, "git", f'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {real}/git "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(GitError, match="another user owns it") as caught:
        run(repo, "status")
    assert failures.kind(caught.value.stderr) == failures.DUBIOUS
    assert f"safe.directory '{repo.worktree}'" in caught.value.hint


def test_a_damaged_index_is_reported(repo: Repository) -> None:
    Path(repo.git_dir, "index").write_bytes(b"DIRCrubbish")
    with pytest.raises(GitError, match="is damaged") as caught:
        run(repo, "status")
    assert failures.kind(caught.value.stderr) == failures.DAMAGED


def test_a_disk_that_fills_while_git_writes_its_index_is_reported() -> None:
    said = "error: sha1 file '.git/index.lock' write error. Out of diskspace"
    assert failures.failure("/folder", ("status",), 128, said).message.startswith("The disk is full")


def test_a_password_in_an_address_never_reaches_an_error(repo: Repository, tmp_path: Path) -> None:
    with pytest.raises(GitError) as caught:
        run(repo, "fetch", "https://user:hunter2@127.0.0.1:1/x.git", deadline=20)
    assert "hunter2" not in repr(caught.value.as_dict()) + caught.value.stderr + caught.value.command


@given(st.text())
def test_any_error_text_has_a_kind_and_makes_a_sentence(text: str) -> None:
    error = failures.failure("/folder", ("status",), 1, text)
    assert failures.kind(text) in {*failures.ADVICE, failures.FAILED, failures.TIMEOUT}
    assert error.message.endswith(".")
    assert "\n" not in error.message


def test_importing_the_adapter_loads_nothing_heavy() -> None:
    import subprocess

    heavy = {
        "subprocess",
        "pathlib",
        "logging",
        "dataclasses",
        "git",
        "numpy",
        "tempfile",
        "shutil",
        "hashlib",
    }
    code = (
        "import sys; from engram.adapters.git.read import history, snapshot; "
        "from engram.adapters.git.run import layout; from engram.adapters.git.write import commits, create, maintain;"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
                            env={"PYTHONPATH": str(Path(__file__).resolve().parents[2])})  # fmt: skip
    assert heavy & set(loaded.stdout.split()) == set()
