"""Which store a call is about: the nearest, the one that is named, one's own, or an error that says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from apikit import QUEUE, TIDES, cli, lore_files, make_plain_store, ok

import engram
from engram.domain.errors import NotFoundError
from tests.opening.test_init import heads, record


def test_the_nearest_store_upwards_is_meant(tmp_path: Path) -> None:
    make_plain_store(tmp_path / "outer")
    make_plain_store(tmp_path / "outer/inner")
    deep, beside = tmp_path / "outer/inner/x/y", tmp_path / "outer/other"
    for folder in (deep, beside):
        folder.mkdir(parents=True)
    record(deep)
    record(beside, TIDES)
    assert "queue-consumer" in str(lore_files(tmp_path / "outer/inner"))
    assert "tide" in str(lore_files(tmp_path / "outer"))
    assert len(ok("list", "--json", cwd=tmp_path / "outer").json["lore"]) == 1, "an inner store is its own"


def test_an_option_wins_over_the_variable_and_that_over_the_folder(tmp_path: Path) -> None:
    for name in ("here", "variable", "option"):
        make_plain_store(tmp_path / name)
        record(tmp_path / name, f"lore of {name}")
    here = tmp_path / "here"
    variable = {"ENGRAM_STORE": str(tmp_path / "variable")}
    assert "lore of here" in ok("list", cwd=here).out
    assert "lore of variable" in ok("list", cwd=here, **variable).out
    assert "lore of option" in ok("list", "--store", "../option", cwd=here, **variable).out
    assert "lore of option" in ok("--store=../option", "list", cwd=here, **variable).out


def test_the_users_own_store_can_be_named_from_anywhere(tmp_path: Path) -> None:
    record(tmp_path, "lore of the user")
    make_plain_store(tmp_path / "project")
    record(tmp_path / "project", "lore of the project")
    assert "of the project" in ok("list", cwd=tmp_path / "project").out
    assert "of the project" in ok("list", "--scope", "project", cwd=tmp_path / "project").out
    user = ok("list", "--scope", "user", cwd=tmp_path / "project")
    assert "of the user" in user.out
    assert ok("--scope", "user", "list", cwd=tmp_path / "project").out == user.out
    named = ok("list", "--scope", "user", cwd=tmp_path, ENGRAM_STORE=str(tmp_path / "project"))
    assert named.out == user.out, "a scope named in the call counts more than a variable"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["list", "--scope", "project"], 3),
        (["list", "--scope", "galaxy"], 2),
        (["list", "--store", "nowhere"], 3),
        (["list", "--store", "project", "--scope", "user"], 2),
    ],
)
def test_a_store_that_is_not_there_is_told(tmp_path: Path, arguments: list[str], code: int) -> None:
    make_plain_store(tmp_path / "project")
    done = cli(*arguments, "--json", cwd=tmp_path)
    assert done.code == code
    assert done.json["error"]["hint"] or code == 2


def test_the_api_opens_makes_and_finds_stores(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engram.open(tmp_path / "new") as store:
        assert store.store.places.placement == "dedicated"
        store.record(QUEUE, category="FACT")
    assert heads(tmp_path / "new")[0] == f"record: {QUEUE}"
    (tmp_path / "new/lore/deep").mkdir()
    with engram.open(str(tmp_path / "new/lore/deep")) as store:
        assert store.path == str(tmp_path / "new")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("x")
    with pytest.raises(NotFoundError):
        engram.open(tmp_path / "full")
    monkeypatch.chdir(tmp_path)
    with engram.open() as store:
        assert store.path == str(home / ".local/share/engram/store")
    with engram.open(environment={"ENGRAM_STORE": str(tmp_path / "new"), "ENGRAM_SESSION": "x"}) as store:
        assert (store.path, store.store.caller.session) == (str(tmp_path / "new"), "x")
