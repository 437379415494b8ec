"""Folders that are made once in a test process and copied from then on: a copy costs a tenth of what git does."""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram.usecases.opening.init import init

if TYPE_CHECKING:
    from collections.abc import Callable

_ADDRESSED = tuple(
    where + name
    for where in ("", "*/", "*/*/")
    for name in (".git/config", ".git/worktrees/*/gitdir", ".git/engram/worktree/.git")
)
_MADE: dict[tuple[object, ...], tuple[Path, Any]] = {}
_numbers = itertools.count()
_folder: list[Path] = []  # the one in which the originals are, as soon as conftest.py has made it


def keep_in(folder: Path) -> None:
    """Say where the originals are to be."""
    _folder[:] = [folder]


def copy(kind: str, target: Path, make: Callable[[Path], Any]) -> Any:
    """Fill `target` with what `make` makes in an empty folder; the answer of `make`.

    It is made once for each environment that git and Engram can tell apart. What led into the original leads
    into the copy: an address in a configuration of git, a work tree that Engram hides in a repository.
    """
    if not _folder:  # a process that a test started
        target.mkdir(parents=True, exist_ok=True)
        return make(target)
    key = (kind, *_world())
    if key not in _MADE:
        original = _folder[0] / f"original-{next(_numbers)}"
        original.mkdir()
        _MADE[key] = (original, make(original))
    original, answer = _MADE[key]
    shutil.copytree(original, target, symlinks=True, dirs_exist_ok=True)
    for pattern in _ADDRESSED:
        for file in target.glob(pattern):
            text = file.read_text("utf-8")
            if str(original) in text:
                file.write_text(text.replace(str(original), str(target)), "utf-8")
    return answer


def dedicated(root: Path) -> Path:
    """A store that is a repository of its own, as `engram init` makes it."""
    if root.exists() and any(root.iterdir()):
        init(str(root), placement="dedicated")
    else:
        copy("dedicated", root, lambda place: init(str(place), placement="dedicated"))
    return root


def _world() -> tuple[object, ...]:
    """What git and Engram know of their user: the variables, and what stands in the configuration they name."""
    names = sorted(name for name in os.environ if name.startswith(("GIT_", "ENGRAM_")))
    known = tuple((name, os.environ[name]) for name in names if name != "GIT_CONFIG_GLOBAL")
    file = Path(os.environ.get("GIT_CONFIG_GLOBAL") or os.devnull)
    return known, file.read_bytes() if file.exists() else b""
