"""The guards of conftest.py work: no test reaches the real home, git configuration or network."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

from tests import conftest


def git(*arguments: str) -> str:
    return subprocess.run(("git", *arguments), capture_output=True, text=True, check=True).stdout


def test_home_and_all_folders_derived_from_it_are_temporary(home: Path) -> None:
    assert Path.home() == Path("~").expanduser() == home
    assert os.path.realpath(home) != conftest.REAL_HOME
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "APPDATA"):
        assert Path(os.environ[name]).is_relative_to(home)


def test_a_test_starts_in_its_empty_home_and_not_in_the_project(home: Path) -> None:
    assert Path.cwd().samefile(home)
    assert [path.name for path in home.iterdir()] == [".gitconfig"]


@pytest.mark.parametrize("name", ["forbidden-by-the-guard", ".config/engram/config.toml"])
def test_writing_to_the_real_home_raises(name: str) -> None:
    with pytest.raises(conftest.HomeForbiddenError):
        Path(conftest.REAL_HOME, name).write_text("")


def test_changing_the_real_home_in_other_ways_raises(tmp_path: Path) -> None:
    forbidden = Path(conftest.REAL_HOME, "forbidden-by-the-guard")
    mine = tmp_path / "mine"
    mine.touch()
    changes = [
        lambda: os.open(forbidden, os.O_CREAT | os.O_WRONLY),
        lambda: forbidden.mkdir(),
        lambda: forbidden.unlink(),
        lambda: shutil.rmtree(forbidden),
        lambda: mine.rename(forbidden),
        lambda: sqlite3.connect(forbidden),
    ]
    for change in changes:
        with pytest.raises(conftest.HomeForbiddenError):
            change()
    assert not forbidden.exists()


def test_a_link_into_the_real_home_does_not_get_around_the_guard(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(conftest.REAL_HOME, target_is_directory=True)
    with pytest.raises(conftest.HomeForbiddenError):
        (tmp_path / "link" / "forbidden-by-the-guard").touch()


def test_git_reads_only_the_tests_configuration(home: Path) -> None:
    origins = {line.split("\t")[0] for line in git("config", "--list", "--show-origin").splitlines()}
    assert {Path(origin.removeprefix("file:").strip('"')).name for origin in origins} == {".gitconfig"}
    assert git("config", "user.email").strip() == conftest.EMAIL


def test_git_commits_as_the_fixed_author_at_the_fixed_time(tmp_path: Path) -> None:
    git("init", "-q", str(tmp_path))
    git("-C", str(tmp_path), "commit", "-q", "--allow-empty", "-m", "x")
    shown = git("-C", str(tmp_path), "log", "-1", "--format=%an|%ae|%aI|%cn|%cI").strip()
    assert shown.replace("Z", "+00:00") == (
        f"{conftest.NAME}|{conftest.EMAIL}|{conftest.DATE}|{conftest.NAME}|{conftest.DATE}"
    )


def test_git_refuses_every_protocol_but_local_files() -> None:
    with pytest.raises(subprocess.CalledProcessError) as failure:
        git("ls-remote", "https://example.invalid/x.git")
    assert "not allowed" in failure.value.stderr


def test_variables_of_surrounding_sessions_are_removed(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    foreign = ("ENGRAM_STORE", "GIT_DIR", "CLAUDECODE", "CODEX_THREAD_ID", "EDITOR", "NO_COLOR")
    for name in foreign:
        monkeypatch.setenv(name, "outside")
    conftest.move_into(home, monkeypatch)
    assert not [name for name in foreign if name in os.environ]


def test_a_child_process_has_the_same_environment(home: Path) -> None:
    code = "import pathlib, engram.version; print(pathlib.Path.home())"
    shown = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True).stdout
    assert Path(shown.strip()) == home


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("", 0), ("0.0.0.0", 0)])
def test_sockets_beyond_loopback_raise(address: tuple[str, int]) -> None:
    with socket.socket() as connection, pytest.raises(conftest.NetworkForbiddenError):
        connection.connect(address)
    with socket.socket() as listener, pytest.raises(conftest.NetworkForbiddenError):
        listener.bind(address)
    with socket.socket(type=socket.SOCK_DGRAM) as sender, pytest.raises(conftest.NetworkForbiddenError):
        sender.sendto(b"x", address)


@pytest.mark.parametrize("look_up", [socket.gethostbyname, lambda name: socket.getaddrinfo(name, 80)])
def test_name_look_ups_raise(look_up: Callable[[str], object]) -> None:
    with pytest.raises(conftest.NetworkForbiddenError):
        look_up("example.invalid")


def test_loopback_works() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=5) as client,
    ):
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"here")
            assert accepted.recv(4) == b"here"


def test_property_tests_have_no_deadline_and_are_deterministic_in_ci() -> None:
    current = hypothesis.settings()
    assert current.deadline is None
    assert current.max_examples <= 200
    assert hypothesis.settings.get_profile("ci").derandomize
