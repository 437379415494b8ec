"""Find the commits of one side of a merge that changed certain files, with the versions before and after each."""

from __future__ import annotations

import os

from engram.adapters.git.run import configuration
from engram.adapters.git.run.runner import run_limited
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram.adapters.git.run.layout import Repository

_SECONDS = 60.0
_PATHS_PER_CALL = 200  # under the 32 KiB that Windows allows for a command line
_FORMAT = "%x01%H%x02%at%x02%P%x02%ae%x02%an%x02%s"  # names and subjects last: they may hold anything


class EditCommit(NamedTuple):
    """A commit that changed a file: its author's name and time (Unix seconds), and the blob ids of the versions.

    `before` has an id for each parent (None: no file). `is_engrams_merge` is true for Engram's own merges and repairs,
    `is_boundary` for a commit whose parents are missing in a shallow clone.
    """

    oid: str
    author: str
    moment: int
    before: tuple[str | None, ...]
    after: str | None
    is_merge: bool
    is_engrams_merge: bool
    is_boundary: bool


def edits_of(
    repo: Repository, tip: str, known: Sequence[str], paths: Sequence[str]
) -> dict[str, list[EditCommit]]:
    """Return by path the commits of `tip`, but not of `known`, that changed the file, each before its ancestors.

    Raises GitError.
    """
    pathspecs = paths if len(paths) <= _PATHS_PER_CALL else [os.path.commonpath(paths)]
    found: dict[str, list[EditCommit]] = {path: [] for path in paths}
    for path, commit in _log(repo, tip, known, "--no-renames", pathspecs):
        if path in found:
            found[path].append(commit)
    return found


def edits_through_moves(repo: Repository, tip: str, known: Sequence[str], path: str) -> list[EditCommit]:
    """Return the commits for one file as `edits_of` does, following its renames. Raises GitError."""
    return [commit for _, commit in _log(repo, tip, known, "--follow", [path])]


def renames_of(repo: Repository, path: str) -> list[tuple[str, str]]:
    """Return the commits of HEAD that renamed a file, each with the path before, newest first.

    Raises GitError.
    """
    words = (
        "log",
        "-z",
        "--follow",
        "--diff-filter=R",
        "--name-status",
        "--no-show-signature",
        "--format=%x01%H",
        "HEAD",
    )
    tokens = os.fsdecode(run_limited(repo, *words, "--", path, deadline=_SECONDS)).split("\0")
    found: list[tuple[str, str]] = []
    oid = ""
    for index, token in enumerate(tokens):
        text = token.removeprefix("\n")
        if text.startswith("\x01"):
            oid = text[1:]
        elif oid and text.startswith("R"):
            found.append((oid, tokens[index + 1]))
            oid = ""
    return found


def _log(
    repo: Repository, tip: str, known: Sequence[str], rename_option: str, paths: Sequence[str]
) -> list[tuple[str, EditCommit]]:
    exclude = ("--not", *known) if known else ()
    words = ("log", "-z", "--raw", "--no-abbrev", "--diff-merges=combined", rename_option, "--topo-order", "--no-show-signature",
             "--encoding=UTF-8", f"--format={_FORMAT}", tip, *exclude, "--", *paths)  # fmt: skip
    boundary = _read_boundary(repo)
    found: list[tuple[str, EditCommit]] = []
    head: list[str] = []
    change: list[str] = []
    renamed = False
    for token in os.fsdecode(run_limited(repo, *words, deadline=_SECONDS)).split("\0"):
        text = token.removeprefix("\n")
        if text.startswith("\x01"):
            head = text[1:].split("\x02", 5)
        elif text.startswith(":") and not change:
            change = text.lstrip(":").split(" ")
            renamed = change[-1][:1] in ("R", "C")
        elif renamed:
            renamed = False  # skip the old path; the new one follows
        elif change and len(head) == 6:
            found.append((text, _parse_commit(head, change, boundary)))
            change = []
    return found


def _parse_commit(head: list[str], change: list[str], boundary: frozenset[str]) -> EditCommit:
    oid, moment, parents, email, author, subject = head
    ids = [None if not name.strip("0") else name for name in change[len(change) // 2 : -1]]
    is_merge = " " in parents
    is_own = email == configuration.EMAIL and author == configuration.NAME
    is_own = is_own and (is_merge or subject.startswith("repair: "))
    return EditCommit(
        oid, " ".join(author.split()), int(moment), tuple(ids[:-1]), ids[-1], is_merge, is_own, oid in boundary
    )  # fmt: skip


def _read_boundary(repo: Repository) -> frozenset[str]:
    try:
        with open(os.path.join(repo.common_dir, "shallow"), encoding="ascii") as file:
            return frozenset(file.read().split())
    except OSError:
        return frozenset()
