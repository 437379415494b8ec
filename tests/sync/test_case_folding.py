"""On a file system that folds case, no file is overwritten, lost or taken for another.

`Note.md` and `note.md` are one file there, which keeps its first spelling, as on macOS and Windows. Linux mounts none without
rights, so a double stands in for it in the process of the test; git, a process of its own, is told by `core.ignorecase`.
"""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from gitkit import git, isolate
from sync_kit import Clones

import engram
from engram.usecases.opening.init import init_here

if TYPE_CHECKING:
    from pathlib import Path

    from engram.app import Engram


_ONE = (
    *("open", "stat", "lstat", "unlink", "remove", "mkdir", "rmdir", "readlink", "utime", "chmod"),
    *("scandir", "listdir", "access"),
)
_listdir, _lstat = os.listdir, os.lstat


def fold_case(patch: pytest.MonkeyPatch, root: Path) -> None:
    """Make everything below `root` fold case, for this process."""
    top = os.fspath(root)

    def there(path: Any) -> Any:
        return _there(top, path)

    for name in _ONE:
        patch.setattr(os, name, _with_one(getattr(os, name), there))
    for name in ("rename", "replace", "link"):
        patch.setattr(os, name, _with_two(getattr(os, name), there))
    opened = _with_one(open, there)
    patch.setattr(builtins, "open", opened)
    patch.setattr(io, "open", opened)


def _with_one(real: Callable[..., Any], there: Callable[[Any], Any]) -> Callable[..., Any]:
    def folded(path: Any = ".", *more: Any, **named: Any) -> Any:
        return real(there(path), *more, **named)

    return folded


def _with_two(real: Callable[..., Any], there: Callable[[Any], Any]) -> Callable[..., Any]:
    def folded(source: Any, target: Any, **named: Any) -> Any:
        source, known = there(source), there(target)
        return real(source, target if known == source else known, **named)  # a new spelling of itself

    return folded


def _there(top: str, path: Any) -> Any:
    """Return the path as it is spelled on disk, as far as it exists."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path).startswith(f"{top}{os.sep}"):
        return path
    found = top
    for part in os.fspath(path)[len(top) + 1 :].split(os.sep):
        found = os.path.join(found, _spelled(found, part))
    return found


def _spelled(folder: str, part: str) -> str:
    try:
        _lstat(os.path.join(folder, part))
    except OSError:
        pass
    else:
        return part
    try:
        return next((name for name in _listdir(folder) if name.casefold() == part.casefold()), part)
    except OSError:
        return part


@pytest.fixture
def clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clones:
    """Clones of which `a` is on a file system that folds case."""
    isolate(monkeypatch, tmp_path)
    made = Clones(tmp_path)
    fold_case(monkeypatch, made.root("a"))
    git(made.root("a"), "config", "core.ignorecase", "true")
    return made


def told(store: Engram) -> dict[str, str]:
    store.refresh()
    return {one.path: one.lore.content for one in store.list(limit=None).lore}


def test_the_simulated_file_system_folds_case_and_keeps_the_first_spelling(clones: Clones) -> None:
    folder = clones.root("a") / "lore"
    (folder / "Note.md").write_text("one\n")
    (folder / "note.md").write_text("two\n")
    assert ("Note.md" in os.listdir(folder), "note.md" in os.listdir(folder)) == (True, False)
    assert (clones.root("a") / "LORE/NOTE.md").read_text() == "two\n"
    (folder / "NOTE.md").rename(folder / "note.md")
    assert ("Note.md" in os.listdir(folder), "note.md" in os.listdir(folder)) == (False, True)


def test_a_twin_that_somebody_pushes_stays_out_and_stays_in_the_branch(clones: Clones) -> None:
    mine, theirs = clones.root("a") / "lore", clones.root("b") / "lore"
    (mine / "Deploy.md").write_text("By hand.\n")
    clones.sync("a", "b")
    (theirs / "deploy.md").write_text("By robot.\n")
    git(clones.root("b"), "add", "-A")
    git(clones.root("b"), "commit", "-qm", "twin")
    git(clones.root("b"), "push", "-q", "origin", "main")
    (done,) = clones.sync("a")
    assert (
        "lore/deploy.md came in, and is not written here: it is the same path as 'lore/Deploy.md'"
        in done.notes[0]
    )
    assert told(clones["a"]) == {"lore/Deploy.md": "By hand."}
    (mine / "Deploy.md").write_text("By hand, on Fridays.\n")
    clones.sync("a", "b", "a")
    assert git(clones.hub, "show", "main:lore/Deploy.md") == "By hand, on Fridays."
    assert git(clones.hub, "show", "main:lore/deploy.md") == "By robot."
    assert (theirs / "deploy.md").read_text() == "By robot.\n"
    assert told(clones["a"]) == {"lore/Deploy.md": "By hand, on Fridays."}


def test_a_new_spelling_of_a_file_loses_nothing(clones: Clones) -> None:
    folder = clones.root("a") / "lore"
    (folder / "Deploy.md").write_text("By hand.\n")
    clones.sync("a", "b")
    (folder / "Deploy.md").rename(folder / "DEPLOY.md")
    clones.sync("a", "b")
    (folder / "DEPLOY.md").write_text("By robot.\n")
    clones.sync("a", "b")
    for name in "ab":
        assert list(told(clones[name]).values()) == ["By robot."]


def test_a_note_of_a_vault_keeps_its_id_when_its_name_gets_another_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    isolate(monkeypatch, tmp_path)
    vault = tmp_path / "vault"
    vault.mkdir()
    fold_case(monkeypatch, vault)
    (vault / "herons.md").write_text("They wait; [[cranes]] do not.\n")
    (vault / "cranes.md").write_text("They nest.\n")
    init_here(str(vault))
    with engram.open(str(vault), background=False) as lore:
        before = {one.lore.title: one.lore.id for one in lore.list(limit=None).lore}
        (vault / "cranes.md").rename(vault / "Cranes.md")
        lore.refresh()
        after = {one.lore.title: one.lore.id for one in lore.list(limit=None).lore}
    assert after == {"herons": before["herons"], "Cranes": before["cranes"]}
