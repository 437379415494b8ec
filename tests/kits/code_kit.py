"""Code repositories with a history, made by one git process: commits of whole files, each with its day."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from apikit import START, git

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Files = "Mapping[str, str | None]"


def code(root: Path, commits: Iterable[tuple[float, Mapping[str, str | None], str]]) -> Path:
    """A repository at `root` with these commits: days after `START`, files (None: deleted), subject."""
    root.mkdir(parents=True, exist_ok=True)
    if not (root / ".git").exists():
        git(root, "init", "-q", "-b", "main")
    add(root, commits)
    return root


def add(root: Path, commits: Iterable[tuple[float, Mapping[str, str | None], str]]) -> None:
    """More commits upon the branch that is checked out; the work tree follows."""
    branch = git(root, "symbolic-ref", "HEAD")
    tip = git(root, "rev-parse", "--verify", "-q", "HEAD", check=False)
    parts = [_commit(branch, tip if not n else "", *one) for n, one in enumerate(commits)]
    stream = b"feature done\n" + b"".join(parts) + b"done\n"
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input=stream, check=True, capture_output=True)
    git(root, "reset", "-q", "--hard")


def day(after: float) -> datetime:
    """A moment so many days after `START`."""
    return START + timedelta(days=after)


def _commit(branch: str, tip: str, after: float, files: Mapping[str, str | None], subject: str) -> bytes:
    said = f"commit {branch}\ncommitter Ada <ada@example.org> {int(day(after).timestamp())} +0000\n".encode()
    said += _data(subject) + (f"from {tip}\n".encode() if tip else b"")
    for path, text in files.items():
        said += f"D {path}\n".encode() if text is None else f"M 100644 inline {path}\n".encode() + _data(text)
    return said


def _data(text: str) -> bytes:
    raw = text.encode()
    return b"data %d\n%s\n" % (len(raw), raw)
