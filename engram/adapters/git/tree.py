"""What a commit holds at given paths: mode and object id, and the id that given bytes would have."""

from __future__ import annotations

import os

from engram.adapters.git.runner import run
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engram.adapters.git.layout import Repository

PLAIN, EXECUTABLE = "100644", "100755"
PATHS_PER_CALL = 200  # under the 32 KiB that Windows allows for a command line
WHOLE_TREE = 3000  # paths; above that one look at everything is quicker, even in a store of 100,000


class Entry(NamedTuple):
    """A file in a tree: its mode (six octal digits) and the id of its content."""

    mode: str
    oid: str


def entries(repo: Repository, commit: str | None, paths: Iterable[str]) -> dict[str, Entry]:
    """The files that `commit` holds at `paths`; absent ones are left out. No commit holds nothing."""
    wanted = tuple(dict.fromkeys(paths))
    if commit is None or not wanted:
        return {}
    found: dict[str, Entry] = {}
    names = set(wanted)
    for listing in _listings(repo, commit, wanted):
        for line in listing.split("\0"):
            facts, _, path = line.partition("\t")
            if path in names:
                mode, kind, oid = facts.split(" ")
                if kind == "blob":
                    found[path] = Entry(mode, oid)
    return found


def _listings(repo: Repository, commit: str, wanted: tuple[str, ...]) -> Iterator[str]:
    """What `ls-tree` says of the paths, some at a time; of the whole tree where there are very many."""
    if len(wanted) > WHOLE_TREE:
        yield os.fsdecode(run(repo, "ls-tree", "-z", "-r", commit).stdout)
        return
    for at in range(0, len(wanted), PATHS_PER_CALL):
        # It takes paths as they are: no wildcards, no pathspec magic.
        words = ("ls-tree", "-z", commit, "--", *wanted[at : at + PATHS_PER_CALL])
        yield os.fsdecode(run(repo, *words).stdout)


def blob_oid(content: bytes, algorithm: str) -> str:
    """The id that a blob of these bytes has; `algorithm` is sha1 or sha256."""
    import hashlib

    return hashlib.new(algorithm, b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()


def checked_path(path: str) -> str:
    """`path` if it may stand in a tree, relative and nothing that git refuses. Raises `GitError`."""
    parts = path.split("/")
    bad = any(part in ("", ".", "..") or part.lower() in (".git", "git~1") for part in parts)
    if bad or "\0" in path or (os.sep == "\\" and os.sep in path):
        raise GitError(f"{path!r} is not a path that can be committed.", "Give a path relative to the store.")
    return path
