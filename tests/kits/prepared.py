"""Folders that are made once in a test run and copied from then on: a copy costs a tenth of what git does."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import shutil
import tempfile
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
_folder: list[Path] = []  # the one in which the originals are, as soon as conftest.py has made it


def keep_in(folder: Path) -> None:
    """Say where the originals are to be, for all processes of the test run."""
    folder.mkdir(exist_ok=True)
    _folder[:] = [folder]


def copy(kind: str, target: Path, make: Callable[[Path], Any]) -> Any:
    """Fill `target` with what `make` makes in an empty folder; the answer of `make`, which is pickled.

    It is made once for each environment that git and Engram can tell apart. What led into the original leads
    into the copy: an address in a configuration of git, a work tree that Engram hides in a repository.
    """
    if not _folder:  # a process that a test started
        target.mkdir(parents=True, exist_ok=True)
        return make(target)
    original = _folder[0] / hashlib.sha256(repr((kind, *_world())).encode()).hexdigest()[:20]
    if not original.exists():
        _make(original, make)
    place, answer = pickle.loads((original / "answer").read_bytes())
    shutil.copytree(original / "files", target, symlinks=True, dirs_exist_ok=True)
    for pattern in _ADDRESSED:
        for file in target.glob(pattern):
            text = file.read_text("utf-8")
            if place in text:
                file.write_text(text.replace(place, str(target)), "utf-8")
    return answer


def _make(original: Path, make: Callable[[Path], Any]) -> None:
    """Two processes may do this at once: the second one keeps what the first one made."""
    draft = Path(tempfile.mkdtemp(dir=_folder[0]))
    files = draft / "files"
    files.mkdir()
    (draft / "answer").write_bytes(pickle.dumps((str(files), make(files))))
    with contextlib.suppress(OSError):
        draft.rename(original)


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
