"""Read any number of objects of a repository with one `git cat-file --batch`; entries of a commit's tree."""

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
    """Return the objects with names like `<id>` or `<commit>:<path>`, without line ends, in order; None for missing ones.

    Raises GitError, also if an object is damaged.
    """
    if not names:
        return []
    lines = b"\n".join(names) + b"\n"
    output = run(repo, "cat-file", "--batch", "--buffer", stdin=lines, deadline=deadline).stdout
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
        if not words[-1].isdigit():  # `<name> missing`; the name may contain anything
            yield None
            continue
        size = int(words[-1])
        yield Object(words[1], output[at : at + size])
        at += size + 1


# Entries of a commit's tree, and the id that given bytes would have.

PLAIN, EXECUTABLE = "100644", "100755"
PATHS_PER_CALL = 200  # under the 32 KiB that Windows allows for a command line
WHOLE_TREE = 3000  # paths; for more, listing the whole tree is faster, even in a store of 100,000 entries


class Entry(NamedTuple):
    """A file in a tree: its mode (six octal digits) and the id of its content."""

    mode: str
    oid: str


# Known entries of the last few commits at some paths, so that those of Engram's own commits need not be read.
_entry_cache: dict[tuple[str, str], Mapping[str, Entry | None]] = {}
_MAX_CACHED = 4


def learn(repo: Repository, commit: str, entries_by_path: Mapping[str, Entry | None]) -> None:
    """Cache a commit's entries at some paths (None: no file), for `entries`."""
    while len(_entry_cache) >= _MAX_CACHED:
        _entry_cache.pop(next(iter(_entry_cache)), None)
    _entry_cache[repo.common_dir, commit] = entries_by_path


def entries(repo: Repository, commit: str | None, paths: Iterable[str]) -> dict[str, Entry]:
    """Return the entries of `commit` at those `paths` that have a file; {} if `commit` is None."""
    if commit is None:
        return {}
    known = _entry_cache.get((repo.common_dir, commit), {})
    every = dict.fromkeys(paths)
    found = {path: entry for path in every if (entry := known.get(path))}
    wanted = tuple(path for path in every if path not in known)
    names = set(wanted)
    for listing in _list_trees(repo, commit, wanted):
        for line in listing.split("\0"):
            facts, _, path = line.partition("\t")
            if path in names:
                mode, kind, oid = facts.split(" ")
                if kind == "blob":
                    found[path] = Entry(mode, oid)
    return found


def _list_trees(repo: Repository, commit: str, wanted: tuple[str, ...]) -> Iterator[str]:
    """Yield the output of `ls-tree` for the paths in batches, or for the whole tree if there are very many."""
    if len(wanted) > WHOLE_TREE:
        yield os.fsdecode(run(repo, "ls-tree", "-z", "-r", commit).stdout)
        return
    for at in range(0, len(wanted), PATHS_PER_CALL):
        # Paths are taken literally: no wildcards, no pathspec magic.
        words = ("ls-tree", "-z", commit, "--", *wanted[at : at + PATHS_PER_CALL])
        yield os.fsdecode(run(repo, *words).stdout)


def blob_oid(content: bytes, algorithm: str) -> str:
    """Return the id of a blob with these bytes; `algorithm` is sha1 or sha256."""
    import hashlib

    return hashlib.new(algorithm, b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()


def check_path(path: str) -> str:
    """Return `path` if it is relative and git allows it in a tree. Raises `GitError`."""
    parts = path.split("/")
    bad = any(part in ("", ".", "..") or part.lower() in (".git", "git~1") for part in parts)
    if bad or "\0" in path or (os.sep == "\\" and os.sep in path):
        raise GitError(f"{path!r} is not a path that can be committed.", "Give a path relative to the store.")
    return path
