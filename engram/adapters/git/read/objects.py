"""The objects of a repository as git stores them: any number of them by one `git cat-file --batch`."""

from __future__ import annotations

import os

from engram.adapters.git.run.runner import run
from engram.domain.errors import GitError
from engram.domain.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engram.adapters.git.run.layout import Repository

SECONDS = 120.0
COMMIT, TREE, BLOB = b"commit", b"tree", b"blob"


class Object(NamedTuple):
    """An object's kind (`commit`, `tree`, `blob` or `tag`) and its bytes."""

    kind: bytes
    content: bytes


def read(repo: Repository, names: Sequence[bytes], deadline: float = SECONDS) -> list[Object | None]:
    """Return the objects of names like `<id>` or `<commit>:<path>`, without line ends, in order; None for missing ones.

    Raises GitError, also where an object is damaged.
    """
    if not names:
        return []
    asked = b"\n".join(names) + b"\n"
    output = run(repo, "cat-file", "--batch", "--buffer", stdin=asked, deadline=deadline).stdout
    found = list(_parse(output))
    if len(found) != len(names):
        raise GitError(
            f"The git repository at {repo.worktree} is damaged: not all of it can be read.",
            "Run `git fsck` there and repair what it reports.",
            stderr="bad object",
        )
    return found


def _parse(output: bytes) -> Iterator[Object | None]:
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        words = output[at:end].rsplit(b" ", 2)
        at = end + 1
        if not words[-1].isdigit():  # `<name> missing`, where the name may hold anything
            yield None
            continue
        size = int(words[-1])
        yield Object(words[1], output[at : at + size])
        at += size + 1


# What a commit holds at given paths: mode and object id, and the id that given bytes would have.

PLAIN, EXECUTABLE = "100644", "100755"
PATHS_PER_CALL = 200  # under the 32 KiB that Windows allows for a command line
WHOLE_TREE = 3000  # paths; above that one look at everything is quicker, even in a store of 100,000


class Entry(NamedTuple):
    """A file in a tree: its mode (six octal digits) and the id of its content."""

    mode: str
    oid: str


# What a commit is known to hold at some paths, of the last few commits: whoever made one need not ask for it again.
_known: dict[tuple[str, str], Mapping[str, Entry | None]] = {}
_REMEMBERED = 4


def learn(repo: Repository, commit: str, entries_by_path: Mapping[str, Entry | None]) -> None:
    """Remember what a commit holds at some paths (None: nothing), for `entries`."""
    while len(_known) >= _REMEMBERED:
        _known.pop(next(iter(_known)), None)
    _known[repo.common_dir, commit] = entries_by_path


def entries(repo: Repository, commit: str | None, paths: Iterable[str]) -> dict[str, Entry]:
    """Return the files that `commit` holds at `paths`; absent ones are left out. No commit holds nothing."""
    if commit is None:
        return {}
    known = _known.get((repo.common_dir, commit), {})
    asked = dict.fromkeys(paths)
    found = {path: entry for path in asked if (entry := known.get(path))}
    wanted = tuple(path for path in asked if path not in known)
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
    """Yield what `ls-tree` says of the paths, some at a time; of the whole tree where there are very many."""
    if len(wanted) > WHOLE_TREE:
        yield os.fsdecode(run(repo, "ls-tree", "-z", "-r", commit).stdout)
        return
    for at in range(0, len(wanted), PATHS_PER_CALL):
        # It takes paths as they are: no wildcards, no pathspec magic.
        words = ("ls-tree", "-z", commit, "--", *wanted[at : at + PATHS_PER_CALL])
        yield os.fsdecode(run(repo, *words).stdout)


def blob_oid(content: bytes, algorithm: str) -> str:
    """Return the id that a blob of these bytes has; `algorithm` is sha1 or sha256."""
    import hashlib

    return hashlib.new(algorithm, b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()


def check_path(path: str) -> str:
    """`path` if it may stand in a tree, relative and nothing that git refuses. Raises `GitError`."""
    parts = path.split("/")
    bad = any(part in ("", ".", "..") or part.lower() in (".git", "git~1") for part in parts)
    if bad or "\0" in path or (os.sep == "\\" and os.sep in path):
        raise GitError(f"{path!r} is not a path that can be committed.", "Give a path relative to the store.")
    return path
