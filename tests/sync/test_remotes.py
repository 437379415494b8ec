"""Remotes of every kind: their branches, their histories, their addresses."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from apikit import SECRET, cli, git
from sync_kit import SOON, Clones, ManyClock, bare, files, make_clones, make_connected_store

from engram.adapters.git.remote.remotes import push_addresses
from engram.domain.errors import (
    REMOTE_FAILED,
    RemoteError,
    SecretFoundError,
)
from engram.usecases.sync.sync import sync

if TYPE_CHECKING:
    from engram.app import Engram


@pytest.fixture
def clones(tmp_path: Path) -> Clones:
    return make_clones(tmp_path)[0]


@pytest.fixture
def alone(tmp_path: Path) -> Engram:
    """A store without a remote, with something to push."""
    from sync_kit import open_test_store

    made = open_test_store(tmp_path / "alone", ManyClock())
    made.record("Worth keeping.", category="FACT")
    return made


def test_push_alone_is_rejected_where_the_remote_has_more(clones: Clones) -> None:
    clones.record("b", "From b.")
    clones.sync("b")
    clones.record("a", "From a.")
    with pytest.raises(RemoteError) as found:
        sync(clones["a"].store, SOON._replace(pull=False))
    assert found.value.kind == "rejected"
    assert sync(clones["a"].store, SOON._replace(push=False)).pulled == 1
    assert sync(clones["a"].store, SOON._replace(pull=False)).pushed == 1


def test_a_deleted_remote_branch_is_recreated(clones: Clones) -> None:
    head = git(clones.hub, "rev-parse", "main")
    git(clones.hub, "update-ref", "-d", "refs/heads/main")
    clones.record("a", "More.")
    assert clones.sync("a")[0].errors == ()
    git(clones.hub, "merge-base", "--is-ancestor", head, "main")


def test_a_remote_whose_branch_has_another_name(clones: Clones, tmp_path: Path) -> None:
    git(clones.hub, "branch", "-m", "main", "trunk")
    other = make_connected_store(tmp_path / "c", clones.hub, clones.clock)
    other.record("From c.", category="FACT")
    done = sync(other.store, SOON)
    assert (done.branch, done.pulled, done.pushed) == ("trunk", 1, 1)
    assert git(clones.hub, "branch", "--format=%(refname:short)") == "trunk"
    assert sync(other.store, SOON).branch == "trunk"


def test_a_shallow_clone_gets_its_history(clones: Clones, tmp_path: Path) -> None:
    from sync_kit import open_test_store

    for number in range(3):
        clones.record("a", f"Lesson {number}.")
        clones.sync("a")
    root = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{clones.hub}", str(root))
    shallow = open_test_store(root, clones.clock)
    shallow.record("Learnt in a shallow clone.", category="FACT")
    clones.record("a", "One more.")
    clones.sync("a")
    assert sync(shallow.store, SOON).errors == ()
    assert not (root / ".git/shallow").exists()
    clones.settle()
    assert files(clones.root("a")) == files(root) | {
        path: raw for path, raw in files(clones.root("a")).items() if path not in files(root)
    }


def test_a_secret_is_not_pushed_from_history_either(clones: Clones) -> None:
    root, path = clones.root("a"), "lore/token.md"
    (root / path).write_text(f"The token is {SECRET}\n")
    git(root, "add", "-f", path)
    git(root, "commit", "-q", "-m", "by hand")
    git(root, "rm", "-q", path)
    git(root, "commit", "-q", "-m", "gone again")
    before = git(clones.hub, "rev-parse", "main")
    with pytest.raises(SecretFoundError, match="nothing was pushed") as found:
        clones.sync("a")
    assert SECRET not in str(found.value.as_dict())
    assert git(clones.hub, "rev-parse", "main") == before


def test_an_address_that_would_run_a_program_is_refused(alone: Engram, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    for url in (f"ext::sh -c 'touch {mark}'", "--upload-pack=touch x", ""):
        assert cli("remote", "add", "origin", "--", url, cwd=alone.path).code == 2
    # One that got into the configuration by another way is not run either.
    git(Path(alone.path), "config", "remote.origin.url", f"ext::touch {mark}")
    with pytest.raises(RemoteError):
        sync(alone.store, SOON)
    assert not mark.exists()


def test_remotes_are_added_listed_and_removed(alone: Engram, tmp_path: Path) -> None:
    hub = bare(tmp_path / "hub.git")
    root = Path(alone.path)
    assert cli("remote", "add", "origin", "../hub.git", "--json", cwd=root).json == {
        "remotes": [{"name": "origin", "url": str(hub)}]
    }
    assert cli("remote", "add", "origin", "x", cwd=root).code == 2
    assert cli("remote", "add", "a b", "x", cwd=root).code == 2
    assert cli("sync", "--json", cwd=root).json["pushed"] == 1
    assert cli("remote", "remove", "elsewhere", cwd=root).code == 2
    assert cli("remote", "remove", "origin", "--json", cwd=root).json == {"remotes": []}
    assert cli("sync", "--json", cwd=root).code == REMOTE_FAILED
    shutil.rmtree(hub)


@pytest.mark.parametrize(
    "lines",
    [
        ("remote.other.url=/a",),
        ("remote.other.url=/a", "remote.other.url=/b"),
        ("remote.other.url=/a", "remote.other.pushurl=/c", "remote.Other.pushurl=/d"),
        ("remote.other.url=", "remote.other.url=/a"),
        ("remote.other.url=/a", "url.https://host/.pushInsteadOf=/a"),
        ("remote.other.url=/a", "url.https://host/.insteadOf=/"),
        ("remote.Other.url=/a",),
        (),
    ],
)
def test_the_addresses_of_a_push_are_those_that_git_names(
    alone: Engram, tmp_path: Path, lines: tuple[str, ...]
) -> None:
    root = Path(alone.store.places.root)
    for line in lines:
        git(root, "config", "--add", *line.split("=", 1))
    done = subprocess.run(
        ["git", "remote", "get-url", "--push", "--all", "other"], cwd=root, capture_output=True, text=True
    )
    repo = alone.store.repository
    assert push_addresses(repo, "other") == (() if done.returncode else tuple(done.stdout.splitlines()))
