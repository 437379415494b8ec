"""Find the files of a commit that contain a text."""

from __future__ import annotations

import os

from engram.adapters.git.run.runner import run
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.adapters.git.run.layout import Repository

SECONDS = 60.0


def files_with(repo: Repository, commit: str, folder: str, text: str) -> list[str]:
    """Return the paths of the files under `folder` in `commit` that contain exactly `text`."""
    words = ("grep", "-l", "-z", "-F", "--full-name", "-e", text, commit, "--", folder)
    output = os.fsdecode(run(repo, *words, check=False, deadline=SECONDS).stdout)
    return [name.removeprefix(f"{commit}:") for name in output.split("\0") if name]
