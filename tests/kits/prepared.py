"""Folders that are made once per test run and then copied: a copy takes a tenth of the time of git."""

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

_FILES_WITH_PATHS = tuple(
    where + name
    for where in ("", "*/", "*/*/")
    for name in (".git/config", ".git/worktrees/*/gitdir", ".git/engram/worktree/.git")
)
_folder: list[Path] = []  # the folder of the originals, once conftest.py has made it


def keep_in(folder: Path) -> None:
    """Set the folder of the originals, for all processes of the test run."""
    folder.mkdir(exist_ok=True)
    _folder[:] = [folder]


def copy(kind: str, target: Path, make: Callable[[Path], Any]) -> Any:
    """Fill `target` with a copy of what `make` makes in an empty folder; return the result of `make`, which is pickled.

    The original is made once per environment that git and Engram can tell apart. Paths into it in git's files are changed
    to the copy: an address in a configuration, a work tree that Engram hides in a repository.
    """
    if not _folder:  # in a process started by a test
        target.mkdir(parents=True, exist_ok=True)
        return make(target)
    original = _folder[0] / hashlib.sha256(repr((kind, *_environment())).encode()).hexdigest()[:20]
    if not original.exists():
        _make(original, make)
    place, answer = pickle.loads((original / "answer").read_bytes())
    shutil.copytree(original / "files", target, symlinks=True, dirs_exist_ok=True)
    for pattern in _FILES_WITH_PATHS:
        for file in target.glob(pattern):
            text = file.read_text("utf-8")
            if place in text:
                file.write_text(text.replace(place, str(target)), "utf-8")
    return answer


def _make(original: Path, make: Callable[[Path], Any]) -> None:
    """Make the original; if two processes do so at once, the second one keeps the first one's."""
    draft = Path(tempfile.mkdtemp(dir=_folder[0]))
    files = draft / "files"
    files.mkdir()
    (draft / "answer").write_bytes(pickle.dumps((str(files), make(files))))
    with contextlib.suppress(OSError):
        draft.rename(original)


def dedicated(root: Path) -> Path:
    """Make a store in a repository of its own, as `engram init` does."""
    if root.exists() and any(root.iterdir()):
        init(str(root), placement="dedicated")
    else:
        copy("dedicated", root, lambda place: init(str(place), placement="dedicated"))
    return root


def _environment() -> tuple[object, ...]:
    """Return what git and Engram can see of the user: variables, and the contents of the configuration they name."""
    names = sorted(name for name in os.environ if name.startswith(("GIT_", "ENGRAM_")))
    known = tuple((name, os.environ[name]) for name in names if name != "GIT_CONFIG_GLOBAL")
    file = Path(os.environ.get("GIT_CONFIG_GLOBAL") or os.devnull)
    return known, file.read_bytes() if file.exists() else b""
