"""Configure the merge driver that merges lore files by field, and find the commits that git is merging.

A driver receives the three versions and the path (gitattributes(5)), but not the commits: `git merge` and `git pull` name
the other one in a variable `GITHEAD_<commit id>`; MERGE_HEAD is only written afterwards. A cherry-pick or a rebase
names the other one, if at all, in a file of the git folder.
"""

from __future__ import annotations

import os
import re

from engram.adapters.git.run import layout
from engram.adapters.git.run.configuration import settings
from engram.adapters.git.run.failures import failure
from engram.adapters.git.run.runner import run
from engram.domain.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engram.adapters.git.run.layout import Repository

ATTRIBUTE = "merge=engram"
_COMMAND = "merge.engram.driver"
_NAME = "merge.engram.name"
_TITLE = "Engram: lore by field"
_MAX_CONFLICTS = 127  # exit codes of `git merge-file` up to this count conflicts, others are errors
_HEAD_FILES = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "REVERT_HEAD")


def command_line(command: Sequence[str], package_root: str | None) -> str:
    """Return the line for git's shell that runs this command, with blanks and percent signs escaped.

    `package_root` is the folder of the package, if its interpreter would not find it.
    """
    from shlex import quote

    words = [f"PYTHONPATH={quote(package_root)}"] if package_root else []
    words += [*map(quote, command), "merge-driver"]
    return " ".join(words).replace("%", "%%") + " %O %A %B %P"


def configured_command(repo: Repository) -> str:
    """Return the driver's command in the repository's own configuration; "" if there is none."""
    own = os.path.realpath(os.path.join(repo.common_dir, "config"))
    for key, value, file in reversed(settings(repo)):
        if key == _COMMAND and os.path.realpath(file) == own:
            return value
    return ""


def configure(repo: Repository, command: str) -> None:
    """Set the driver in the repository's own configuration. Raises GitError."""
    run(repo, "config", "--local", "--replace-all", _NAME, _TITLE)
    run(repo, "config", "--local", "--replace-all", _COMMAND, command)


def merged_heads(repo: Repository, environment: Mapping[str, str]) -> list[str]:
    """Return the commits that are being merged, as far as a driver can tell: HEAD first, then the others."""
    head = layout.read_head(repo).oid
    others = [name.removeprefix("GITHEAD_") for name in environment if name.startswith("GITHEAD_")]
    others = sorted(name for name in others if re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", name))
    if not others:
        files = (_first_line(os.path.join(repo.git_dir, name)) for name in _HEAD_FILES)
        others = [oid for oid in files if re.fullmatch("[0-9a-f]{40,64}", oid)][:1]
    return [*([head] if head else []), *others]


def merged_commit(environment: Mapping[str, str]) -> str:
    """Return the commit that `git merge` or `git pull` merges into HEAD; "" if there are several or git does something else."""
    others = [name.removeprefix("GITHEAD_") for name in environment if name.startswith("GITHEAD_")]
    return others[0] if len(others) == 1 and re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", others[0]) else ""


def merge_head(repo: Repository) -> str:
    """Return the commit that a merge under way merges into HEAD; "" if there is none."""
    found = _first_line(os.path.join(repo.git_dir, "MERGE_HEAD"))
    return found if re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", found) else ""


def committer_times(repo: Repository, commits: Sequence[str]) -> list[int]:
    """Return the committer times of commits, in Unix seconds. Raises GitError if one is missing."""
    if not commits:
        return []
    output = run(repo, "log", "--no-walk=unsorted", "--no-show-signature", "--format=%ct", *commits).stdout
    return [int(line) for line in output.split()]


def _first_line(file: str) -> str:
    try:
        with open(file, encoding="ascii", errors="replace") as opened:
            return opened.readline().strip()
    except OSError:
        return ""


def merge_text(folder: str, ours: str, base: str, theirs: str) -> bool:
    """Merge three files as git merges text, into the first; return False if conflict markers are left. Raises GitError."""
    labels = [word for name in ("ours", "base", "theirs") for word in ("-L", name)]
    result = run(folder, "merge-file", "--quiet", *labels, ours, base, theirs, check=False)
    if not 0 <= result.code <= _MAX_CONFLICTS:
        raise failure(folder, ("merge-file",), result.code, result.stderr)
    return result.code == 0
