"""The history of a code repository's files: each change of a path, renames, and the present files.

One git process lists the changes of all files along first parents, where a merge is one change, so that the content
of a path at any moment follows from later changes.
"""

from __future__ import annotations

import os

from engram.adapters.git.run import layout
from engram.adapters.git.run.runner import run, run_limited
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engram.adapters.git.run.layout import Repository

LOG_SECONDS = 20.0
MOST_COMMITS = 10_000
MOST_BYTES = 256 * 1024 * 1024
LARGEST = 512 * 1024  # bytes of a file
MOST_READ = 64 * 1024 * 1024  # bytes of all files of one call
_MARK, _FIELD = "\x01", "\x02"
_NO_OID = "0" * 20  # how the id of a missing file starts


class Commit(NamedTuple):
    """A commit among the first parents. `number` counts back from HEAD; `at` is the committer's time in Unix seconds."""

    number: int
    oid: str
    parent: str
    at: int
    subject: str


class Touch(NamedTuple):
    """A change of a path by a commit: the ids of its content before and after (None: no file)."""

    commit: Commit
    path: str
    before: str | None
    after: str | None


def touches(repo: Repository, since: float) -> Iterator[Touch]:
    """Yield every change of a file after `since` (Unix seconds), newest first, in at most 10,000 commits. Raises GitError."""
    if layout.read_head(repo).oid is None:
        return
    words = ("log", "--first-parent", "-m", "--raw", "--no-abbrev", "--no-renames", "-z", "--no-show-signature",
             "--encoding=UTF-8", f"--max-count={MOST_COMMITS}", f"--max-age={max(0, int(since))}",
             "--format=%x01%H%x02%P%x02%ct%x02%s", "HEAD")  # fmt: skip
    output = os.fsdecode(run_limited(repo, *words, deadline=LOG_SECONDS, most=MOST_BYTES))
    fields = iter(output.split("\0"))
    commit, number = Commit(0, "", "", 0, ""), -1
    for field in fields:
        text = field.removeprefix("\n")
        if text.startswith(_MARK):
            number += 1
            oid, parents, at, subject = text.removeprefix(_MARK).split(_FIELD, 3)
            commit = Commit(number, oid, parents.partition(" ")[0], int(at), subject)
        elif text.startswith(":"):
            before, after = text.split(" ", 4)[2:4]
            yield Touch(commit, next(fields, ""), _oid_or_none(before), _oid_or_none(after))


def files_now(repo: Repository) -> dict[str, str]:
    """Return the blob id of each file in HEAD, by path. Raises GitError."""
    if layout.read_head(repo).oid is None:
        return {}
    output = os.fsdecode(
        run_limited(repo, "ls-tree", "-r", "-z", "--full-tree", "HEAD", deadline=LOG_SECONDS)
    )
    found = {}
    for line in output.split("\0"):
        facts, _, path = line.partition("\t")
        if " blob " in facts:
            found[path] = facts.rpartition(" ")[2]
    return found


def find_moves(repo: Repository, commits: Sequence[Commit]) -> dict[tuple[str, str], str]:
    """Return the renames in these commits: (id of the commit, path before) → path after. Raises GitError."""
    pairs = "".join(f"{one.oid} {one.parent}\n" for one in commits if one.parent)
    if not pairs:
        return {}
    words = ("diff-tree", "--stdin", "-r", "-z", "--raw", "-M", "--diff-filter=R")
    output = os.fsdecode(run(repo, *words, stdin=pairs.encode(), deadline=LOG_SECONDS).stdout)
    found, oid = {}, ""
    fields = iter(output.split("\0"))
    for field in fields:
        text = field.removeprefix("\n")
        if text.startswith(":"):
            before, after = next(fields, ""), next(fields, "")
            found[oid, before] = after
        elif text:
            oid = text.partition(" ")[0].strip()
    return found


def texts(repo: Repository, ids: Sequence[str]) -> dict[str, str]:
    """Return the texts of these blobs by id, without binary and large ones, at most 64 MiB in total."""
    from engram.adapters.git.read.versions import read_objects

    wanted = _select_small(repo, list(dict.fromkeys(ids)))
    found = zip(wanted, read_objects(repo, wanted), strict=True)
    return {oid: raw.decode("utf-8", "replace") for oid, raw in found if raw is not None and b"\0" not in raw}


def _select_small(repo: Repository, ids: Sequence[str]) -> list[str]:
    if not ids:
        return []
    names = "".join(f"{oid}\n" for oid in ids).encode()
    found, remaining = [], MOST_READ
    for line in run(repo, "cat-file", "--batch-check", stdin=names).stdout.decode().splitlines():
        oid, _, size = line.rpartition(" ")
        if oid.endswith(" blob") and int(size) <= min(LARGEST, remaining):
            remaining -= int(size)
            found.append(oid.removesuffix(" blob"))
    return found


def _oid_or_none(oid: str) -> str | None:
    return None if oid.startswith(_NO_OID) else oid
